"""The examples in docstrings and in the READMEs."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

MODULES = [
    "warpfold",
    "warpfold._standard",
    "warpfold._more",
    "warpfold._ragged",
    "warpfold._use",
    "warpfold._errors",
    "warpfold._simulate",
    "warpfold._accelerate",
    "warpfold.torch",
]
HAS_TORCH = importlib.util.find_spec("torch") is not None
PACKAGE = Path(__file__).parents[1]
GUIDE = PACKAGE.parent / "guide" / "src" / "python.md"


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
        if getattr(getattr(module, first, None), "__module__", None) in (
            "collections",
            "dataclasses",
        ):
            continue
        if not HAS_TORCH and any("import torch" in example.source for example in test.examples):
            continue
        examples += len(test.examples)
        runner.run(test)
    assert runner.summarize().failed == 0
    assert examples > 0 or name == "warpfold._errors"


@pytest.mark.parametrize(
    ("readme", "least"),
    [(PACKAGE / "README.md", 3), (PACKAGE.parent / "README.md", 1), (GUIDE, 3)],
)
def test_a_readme_is_true(readme: Path, least: int) -> None:
    blocks = re.findall(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)
    assert len(blocks) >= least
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    names: dict[str, object] = {}
    for number, block in enumerate(block for block in blocks if ">>>" in block):
        if "import torch" in block and not HAS_TORCH:
            break  # The blocks behind it need torch too.
        example = doctest.DocTestParser().get_doctest(block, names, f"README {number}", None, 0)
        runner.run(example, clear_globs=False)
        names = example.globs
    assert runner.summarize().failed == 0


def shown(page: Path) -> dict[str, str]:
    """Return the commands of a page, each with the text that is shown below it."""
    found = re.findall(
        r"```console\n\$ (.*?)\n```\n\n```text\n(.*?)```", page.read_text(), re.DOTALL
    )
    return dict(found)


def test_the_guide_shows_what_the_examples_print() -> None:
    commands = shown(GUIDE)
    scripts = sorted((PACKAGE / "examples").glob("*.py"))
    assert len(scripts) == 3
    for script in scripts:
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == commands[f"python python/examples/{script.name}"], script.name
        if HAS_TORCH:
            command = [sys.executable, str(script), "cpu"]
            of_torch = subprocess.run(command, capture_output=True, text=True, check=False)
            assert of_torch.stdout == done.stdout, of_torch.stderr


def test_the_guide_shows_what_the_doctor_says() -> None:
    command = [sys.executable, "-m", "warpfold", "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "There is no GPU" not in done.stdout:
        pytest.skip("the guide shows a machine without a GPU")
    pattern = re.escape(shown(GUIDE)["python -m warpfold doctor"])
    pattern = pattern.replace(re.escape("[..]"), ".*").replace(re.escape("...\n"), "(?:.*\n)*")
    assert re.fullmatch(pattern, done.stdout), done.stdout
