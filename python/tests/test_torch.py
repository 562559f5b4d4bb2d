"""Tensors of torch on the host. On a GPU they are in `gpu`."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import warpfold as wf
from torch_types import TYPES

torch: Any = pytest.importorskip("torch", reason="torch is not installed")


@pytest.mark.parametrize("name", TYPES)
def test_tensors_in_and_out(name: str, device: str) -> None:
    x = (torch.arange(24).reshape(2, 3, 4) % 5).to(getattr(torch, name))
    for view in (x, x.transpose(0, 2), x[:, ::2], x[..., 1:], x[:1].expand(5, 3, 4)):
        if name == "uint8" and not hasattr(torch, "uint64"):
            with pytest.raises(TypeError, match="dtype"):
                wf.sum(view, device=device)
            continue
        for axis in (None, 0, (0, 2), -1):
            got = wf.sum(view, axis=axis, device=device)
            assert type(got) is torch.Tensor and got.device.type == "cpu"
            wide = view.to(torch.float64)
            want = wide.sum() if axis is None else wide.sum(dim=axis)
            assert got.to(torch.float64).equal(want.to(got.dtype).to(torch.float64))
            most = wf.max(view, axis=axis, device=device)
            want = wide.amax(dim=axis) if axis is not None else wide.max()
            assert most.dtype == view.dtype and most.to(torch.float64).equal(want)


def test_types_of_results() -> None:
    assert wf.mean(torch.ones(3)).dtype == torch.float32
    assert wf.mean(torch.ones(3, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert wf.mean(torch.ones(3, dtype=torch.int32)).dtype == torch.float64
    assert wf.argmax(torch.ones(3)).dtype == torch.int64
    assert wf.any(torch.ones(3)).dtype == torch.bool
    assert wf.sum(torch.ones(3, dtype=torch.uint8), dtype=torch.int64).dtype == torch.int64
    assert wf.sum(torch.ones(2, 3), axis=1).shape == (2,)


def test_out() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    out = torch.zeros(3)
    assert wf.sum(x, axis=0, out=out) is out and out.tolist() == [3.0, 5.0, 7.0]
    wide = torch.zeros(3, 2)
    place = wide[:, 0]
    assert wf.sum(x, axis=0, out=place) is place
    assert wide.tolist() == [[3.0, 0.0], [5.0, 0.0], [7.0, 0.0]]
    with pytest.raises(ValueError, match="overlaps"):
        wf.sum(x, axis=0, out=x[0])


def test_gradients_are_not_lost_silently() -> None:
    x = torch.ones(3, requires_grad=True)
    if hasattr(torch.library, "register_vmap"):
        assert wf.sum(x).grad_fn is not None
    else:
        with pytest.raises(ImportError, match="torch 2.5 or later"):
            wf.sum(x)
    assert wf.sum(x.detach()) == 3.0
    with torch.no_grad():
        assert wf.sum(x) == 3.0
    with torch.inference_mode():
        assert wf.sum(torch.ones(3)) == 3.0
    assert wf.sum(torch.nn.Parameter(torch.ones(3), requires_grad=False)) == 3.0


def test_odd_tensors() -> None:
    with pytest.raises((TypeError, RuntimeError, BufferError)):
        wf.sum(torch.ones(3).to_sparse())
    with pytest.raises(TypeError, match="resolve_conj"):
        wf.sum(torch.tensor([1.0 + 2.0j]).conj())
    negated = torch.tensor([1.0 + 2.0j]).conj().imag
    assert negated.is_neg()
    with pytest.raises(TypeError, match="resolve_neg"):
        wf.sum(negated)
    assert wf.sum(torch.ones(0)) == 0.0
    assert wf.sum(torch.tensor(2.5)) == 2.5
    with pytest.raises((TypeError, RuntimeError, BufferError, ValueError, NotImplementedError)):
        wf.sum(torch.ones(3, device="meta"))


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_tensors(name: str, device: str) -> None:
    x = torch.tensor([[1.0 + 2.0j, 0.0], [4j, -1.0]]).to(getattr(torch, name))
    for view in (x, x.T, x[:, :1], x[:1].expand(3, 2), x.conj().resolve_conj()):
        for axis in (None, 0, 1):
            along: Any = () if axis is None else (axis,)
            got: Any = wf.sum(view, axis=axis, device=device)
            assert got.dtype == x.dtype and torch.equal(got, view.sum(*along))
            assert torch.equal(wf.mean(view, axis=axis, device=device), view.mean(*along))
            norm = wf.norm(view, axis=axis, device=device)
            torch.testing.assert_close(norm, torch.linalg.vector_norm(view, dim=axis))
            assert torch.equal(wf.all(view, axis=axis, device=device), view.all(*along))
            count = wf.count_nonzero(view, axis=axis, device=device)
            assert torch.equal(count, view.count_nonzero(axis))
    assert torch.equal(wf.prod(x, axis=0), x.prod(0))
    out = torch.zeros(2, dtype=x.dtype)
    assert wf.sum(x.real, axis=0, dtype=name, out=out, device=device) is out
    assert torch.equal(out, x.real.sum(0).to(x.dtype))
    assert wf.sum(x, where=x != 0, initial=1j) == x.sum() + 1j


@pytest.mark.parametrize("name", TYPES)
def test_where_and_initial(name: str) -> None:
    dtype = getattr(torch, name)
    x = torch.tensor([[1, 0, 1], [0, 0, 1]]).to(dtype)
    where = torch.tensor([True, False, True])
    kind = wf.sum(x).dtype
    for function, want in ((wf.sum, [4, 3]), (wf.prod, [2, 0])):
        out = torch.empty(2, dtype=kind)
        for given in (None, out):
            got = function(x, axis=1, where=where, initial=2, out=given)
            assert got.dtype == kind and got.tolist() == want
            assert given is None or got is out
    assert wf.max(x, axis=1, where=~where, initial=1).tolist() == [1, 1]
    assert wf.min(x[:0], axis=0, initial=1).dtype == dtype
    assert wf.any(x, axis=1, where=~where).tolist() == [False, False]
    with pytest.raises(TypeError, match="where is an array of bool"):
        wf.sum(x, where=[True, False, True])
    with wf.accelerate_torch(devices="cpu") as calls:
        wf.sum(x, where=where, initial=1)
    assert not calls.routed and not calls.declined


def test_two_tensors() -> None:
    a = torch.arange(6.0).reshape(2, 3)
    assert wf.dot(a, a) == 55.0
    runs = wf.reduce_by_key(torch.tensor([1, 1, 4]), torch.tensor([1.0, 2.0, 4.0]))
    assert runs.keys.tolist() == [1, 4] and runs.results.tolist() == [3.0, 4.0]
    assert type(runs.counts) is torch.Tensor
    assert wf.segment_reduce(a.ravel(), torch.tensor([0, 2, 6])).tolist() == [1.0, 14.0]
    assert wf.bincount(torch.tensor([0, 2, 2])).tolist() == [1, 0, 2]
    values, indices = wf.topk(a, 2, axis=0)
    assert values.shape == (2, 3) and indices[0].tolist() == [1, 1, 1]


def test_nothing_is_kept() -> None:
    x = torch.ones(4, 5)
    for _ in range(100):
        wf.sum(x, axis=0)
    gc.collect()
    count = sys.getrefcount(x)
    for _ in range(1000):
        wf.sum(x, axis=0)
    assert sys.getrefcount(x) == count


def test_results_of_this_package_become_tensors() -> None:
    a = wf.sum(memoryview(np.ones((2, 3))), axis=0)
    t = torch.from_dlpack(a)
    assert t.tolist() == [2.0] * 3
    del a
    gc.collect()
    assert t.tolist() == [2.0] * 3


OF_AN_OLDER_TORCH = """
import torch
if hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
    del torch.Tensor.__dlpack_c_exchange_api__
import warpfold as wf
x = torch.arange(24).reshape(2, 3, 4)
for name in ("bool", "int32", "int64", "float16", "bfloat16", "float32", "float64"):
    y = x.to(getattr(torch, name))
    for view in (y, y.transpose(0, 2)[:, 1:], y[1, ::2], y[0, 0, 1]):
        got = wf.max(view)
        assert type(got) is torch.Tensor and got.dtype == view.dtype
        assert got.to(torch.float64) == view.to(torch.float64).max()
        assert wf.argmin(view) == 0
out = torch.zeros(4)
assert wf.sum(x.float()[0], axis=0, out=out) is out and out.tolist() == [12.0, 15.0, 18.0, 21.0]
for bad in (torch.ones(3, dtype=torch.complex64).conj(), torch.ones(3).to_sparse(),
            torch.ones(3, device="meta")):
    try:
        wf.sum(bad)
    except TypeError as error:
        assert any(word in str(error) for word in ("conj", "sparse", "device")), error
    else:
        raise AssertionError(bad)
"""


def test_tensors_of_an_older_torch_are_read_by_their_attributes() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OF_AN_OLDER_TORCH], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
