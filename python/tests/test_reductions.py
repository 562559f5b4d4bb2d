"""Every reduction against NumPy's in 64 bits, on the CPU and on the simulator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import warpfold as wf
from arrays import arrays, axes
from hypothesis import given, settings
from hypothesis import strategies as st
from references import FLOATS, INTEGERS, close, is_float, sum_type

DEVICES = ["cpu", "simulator"]
# The simulator takes long to load a kernel, which each type has.
FEW = settings(max_examples=40)


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64) if is_float(x.dtype) else x


def reference(name: str, x: np.ndarray, **options: Any) -> np.ndarray:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.asarray(getattr(np, name)(x, **options))


def check_place(got: Any, want: np.ndarray, dtype: np.dtype) -> None:
    assert isinstance(got, np.ndarray)
    assert got.dtype == dtype and got.shape == want.shape


@pytest.mark.parametrize("device", DEVICES)
@given(st.data())
@FEW
def test_sum_and_mean(device: str, data: st.DataObject) -> None:
    x = data.draw(arrays())
    axis = data.draw(axes(x.ndim))
    keepdims = data.draw(st.booleans())
    options: Any = {"axis": axis, "keepdims": keepdims}
    total = wf.sum(x, device=device, **options)
    if is_float(x.dtype):
        want = reference("sum", wide(x), **options)
        magnitude = reference("sum", np.abs(wide(x)), **options)
        assert total.dtype == x.dtype
        close(total, want, magnitude)
        count = x.size / max(want.size, 1) if want.size else 1
        mean = wf.mean(x, device=device, **options)
        assert mean.dtype == x.dtype
        close(mean, reference("mean", wide(x), **options), magnitude / max(count, 1))
    else:
        want = reference("sum", x, dtype=sum_type(x.dtype), **options)
        check_place(total, want, sum_type(x.dtype))
        assert np.array_equal(total, want)
        mean = wf.mean(x, device=device, **options)
        magnitude = reference("mean", np.abs(x.astype(np.float64)), **options)
        close(mean, reference("mean", x, dtype=np.float64, **options), magnitude)


@pytest.mark.parametrize("device", DEVICES)
@given(st.data())
@FEW
def test_extremes(device: str, data: st.DataObject) -> None:
    x = data.draw(arrays(least=1))
    axis = data.draw(axes(x.ndim))
    options: Any = {"axis": axis, "keepdims": data.draw(st.booleans())}
    y = wide(x)
    for name in ("min", "max"):
        got, want = getattr(wf, name)(x, device=device, **options), reference(name, y, **options)
        check_place(got, want, x.dtype)
        assert np.array_equal(got.astype(y.dtype), want, equal_nan=is_float(x.dtype)), name
        got = getattr(wf, f"nan{name}")(x, device=device, **options)
        want = reference(f"nan{name}" if is_float(x.dtype) else name, y, **options)
        check_place(got, want, x.dtype)
        assert np.array_equal(got.astype(y.dtype), want, equal_nan=is_float(x.dtype)), name
    least, greatest = wf.minmax(x, device=device, **options)
    for got, name in ((least, "min"), (greatest, "max")):
        want = reference(name, y, **options)
        check_place(got, want, x.dtype)
        assert np.array_equal(got.astype(y.dtype), want, equal_nan=is_float(x.dtype)), name


@pytest.mark.parametrize("device", DEVICES)
@given(st.data())
@FEW
def test_indices(device: str, data: st.DataObject) -> None:
    x = data.draw(arrays(least=1))
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    keepdims = data.draw(st.booleans())
    y = wide(x)
    if device == "simulator":
        # There +0 is greater than -0.
        y = np.where(y == 0, np.abs(y), y) if is_float(x.dtype) else y
        x = y.astype(x.dtype)
    for name in ("argmin", "argmax"):
        got = getattr(wf, name)(x, axis=axis, keepdims=keepdims, device=device)
        want = reference(name, y, axis=axis, keepdims=keepdims)
        check_place(got, want, np.dtype("int64"))
        assert np.array_equal(got, want), name


@pytest.mark.parametrize("device", DEVICES)
@given(st.data())
@FEW
def test_truth(device: str, data: st.DataObject) -> None:
    x = data.draw(arrays())
    options: Any = {"axis": data.draw(axes(x.ndim)), "keepdims": data.draw(st.booleans())}
    for name, dtype in (("all", "bool"), ("any", "bool"), ("count_nonzero", "int64")):
        got, want = (
            getattr(wf, name)(x, device=device, **options),
            reference(name, wide(x), **options),
        )
        check_place(got, want, np.dtype(dtype))
        assert np.array_equal(got, want), name


@pytest.mark.parametrize("device", DEVICES)
@given(st.data())
@FEW
def test_products(device: str, data: st.DataObject) -> None:
    x = data.draw(arrays(dtypes=[*INTEGERS, *FLOATS[2:]], most=4, rank=3))
    options: Any = {"axis": data.draw(axes(x.ndim)), "keepdims": data.draw(st.booleans())}
    got = wf.prod(x, device=device, **options)
    if is_float(x.dtype):
        want = reference("prod", wide(x), **options)
        overflows = np.abs(reference("prod", np.maximum(np.abs(wide(x)), 1), **options)) > 1e38
        underflows = reference("prod", np.minimum(np.abs(wide(x)), 1), **options) < 1e-37
        edge = overflows | underflows | np.isnan(want)
        assert got.shape == want.shape
        close(
            np.where(edge, 0, got).astype(x.dtype),
            np.where(edge, 0, want),
            np.where(edge, 0, np.abs(want)),
        )
    else:
        want = reference("prod", x, dtype=sum_type(x.dtype), **options)
        check_place(got, want, sum_type(x.dtype))
        assert np.array_equal(got, want)


@pytest.mark.parametrize("device", DEVICES)
@given(st.data())
@FEW
def test_moments(device: str, data: st.DataObject) -> None:
    x = data.draw(arrays())
    correction = data.draw(st.sampled_from([0, 1, 2, 0.5]))
    options: Any = {"axis": data.draw(axes(x.ndim)), "keepdims": data.draw(st.booleans())}
    y = x.astype(np.float64)
    want = reference("var", y, ddof=correction, **options)
    magnitude = reference("mean", y * y, **options) if x.size else want
    count = x.size / want.size if want.size else 1
    if count <= correction:
        magnitude = np.full(want.shape, np.inf)
    dtype = x.dtype if is_float(x.dtype) else np.dtype("float64")
    variance = wf.var(x, correction=correction, device=device, **options)
    mean, same = wf.moments(x, correction=correction, device=device, **options)
    assert variance.dtype == dtype and np.array_equal(variance, same, equal_nan=True)
    close(variance, want, magnitude * 8)
    close(mean, reference("mean", y, **options), np.sqrt(np.abs(magnitude)) + 1e-300)
    deviation = wf.std(x, correction=correction, device=device, **options)
    assert deviation.dtype == dtype
    with np.errstate(all="ignore"):
        # The root of the error of a variance of about 0.
        root = 2.0**27 if dtype == np.dtype("float64") else 2.0**12
        close(deviation, np.sqrt(want), np.sqrt(np.abs(magnitude)) * root)


@pytest.mark.parametrize("device", DEVICES)
@given(st.data())
@FEW
def test_norms(device: str, data: st.DataObject) -> None:
    x = data.draw(arrays(dtypes=FLOATS, finite=True))
    options: Any = {"axis": data.draw(axes(x.ndim)), "keepdims": data.draw(st.booleans())}
    y = np.abs(wide(x))
    two = np.sqrt(reference("sum", y * y, **options))
    close(wf.norm(x, device=device, **options), two, two * 64)
    one = reference("sum", y, **options)
    close(wf.norm(x, ord=1, device=device, **options), one, one)
    most = reference("max", y, initial=0, **options)
    got = wf.norm(x, ord=float("inf"), device=device, **options)
    assert np.array_equal(got.astype(np.float64), most)


@pytest.mark.parametrize("device", DEVICES)
@given(st.data())
@FEW
def test_logsumexp(device: str, data: st.DataObject) -> None:
    x = data.draw(arrays(dtypes=FLOATS))
    options: Any = {"axis": data.draw(axes(x.ndim)), "keepdims": data.draw(st.booleans())}
    y = wide(x)
    with np.errstate(all="ignore"):
        top = np.max(y, initial=-np.inf, axis=options["axis"], keepdims=True)
        top = np.where(np.isfinite(top), top, 0)
        total = np.sum(np.exp(y - top), axis=options["axis"], keepdims=True)
        want = np.log(total) + top
        if not options["keepdims"]:
            want = want.reshape(reference("sum", y, **options).shape)
    got = wf.logsumexp(x, device=device, **options)
    assert got.dtype == x.dtype
    close(got, want, np.abs(want) + 10)


@pytest.mark.parametrize("device", DEVICES)
@given(st.data())
@FEW
def test_without_nans(device: str, data: st.DataObject) -> None:
    x = data.draw(arrays(dtypes=FLOATS))
    options: Any = {"axis": data.draw(axes(x.ndim)), "keepdims": data.draw(st.booleans())}
    y = wide(x)
    magnitude = reference("nansum", np.abs(y), **options)
    close(wf.nansum(x, device=device, **options), reference("nansum", y, **options), magnitude)
    close(wf.nanmean(x, device=device, **options), reference("nanmean", y, **options), magnitude)


@pytest.mark.parametrize("device", DEVICES)
@given(st.data())
@FEW
def test_dot(device: str, data: st.DataObject) -> None:
    a = data.draw(arrays(finite=True, rank=3))
    order = data.draw(st.permutations(range(a.ndim)))
    b = np.array(a)
    if a.ndim:
        b = np.array(a.transpose(order)).transpose(np.argsort(order))[::-1]
    axis = data.draw(axes(a.ndim))
    got = wf.dot(a, b, axis=axis, device=device)
    if is_float(a.dtype):
        products = wide(a) * wide(b)
        close(
            got,
            reference("sum", products, axis=axis),
            reference("sum", np.abs(products), axis=axis),
        )
    else:
        kind = sum_type(a.dtype)
        want = reference("sum", a.astype(kind) * b.astype(kind), axis=axis, dtype=kind)
        check_place(got, want, kind)
        assert np.array_equal(got, want)


@pytest.mark.parametrize("device", DEVICES)
@given(st.data())
@FEW
def test_top(device: str, data: st.DataObject) -> None:
    kinds = [np.dtype(x) for x in ("uint8", "int32", "uint32", "int64", "uint64")]
    x = data.draw(arrays(dtypes=kinds + FLOATS, least=1, rank=3))
    if x.ndim == 0:
        return
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    k = data.draw(st.integers(0, min(8, x.shape[axis])))
    largest = data.draw(st.booleans())
    if is_float(x.dtype):
        x = np.where(x == 0, np.abs(x), x).astype(x.dtype)
    values, indices = wf.topk(x, k, axis=axis, largest=largest, device=device)
    y = np.moveaxis(x, axis, -1)
    key = wide(y).astype(object) if not is_float(x.dtype) else wide(y)
    rows = key.reshape(-1, y.shape[-1])
    order = np.empty((len(rows), k), dtype=np.int64)
    for row, into in zip(rows, order):

        def place(index: int, row: np.ndarray = row) -> tuple[bool, Any, int]:
            value = row[index]
            return (
                bool(value != value),
                0 if value != value else (-value if largest else value),
                index,
            )

        into[:] = sorted(range(len(row)), key=place)[:k]
    want = np.moveaxis(order.reshape(*y.shape[:-1], k), -1, axis)
    assert indices.dtype == np.int64 and values.dtype == x.dtype
    assert np.array_equal(indices, want)
    taken = np.take_along_axis(x, want, axis)
    assert np.array_equal(wide(values), wide(taken), equal_nan=is_float(x.dtype))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 1023, 1024, 1025, 40_000])
def test_sizes(device: str, n: int) -> None:
    random = np.random.default_rng(n)
    for dtype in ("float32", "int32"):
        x = (random.standard_normal(n) * 100).astype(dtype)
        close(
            np.asarray(wf.sum(x, device=device)).astype(np.float64),
            x.astype(np.float64).sum(),
            np.abs(x.astype(np.float64)).sum() * 2.0**29,
        )
        assert int(wf.count_nonzero(x, device=device)) == np.count_nonzero(x)
        if n:
            assert int(wf.argmax(x, device=device)) == int(np.argmax(x))
            assert wf.min(x, device=device) == x.min()
