"""The types of the package, as type checkers see them."""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import warpfold as wf
from warpfold import _native

HERE = Path(__file__).parent
PACKAGE = Path(wf.__file__).parent
USE = HERE / "typing" / "use.py"


def check(module: str, *arguments: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy() -> None:
    options = ["--strict", "--no-incremental", "--config-file="]
    check("mypy", *options, "-p", "warpfold")
    check("mypy", *options, str(USE))


def test_pyright() -> None:
    project = ["--level", "error", "--project", str(HERE / "typing")]
    check("basedpyright", *project, "--pythonpath", sys.executable)


def test_the_stub_has_what_the_module_has() -> None:
    text = (PACKAGE / "_native.pyi").read_text()
    for name in dir(_native):
        if not name.startswith("__") or name == "__version__":
            assert f"def {name}(" in text or f"class {name}" in text or f"{name}:" in text, name
    for name in dir(wf.Array):
        if name not in dir(object) and name != "__module__":
            assert f"def {name}(" in text, name


def test_everything_is_documented_and_listed() -> None:
    for name in wf.__all__:
        thing = getattr(wf, name)
        if name != "__version__":
            assert inspect.getdoc(thing), name
        if inspect.isfunction(thing):
            doc = inspect.getdoc(thing) or ""
            for parameter in inspect.signature(thing).parameters:
                assert parameter in doc, (name, parameter)
            assert "Examples\n" in doc and "Parameters\n" in doc, name
    # Another test may have imported the module `warpfold.torch`.
    public = {name for name in vars(wf) if not name.startswith("_")} - {"annotations", "torch"}
    assert public == set(wf.__all__) - {"__version__"}
