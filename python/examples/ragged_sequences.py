"""Sequences of different lengths without padding: one array of values, and where each one begins.

`python ragged_sequences.py` takes arrays of NumPy, and `python ragged_sequences.py cuda` takes
tensors of torch on a GPU.
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
    """Print one result for each sequence."""
    # The losses of the tokens of five sentences. The third one is empty.
    losses = [[0.5, 1.5], [2.0, 0.25, 0.75], [], [4.0], [1.0, 1.0, 1.0, 0.5]]
    lengths = [len(sentence) for sentence in losses]
    values = on(device, np.concatenate(losses).astype(np.float32))
    offsets = on(device, np.cumsum([0, *lengths]))

    print("sums:         ", wf.segment_reduce(values, offsets, "sum").tolist())
    print("means:        ", wf.segment_reduce(values, offsets, "mean").tolist())
    # The greatest of no losses is the one that every loss exceeds.
    print("greatest:     ", wf.segment_reduce(values, offsets, "max").tolist())
    print("worst tokens: ", wf.segment_reduce(values, offsets, "argmax").tolist())

    # Without offsets: neighbours with the same key belong together.
    speakers = on(device, np.array([3, 3, 8, 8, 8, 1, 3, 3, 3, 3]))
    turns = wf.reduce_by_key(speakers, values, "mean")
    print("turns:        ", turns.keys.tolist(), turns.counts.tolist(), turns.results.tolist())

    # In any order: the keys are small numbers, and each has a bin.
    print("all of one:   ", wf.bincount(speakers, weights=values, bins=9).tolist())


if __name__ == "__main__":
    main(*sys.argv[1:])
