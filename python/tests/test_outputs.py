"""Outputs: the argument `out`, and the arrays of this package."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest
import warpfold as wf
from producers import name_of

X = np.arange(12.0).reshape(3, 4)


def test_out_is_written_and_returned(device: str) -> None:
    out = np.full(4, -1.0)
    assert wf.sum(X, axis=0, out=out, device=device) is out
    assert out.tolist() == [12.0, 15.0, 18.0, 21.0]
    wide = np.full((4, 3), -1.0)
    place = wide[:, 1]
    assert wf.max(X, axis=0, out=place, device=device) is place
    assert wide.tolist() == [[-1.0, x, -1.0] for x in (8.0, 9.0, 10.0, 11.0)]
    scalar = np.zeros(())
    assert wf.mean(X, out=scalar, device=device) is scalar and scalar == 5.5
    kept = np.zeros((1, 4))
    wf.min(X, axis=0, keepdims=True, out=kept, device=device)
    assert kept.tolist() == [[0.0, 1.0, 2.0, 3.0]]
    half = np.zeros(4, dtype=np.float16)
    wf.sum(X.astype(np.float16), axis=0, out=half, device=device)
    assert half.tolist() == [12.0, 15.0, 18.0, 21.0]


def test_out_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match="shape"):
        wf.sum(X, axis=0, out=np.zeros(3))
    with pytest.raises(ValueError, match="shape"):
        wf.sum(X, out=np.zeros(1))
    with pytest.raises(TypeError, match="float32.*float64"):
        wf.sum(X, axis=0, out=np.zeros(4, dtype=np.float32))
    with pytest.raises(TypeError, match="is no array"):
        wf.sum(X, axis=0, out=[0.0] * 4)
    x = X.copy()
    with pytest.raises(ValueError, match="overlaps"):
        wf.sum(x, axis=0, out=x[0])
    with pytest.raises(ValueError, match="overlaps"):
        wf.dot(X, x, axis=0, out=x[1])


def test_types_of_sums_that_are_asked_for(device: str) -> None:
    x = np.array([200, 100], dtype=np.uint8)
    for dtype in (np.int32, "int32", np.dtype("int32")):
        assert wf.sum(x, dtype=dtype, device=device).dtype == np.int32
    assert wf.sum(x, dtype=np.uint8, device=device) == 300 % 256
    assert wf.sum(x, dtype=float, device=device) == 300.0
    assert wf.sum(x, dtype=int, device=device).dtype == np.int64
    tiny = np.array([1.0, 2.0**-30], dtype=np.float32)
    assert wf.sum(tiny, dtype=np.float64, device=device) == 1.0 + 2.0**-30
    assert wf.sum(tiny, dtype="float16", device=device).dtype == np.float16
    with pytest.raises(TypeError, match="cannot be int64"):
        wf.sum(tiny, dtype=np.int64, device=device)
    with pytest.raises(TypeError, match="cannot be bool"):
        wf.sum(x, dtype=bool, device=device)
    with pytest.raises(TypeError, match="complex64"):
        wf.sum(x, dtype=np.complex64, device=device)


def test_arrays_of_this_package() -> None:
    a = wf.sum(memoryview(X), axis=0)
    assert (a.shape, a.dtype, a.ndim, a.size, a.device, len(a)) == ((4,), "float64", 1, 4, "cpu", 4)
    assert repr(a) == "warpfold.Array([12.0, 15.0, 18.0, 21.0], dtype=float64, device=cpu)"
    assert np.asarray(a).tolist() == a.tolist() == np.from_dlpack(a).tolist()
    assert wf.max(a).item() == 21.0
    total: Any = wf.sum(memoryview(b"\x01\x02"))
    assert int(total) == 3 and float(total) == 3.0 and bool(total) and [0, 1, 2, 3][total] == 3
    with pytest.raises(TypeError):
        float(a)
    with pytest.raises(TypeError):
        len(total)
    with pytest.raises(AttributeError):
        a.__cuda_array_interface__
    flags = wf.any(memoryview(b"\x00\x01\x00\x00").cast("B", (2, 2)), axis=1)
    assert flags.tolist() == [True, False] and flags.dtype == "bool"
    assert np.from_dlpack(flags).tolist() == [True, False]
    half: Any = wf.sum(memoryview(np.array([1.5, 2.0], dtype=np.float16)))
    assert half.item() == 3.5 and half.dtype == "float16"


def test_best_elements_of_a_buffer() -> None:
    values, indices = wf.topk(memoryview(X), 1)
    assert values.tolist() == [[3.0], [7.0], [11.0]] and indices.tolist() == [[3]] * 3
    with pytest.raises(TypeError, match="axis last"):
        wf.topk(memoryview(X), 1, axis=0)


def test_capsules_of_this_package() -> None:
    a: Any = wf.sum(memoryview(X), axis=0)
    count = sys.getrefcount(a)
    assert a.__dlpack_device__() == (1, 0)
    for options, name in [
        ({}, b"dltensor"),
        ({"max_version": (0, 8)}, b"dltensor"),
        ({"max_version": (1, 0)}, b"dltensor_versioned"),
        ({"max_version": (2, 3), "copy": False, "dl_device": (1, 0)}, b"dltensor_versioned"),
    ]:
        capsule = a.__dlpack__(**options)
        assert name_of(capsule) == name
        assert sys.getrefcount(a) == count + 1
        del capsule
        assert sys.getrefcount(a) == count
    taken = np.from_dlpack(a)
    assert sys.getrefcount(a) == count + 1
    address = np.asarray(a).ctypes.data
    assert taken.ctypes.data == address
    del taken
    gc.collect()
    assert sys.getrefcount(a) == count
    view = np.from_dlpack(a)
    del a
    gc.collect()
    assert view.tolist() == [12.0, 15.0, 18.0, 21.0]
    b: Any = wf.sum(memoryview(X))
    with pytest.raises(BufferError):
        b.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        b.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError):
        b.__dlpack__(stream=1)
