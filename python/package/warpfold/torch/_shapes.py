"""The shapes and types of the operators' results, for tensors that have no memory.

torch.compile traces a program with such tensors. What the native part refuses because of a type or
an axis is refused here too, so that it is told when the program is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._errors import AxisError
from ._library import library, torch
from ._operators import ALONG

_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
#: The complex types, and those of their parts.
_PARTS = {torch.complex64: torch.float32, torch.complex128: torch.float64}
_SIGNED = (torch.bool, torch.int8, torch.int16, torch.int32, torch.int64)
_UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
_OF_INDICES = ("argmax", "argmin", "count_nonzero")
_OF_MEANS = ("mean", "var", "std", "moments", "norm", "logsumexp", "nanmean")
_OF_SUMS = ("sum", "prod", "dot", "nansum")
_OF_COMPLEX = ("sum", "prod", "mean", "norm", "any", "all", "count_nonzero")
_WITHOUT_A_RESULT_OF_NOTHING = ("max", "min", "minmax", "argmax", "argmin", "nanmin", "nanmax")


def reduced(axis: Any, rank: int) -> list[int]:
    """Return the numbers of the axes that are reduced, from the start."""
    if axis is None:
        return list(range(rank))
    found: list[int] = []
    for given in [axis] if isinstance(axis, int) else axis:
        number = given + rank if given < 0 else given
        if not 0 <= number < rank:
            raise AxisError(f"axis {given} is none of an array of {rank} dimensions")
        if number in found:
            raise ValueError(f"axis {given} is repeated")
        found.append(number)
    return sorted(found)


def _shape(x: Any, axis: Any, keepdims: bool) -> list[Any]:
    along = reduced(axis, x.dim())
    if keepdims:
        return [1 if number in along else size for number, size in enumerate(x.shape)]
    return [size for number, size in enumerate(x.shape) if number not in along]


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def result_type(name: str, given: Any, wanted: Any = None, method: str | None = None) -> Any:
    """Return the type of the result of an operator for elements of the type `given`."""
    if given in _PARTS:
        return _complex_type(name, given, wanted, method)
    if given not in _FLOATS + _SIGNED + _UNSIGNED:
        raise TypeError(f"arrays of {_name(given)} cannot be reduced")
    is_float = given in _FLOATS
    if name in ("norm", "logsumexp") and not is_float:
        raise TypeError(
            f"the {name} of {_name(given)} is not defined: cast the array to float32 or float64"
        )
    if method == "checked" and is_float:
        raise TypeError('method="checked" is for integers, whose sum may not fit')
    if name in _OF_SUMS:
        own = given if is_float else torch.uint64 if given in _UNSIGNED else torch.int64
        if method == "wide" and is_float:
            own = torch.float64
        if wanted is None:
            return own
        if is_float and name in ("sum", "prod") and wanted in _PARTS:
            return wanted
        if wanted not in _FLOATS if is_float else wanted == torch.bool or wanted in _PARTS:
            raise TypeError(f"a {name} of {_name(given)} cannot be {_name(wanted)}")
        return wanted
    if name in _OF_MEANS:
        return given if is_float else torch.float64
    if name in _OF_INDICES:
        return torch.int64
    return torch.bool if name in ("all", "any") else given


def _complex_type(name: str, given: Any, wanted: Any, method: str | None) -> Any:
    if name not in _OF_COMPLEX:
        raise TypeError(
            f"{name} takes no arrays of {_name(given)}: pass the real or the imaginary parts"
        )
    if method == "checked":
        raise TypeError('method="checked" is for integers, whose sum may not fit')
    if name in ("sum", "prod"):
        if wanted is None:
            return torch.complex128 if method == "wide" else given
        if wanted not in _PARTS:
            raise TypeError(f"a {name} of {_name(given)} cannot be {_name(wanted)}")
        return wanted
    if name == "norm":
        return _PARTS[given]
    if name == "mean":
        return given
    return torch.int64 if name == "count_nonzero" else torch.bool


def _along(name: str) -> Callable[..., Any]:
    def fake(
        x: Any,
        *,
        axis: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        method: str | None = None,
        **_: Any,
    ) -> Any:
        shape = _shape(x, axis, keepdims)
        if name in _WITHOUT_A_RESULT_OF_NOTHING and all(size != 0 for size in shape):
            if any(isinstance(x.shape[n], int) and x.shape[n] == 0 for n in reduced(axis, x.dim())):
                raise ValueError(f"the {name} of no elements is not defined")
        made = x.new_empty(shape, dtype=result_type(name, x.dtype, dtype, method))
        return (made, torch.empty_like(made)) if name in ("minmax", "moments") else made

    return fake


def _topk(x: Any, k: int, *, axis: int = -1, **_: Any) -> Any:
    along = reduced(axis, x.dim())[0]
    shape = [size for number, size in enumerate(x.shape) if number != along]
    # The native part writes the results of a row behind each other, and brings the axis back then.
    made = [x.new_empty([*shape, k], dtype=dtype) for dtype in (x.dtype, torch.int64)]
    return tuple(result.movedim(-1, along) for result in made)


def _dot(
    a: Any, b: Any, *, axis: Any = None, dtype: Any = None, keepdims: bool = False, **_: Any
) -> Any:
    if a.dtype != b.dtype:
        raise TypeError(f"the arrays are of {_name(a.dtype)} and of {_name(b.dtype)}: cast one")
    common = torch.broadcast_shapes(a.shape, b.shape)
    shape = _shape(a.expand(common), axis, keepdims)
    return a.new_empty(shape, dtype=result_type("dot", a.dtype, dtype))


def _segment_reduce(values: Any, offsets: Any, op: str = "sum", **_: Any) -> Any:
    return values.new_empty([offsets.shape[0] - 1], dtype=result_type(op, values.dtype))


def _reduce_by_key(keys: Any, values: Any, op: str = "sum", **_: Any) -> Any:
    runs = torch.library.get_ctx().new_dynamic_size()
    results = values.new_empty([runs], dtype=result_type(op, values.dtype))
    return keys.new_empty([runs]), results, keys.new_empty([runs], dtype=torch.int64)


def _bincount(
    keys: Any, weights: Any = None, *, minlength: int = 0, bins: int | None = None, **_: Any
) -> Any:
    if bins is None:
        size = torch.library.get_ctx().new_dynamic_size(min=minlength)
    else:
        size = max(bins, minlength)
    dtype = torch.int64 if weights is None else result_type("sum", weights.dtype)
    return keys.new_empty([size], dtype=dtype)


def register() -> None:
    """Tell torch the shapes of the operators' results."""
    fakes: dict[str, Callable[..., Any]] = {name: _along(name) for name in ALONG}
    fakes |= {
        "topk": _topk,
        "dot": _dot,
        "segment_reduce": _segment_reduce,
        "reduce_by_key": _reduce_by_key,
        "bincount": _bincount,
    }
    for name, fake in fakes.items():
        torch.library.register_fake(f"warpfold::{name}", fake, lib=library)
