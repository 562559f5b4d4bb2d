"""The arguments `initial` and `where`, compared with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warpfold as wf
from arrays import arrays, axes
from hypothesis import given
from hypothesis import strategies as st
from references import ALL, close, is_float, sum_type

NUMBERS = [0, 1, True, -3, 2.5, 200, -0.0, np.inf, np.nan, np.float32(1.5), np.int64(2)]


@st.composite
def masks(draw: st.DrawFn, shape: tuple[int, ...]) -> np.ndarray:
    """Masks that broadcast to a shape."""
    own = [size if draw(st.booleans()) else 1 for size in shape]
    own = own[draw(st.integers(0, len(own))) :]
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return random.random(own) < draw(st.sampled_from([0.0, 0.5, 0.5, 1.0]))


def outcome(call: Any) -> Any:
    """What a call returns, or the class of its exception."""
    try:
        with np.errstate(all="ignore"):
            return call()
    except (OverflowError, TypeError, ValueError) as error:
        return type(error)


@given(st.data())
def test_sums_and_products(data: st.DataObject) -> None:
    x = data.draw(arrays())
    axis, keepdims = data.draw(axes(x.ndim)), data.draw(st.booleans())
    where = data.draw(st.none() | masks(x.shape))
    initial = data.draw(st.none() | st.sampled_from(NUMBERS))
    for name in ("sum", "prod"):
        options: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
        given: dict[str, Any] = options | ({} if initial is None else {"initial": initial})
        kind = sum_type(x.dtype)
        wide = np.dtype("float64") if is_float(x.dtype) else kind
        mask = True if where is None else where
        number = initial
        if initial is not None and is_float(x.dtype):
            number = x.dtype.type(initial).astype(wide)
        reference = options | ({} if initial is None else {"initial": number})
        want = outcome(
            lambda: getattr(np, name)(x.astype(wide), dtype=wide, where=mask, **reference)  # noqa: B023
        )
        out = None
        if data.draw(st.booleans()) and not isinstance(want, type):
            out = np.empty(np.shape(want), dtype=kind)
        got = outcome(lambda: getattr(wf, name)(x, where=where, out=out, **given))  # noqa: B023
        if isinstance(want, type):
            assert got is want
            continue
        assert isinstance(got, np.ndarray) and got.dtype == kind
        assert out is None or got is out
        if not is_float(x.dtype):
            assert np.array_equal(got, want)
            continue
        with np.errstate(all="ignore"):
            sizes = getattr(np, name)(
                np.abs(x.astype(wide)),
                where=mask,
                **options,
                initial=abs(number or 0.0) if name == "sum" else abs(number or 1.0),
            )
        # An intermediate product of 32 bits may be too large or too small, where one of 64 is not.
        if name == "sum" or np.all(np.isfinite(want)):
            close(got, want, np.nan_to_num(sizes, posinf=0.0), 128.0)


@given(st.data())
def test_extremes(data: st.DataObject) -> None:
    x = data.draw(arrays())
    axis, keepdims = data.draw(axes(x.ndim)), data.draw(st.booleans())
    where = data.draw(st.none() | masks(x.shape))
    initial = data.draw(st.none() | st.sampled_from(NUMBERS))
    for name in ("max", "min"):
        given: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
        given |= {} if initial is None else {"initial": initial}
        mask = {} if where is None else {"where": where}
        want = outcome(lambda: getattr(np, name)(x, **given, **mask))  # noqa: B023
        out = None
        if data.draw(st.booleans()) and not isinstance(want, type):
            out = np.empty(np.shape(want), dtype=x.dtype)
        got = outcome(lambda: getattr(wf, name)(x, out=out, **given, **mask))  # noqa: B023
        if isinstance(want, type):
            assert got is want
            continue
        assert isinstance(got, np.ndarray) and got.dtype == x.dtype
        assert out is None or got is out
        assert np.array_equal(got, want, equal_nan=is_float(x.dtype))


@given(st.data())
def test_truth_values(data: st.DataObject) -> None:
    x = data.draw(arrays())
    axis, keepdims = data.draw(axes(x.ndim)), data.draw(st.booleans())
    where = data.draw(masks(x.shape))
    for name in ("any", "all"):
        given: dict[str, Any] = {"axis": axis, "keepdims": keepdims, "where": where}
        want = getattr(np, name)(x, **given)
        got = getattr(wf, name)(x, **given)
        assert got.dtype == bool and np.array_equal(got, want)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_on_a_device(dtype: np.dtype, device: str) -> None:
    x = np.array([[1, 0, 1], [0, 0, 1]]).astype(dtype)
    where = np.array([True, False, True])
    assert wf.sum(x, axis=1, where=where, initial=2, device=device).tolist() == [4, 3]
    assert wf.prod(x, axis=0, where=where, initial=1, device=device).tolist() == [0, 1, 1]
    assert wf.max(x, axis=1, where=~where, initial=1, device=device).tolist() == [1, 1]
    assert wf.min(x[:0], axis=0, initial=1, device=device).tolist() == [1, 1, 1]
    assert wf.any(x, axis=1, where=~where, device=device).tolist() == [False, False]
    assert wf.all(x, axis=1, where=where[::-1], device=device).tolist() == [True, False]


def test_methods_and_types() -> None:
    x = np.array([1.0, 1e8, 1.0], dtype=np.float32)
    where = np.array([True, False, True])
    assert wf.sum(x, method="reproducible", where=where, initial=3.0) == np.float32(5.0)
    assert wf.sum(x, method="wide", initial=1.0).dtype == np.float64
    assert wf.sum(x, dtype=np.float64, initial=1.0) == 100000003.0
    assert wf.sum(np.array([1, 2], dtype=np.uint8), initial=2**63) == 2**63 + 3
    with pytest.raises(TypeError, match="takes no initial"):
        wf.sum(np.array([1]), method="checked", initial=1)
    assert wf.sum(np.array([1, 2]), method="checked", where=np.array([False, True])) == 2


def test_wrong_arguments() -> None:
    x = np.arange(6, dtype=np.int8).reshape(2, 3)
    mask = np.ones((2, 3), dtype=bool)
    with pytest.raises(ValueError, match="where needs the argument initial"):
        wf.max(x, where=mask)
    for wrong in (np.ones((2, 2), dtype=bool), np.ones((1, 2, 3), dtype=bool)):
        with pytest.raises(ValueError, match="does not broadcast"):
            wf.sum(x, where=wrong)
    with pytest.raises(ValueError, match="does not broadcast"):
        wf.any(x[:1], where=mask)
    for wrong in (np.ones((2, 3)), [True, False, True], True):
        with pytest.raises(TypeError, match="where is an array of bool"):
            wf.sum(x, where=wrong)
    for number in (1000, np.int64(-129), float("inf")):
        with pytest.raises(OverflowError):
            wf.max(x, initial=number)
    with pytest.raises(ValueError):
        wf.min(x, initial=float("nan"))
    with pytest.raises(OverflowError, match="uint64 does not hold"):
        wf.sum(x.astype(np.uint8), initial=-1)
    with pytest.raises(TypeError):
        wf.sum(x, initial=1j)
    out = np.zeros((), dtype=np.int64)
    with pytest.raises(OverflowError):
        wf.sum(x, initial=2**63, out=out)
    assert out == 0
    with pytest.raises(wf.AxisError):
        wf.max(x[:0], axis=2, initial=1)
    for other in (memoryview(b"abc"), wf.sum(memoryview(b"abc"))):
        with pytest.raises(TypeError, match="applied by the library of the array"):
            wf.sum(other, initial=1)  # type: ignore[type-var]


def test_any_library_of_the_standard() -> None:
    class Wrapped:
        """An array that has no more than the standard asks for."""

        def __init__(self, array: np.ndarray) -> None:
            self.array = array
            self.shape, self.dtype, self.device = array.shape, array.dtype, "cpu"

        def __array_namespace__(self) -> Any:
            return Namespace

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    class Namespace:
        def __getattr__(self, name: str) -> Any:
            def call(*arguments: Any, **options: Any) -> Wrapped:
                plain = [getattr(argument, "array", argument) for argument in arguments]
                return Wrapped(np.asarray(getattr(np, name)(*plain, **options)))

            return call

    Namespace = Namespace()  # type: ignore[misc,assignment]
    x, where = Wrapped(np.array([1.0, 5.0, 2.0])), Wrapped(np.array([True, False, True]))
    assert wf.sum(x, where=where, initial=1.0).array == 4.0
    assert wf.max(x, where=where, initial=0.0).array == 2.0
    assert wf.min(Wrapped(np.ones((0, 2))), axis=0, initial=3.0).array.tolist() == [3.0, 3.0]
