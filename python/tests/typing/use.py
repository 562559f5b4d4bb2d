"""Calls that type checkers must accept; none of them is run."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import warpfold as wf


def calls(x: npt.NDArray[np.float32], keys: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    total: npt.NDArray[np.float32] = wf.sum(x, axis=(0, -1), keepdims=True, method="reproducible")
    least, greatest = wf.minmax(x, axis=0)
    best: wf.TopK = wf.topk(x, 5, largest=False)
    runs: wf.KeyRuns = wf.reduce_by_key(keys, x, "max")
    wf.norm(x, ord=float("inf"))
    wf.max(x, axis=0, initial=-1.0, where=x < 3)
    wf.var(x, correction=1, out=x)
    wf.bincount(keys, weights=keys, minlength=5)
    wf.segment_reduce(x, keys, "argmax", check=False)
    with wf.use("simulator"):
        mean: Any = wf.moments(x).mean
    print(least, greatest, best.indices, runs.counts, mean)
    return wf.dot(total, x)


def of_torch(x: Any) -> Any:
    with wf.accelerate_torch(devices=["cuda", "cpu"], report=print) as calls:
        total: Any = x.sum()
    reasons: list[str] = [kind.reason for kind in calls.declined]
    counted: int = calls.routed["sum"]
    print(reasons, counted, str(calls))
    return total
