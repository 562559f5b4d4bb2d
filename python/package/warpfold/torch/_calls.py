"""The functions of the package, for tensors that go by the operators.

These are tensors whose gradient is asked for, and those of a program that is being traced.
"""

from __future__ import annotations

from operator import index
from typing import Any

from .._common import name_of
from ._library import torch

_OPS = torch.ops.warpfold
_NORMS = {"norm1": 1.0, "norm2": 2.0, "norminf": float("inf")}
_TYPED = ("sum", "prod", "nansum")
_SPREAD = ("var", "std", "moments")


def _dtype(dtype: Any) -> Any:
    """Return torch's type for what `dtype` names: a type of torch or NumPy, or a string."""
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    name = {float: "float64", int: "int64", bool: "bool"}.get(dtype)
    if name is None:
        name = str(getattr(dtype, "__name__", dtype)).rsplit(".", 1)[-1]
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise TypeError(f"{dtype} is no type of elements")
    return found


def _axis(axis: Any) -> int | list[int] | None:
    if axis is None or isinstance(axis, int):
        return axis
    # Integers of NumPy are axes too.
    return index(axis) if hasattr(axis, "__index__") else [index(number) for number in axis]


def _delivered(result: Any, out: Any) -> Any:
    if out is None:
        return result
    if out.requires_grad or result.requires_grad:
        raise RuntimeError(
            "out= has no gradient, and a tensor requires one: call without out, or under "
            "torch.no_grad()"
        )
    if out.shape != result.shape:
        raise ValueError(
            f"out has the shape {tuple(out.shape)}, and the results have {tuple(result.shape)}"
        )
    if out.dtype != result.dtype:
        raise TypeError(f"out has elements of {out.dtype}, and the results are {result.dtype}")
    return out.copy_(result)


def reduce(
    op: int,
    x: Any,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    out: Any,
    correction: float,
    method: str | None,
    device: str | None,
) -> Any:
    """Reduce a tensor along axes."""
    name = name_of(op)
    options: dict[str, Any] = {"keepdims": keepdims, "device": device}
    if name in _NORMS:
        options["ord"] = _NORMS[name]
        name = "norm"
    if name in _TYPED:
        options["dtype"] = _dtype(dtype)
    if name in _SPREAD:
        options["correction"] = float(correction)
    if name == "sum":
        options["method"] = method
    axes = _axis(axis)
    if name in ("argmax", "argmin") and not (axes is None or isinstance(axes, int)):
        if len(axes) != 1:
            raise TypeError(f"{name} takes one axis or None")
        (axes,) = axes
    result = getattr(_OPS, name)(x, axis=axes, **options)
    return _delivered(result, out)


def topk(x: Any, k: int, axis: int, is_largest: bool, device: str | None) -> Any:
    """Return the best few elements of a tensor, and their indices."""
    return _OPS.topk(x, k, axis=axis, largest=is_largest, device=device)


def dot(a: Any, b: Any, axis: Any, dtype: Any, keepdims: bool, out: Any, device: str | None) -> Any:
    """Sum the products of two tensors."""
    options: dict[str, Any] = {"dtype": _dtype(dtype), "keepdims": keepdims, "device": device}
    return _delivered(_OPS.dot(a, b, axis=_axis(axis), **options), out)


def segment_reduce(
    values: Any,
    offsets: Any,
    op: str,
    correction: float,
    check: bool,
    out: Any,
    device: str | None,
) -> Any:
    """Reduce the segments of a tensor."""
    options: dict[str, Any] = {"correction": float(correction), "check": check, "device": device}
    return _delivered(_OPS.segment_reduce(values, offsets, op, **options), out)


def reduce_by_key(keys: Any, values: Any, op: str, device: str | None) -> Any:
    """Reduce the runs of equal keys."""
    return _OPS.reduce_by_key(keys, values, op, device=device)


def bincount(
    keys: Any, weights: Any, minlength: int, bins: int | None, check: bool, device: str | None
) -> Any:
    """Count keys, or sum weights."""
    options: dict[str, Any] = {"minlength": minlength, "bins": bins, "check": check}
    return _OPS.bincount(keys, weights, device=device, **options)
