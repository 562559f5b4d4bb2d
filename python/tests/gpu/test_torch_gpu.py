"""Tensors of torch on a GPU."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warpfold as wf
from torch_types import TYPES

from .conftest import library

torch: Any = library("torch")

VIEWS: list[Any] = [
    lambda x: x,
    lambda x: x[1:],
    lambda x: x.transpose(0, 2),
    lambda x: x[:, ::2],
    lambda x: x[..., 1:],
    lambda x: x[:1].expand(9, *x.shape[1:]),
    lambda x: x.flatten()[5:],
]


def tensor(name: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    random = torch.Generator(device="cuda").manual_seed(seed)
    x = torch.randn(shape, device="cuda", dtype=torch.float64, generator=random) * 3
    if name == "bool":
        return x > 0
    return (x.abs() if name == "uint8" else x).to(getattr(torch, name))


def axes(rank: int) -> list[Any]:
    return [None, (), *range(rank), -1, tuple(range(rank))[::2]]


def wide(x: Any, function: str, axis: Any) -> Any:
    y = x.to(torch.float64)
    every = tuple(range(x.dim()))
    dims = every if axis is None else (axis,) if isinstance(axis, int) else axis
    if dims == () or x.dim() == 0:
        return {"sum": y, "amax": y, "amin": y, "mean": y}[function]
    return getattr(y, function)(dim=dims)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("shape", [(3, 4, 5), (65, 33, 17), (2, 2000, 3)])
def test_sums_means_and_extremes(name: str, shape: tuple[int, ...]) -> None:
    x = tensor(name, shape)
    for view in VIEWS:
        y = view(x)
        for axis in axes(y.dim()):
            total = wf.sum(y, axis=axis)
            assert type(total) is torch.Tensor and total.device == y.device
            want = wide(y, "sum", axis)
            assert total.shape == want.shape
            if y.is_floating_point():
                unit = torch.finfo(y.dtype).eps
                bound = wide(y.abs(), "sum", axis) * 1e-5 + want.abs() * unit + unit
                assert bool(((total.to(torch.float64) - want).abs() <= bound).all()), axis
            else:
                assert total.to(torch.float64).equal(want), axis
            for ours, theirs in (("max", "amax"), ("min", "amin")):
                got = getattr(wf, ours)(y, axis=axis)
                assert got.dtype == y.dtype
                assert got.to(torch.float64).equal(wide(y, theirs, axis)), (ours, axis)


@pytest.mark.parametrize("name", ["int32", "float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("n", [1, 31, 33, 1000, 1025, 1 << 20, (1 << 24) + 3])
def test_whole_arrays_against_the_host(name: str, n: int) -> None:
    x = tensor(name, (n,), seed=n)
    host = x.cpu()
    for function in (
        "sum",
        "mean",
        "var",
        "std",
        "max",
        "min",
        "argmax",
        "argmin",
        "count_nonzero",
        "any",
        "all",
    ):
        got, want = getattr(wf, function)(x), getattr(wf, function)(host)
        assert got.is_cuda and got.dtype == want.dtype and got.shape == ()
        a, b = float(got), float(want)
        scale = float(host.to(torch.float64).abs().sum()) if function == "sum" else 10.0
        unit = torch.finfo(want.dtype).eps if want.is_floating_point() else 0.0
        near = abs(a - b) <= 1e-5 * scale + unit * abs(b) if want.is_floating_point() else a == b
        assert near or (a != a and b != b), function


def test_bits_of_reproducible_sums_are_those_of_the_host() -> None:
    for name in ("float16", "bfloat16", "float32", "float64"):
        for shape in ((7,), (1000, 37), (3, 100_001)):
            x = tensor(name, shape) * 1000
            for axis in (None, 0, -1):
                got = wf.sum(x, axis=axis, method="reproducible").cpu()
                want = wf.sum(x.cpu(), axis=axis, method="reproducible")
                assert got.equal(want), (name, shape, axis)


def test_other_reductions() -> None:
    x = tensor("float32", (50, 301))
    y = x.to(torch.float64)
    torch.testing.assert_close(wf.norm(x, axis=1), y.norm(dim=1).float())
    torch.testing.assert_close(wf.norm(x, ord=1, axis=0), y.norm(p=1, dim=0).float())
    assert wf.norm(x, ord=float("inf")) == x.abs().max()
    torch.testing.assert_close(wf.logsumexp(x, axis=1), y.logsumexp(dim=1).float())
    torch.testing.assert_close(wf.logsumexp(y, axis=1), y.logsumexp(dim=1), rtol=1e-14, atol=1e-14)
    torch.testing.assert_close(wf.dot(x, x, axis=1), (y * y).sum(1).float())
    torch.testing.assert_close(wf.dot(x[0], x[1]), (y[0] * y[1]).sum().float())
    values, indices = wf.topk(x, 5)
    want = x.topk(5)
    assert values.equal(want.values) and indices.equal(want.indices)
    least, greatest = wf.minmax(x, axis=0)
    assert least.equal(x.amin(0)) and greatest.equal(x.amax(0))
    mean, variance = wf.moments(x, axis=0, correction=1)
    torch.testing.assert_close(mean, y.mean(0).float())
    torch.testing.assert_close(variance, y.var(0).float())
    x[3, 5] = float("nan")
    assert wf.sum(x).isnan() and wf.max(x).isnan() and wf.argmax(x) == 3 * 301 + 5
    torch.testing.assert_close(wf.nansum(x), x.to(torch.float64).nansum().float())
    assert not wf.nanmax(x).isnan()
    for method in ("compensated", "wide"):
        total = wf.sum(y.float(), method=method)
        assert abs(float(total) - float(y.float().double().sum())) < 1e-3
    big = torch.tensor([2**62, 2**62], device="cuda")
    with pytest.raises(OverflowError, match=str(2**63)):
        wf.sum(big, method="checked")
    assert wf.sum(big // 2, method="checked") == 2**62


def test_empty_and_scalar_tensors() -> None:
    none = torch.empty((0, 3), device="cuda")
    assert wf.sum(none, axis=0).tolist() == [0.0] * 3 and wf.sum(none, axis=1).shape == (0,)
    assert wf.mean(none).isnan() and bool(wf.all(none)) and wf.prod(none) == 1
    with pytest.raises(ValueError, match="of no elements"):
        wf.max(none)
    assert wf.sum(torch.tensor(2.5, device="cuda")) == 2.5


def test_out() -> None:
    x = tensor("float32", (100, 30))
    out = torch.empty(30, device="cuda")
    assert wf.max(x, axis=0, out=out) is out and out.equal(x.amax(0))
    grid = torch.zeros((30, 2), device="cuda")
    wf.max(x, axis=0, out=grid[:, 1])
    assert grid[:, 1].equal(x.amax(0)) and grid[:, 0].count_nonzero() == 0
    with pytest.raises(ValueError, match="overlaps"):
        wf.sum(x, axis=0, out=x[3])
    with pytest.raises(ValueError, match="device"):
        wf.sum(x, axis=0, out=torch.empty(30))


def test_errors_leave_nothing_behind() -> None:
    x = tensor("float32", (4, 5))
    for _ in range(20):
        with pytest.raises(wf.AxisError):
            wf.sum(x, axis=2)
        with pytest.raises(TypeError):
            wf.var(x.to(torch.complex64))
        with pytest.raises(NotImplementedError, match="derivative"):
            wf.segment_reduce(
                x[0].clone().requires_grad_(), torch.tensor([0, 2], device="cuda"), "max"
            )
        with pytest.raises(ValueError):
            wf.dot(x, x.cpu())
        with pytest.raises(ValueError, match="segment 1"):
            wf.segment_reduce(x[0], torch.tensor([0, 4, 2], device="cuda"))
        with pytest.raises(ValueError, match="is reduced there"):
            wf.sum(x, device="cpu")
        assert wf.sum(x, axis=0).shape == (5,)
        torch.cuda.synchronize()


def test_ragged() -> None:
    values = tensor("float32", (100_000,))
    lengths = torch.randint(0, 50, (3000,), device="cuda")
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    offsets = offsets.clamp(max=len(values))
    host = wf.segment_reduce(values.cpu(), offsets.cpu(), "sum")
    for check in (True, False):
        got = wf.segment_reduce(values, offsets, "sum", check=check)
        torch.testing.assert_close(got.cpu(), host, rtol=1e-5, atol=1e-4)
    for op in ("max", "mean", "var", "argmin", "any", "prod"):
        got = wf.segment_reduce(values, offsets.int(), op)
        want = wf.segment_reduce(values.cpu(), offsets.cpu(), op)
        torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-5, equal_nan=True)
    keys = torch.randint(0, 900, (100_000,), device="cuda").sort().values
    runs = wf.reduce_by_key(keys, values, "sum")
    unique, counts = keys.unique_consecutive(return_counts=True)
    assert runs.keys.equal(unique) and runs.counts.equal(counts)
    want = torch.zeros(len(unique), device="cuda", dtype=torch.float64)
    want.index_add_(
        0, torch.arange(len(unique), device="cuda").repeat_interleave(counts), values.double()
    )
    torch.testing.assert_close(runs.results, want.float(), rtol=1e-5, atol=1e-4)
    assert wf.bincount(keys).equal(keys.bincount())
    torch.testing.assert_close(
        wf.bincount(keys, weights=values),
        keys.bincount(weights=values.double()).float(),
        rtol=1e-4,
        atol=1e-3,
    )
    assert wf.bincount(keys, bins=900, check=False).equal(keys.bincount(minlength=900))


def test_the_current_stream_is_used() -> None:
    stream = torch.cuda.Stream()
    x = torch.zeros(1 << 22, device="cuda")
    for step in range(1, 50):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(100_000)
            x.fill_(step)
            total = wf.mean(x)
            doubled = total * 2
        stream.synchronize()
        assert doubled == 2 * step


def test_nothing_waits_for_the_gpu() -> None:
    x, out = tensor("float32", (1000,)), torch.empty((), device="cuda")
    wf.sum(x, out=out), wf.var(x, out=out)
    torch.cuda.synchronize()
    done = torch.cuda.Event()
    torch.cuda._sleep(2_000_000_000)
    for _ in range(50):
        wf.sum(x, out=out)
        wf.var(x, out=out)
        wf.sum(x.view(10, 100), axis=0)
    done.record()
    # The GPU sleeps for about a second, and the calls have returned before.
    assert not done.query()
    torch.cuda.synchronize()


def test_memory_that_is_freed_while_work_is_queued() -> None:
    for step in range(50):
        torch.cuda._sleep(1_000_000)
        x = torch.full((1 << 20,), float(step), device="cuda")
        total = wf.mean(x)
        del x
        other = torch.full((1 << 20,), -1.0, device="cuda")
        assert total == step and other[0] == -1


def test_a_graph() -> None:
    x = tensor("float32", (300, 1000))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        wf.sum(x, axis=0), wf.var(x), wf.argmax(x, axis=1)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        results = wf.sum(x, axis=0), wf.var(x), wf.argmax(x, axis=1)
    for seed in range(3):
        x.copy_(tensor("float32", (300, 1000), seed))
        graph.replay()
        torch.testing.assert_close(results[0], x.double().sum(0).float(), rtol=1e-4, atol=1e-3)
        torch.testing.assert_close(results[1], x.double().var(correction=0).float())
        assert results[2].equal(x.argmax(1))


def test_a_graph_whose_capture_is_the_first_call() -> None:
    # In a process of its own, because each kernel is loaded once.
    script = Path(__file__).with_name("first_capture.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_threads_and_streams() -> None:
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                x = tensor("float64", (200, 50 + seed), seed)
                for _ in range(100):
                    torch.testing.assert_close(wf.var(x, axis=0), x.var(0, correction=0))
                    assert wf.argmax(x) == x.argmax()
        except BaseException as failure:  # noqa: BLE001
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_many_calls_keep_no_memory() -> None:
    x = tensor("float32", (100, 30))
    calls: list[Any] = [
        lambda: wf.sum(x),
        lambda: wf.var(x, axis=0),
        lambda: wf.topk(x, 3),
        lambda: wf.reduce_by_key(x[0].int(), x[0]),
        lambda: wf.bincount(x[0].int().abs()),
    ]
    for call in calls:
        for _ in range(50):
            call()
    torch.cuda.synchronize()
    gc.collect()
    count, (free, _) = sys.getrefcount(x), torch.cuda.mem_get_info()
    for call in calls:
        for _ in range(3000):
            call()
    torch.cuda.synchronize()
    assert sys.getrefcount(x) == count
    assert free - torch.cuda.mem_get_info()[0] < 1 << 20


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there is one GPU")
def test_two_gpus() -> None:
    x = tensor("float32", (100, 30)).to("cuda:1")
    assert torch.cuda.current_device() == 0
    for axis in (None, 0):
        got = wf.sum(x, axis=axis)
        assert got.device == x.device and torch.cuda.current_device() == 0
        torch.testing.assert_close(got.cpu(), wf.sum(x.cpu(), axis=axis), rtol=1e-5, atol=1e-4)
    with pytest.raises(ValueError, match="different devices"):
        wf.dot(x, x.to("cuda:0"))


def test_arrays_of_the_host_on_a_gpu() -> None:
    x = np.arange(1000, dtype=np.float32).reshape(10, 100)[:, ::-3]
    for axis in (None, 0, 1):
        assert np.array_equal(wf.sum(x, axis=axis, device="cuda"), x.sum(axis=axis))
    with wf.use("cuda:0"):
        assert wf.argmax(x, axis=1).tolist() == [0] * 10
