"""The rules of the array API standard, and errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import warpfold as wf
from references import ALL, FLOATS, INTEGERS, is_float, sum_type

REDUCTIONS = ["sum", "prod", "max", "min", "mean", "var", "std", "all", "any", "count_nonzero"]


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_types_of_results(dtype: np.dtype, device: str) -> None:
    x = np.ones((2, 3)).astype(dtype)
    mean = dtype if is_float(dtype) else np.dtype("float64")
    for name, want in [
        ("sum", sum_type(dtype)),
        ("prod", sum_type(dtype)),
        ("max", dtype),
        ("min", dtype),
        ("mean", mean),
        ("var", mean),
        ("std", mean),
        ("all", bool),
        ("any", bool),
        ("count_nonzero", "int64"),
        ("argmax", "int64"),
        ("argmin", "int64"),
        ("nansum", sum_type(dtype)),
        ("nanmean", mean),
        ("nanmin", dtype),
        ("nanmax", dtype),
    ]:
        for axis in (None, 1):
            assert getattr(wf, name)(x, axis=axis, device=device).dtype == want, (name, axis)


def test_empty_axes_and_empty_arrays(device: str) -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(wf.sum(x, axis=(), device=device), x)
    assert np.array_equal(wf.max(x, axis=(), device=device), x)
    assert np.array_equal(wf.var(x, axis=(), device=device), np.zeros((2, 3)))
    for shape, axis in [((0,), None), ((0, 3), 0), ((3, 0), 1), ((2, 0, 3), (0, 1))]:
        none = np.empty(shape)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in ("sum", "prod", "mean", "var", "std", "all", "any", "count_nonzero"):
                want = np.asarray(getattr(np, name)(none, axis=axis))
                got = getattr(wf, name)(none, axis=axis, device=device)
                assert np.array_equal(got, want, equal_nan=want.dtype.kind == "f"), name
        for name in ("max", "min", "minmax", "nanmin"):
            with pytest.raises(ValueError, match="of no elements is not defined"):
                getattr(wf, name)(none, axis=axis, device=device)
        assert np.all(wf.logsumexp(none, axis=axis, device=device) == -np.inf)
        assert np.all(wf.norm(none, axis=axis, device=device) == 0)
        assert np.all(np.isnan(wf.nanmean(none, axis=axis, device=device)))
        assert np.all(wf.dot(none, none, axis=axis, device=device) == 0)
    for name in ("argmax", "argmin"):
        with pytest.raises(ValueError, match="of no elements is not defined"):
            getattr(wf, name)(np.empty((2, 0)), axis=1, device=device)
    for name in [*REDUCTIONS, "argmax", "minmax", "logsumexp"]:
        got = getattr(wf, name)(np.empty((0, 3)), axis=1, device=device)
        for one in got if isinstance(got, tuple) else [got]:
            assert one.shape == (0,)
    assert wf.sum(np.empty((0, 3)), axis=1, keepdims=True, device=device).shape == (0, 1)
    assert wf.var(np.array([]).astype("int8"), device=device).dtype == np.float64


def test_nan_rules(device: str) -> None:
    x = np.array([2.0, np.nan, 1.0, np.nan])
    for name in ("sum", "prod", "max", "min", "mean", "var", "std", "logsumexp", "norm"):
        assert np.isnan(getattr(wf, name)(x, device=device)), name
    assert wf.argmax(x, device=device) == 1 and wf.argmin(x, device=device) == 1
    assert all(np.isnan(y) for y in wf.minmax(x, device=device))
    assert np.isnan(wf.norm(x, ord=np.inf, device=device))
    assert wf.any(x, device=device) and wf.all(x, device=device)
    assert wf.count_nonzero(x, device=device) == 4
    for name in ("nanmin", "nanmax", "nanmean"):
        assert np.isnan(getattr(wf, name)(np.full(3, np.nan), device=device))
    big = np.array([3e38, 3e38, -3e38], dtype=np.float32)
    assert np.isfinite(wf.mean(np.array([1e30] * 3, dtype=np.float32), device=device))
    assert wf.sum(big, method="reproducible", device=device) == np.float32(3e38)
    assert wf.sum(np.array([np.inf, 1.0]), device=device) == np.inf
    assert np.isnan(wf.sum(np.array([np.inf, -np.inf]), device=device))
    assert np.isnan(wf.var(np.array([np.inf, 1.0]), device=device))


def test_indices_of_zeros_on_the_host() -> None:
    # The standard asks for the first of equal elements, and both zeros are equal.
    x = np.array([-0.0, 0.0, -0.0])
    assert wf.argmax(x) == 0 and wf.argmin(x[1:]) == 0


@pytest.mark.parametrize("name", [*REDUCTIONS, "argmax", "minmax", "norm", "nansum"])
def test_wrong_axes(name: str, device: str) -> None:
    call, x = getattr(wf, name), np.ones((2, 3))
    for axis in (2, -3, 10**9):
        with pytest.raises(wf.AxisError, match=f"axis {axis} is none of an array of 2 dimensions"):
            call(x, axis=axis, device=device)
    with pytest.raises(IndexError):
        call(x, axis=2, device=device)
    with pytest.raises(ValueError):
        call(x, axis=2, device=device)
    with pytest.raises(wf.AxisError):
        call(np.float64(1.0), axis=0, device=device)
    for axis in (1.5, "0", True, object()):
        with pytest.raises(TypeError):
            call(x, axis=axis, device=device)
    with pytest.raises((TypeError, OverflowError)):
        call(x, axis=10**30, device=device)
    if name != "argmax":
        with pytest.raises(ValueError, match="named twice"):
            call(x, axis=(0, -2), device=device)
    else:
        with pytest.raises(TypeError, match="one axis"):
            call(x, axis=(0, 1), device=device)


def test_wrong_arguments() -> None:
    x = np.ones((2, 3))
    with pytest.raises(ValueError, match="is no device"):
        wf.sum(x, device="gpu")
    with pytest.raises(TypeError, match="named by a string"):
        wf.sum(x, device=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="method is"):
        wf.sum(x, method="exact")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="order 3"):
        wf.norm(x, ord=3)
    for name in ("norm", "logsumexp"):
        with pytest.raises(TypeError, match="cast the array to float32"):
            getattr(wf, name)(x.astype(int))
    with pytest.raises(TypeError):
        wf.sum(x, 0)  # type: ignore[misc]
    with pytest.raises(ValueError, match="k is 4"):
        wf.topk(x, 4)
    with pytest.raises(ValueError, match="k is -1"):
        wf.topk(x, -1)
    with pytest.raises(ValueError, match="at most 8"):
        wf.topk(np.ones(20), 9, device="simulator")
    with pytest.raises(TypeError, match="cast the array to int32"):
        wf.topk(np.ones(20, dtype=np.int8), 2, device="simulator")
    assert wf.topk(np.arange(20, dtype=np.int8), 9).values.tolist() == list(range(19, 10, -1))
    with pytest.raises(TypeError, match="int64 and float64"):
        wf.dot(np.ones(3, dtype=int), np.ones(3))
    with pytest.raises(ValueError, match="cannot be taken in pairs"):
        wf.dot(np.ones(3), np.ones(4))


def test_dot_broadcasts(device: str) -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.array([1.0, 10.0, 100.0])
    assert wf.dot(a, b, axis=1, device=device).tolist() == (a @ b).tolist()
    assert wf.dot(a, np.array([[2.0], [3.0]]), axis=0, device=device).tolist() == [9.0, 14.0, 19.0]
    assert wf.dot(a, np.float64(2.0), device=device) == 30.0


def test_a_device_is_chosen() -> None:
    x = np.array([1.0, 2.0**-60, -1.0, 2.0**-60])
    with wf.use("simulator"):
        assert wf.sum(x) == wf.sum(x, device="simulator")
        with wf.use("cpu"):
            assert wf.sum(x) == wf.sum(x, device="cpu")
    for name in ("gpu", "cuda:x", ""):
        with pytest.raises(ValueError, match="is no device"), wf.use(name):
            pass
    with pytest.raises((RuntimeError, ValueError)):
        wf.sum(x, device="cuda:77")


def test_a_large_array_on_the_simulator_warns_once() -> None:
    x = np.broadcast_to(np.float32(1.0), (1_000_001,))
    with pytest.warns(RuntimeWarning, match="many for the simulator"):
        assert wf.sum(x, device="simulator") == 1_000_001
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wf.sum(x, device="simulator")
        wf.sum(x)


def test_integers_are_exact(device: str) -> None:
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        x = np.array([info.max, info.max, info.min, 1], dtype=dtype)
        kind = sum_type(dtype)
        assert wf.sum(x, device=device) == np.sum(x, dtype=kind)
        assert wf.max(x, device=device) == info.max and wf.min(x, device=device) == info.min
        mean: Any = wf.mean(x, device=device)
        assert abs(mean - float(sum(map(int, x)) / 4)) <= abs(float(info.max)) * 2.0**-50


def test_floats_that_a_narrow_type_cannot_hold(device: str) -> None:
    for dtype in FLOATS[:2]:
        x = np.full(4096, 1.0).astype(dtype)
        assert wf.sum(x, device=device) == 4096.0
        assert wf.mean(x, device=device) == 1.0 and wf.std(x, device=device) == 0.0
    # These become infinite in 16 bits, and not in the sum of a mean.
    x = np.full(100, 60000.0, dtype=np.float16)
    assert wf.sum(x, device=device) == np.inf
    assert wf.mean(x, device=device) == np.float16(60000.0)
