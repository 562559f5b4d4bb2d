"""The examples in docstrings and in the READMEs."""

from __future__ import annotations

import doctest
import importlib
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
]
PACKAGE = Path(__file__).parents[1]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=False)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    examples = 0
    for test in finder.find(module, module=False):
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
