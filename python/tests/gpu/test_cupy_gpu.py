"""Arrays of CuPy on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warpfold as wf

from .conftest import library

cupy: Any = library("cupy")

DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
]


@pytest.mark.parametrize("name", DTYPES)
def test_arrays_in_and_out(name: str) -> None:
    host = (np.random.default_rng(1).standard_normal((7, 33, 40)) * 5).astype(name)
    x = cupy.asarray(host)
    for view in (np.s_[:], np.s_[:, ::-2], np.s_[..., 3:], np.s_[::-1, :, 1:7:2]):
        for axis in (None, 0, -1, (0, 2), ()):
            for function in ("sum", "max", "min", "mean", "var", "any", "count_nonzero"):
                got = getattr(wf, function)(x[view], axis=axis)
                want = getattr(wf, function)(host[view], axis=axis)
                assert isinstance(got, cupy.ndarray)
                assert got.dtype == want.dtype and got.shape == want.shape
                a, b = cupy.asnumpy(got).astype(float), want.astype(float)
                rough = 2e-2 if name == "float16" else 1e-4
                assert np.allclose(a, b, rtol=rough, atol=rough * 50 if name[0] == "f" else 1e-9), (
                    function,
                    axis,
                )
        for axis in (None, 1):
            got = wf.argmax(x[view], axis=axis)
            assert cupy.asnumpy(got).tolist() == wf.argmax(host[view], axis=axis).tolist()
    transposed = x.transpose(2, 0, 1)
    assert (
        cupy.asnumpy(wf.max(transposed, axis=1)).tolist()
        == wf.max(host.transpose(2, 0, 1), axis=1).tolist()
    )


def test_the_current_stream_is_used() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    x = cupy.zeros(1 << 22, dtype=cupy.float32)
    for step in range(1, 30):
        with stream:
            x.fill(step)
            total = wf.mean(x) * 2
        stream.synchronize()
        assert float(total) == 2 * step
    with cupy.cuda.Stream.ptds:
        assert float(wf.sum(cupy.ones(1000))) == 1000.0


def test_out_and_ragged() -> None:
    x = cupy.arange(12.0).reshape(3, 4)
    out = cupy.zeros(4)
    assert wf.sum(x, axis=0, out=out) is out and out.tolist() == [12.0, 15.0, 18.0, 21.0]
    grid = cupy.zeros((4, 2))
    wf.sum(x, axis=0, out=grid[:, 0])
    assert grid[:, 0].tolist() == [12.0, 15.0, 18.0, 21.0]
    runs = wf.reduce_by_key(cupy.array([1, 1, 4]), cupy.array([1.0, 2.0, 4.0]))
    assert isinstance(runs.keys, cupy.ndarray) and runs.results.tolist() == [3.0, 4.0]
    assert wf.segment_reduce(x.ravel(), cupy.array([0, 3, 12])).tolist() == [3.0, 63.0]
    assert wf.bincount(cupy.array([2, 0, 2])).tolist() == [1, 0, 2]
    values, indices = wf.topk(x, 2, axis=0)
    assert values.tolist() == x[:0:-1].tolist() and indices[0].tolist() == [2] * 4
    assert wf.dot(x, x, axis=1).tolist() == (x * x).sum(axis=1).tolist()


def test_many_calls_keep_no_memory() -> None:
    x = cupy.ones((100, 30), dtype=cupy.float32)
    for _ in range(50):
        wf.var(x, axis=0)
    cupy.cuda.runtime.deviceSynchronize()
    used, free = cupy.get_default_memory_pool().used_bytes(), cupy.cuda.runtime.memGetInfo()[0]
    for _ in range(3000):
        wf.var(x, axis=0)
    cupy.cuda.runtime.deviceSynchronize()
    assert cupy.get_default_memory_pool().used_bytes() == used
    assert free - cupy.cuda.runtime.memGetInfo()[0] < 1 << 20
