"""The namespace of NumPy, in which the reductions of the array API are those of this package."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np
import warpfold as wf

__array_api_version__ = "2024.12"

for name in dir(np):
    if not name.startswith("__"):
        globals()[name] = getattr(np, name)


def reduction(name: str) -> Any:
    """Return a function of this package, for the device that is asked for."""
    function = getattr(wf, name)
    device = os.environ.get("DEVICE")
    return functools.wraps(function)(functools.partial(function, device=device))


NAMES = "sum prod max min mean std var argmax argmin all any count_nonzero".split()
for name in NAMES:
    globals()[name] = reduction(name)
