"""Complex arrays, and the arguments `initial` and `where`, on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warpfold as wf

from .conftest import library


def host(shape: tuple[int, ...]) -> np.ndarray:
    random = np.random.default_rng(3)
    x = np.asarray(random.standard_normal(shape) + 1j * random.standard_normal(shape))
    x[random.random(shape) < 0.3] = 0.0
    return x


@pytest.mark.parametrize("shape", [(), (1,), (70000,), (5, 33, 40), (300, 4), (2, 30000)], ids=str)
@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_tensors(name: str, shape: tuple[int, ...]) -> None:
    torch = library("torch")
    x = torch.from_numpy(host(shape)).to("cuda", getattr(torch, name))
    rough = {"rtol": 1e-4, "atol": 1e-2} if name == "complex64" else {"rtol": 1e-9, "atol": 1e-9}
    views = (x, x.movedim(0, -1), x[..., 1:]) if shape else (x,)
    for view in [view for view in views if view.numel() > 0]:
        for axis in (None, 0, -1) if shape else (None,):
            wide: Any = view.cpu().numpy().astype(complex)
            for function in ("sum", "mean", "any", "all", "count_nonzero"):
                got = getattr(wf, function)(view, axis=axis)
                want = getattr(np, function)(wide, axis=axis)
                assert got.is_cuda and tuple(got.shape) == np.shape(want)
                if function in ("sum", "mean"):
                    assert got.dtype == x.dtype
                    assert np.allclose(got.cpu().numpy(), want, **rough), function
                else:
                    assert np.array_equal(got.cpu().numpy(), want), function
            for order in (1, 2, float("inf")):
                got = wf.norm(view, ord=order, axis=axis)
                want = torch.linalg.vector_norm(view, order, dim=axis)
                torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


def test_what_a_gpu_refuses() -> None:
    torch = library("torch")
    x = torch.ones(3, dtype=torch.complex64, device="cuda")
    with pytest.raises(TypeError, match="computed on the CPU alone"):
        wf.prod(x)
    with pytest.raises(TypeError, match="resolve_conj"):
        wf.sum(x.conj())


def test_complex_bits_and_results() -> None:
    torch = library("torch")
    x = torch.from_numpy(host((7, 1000))).to("cuda", torch.complex64)
    exact = wf.sum(x, axis=1, method="reproducible")
    assert torch.equal(exact.cpu(), wf.sum(x.cpu(), axis=1, method="reproducible"))
    out = torch.empty(7, dtype=torch.complex64, device="cuda")
    assert wf.sum(x, axis=1, method="reproducible", out=out) is out and torch.equal(out, exact)
    real = wf.sum(x.real, axis=1, dtype=torch.complex64)
    assert real.dtype == torch.complex64 and torch.equal(real.real, wf.sum(x.real, axis=1))
    assert real.imag.count_nonzero() == 0
    graph = torch.cuda.CUDAGraph()
    wf.count_nonzero(x, axis=0)
    with torch.cuda.graph(graph):
        captured = wf.sum(x, axis=1), wf.count_nonzero(x, axis=0), wf.norm(x, ord=1)
    graph.replay()
    eager = wf.sum(x, axis=1), wf.count_nonzero(x, axis=0), wf.norm(x, ord=1)
    for one, two in zip(captured, eager):
        assert torch.equal(one, two)
    y = x.detach().to(torch.complex128).requires_grad_()
    wf.norm(wf.sum(y, axis=1)).backward()
    z = y.detach().clone().requires_grad_()
    torch.linalg.vector_norm(z.sum(1)).backward()
    torch.testing.assert_close(y.grad, z.grad)


def test_initial_and_where_of_tensors() -> None:
    torch = library("torch")
    x = torch.randn(30, 4000, device="cuda")
    where = x > 0
    want = x.masked_fill(~where, 0.0)
    torch.testing.assert_close(wf.sum(x, axis=1, where=where, initial=2.0), want.sum(1) + 2.0)
    assert torch.equal(wf.max(x, axis=0, where=where, initial=-1.0), want.amax(0).clamp(min=0.0))
    assert wf.any(x, where=~where & where).item() is False
    out = torch.empty(4000, device="cuda")
    assert wf.min(x[:0], axis=0, initial=3.0, out=out) is out and bool((out == 3.0).all())
    wf.max(x, where=where, initial=0.0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = wf.max(x, where=where, initial=0.0)
    graph.replay()
    assert captured == x.max()
    with pytest.raises(RuntimeError):
        wf.sum(x, where=where.cpu())


def test_arrays_of_cupy() -> None:
    cupy = library("cupy")
    values = host((9, 500))
    for name in ("complex64", "complex128"):
        x = cupy.asarray(values.astype(name))
        got = wf.sum(x, axis=1)
        assert isinstance(got, cupy.ndarray) and got.dtype == name
        assert np.allclose(cupy.asnumpy(got), values.sum(axis=1), rtol=1e-4, atol=1e-3)
        counted = wf.count_nonzero(x[:, ::-2], axis=0)
        assert np.array_equal(cupy.asnumpy(counted), np.count_nonzero(values[:, ::-2], axis=0))
        assert wf.sum(x.real, dtype=name).dtype == name
    x = cupy.arange(12, dtype=cupy.uint8).reshape(3, 4)
    assert int(wf.sum(x, where=x % 2 == 0, initial=5)) == 35
    assert cupy.asnumpy(wf.max(x, axis=0, where=x < 7, initial=3)).tolist() == [4, 5, 6, 3]
    assert cupy.asnumpy(wf.min(x[:0], axis=0, initial=3)).tolist() == [3] * 4


def test_arrays_of_jax() -> None:
    jax = library("jax")
    values = host((9, 50)).astype(np.complex64)
    x = jax.numpy.asarray(values)
    got = wf.sum(x, axis=1)
    assert isinstance(got, jax.Array) and got.dtype == np.complex64
    assert np.allclose(np.asarray(got), values.sum(axis=1), rtol=1e-4, atol=1e-4)
    assert np.array_equal(np.asarray(wf.all(x, axis=0)), values.all(axis=0))
    y = jax.numpy.arange(6.0)
    assert float(wf.sum(y, where=y > 2, initial=1.0)) == 13.0
    assert float(wf.max(y[:0], initial=1.0)) == 1.0
