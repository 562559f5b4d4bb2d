"""Tests on a GPU: with torch, CuPy, JAX and Numba, as they are there.

`python -m pytest tests/gpu` runs them, and says in one line what is lacking.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest


def library(name: str) -> Any:
    """A library that can use a GPU, or a skipped test."""
    module = pytest.importorskip(name, reason=f"{name} is not installed")
    if name == "torch" and not module.cuda.is_available():
        pytest.skip("torch finds no GPU", allow_module_level=True)
    if name == "cupy":
        try:
            count = module.cuda.runtime.getDeviceCount()
        except module.cuda.runtime.CUDARuntimeError:
            count = 0
        if count == 0:
            pytest.skip("CuPy finds no GPU", allow_module_level=True)
    if name == "jax" and not any(device.platform == "gpu" for device in module.devices()):
        pytest.skip("JAX finds no GPU", allow_module_level=True)
    if name == "numba" and not importlib.import_module("numba.cuda").is_available():
        pytest.skip("Numba finds no GPU", allow_module_level=True)
    return module
