"""Complex arrays, compared with NumPy's results in 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warpfold as wf
from arrays import arrays, axes
from hypothesis import given, settings
from hypothesis import strategies as st
from producers import Producer
from references import close

COMPLEX = [np.dtype("complex64"), np.dtype("complex128")]
PARTS = {np.dtype("float32"): np.dtype("complex64"), np.dtype("float64"): np.dtype("complex128")}
OTHERS = [
    *("max", "min", "minmax", "argmax", "argmin", "var", "std", "moments", "logsumexp"),
    *("nansum", "nanmean", "nanmin", "nanmax"),
]


@st.composite
def numbers(draw: st.DrawFn, most: int = 9) -> np.ndarray:
    """Complex arrays whose strides are free."""
    parts = draw(arrays([np.dtype("float32"), np.dtype("float64")], rank=3, most=most))
    kind = PARTS[parts.dtype]
    scale = draw(st.sampled_from([1j, 0.5 - 2.0j, 1.0, 0.0]))
    with np.errstate(all="ignore"):
        array = parts.astype(kind) * kind.type(scale)
    if array.ndim and draw(st.booleans()):
        array = array[..., ::-1].T
    return array


def close_parts(got: Any, want: np.ndarray, magnitude: np.ndarray) -> None:
    close(got.real, want.real, magnitude)
    close(got.imag, want.imag, magnitude)


def check(x: np.ndarray, axis: Any, keepdims: bool, device: str) -> None:
    options: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    given: dict[str, Any] = options | {"device": device}
    part = np.dtype(f"float{4 * x.itemsize}")
    with np.errstate(all="ignore"):
        wide = x.astype(np.complex128)
        sizes = np.sum(np.nan_to_num(np.abs(wide), posinf=0.0), **options)
        total = np.sum(wide, **options)
        got = wf.sum(x, **given)
        assert isinstance(got, np.ndarray) and got.dtype == x.dtype
        close_parts(got, total, sizes)
        number = x.size if axis is None else np.prod([x.shape[a] for a in np.atleast_1d(axis)])
        mean = wf.mean(x, **given)
        assert mean.dtype == x.dtype
        close(mean.real, total.real / number, sizes / number)
        close(mean.imag, total.imag / number, sizes / number)
        # A part that is infinite makes a norm infinite, unless the other one is NaN here.
        if not np.isnan(wide).any():
            for order, want in (
                (2, np.sqrt(np.sum(wide.real**2 + wide.imag**2, **options))),
                (1, np.sum(np.abs(wide), **options)),
            ):
                norm = wf.norm(x, ord=order, **given)
                assert norm.dtype == part
                if np.all(np.isfinite(want)) and np.all(want < 1e18) and np.all(sizes < 1e18):
                    tiny = np.sqrt(float(np.finfo(part).smallest_normal))
                    close(norm, want, np.asarray(want) + tiny)
    for name in ("any", "all", "count_nonzero"):
        got = getattr(wf, name)(x, **given)
        want = getattr(np, name)(x, **options)
        assert np.array_equal(got, want), name
        assert got.dtype == ("int64" if name == "count_nonzero" else bool)


@given(st.data())
def test_reductions(data: st.DataObject) -> None:
    x = data.draw(numbers())
    check(x, data.draw(axes(x.ndim)), data.draw(st.booleans()), "cpu")


@settings(max_examples=25)
@given(st.data())
def test_reductions_on_the_simulator(data: st.DataObject) -> None:
    x = data.draw(numbers(5))
    check(x, data.draw(axes(x.ndim)), data.draw(st.booleans()), "simulator")


@given(st.data())
def test_products(data: st.DataObject) -> None:
    x = data.draw(numbers())
    axis, keepdims = data.draw(axes(x.ndim)), data.draw(st.booleans())
    with np.errstate(all="ignore"):
        wide = x.astype(np.complex128)
        want = np.prod(wide, axis=axis, keepdims=keepdims)
        sizes = np.prod(np.abs(wide), axis=axis, keepdims=keepdims)
    got = wf.prod(x, axis=axis, keepdims=keepdims)
    assert got.dtype == x.dtype and got.shape == np.shape(want)
    if np.all(np.isfinite(want)) and np.all(np.isfinite(sizes)):
        close_parts(got, want, sizes)


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_types_out_and_methods(dtype: np.dtype, device: str) -> None:
    x = (np.arange(12).reshape(3, 4) * (1.0 - 2.0j)).astype(dtype)
    out = np.empty((3, 8), dtype=dtype)[:, ::2]
    assert wf.sum(x, axis=0, out=out[0], device=device) is not None
    assert out[0].tolist() == x.sum(axis=0).tolist()
    plain = np.empty(3, dtype=dtype)
    assert wf.mean(x, axis=1, out=plain, device=device) is plain
    assert plain.tolist() == x.mean(axis=1).tolist()
    assert wf.sum(x, dtype=complex, device=device).dtype == "complex128"
    assert wf.sum(x, method="wide", device=device).dtype == "complex128"
    tiny = np.array([1.0 + 1j, 1e30, -1e30 + 1e30j, 1e-45 - 1e30j]).astype(dtype)
    for array in (tiny, tiny[::-1]):
        assert wf.sum(array, method="reproducible", device=device) == 1.0 + 1.0j
    assert wf.sum(x, method="compensated", device=device) == x.sum()
    assert wf.sum(x[:0], device=device) == 0 and np.isnan(wf.mean(x[:0], device=device).imag)
    assert wf.norm(np.array([3.0 + 4.0j, 0.0], dtype=dtype), device=device) == 5.0
    assert wf.norm(np.array([3.0 + 4.0j, -5.0], dtype=dtype), ord=1, device=device) == 10.0
    large = np.array([[3.0 + 4.0j, -4.9], [1.0, 6j]], dtype=dtype)
    assert wf.norm(large, ord=np.inf, axis=1, device=device).tolist() == [5.0, 6.0]
    with pytest.raises(TypeError, match="out has elements of float"):
        wf.sum(x, out=np.empty(()), device=device)
    with pytest.raises(TypeError, match="cannot be float64"):
        wf.sum(x, dtype=float, device=device)
    with pytest.raises(TypeError, match="cannot be complex64"):
        wf.dot(np.ones(2), np.ones(2), dtype="complex64", device=device)
    with pytest.raises(TypeError, match='method="checked" is for integers'):
        wf.sum(x, method="checked", device=device)


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_real_numbers_with_a_complex_result(dtype: np.dtype, device: str) -> None:
    x = np.array([[1.0, 2.0], [4.0, np.nan]], dtype=np.float32)
    for kind in (dtype, str(dtype)):
        got = wf.sum(x, axis=0, dtype=kind, device=device)
        assert got.dtype == dtype and got[0] == 5.0 and np.isnan(got[1]) and got[1].imag == 0.0
    assert wf.prod(x, axis=1, dtype=dtype, keepdims=True, device=device)[0] == 2.0
    out = np.full((2, 2), 7j, dtype=dtype)
    assert wf.sum(x, axis=1, dtype=dtype, out=out[:, 0], device=device)[0] == 3.0
    assert out[0].tolist() == [3.0, 7j]
    total: Any = wf.sum(memoryview(x), axis=1, dtype=dtype, device=device)  # type: ignore[type-var]
    assert total.dtype == dtype and total.tolist()[0] == 3.0
    with pytest.raises(TypeError, match="out has elements of complex"):
        wf.sum(x, axis=1, out=out[:, 0], device=device)
    with pytest.raises(TypeError, match="sum of int64 cannot be complex"):
        wf.sum(np.array([1]), dtype=dtype, device=device)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_what_takes_no_complex_numbers(name: str, dtype: np.dtype) -> None:
    with pytest.raises(TypeError, match=f"{name} takes no arrays of {dtype}.* imaginary parts"):
        getattr(wf, name)(np.ones(3, dtype=dtype))


def test_others_refuse_complex_numbers() -> None:
    x, keys = np.ones(3, dtype=complex), np.array([0, 1, 2])
    for call in (
        lambda: wf.dot(x, x),
        lambda: wf.topk(x, 1),
        lambda: wf.segment_reduce(x, keys, "sum"),
        lambda: wf.reduce_by_key(keys, x, "sum"),
        lambda: wf.reduce_by_key(x, keys, "sum"),
        lambda: wf.bincount(keys, weights=x),
        lambda: wf.bincount(x),
    ):
        with pytest.raises(TypeError, match="no arrays of complex128"):
            call()
    with pytest.raises(TypeError, match="computed on the CPU alone"):
        wf.prod(x, device="simulator")


def test_initial_and_where(device: str) -> None:
    x = np.array([1.0 + 2j, 3.0, 4j], dtype=np.complex64)
    where = np.array([True, False, True])
    got = wf.sum(x, where=where, initial=1j, device=device)
    assert got == 1 + 7j and got.dtype == np.complex64
    assert wf.prod(x, where=where, initial=2j) == np.prod(x, where=where, initial=2j)
    assert not wf.any(x, where=np.array([False] * 3), device=device)


def test_arrays_in_and_out(device: str) -> None:
    values = np.array([[1.0 + 2.0j, 3.0], [4j, -1.0]])
    for dtype in COMPLEX:
        x = values.astype(dtype)
        capsules = [Producer(x, code=5), Producer(x.T, version=None, code=5)]
        for other in (*capsules, memoryview(x)):
            total = wf.sum(other, device=device)  # type: ignore[type-var]
            assert isinstance(total, wf.Array) and total.dtype == dtype
            assert complex(total) == total.item() == 3.0 + 6.0j
            assert np.asarray(total).dtype == dtype and np.from_dlpack(total) == 3.0 + 6.0j
            assert repr(total).startswith("warpfold.Array((3+6j), dtype=complex")
            with pytest.raises(TypeError):
                float(total)
            with pytest.raises(TypeError):
                int(total)
            counted = wf.count_nonzero(other, axis=0, device=device)  # type: ignore[type-var]
            assert isinstance(counted, wf.Array) and counted.tolist() == [2, 2]
        rows: Any = wf.sum(memoryview(x), axis=0, device=device)
        assert rows.tolist() == [1.0 + 6.0j, 2.0] and bool(rows.tolist())
        assert wf.sum(rows, device=device).item() == 3.0 + 6.0j
        interface: Any = type("Offers", (), {"__array_interface__": x.__array_interface__})()
        assert wf.sum(interface).item() == 3.0 + 6.0j
    assert complex(wf.sum(memoryview(b"ab"))) == 195.0
    with pytest.raises(TypeError, match="cast it to complex128"):
        wf.sum(np.ones(2, dtype=np.clongdouble))
    with pytest.raises(TypeError, match="order of other machines"):
        wf.sum(values.astype(">c16"))


def test_simulated_launches() -> None:
    x = np.array([[1.0 + 2.0j, 0.0], [4j, -1.0]], dtype=np.complex64)
    seen = wf.simulate(x, "sum", axis=1, check=True)
    assert not seen.findings and len(seen.launches) == 1
    assert len(wf.simulate(x, "count_nonzero").launches) > 1
