"""What a call costs the host, beside torch's and CuPy's: the time of many calls without a wait."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

import warpfold as wf

CALLS = 10_000


def costs(calls: list[Callable[[], Any]], wait: Callable[[], Any]) -> list[float]:
    """Return the microseconds of each call, the best of seven rounds in which they take turns."""
    best = [float("inf")] * len(calls)
    for _ in range(7):
        for which, call in enumerate(calls):
            wait()
            start = time.perf_counter()
            # The queue of the GPU must not be full, because the host would wait for it.
            for number in range(CALLS):
                call()
                if number % 200 == 0:
                    wait()
            best[which] = min(best[which], time.perf_counter() - start)
            wait()
    return [time / CALLS * 1e6 for time in best]


def table(name: str, x: Any, out: Any, theirs: Any, wait: Callable[[], Any]) -> None:
    """Print the costs of calls with arrays of one library."""
    rows = x.reshape(20, 50)
    for what, ours, other in [
        ("sum", lambda: wf.sum(x), lambda: theirs.sum(x)),
        # torch has this argument for sums along axes alone.
        ("sum, out=", lambda: wf.sum(x, out=out), lambda: theirs.sum(x, 0, out=out)),
        ("mean", lambda: wf.mean(x), lambda: theirs.mean(x)),
        ("argmax", lambda: wf.argmax(x), lambda: theirs.argmax(x)),
        ("sum, axis=0", lambda: wf.sum(rows, axis=0), lambda: theirs.sum(rows, 0)),
        ("var", lambda: wf.var(x), lambda: theirs.var(x)),
    ]:
        own, beside = costs([ours, other], wait)
        print(f"{name}: {what:12} {own:6.2f} us  {name} {beside:6.2f} us  {beside / own:5.2f}")


def ragged(torch: Any, x: Any) -> None:
    """Print the costs of calls of segments and bins, beside those of torch."""
    offsets = torch.arange(0, len(x) + 1, 10, device="cuda")
    keys = torch.randint(0, 10, (len(x),), device="cuda")

    def theirs(op: str) -> Any:
        return torch.segment_reduce(x, op, offsets=offsets, unsafe=True)

    for what, ours, other in [
        (
            "sum of segments",
            lambda: wf.segment_reduce(x, offsets, "sum", check=False),
            lambda: theirs("sum"),
        ),
        (
            "mean of segments",
            lambda: wf.segment_reduce(x, offsets, "mean", check=False),
            lambda: theirs("mean"),
        ),
        (
            "bincount",
            lambda: wf.bincount(keys, bins=10, check=False),
            lambda: torch.bincount(keys, minlength=10),
        ),
    ]:
        own, beside = costs([ours, other], torch.cuda.synchronize)
        print(f"torch: {what:16} {own:6.2f} us  torch {beside:6.2f} us  {beside / own:5.2f}")


def of_torch(torch: Any, x: Any) -> None:
    """Print the costs of an operator of torch, and of torch's own functions that are routed."""
    wait = torch.cuda.synchronize
    importlib.import_module("warpfold.torch")
    [operator, add] = costs([lambda: torch.ops.warpfold.sum(x), lambda: x.add(1)], wait)
    with wf.accelerate_torch() as calls:
        [routed, inside] = costs([lambda: x.sum(), lambda: x.add(1)], wait)
    assert not calls.declined, calls
    print(f"torch: operator     {operator:6.2f} us")
    print(f"torch: routed sum   {routed:6.2f} us")
    print(f"torch: add, routing {inside:6.2f} us  without {add:6.2f} us")


def main() -> None:
    """Measure with each library that finds a GPU."""
    found = False
    try:
        torch: Any = importlib.import_module("torch")
        if torch.cuda.is_available():
            found = True
            x, out = torch.ones(1000, device="cuda"), torch.zeros((), device="cuda")
            table("torch", x, out, torch, torch.cuda.synchronize)
            ragged(torch, x)
            if hasattr(torch.library, "register_vmap"):
                of_torch(torch, x)
    except ImportError:
        pass
    try:
        cupy: Any = importlib.import_module("cupy")
        if cupy.is_available():
            found = True
            x, out = cupy.ones(1000, dtype=cupy.float32), cupy.zeros((), dtype=cupy.float32)
            table("cupy", x, out, cupy, cupy.cuda.runtime.deviceSynchronize)
    except ImportError:
        pass
    if not found:
        print("skipped: overhead: neither torch nor CuPy finds a GPU")


if __name__ == "__main__":
    main()
