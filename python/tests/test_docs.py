"""The examples in docstrings and in the READMEs."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import re
from pathlib import Path

import pytest

MODULES = [
    "warpfold",
    "warpfold._standard",
    "warpfold._more",
    "warpfold._ragged",
    "warpfold._use",
    "warpfold._errors",
    "warpfold._accelerate",
    "warpfold.torch",
]
HAS_TORCH = importlib.util.find_spec("torch") is not None
PACKAGE = Path(__file__).parents[1]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    if name in ("warpfold._accelerate", "warpfold.torch") and not HAS_TORCH:
        pytest.skip("torch is not installed")
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=False)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    examples = 0
    for test in finder.find(module, module=False):
        first = test.name.removeprefix(name).lstrip(".").split(".")[0]
        if getattr(getattr(module, first, None), "__module__", None) == "collections":
            continue
        if not HAS_TORCH and any("import torch" in example.source for example in test.examples):
            continue
        examples += len(test.examples)
        runner.run(test)
    assert runner.summarize().failed == 0
    assert examples > 0 or name == "warpfold._errors"


@pytest.mark.parametrize(
    ("readme", "least"), [(PACKAGE / "README.md", 3), (PACKAGE.parent / "README.md", 1)]
)
def test_a_readme_is_true(readme: Path, least: int) -> None:
    blocks = re.findall(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)
    assert len(blocks) >= least
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    names: dict[str, object] = {}
    for number, block in enumerate(block for block in blocks if ">>>" in block):
        example = doctest.DocTestParser().get_doctest(block, names, f"README {number}", None, 0)
        runner.run(example, clear_globs=False)
        names = example.globs
    assert runner.summarize().failed == 0
