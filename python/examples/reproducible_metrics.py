"""Metrics of a training that have the same bits in each run, on each device and in each order.

`python reproducible_metrics.py` takes arrays of NumPy on the CPU and on the simulator, which runs
the kernels of the GPUs. `python reproducible_metrics.py cuda` takes tensors of torch on a GPU.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import warpfold as wf


def on(device: str, array: Any) -> Any:
    """Return the array, or a tensor of torch on this device."""
    if device == "numpy":
        return array
    import torch

    return torch.from_numpy(array).to(device)


def main(device: str = "numpy") -> None:
    """Print the sum of the losses of an epoch, which was shuffled in several ways."""
    random = np.random.default_rng(1)
    # Most losses are small, and a few examples are far off.
    losses = (random.lognormal(size=20_000) * 10.0 ** random.integers(-6, 7, 20_000)).astype(
        np.float32
    )
    orders = [random.permutation(len(losses)) for _ in range(5)]

    def bits(total: Any) -> str:
        return np.float32(float(total)).tobytes().hex()

    naive = {bits(np.add.accumulate(losses[order])[-1]) for order in orders}
    print("sums of a loop:          ", len(naive), "different results")
    exact = {bits(wf.sum(on(device, losses[order]), method="reproducible")) for order in orders}
    print("reproducible sums:       ", len(exact), "result")
    exact |= {bits(wf.sum(losses, method="reproducible", device=d)) for d in ("cpu", "simulator")}
    print("with the other devices:  ", len(exact), "result")

    # Each row of a matrix has the bits that it has alone.
    rows = losses.reshape(20, 1000)
    together = wf.sum(on(device, rows), axis=1, method="reproducible")
    alone = [wf.sum(on(device, row), method="reproducible") for row in rows]
    same = sum(bits(a) == bits(b) for a, b in zip(together, alone, strict=True))
    print("rows that are as alone:  ", same, "of", len(rows))

    # A counter that would overflow is told instead.
    tokens = on(device, np.array([2**62, 2**62, 2**62]))
    try:
        wf.sum(tokens, method="checked")
    except OverflowError as error:
        print("tokens:                  ", error)


if __name__ == "__main__":
    main(*sys.argv[1:])
