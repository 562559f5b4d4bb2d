"""Results to compare with: NumPy's in 64 bits, or exact ones."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np

FLOATS = [np.dtype(x) for x in ("float16", ml_dtypes.bfloat16, "float32", "float64")]
INTEGERS = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
ALL = [np.dtype(bool), *INTEGERS, *FLOATS]

#: The unit of the last place of 1, halved: the relative error of one rounding.
ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}


def is_float(dtype: np.dtype) -> bool:
    return dtype in FLOATS


def sum_type(dtype: np.dtype) -> np.dtype:
    """The type of a sum, by the array API standard."""
    if is_float(dtype):
        return dtype
    return np.dtype("uint64" if dtype.kind == "u" else "int64")


def exact_sum(values: np.ndarray, dtype: np.dtype) -> float:
    """The exact sum of finite floats, rounded once to `float32` or `float64`."""
    total = sum((Fraction(float(value)) for value in values.ravel()), Fraction(0))
    near = dtype.type(float(total))
    # `float` rounds to 64 bits first. One of the neighbours may be nearer.
    infinity = dtype.type(np.inf)
    candidates = [near, np.nextafter(near, infinity), np.nextafter(near, -infinity)]
    candidates = [x for x in candidates if np.isfinite(x)]

    def key(x: np.floating) -> tuple[Fraction, int]:
        bits = int(x.view(f"uint{8 * dtype.itemsize}"))
        return abs(Fraction(float(x)) - total), bits & 1

    return float(min(candidates, key=key))


@np.errstate(all="ignore")
def close(got: object, want: np.ndarray, magnitude: np.ndarray, steps: float = 64.0) -> None:
    """Asserts that a result is within some roundings of the sum of magnitudes."""
    result = np.asarray(got)
    assert result.shape == np.shape(want), (result.shape, np.shape(want))
    name = str(result.dtype)
    unit, info = ROUNDING[name], ml_dtypes.finfo(name)
    result, want = result.astype(np.float64), np.asarray(want, dtype=np.float64)
    largest, tiny = float(info.max), float(info.smallest_subnormal)
    # What is too large for the type is infinite there.
    want = np.where(np.abs(want) > largest * (1 + unit), np.copysign(np.inf, want), want)
    # Sums are computed in 32 bits at least, and in 64 bits if the type has as many.
    computed = min(unit, 2.0**-24)
    bound = steps * computed * np.asarray(magnitude) + unit * np.abs(want) + tiny
    same = (np.isnan(result) & np.isnan(want)) | (result == want)
    near = np.abs(result - want) <= bound
    # A sum near the largest number may or may not be infinite.
    edge = np.isinf(result) & (np.asarray(magnitude) > largest / 2)
    assert np.all(same | near | edge), (result, want, bound)
