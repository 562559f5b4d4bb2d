"""Times reductions of this package beside those of torch and CuPy, on one GPU in one process.

    python compare.py [--compile] [--samples 9]

The contenders of a line take turns, and a number is the median of their times in microseconds. Each
other contender has the ratio of its time to that of this package. CuPy uses CUB. With --compile,
what torch.compile makes of the call is one more contender for rows and axes.

- Whole arrays, *end to end*: a call from Python until its result is there, with a wait for each.
- Whole arrays, in a *graph*: one call of twenty in a CUDA graph of torch.
- Rows and axes of 2^26 elements, in a graph of five calls.
- Segments and runs of keys whose lengths follow a power law, end to end.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import warpfold as wf

Call = Callable[[], Any]


def cupy() -> Any:
    """Return CuPy, which reduces by CUB from here on, or None."""
    try:
        module: Any = importlib.import_module("cupy")
        if not module.is_available():
            return None
        module._core.set_reduction_accelerators(["cub"])
        module._core.set_routine_accelerators(["cub"])
    except (ImportError, AttributeError):
        return None
    return module


def turns(timers: dict[str, Call], samples: int) -> dict[str, float]:
    """Return the median of what each timer returns, of which the first call does not count."""
    for timer in timers.values():
        timer()
    times: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(samples):
        for name, timer in timers.items():
            times[name].append(timer())
    return {name: statistics.median(times[name]) for name in times}


def end_to_end(function: Call, *args: Any, **options: Any) -> Call:
    """Return what times a call until its result is there, in microseconds."""
    call = partial(function, *args, **options)

    def timer() -> float:
        repeats = 20
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(repeats):
            call()
            torch.cuda.synchronize()
        return (time.perf_counter() - start) / repeats * 1e6

    return timer


def in_graph(calls: int, function: Call, *args: Any, **options: Any) -> Call:
    """Return what times one of so many calls in a graph, in microseconds."""
    call = partial(function, *args, **options)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        # The results stay, so that each call has memory of its own.
        results = [call() for _ in range(calls)]
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def timer() -> float:
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        assert len(results) == calls
        return start.elapsed_time(end) / calls * 1e3

    return timer


def line(name: str, timers: dict[str, Call], samples: int) -> None:
    """Print one line of a table."""
    times = turns(timers, samples)
    own = times.pop("warpfold")
    others = "".join(f"   {other} {t:9.2f} {t / own:7.2f}" for other, t in times.items())
    print(f"{name:34} {own:9.2f}{others}", flush=True)


def whole(samples: int) -> None:
    """Compare reductions of whole arrays."""
    other = cupy()
    functions: list[tuple[str, Call, Call, str]] = [
        ("sum", wf.sum, torch.sum, "sum"),
        ("mean", wf.mean, torch.mean, "mean"),
        ("argmax", wf.argmax, torch.argmax, "argmax"),
        ("var", lambda x: wf.var(x, correction=1), torch.var, "var"),
    ]
    print("\nf32, end to end, us")
    for log in [10, 16, 20, 22, 24, 26, 28]:
        x = torch.rand(1 << log, device="cuda")
        of_cupy = other.from_dlpack(x) if other else None
        for name, ours, theirs, cupy_name in functions:
            timers = {
                "warpfold": end_to_end(ours, x),
                "torch": end_to_end(theirs, x),
            }
            if other and (name == "sum" or log == 20):
                timers["CuPy"] = end_to_end(getattr(other, cupy_name), of_cupy)
            line(f"{name} 2^{log}", timers, samples)
    print("\nf32, in a graph, us")
    for log in [10, 16, 20, 22, 24, 26]:
        x = torch.rand(1 << log, device="cuda")
        for name, ours, theirs, _ in functions:
            timers = {
                "warpfold": in_graph(20, ours, x),
                "torch": in_graph(20, theirs, x),
            }
            line(f"{name} 2^{log}", timers, samples)


def reduced(function: Call, axes: tuple[int, ...], x: Any) -> Any:
    """Reduce x along axes."""
    return function(x, axes)


def along_axes(samples: int, compiles: bool) -> None:
    """Compare reductions along axes."""
    x = torch.rand(1 << 26, device="cuda")
    cases: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = [
        ("sum", (1 << 24, 4), (1,)),
        ("sum", (1 << 20, 64), (1,)),
        ("sum", (1 << 18, 256), (1,)),
        ("sum", (1 << 16, 1024), (1,)),
        ("sum", (1 << 12, 1 << 14), (1,)),
        ("sum", (16, 1 << 22), (1,)),
        ("sum", (1 << 24, 4), (0,)),
        ("sum", (1 << 20, 64), (0,)),
        ("sum", (1 << 16, 1024), (0,)),
        ("sum", (4096, 16384), (0,)),
        ("sum", (256, 1 << 18), (0,)),
        ("sum", (16, 1 << 22), (0,)),
        ("sum", (64, 256, 64, 64), (0, 2, 3)),
        ("argmax", (1 << 16, 1024), (1,)),
        ("argmax", (1 << 16, 1024), (0,)),
        ("logsumexp", (1 << 16, 1024), (1,)),
        ("logsumexp", (1 << 16, 1024), (0,)),
        ("var", (1 << 16, 1024), (1,)),
        ("std", (1 << 16, 1024), (0,)),
        ("norm", (1 << 16, 1024), (1,)),
    ]
    calls: dict[str, tuple[Call, Call]] = {
        "sum": (wf.sum, torch.sum),
        "argmax": (wf.argmax, lambda x, axis: torch.argmax(x, axis[0])),
        "logsumexp": (wf.logsumexp, torch.logsumexp),
        "var": (lambda x, axis: wf.var(x, axis=axis, correction=1), torch.var),
        "std": (lambda x, axis: wf.std(x, axis=axis, correction=1), torch.std),
        "norm": (wf.norm, lambda x, axis: torch.linalg.vector_norm(x, dim=axis)),
    }
    print("\nf32, 2^26 elements along axes, in a graph, us")
    for name, shape, axes in cases:
        ours, theirs = calls[name]
        view = x.view(shape)
        timers = {
            "warpfold": in_graph(5, ours, view, axis=axes[0] if name == "argmax" else axes),
            "torch": in_graph(5, theirs, view, axes),
        }
        if compiles:
            torch._dynamo.reset()
            timers["compiled"] = in_graph(5, torch.compile(partial(reduced, theirs, axes)), view)
        text = "x".join(map(str, shape))
        line(f"{name} {text} over {','.join(map(str, axes))}", timers, samples)


def ragged(samples: int) -> None:
    """Compare reductions of segments and of runs of keys."""
    torch.manual_seed(0)
    print("\nf32, 2^24 values in segments and runs of a power law, end to end, us")
    lengths = (torch.rand(1 << 24, device="cuda") * (1 - 1e-6) + 1e-6).pow(-1 / 1.2).long()
    ends = lengths.cumsum(0)
    count = int((ends <= 1 << 24).sum())
    lengths = lengths[:count]
    n = int(ends[count - 1])
    offsets = torch.nn.functional.pad(ends[:count], (1, 0))
    values = torch.rand(n, device="cuda")
    numbers = torch.repeat_interleave(torch.arange(count, device="cuda"), lengths)
    print(f"{count} segments, the longest of {int(lengths.max())} values")
    ours = end_to_end(wf.segment_reduce, values, offsets, "sum", check=False)
    line(
        "sum of segments",
        {
            "warpfold": ours,
            "segment_reduce": end_to_end(
                torch.segment_reduce, values, "sum", offsets=offsets, unsafe=True
            ),
            "index_add": end_to_end(
                lambda: torch.zeros(count, device="cuda").index_add_(0, numbers, values)
            ),
        },
        samples,
    )
    line(
        "max of segments",
        {
            "warpfold": end_to_end(wf.segment_reduce, values, offsets, "max", check=False),
            "segment_reduce": end_to_end(
                torch.segment_reduce, values, "max", offsets=offsets, unsafe=True
            ),
            "scatter_reduce": end_to_end(
                lambda: torch.full((count,), float("-inf"), device="cuda").scatter_reduce_(
                    0, numbers, values, "amax"
                )
            ),
        },
        samples,
    )

    def unique_and_add() -> Any:
        unique, inverse = torch.unique_consecutive(numbers, return_inverse=True)
        return torch.zeros(len(unique), device="cuda").index_add_(0, inverse, values)

    line(
        "sum by key",
        {
            "warpfold": end_to_end(wf.reduce_by_key, numbers, values, "sum"),
            "unique, index_add": end_to_end(unique_and_add),
        },
        samples,
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--samples", type=int, default=9)
    args = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, warpfold {wf.__version__}")
    whole(args.samples)
    along_axes(args.samples, args.compile)
    ragged(args.samples)


if __name__ == "__main__":
    main()
