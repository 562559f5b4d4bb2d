"""Sums by each method, whose bits are those of every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warpfold as wf
from arrays import arrays, axes
from hypothesis import given
from hypothesis import strategies as st
from references import FLOATS, exact_sum


def bits(x: Any) -> bytes:
    return np.ascontiguousarray(x).tobytes()


@given(st.data())
def test_reproducible_sums_have_the_same_bits_on_every_device(data: st.DataObject) -> None:
    x = data.draw(arrays(dtypes=FLOATS))
    axis = data.draw(axes(x.ndim))
    on_cpu = wf.sum(x, axis=axis, method="reproducible")
    on_simulator = wf.sum(x, axis=axis, method="reproducible", device="simulator")
    assert on_cpu.dtype == on_simulator.dtype == x.dtype
    assert bits(on_cpu) == bits(on_simulator)
    shuffled = np.random.default_rng(1).permutation(np.array(x).ravel())
    assert bits(wf.sum(shuffled, method="reproducible")) == bits(wf.sum(x, method="reproducible"))


@given(st.data())
def test_reproducible_sums_are_exact(data: st.DataObject) -> None:
    x = data.draw(arrays(dtypes=FLOATS[2:], finite=True))
    got = wf.sum(x, method="reproducible")
    assert float(got) == exact_sum(x, x.dtype)


@pytest.mark.parametrize("n", [1, 1000, 100_003])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_reproducible_sums(n: int, dtype: str) -> None:
    random = np.random.default_rng(n)
    x = (random.standard_normal(n) * 10.0 ** random.integers(-30, 30, n)).astype(dtype)
    want = exact_sum(x, np.dtype(dtype))
    assert float(wf.sum(x, method="reproducible")) == want
    assert float(wf.sum(x, method="reproducible", device="simulator")) == want


def test_ill_conditioned_sums(device: str) -> None:
    for dtype, large in (("float32", 1e8), ("float64", 1e17)):
        x = np.array([1.0, large, 1.0, -large], dtype=dtype)
        assert wf.sum(x, method="compensated", device=device) == 2.0
        assert wf.sum(x, method="reproducible", device=device) == 2.0
    wide = wf.sum(np.array([1.0, 1e8, 1.0], dtype=np.float32), method="wide", device=device)
    assert wide.dtype == np.float64 and wide == 100_000_002.0
    assert wf.sum(np.array([np.inf, 1.0]), method="compensated", device=device) == np.inf
    assert np.isnan(wf.sum(np.array([np.inf, -np.inf]), method="reproducible", device=device))
    assert np.signbit(wf.sum(np.array([-0.0, -0.0]), method="reproducible", device=device))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_checked_sums(dtype: str, device: str) -> None:
    info = np.iinfo(dtype)
    x = np.array([[info.max, info.min, 1], [1, 2, 3]], dtype=dtype)
    want = [sum(map(int, row)) for row in x]
    if dtype == "uint64":
        with pytest.raises(OverflowError, match=str(want[0])):
            wf.sum(x, axis=1, method="checked", device=device)
    else:
        assert wf.sum(x, axis=1, method="checked", device=device).tolist() == want
    top = np.array([info.max, info.max], dtype=dtype)
    if info.bits == 64:
        with pytest.raises(OverflowError, match=str(2 * info.max)):
            wf.sum(top, method="checked", device=device)
    else:
        assert wf.sum(top, method="checked", device=device) == 2 * info.max
    with pytest.raises(OverflowError, match=str(2 * info.max)):
        wf.sum(top, method="checked", dtype=dtype, device=device)
    if info.min < 0:
        low = np.array([info.min, info.min], dtype=dtype)
        with pytest.raises(OverflowError, match=str(2 * info.min)):
            wf.sum(low, method="checked", dtype=dtype, device=device)
    assert wf.sum(np.array([], dtype=dtype), method="checked", device=device) == 0
    with pytest.raises(TypeError, match="for integers"):
        wf.sum(np.ones(3), method="checked", device=device)


def test_methods_of_integers_are_the_plain_sum(device: str) -> None:
    x = np.array([250, 7], dtype=np.uint8)
    for method in ("fast", "reproducible", "compensated", "wide", "checked"):
        total = wf.sum(x, method=method, device=device)  # type: ignore[arg-type]
        assert total == 257 and total.dtype == np.uint64


def test_bits_do_not_depend_on_where_an_array_is_on_the_host() -> None:
    values = np.random.default_rng(5).standard_normal(5000).astype(np.float32)
    whole = np.empty(5064, dtype=np.float32)
    seen = set()
    for start in range(0, 64, 3):
        whole[start : start + 5000] = values
        seen.add(bits(wf.sum(whole[start : start + 5000], device="simulator")))
    assert len(seen) == 1
