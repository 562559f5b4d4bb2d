"""Segments, runs of keys, and bins, against plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warpfold as wf
from arrays import elements
from hypothesis import given
from hypothesis import strategies as st
from references import ALL, FLOATS, close, is_float, sum_type

DEVICES = ["cpu", "simulator"]
KINDS = [np.dtype(x) for x in ("uint8", "int32", "uint32", "int64", "uint64")] + FLOATS


def loop(name: str, row: np.ndarray, dtype: np.dtype) -> Any:
    """The result of one segment, by NumPy or by the rule for no elements."""
    if len(row) == 0 and name in ("max", "min"):
        if is_float(dtype):
            return -np.inf if name == "max" else np.inf
        if dtype.kind == "b":
            return name == "min"
        return getattr(np.iinfo(dtype), "min" if name == "max" else "max")
    if len(row) == 0 and name in ("argmax", "argmin"):
        return -1
    with np.errstate(all="ignore"):
        if name in ("sum", "prod") and not is_float(dtype):
            return getattr(np, name)(row, dtype=sum_type(dtype))
        if name in ("mean", "var", "std"):
            return np.nan if len(row) == 0 else getattr(np, name)(row.astype(np.float64))
        return getattr(np, name)(row.astype(np.float64) if is_float(dtype) else row)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "op", ["sum", "prod", "max", "min", "mean", "var", "std", "argmax", "argmin", "all", "any"]
)
@given(st.data())
def test_segments(device: str, op: Any, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(ALL))
    lengths = data.draw(st.lists(st.sampled_from([0, 1, 2, 5, 40]), max_size=12))
    front = data.draw(st.integers(0, 3))
    values = data.draw(elements(dtype, front + sum(lengths) + 2, True))
    if is_float(dtype):
        values = np.where(values == 0, np.abs(values), values).astype(dtype)
    if op == "prod":
        values = np.clip(values, 0, 2).astype(dtype)
    kind = data.draw(st.sampled_from(["int32", "uint32", "int64", "uint64"]))
    offsets = (front + np.concatenate([[0], np.cumsum(lengths)])).astype(kind)
    got = wf.segment_reduce(values, offsets, op, device=device)
    want = [loop(op, values[a:b], dtype) for a, b in zip(offsets[:-1], offsets[1:])]
    assert len(got) == len(lengths)
    if op in ("sum", "mean", "var", "std", "prod") and (
        is_float(dtype) or op not in ("sum", "prod")
    ):
        y = np.abs(values.astype(np.float64))
        scale = max(1.0, float(y.max())) ** 2 if op != "prod" else 1e3
        magnitude = [max(1, b - a) * scale * 2.0**6 for a, b in zip(offsets[:-1], offsets[1:])]
        if op == "prod":
            magnitude = [abs(float(x)) for x in want]
        if op == "std":
            magnitude = [x * (2.0**12 if got.dtype != np.float64 else 2.0**27) for x in magnitude]
        close(got, np.array(want, dtype=np.float64), np.array(magnitude))
    else:
        assert got.tolist() == [got.dtype.type(x).item() for x in want]


def test_wrong_offsets(device: str) -> None:
    values = np.ones(5, dtype=np.float32)
    for offsets in ([0, 3, 2], [0, 6], [-1, 3], [4, 3, 5]):
        with pytest.raises(ValueError, match="segment . does not lie within the 5 elements"):
            wf.segment_reduce(values, np.array(offsets, dtype=np.int32), device=device)
        # The next call is right.
        assert wf.segment_reduce(values, np.array([0, 5]), device=device).tolist() == [5.0]
    with pytest.raises(ValueError, match="no offsets"):
        wf.segment_reduce(values, np.array([], dtype=np.int32), device=device)
    assert len(wf.segment_reduce(values, np.array([2]), device=device)) == 0
    with pytest.raises(TypeError, match="offsets are integers"):
        wf.segment_reduce(values, np.array([0.0, 5.0]), device=device)
    with pytest.raises(ValueError, match="one axis"):
        wf.segment_reduce(np.ones((2, 2)), np.array([0, 2]), device=device)
    with pytest.raises(ValueError, match='there is no "median" here'):
        wf.segment_reduce(values, np.array([0, 5]), "median", device=device)  # type: ignore[arg-type]


def test_wrong_offsets_that_are_not_checked_do_no_harm() -> None:
    values = np.arange(20_000, dtype=np.float32) % 7
    wrong = np.array([0, 19_000, 5, 30_000, 2**31 - 1, 7], dtype=np.int32)
    for _ in range(3):
        got = wf.segment_reduce(values, wrong, check=False, device="simulator")
        assert got.shape == (5,)
        right = wf.segment_reduce(values, np.array([0, 20_000]), device="simulator")
        assert right.tolist() == [values.astype(np.float64).sum()]
        assert wf.sum(values, device="simulator") == values.astype(np.float64).sum()


def test_a_wrong_call_is_told_and_the_next_one_is_right() -> None:
    values = np.ones(5000, dtype=np.float32)
    right, wrong = np.array([0, 5000]), np.array([0, 4000, 3000, 5000])
    keys = np.array([0, 2, 1, 2])
    for _ in range(2):
        with pytest.raises(ValueError, match="segment 1"):
            wf.segment_reduce(values, wrong, device="simulator")
        assert wf.segment_reduce(values, right, device="simulator").tolist() == [5000]
        with pytest.raises(ValueError, match="key 1"):
            wf.bincount(keys, bins=2, device="simulator")
        assert wf.bincount(keys, bins=3, device="simulator").tolist() == [1, 1, 2]
        assert wf.bincount(keys, bins=2, check=False, device="simulator").tolist() == [1, 1]
        assert wf.bincount(keys, bins=3, device="simulator").tolist() == [1, 1, 2]
        assert wf.segment_reduce(values, right, device="simulator").tolist() == [5000]


def test_more_results_than_threads() -> None:
    # A thread of the kernel that makes results has a second round then, of four or of one.
    n = 150_000
    keys = np.arange(n, dtype=np.int64) * 3
    values = (np.arange(n) % 1000).astype(np.float32)
    runs = wf.reduce_by_key(keys, values, "sum", device="simulator")
    assert np.array_equal(runs.keys, keys)
    assert np.array_equal(runs.results, values)
    assert np.array_equal(runs.counts, np.ones(n))
    offsets = np.repeat(np.arange(0, n + 1, 2), 2)[: n + 1]
    means = wf.segment_reduce(values, offsets, "mean", device="simulator")
    assert np.isnan(means[::2]).all()
    assert np.array_equal(means[1::2], values[::2][: n // 2] + 0.5)
    deviations = wf.segment_reduce(values, offsets, "std", device="simulator")
    assert np.array_equal(deviations[1::2], np.full(n // 2, 0.5))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min", "mean"])
@given(st.data())
def test_runs_of_keys(device: str, op: Any, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(ALL))
    n = data.draw(st.integers(0, 60))
    keys = data.draw(elements(data.draw(st.sampled_from(ALL)), n, True))
    keys = keys[np.sort(np.random.default_rng(n).integers(0, max(n, 1), n))]
    values = np.clip(data.draw(elements(dtype, n, True)), 0, 2).astype(dtype)
    runs = wf.reduce_by_key(keys, values, op, device=device)
    heads = [i for i in range(n) if i == 0 or keys[i].tobytes() != keys[i - 1].tobytes()]
    ends = [*heads[1:], n]
    assert isinstance(runs, wf.KeyRuns)
    assert runs.keys.tobytes() == keys[heads].tobytes() and runs.keys.dtype == keys.dtype
    assert runs.counts.tolist() == [b - a for a, b in zip(heads, ends)]
    want = [loop(op, values[a:b], dtype) for a, b in zip(heads, ends)]
    if is_float(runs.results.dtype):
        close(
            runs.results, np.array(want, dtype=np.float64), np.abs(np.array(want, dtype=float)) + 64
        )
    else:
        assert runs.results.tolist() == want


def test_wrong_keys(device: str) -> None:
    with pytest.raises(ValueError, match="3 keys and 2 values"):
        wf.reduce_by_key(np.ones(3, dtype=int), np.ones(2), device=device)
    with pytest.raises(ValueError, match='there is no "var" here'):
        wf.reduce_by_key(np.ones(3, dtype=int), np.ones(3), "var", device=device)  # type: ignore[arg-type]


@pytest.mark.parametrize("device", DEVICES)
@given(st.data())
def test_bins(device: str, data: st.DataObject) -> None:
    kind = np.dtype(
        data.draw(st.sampled_from(["uint8", "uint16", "uint32", "int32", "uint64", "int64"]))
    )
    n = data.draw(st.integers(0, 300))
    keys = (
        np.random.default_rng(n)
        .integers(0, data.draw(st.sampled_from([1, 7, 120])), n)
        .astype(kind)
    )
    least = data.draw(st.sampled_from([0, 5, 200]))
    got = wf.bincount(keys, minlength=least, device=device)
    assert got.dtype == np.int64
    assert got.tolist() == np.bincount(keys.astype(np.int64), minlength=least).tolist()
    dtype = data.draw(st.sampled_from(KINDS))
    weights = data.draw(elements(dtype, n, True))
    sums = wf.bincount(keys, weights=weights, minlength=least, device=device)
    assert sums.dtype == sum_type(dtype)
    want = np.zeros(len(got), dtype=np.float64 if is_float(dtype) else sum_type(dtype))
    np.add.at(want, keys.astype(np.int64), weights.astype(want.dtype))
    if is_float(dtype):
        close(sums, want, np.full(len(got), np.abs(weights.astype(np.float64)).sum()))
    else:
        assert sums.tolist() == want.tolist()
    fixed = wf.bincount(keys, bins=len(got), device=device)
    assert fixed.tolist() == got.tolist()


def test_wrong_bins(device: str) -> None:
    keys = np.array([3, 0, 2], dtype=np.int32)
    with pytest.raises(ValueError, match="number of bins"):
        wf.bincount(keys, bins=3, device=device)
    with pytest.raises(ValueError, match="negative|number of bins"):
        wf.bincount(np.array([3, -1, 0], dtype=np.int32), bins=4, device=device)
    with pytest.raises(ValueError, match="negative"):
        wf.bincount(keys, minlength=-1, device=device)
    with pytest.raises(TypeError, match="keys are integers"):
        wf.bincount(np.ones(3), device=device)
    with pytest.raises(ValueError, match="3 keys and 2 weights"):
        wf.bincount(keys, weights=np.ones(2), device=device)
    assert len(wf.bincount(np.array([], dtype=np.int64), device=device)) == 0
    with pytest.raises(ValueError, match="too many"):
        wf.bincount(np.array([2**40]), device=device)
    # A key that would take more memory than there is.
    with pytest.raises((ValueError, MemoryError)):
        wf.bincount(np.array([2**31 + 5]), device=device)
    left_out = wf.bincount(keys, bins=3, check=False, device="simulator")
    assert left_out.tolist() == [1, 0, 1]
