"""Statistics of a batch of pictures: per channel, per picture, and per class.

`python batch_statistics.py` takes arrays of NumPy, and `python batch_statistics.py cuda` takes
tensors of torch on a GPU. The calls are the same.
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
    """Print the statistics of a batch."""
    random = np.random.default_rng(7)
    # 64 pictures with 3 channels of 32 x 32 points, and the scores of 10 classes for each.
    pictures = random.normal([[[0.5]], [[0.25]], [[-1.0]]], 0.5, (64, 3, 32, 32))
    pictures[5, 1, 3, 3] = np.nan
    pictures = on(device, pictures.astype(np.float32))
    scores = on(device, random.normal(size=(64, 10)).astype(np.float32))

    # One point is no number, so that the mean of its channel is none.
    means = wf.mean(pictures, axis=(0, 2, 3))
    print("means of channels:      ", rounded(means))
    print("means of numbers:       ", rounded(wf.nanmean(pictures, axis=(0, 2, 3))))

    # The mean and the variance of each picture come from one pass over it.
    mean, var = wf.moments(pictures, axis=(1, 2, 3), correction=1)
    print("pictures without a NaN: ", int(wf.count_nonzero(mean == mean)))
    print("greatest variance:      ", rounded(wf.nanmax(var)))

    # The logarithm of the softmax's denominator does not overflow, however great the scores are.
    print("mean of logsumexp:      ", rounded(wf.mean(wf.logsumexp(scores * 100, axis=1))))

    classes = wf.argmax(scores, axis=1)
    print("pictures of each class: ", wf.bincount(classes, bins=10).tolist())
    best = wf.topk(scores, 3)
    print("best of picture 0:      ", best.indices[0].tolist(), rounded(best.values[0]))


def rounded(x: Any) -> Any:
    """Return numbers of Python with three digits behind the point."""
    numbers = x.tolist()
    if isinstance(numbers, list):
        return [round(number, 3) for number in numbers]
    return round(numbers, 3)


if __name__ == "__main__":
    main(*sys.argv[1:])
