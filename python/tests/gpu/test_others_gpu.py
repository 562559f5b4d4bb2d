"""Arrays on a GPU of libraries that this package knows only by their protocols."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import warpfold as wf

from .conftest import library


def test_jax() -> None:
    jax = library("jax")
    host = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = jax.numpy.asarray(host)
    for axis in (None, 1, (0, 2)):
        got = wf.sum(x, axis=axis)
        assert isinstance(got, jax.Array) and got.devices() == x.devices()
        assert np.array_equal(np.asarray(got), host.sum(axis=axis))
    for step in range(200):
        y = jax.numpy.full((1 << 18,), step, dtype=jax.numpy.float32)
        total = wf.mean(y)
        del y
        assert float(total) == step
    assert wf.argmax(x).item() == 23
    gc.collect()


def test_numba() -> None:
    library("numba")
    from numba import cuda

    host = np.arange(24, dtype=np.float64).reshape(4, 6)
    x = cuda.to_device(host)
    got: Any = wf.sum(x, axis=0)
    assert got.copy_to_host().tolist() == host.sum(axis=0).tolist()
    stream = cuda.stream()
    with stream.auto_synchronize():
        y = cuda.to_device(host, stream=stream)
        assert wf.max(y).copy_to_host() == 23.0


class Interface:
    """An object with `__cuda_array_interface__` and nothing else."""

    def __init__(self, tensor: Any, **changes: Any) -> None:
        self.tensor = tensor
        self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, **changes}


def test_cuda_array_interface() -> None:
    torch = library("torch")
    x = torch.arange(24.0, device="cuda").reshape(4, 6)
    torch.cuda.synchronize()
    for changes in (
        {},
        {"stream": None},
        {"stream": 1},
        {"stream": 2},
        {"version": 3, "stream": 1},
    ):
        got = wf.sum(Interface(x, **changes), axis=0)
        assert isinstance(got, wf.Array) and got.device == "cuda:0"
        assert got.tolist() == x.sum(0).tolist()
    assert torch.as_tensor(got, device="cuda").tolist() == x.sum(0).tolist()
    assert torch.from_dlpack(got).tolist() == x.sum(0).tolist()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        assert torch.from_dlpack(wf.sum(Interface(x))).tolist() == 276.0
    got = wf.max(Interface(x[:, ::2]), axis=1)
    assert got.tolist() == x[:, ::2].amax(1).tolist()
    assert wf.sum(got).item() == x[:, ::2].amax(1).sum()
    with pytest.raises(ValueError, match="no memory of a GPU"):
        wf.sum(Interface(x, data=(16, False)))
    with pytest.raises(ValueError, match="stream 0"):
        wf.sum(Interface(x, stream=0))


def test_dlpack_of_a_gpu() -> None:
    torch = library("torch")

    class Only:
        """A tensor that knows nothing but DLPack, of either version."""

        def __init__(self, tensor: Any, old: bool) -> None:
            self.tensor, self.old = tensor, old

        def __dlpack_device__(self) -> Any:
            return self.tensor.__dlpack_device__()

        def __dlpack__(self, **options: Any) -> Any:
            if self.old and "max_version" in options:
                raise TypeError("max_version")
            return self.tensor.__dlpack__(**options)

    for old in (False, True):
        for step in range(300):
            x = torch.full((1 << 16,), float(step), device="cuda")
            got = wf.mean(Only(x, old))
            del x
            assert got.item() == step
