"""A namespace of the array API whose reductions are those of this package.

The variable `ARRAYS` says whose arrays these are: those of `numpy`, `torch` or `cupy`. The last two
lie on the GPU, and array-api-compat gives their other functions the names of the standard.
"""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any

import warpfold as wf

__array_api_version__ = "2024.12"

ARRAYS = os.environ.get("ARRAYS", "numpy")
if ARRAYS == "torch":
    importlib.import_module("torch").set_default_device("cuda")
arrays = importlib.import_module("numpy" if ARRAYS == "numpy" else f"array_api_compat.{ARRAYS}")

for name in dir(arrays):
    if not name.startswith("__"):
        globals()[name] = getattr(arrays, name)


def reduction(name: str) -> Any:
    """Return a function of this package, for the device that is asked for."""
    function = getattr(wf, name)
    device = os.environ.get("DEVICE")
    return functools.wraps(function)(functools.partial(function, device=device))


NAMES = "sum prod max min mean std var argmax argmin all any count_nonzero".split()
for name in NAMES:
    globals()[name] = reduction(name)
