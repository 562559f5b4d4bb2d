"""Arrays of every shape, stride, offset and type, for Hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from references import ALL, is_float

#: Values that are easy to get wrong.
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, 65504.0, 3e38]


@st.composite
def elements(draw: st.DrawFn, dtype: np.dtype, count: int, finite: bool) -> np.ndarray:
    """Elements of a type, most of them from a generator with a seed, as it is fast."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if is_float(dtype):
        values = random.standard_normal(count) * 10.0 ** draw(st.integers(-2, 2))
        values = values.astype(dtype)
        if count and not finite and draw(st.booleans()):
            special = draw(st.lists(st.sampled_from(SPECIAL), min_size=1, max_size=4))
            with np.errstate(over="ignore"):
                values[random.integers(0, count, len(special))] = np.array(special).astype(dtype)
        return values
    if dtype == np.dtype(bool):
        return random.integers(0, 2, count).astype(bool)
    info = np.iinfo(dtype)
    if draw(st.booleans()):
        return random.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
    return random.integers(0, 3, count).astype(dtype)


@st.composite
def arrays(
    draw: st.DrawFn,
    dtypes: list[np.dtype] = ALL,
    finite: bool = False,
    least: int = 0,
    most: int = 9,
    rank: int = 4,
) -> np.ndarray:
    """Arrays with strides that are negative, zero, or larger than they need be."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(st.lists(st.integers(least, most), max_size=rank))
    steps = [draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2])) for _ in shape]
    whole = [size * abs(step) for size, step in zip(shape, steps)]
    values = draw(elements(dtype, int(np.prod(whole)), finite))
    array = values.reshape(whole)
    array = array[tuple(slice(None, None, step) for step in steps)]
    array = array.transpose(draw(st.permutations(range(len(shape)))))
    if shape and least <= 1 and draw(st.integers(0, 5)) == 0:
        axis = draw(st.integers(0, len(shape) - 1))
        if array.shape[axis] > 0:
            index: Any = [slice(None)] * len(shape)
            index[axis] = slice(0, 1)
            array = np.broadcast_to(array[tuple(index)], array.shape)
    return array


@st.composite
def axes(draw: st.DrawFn, rank: int) -> Any:
    """All axes, one of them, or several, which may count from the end."""
    kind = draw(st.integers(0, 2))
    if kind == 0 or rank == 0:
        return draw(st.sampled_from([None, ()]))
    chosen = draw(st.lists(st.integers(0, rank - 1), min_size=1, max_size=rank, unique=True))
    signed = [axis - rank if draw(st.booleans()) else axis for axis in chosen]
    return signed[0] if kind == 1 else tuple(signed)
