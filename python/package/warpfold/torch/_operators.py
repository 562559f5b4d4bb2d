"""The operators: their schemas, and the kernels that call the native part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._common import numbered, order_code
from .._native import bincount, dot, reduce, reduce_by_key, segment_reduce, topk
from ._library import library, torch

_ALONG = "(Tensor x, *, int[1]? axis=None, bool keepdims=False, str? device=None) -> Tensor"
_SPREAD = (
    "(Tensor x, *, int[1]? axis=None, float correction=0.0, bool keepdims=False, "
    "str? device=None) -> "
)
_INDEX = "(Tensor x, *, int? axis=None, bool keepdims=False, str? device=None) -> Tensor"
_TYPED = (
    "(Tensor x, *, int[1]? axis=None, ScalarType? dtype=None, bool keepdims=False, "
    "str? device=None) -> Tensor"
)

#: What each operator along axes takes and returns, by its name.
ALONG: dict[str, str] = {
    "sum": (
        "(Tensor x, *, int[1]? axis=None, ScalarType? dtype=None, bool keepdims=False, "
        "str? method=None, str? device=None) -> Tensor"
    ),
    "prod": _TYPED,
    "max": _ALONG,
    "min": _ALONG,
    "mean": _ALONG,
    "var": _SPREAD + "Tensor",
    "std": _SPREAD + "Tensor",
    "argmax": _INDEX,
    "argmin": _INDEX,
    "all": _ALONG,
    "any": _ALONG,
    "count_nonzero": _ALONG,
    "minmax": (
        "(Tensor x, *, int[1]? axis=None, bool keepdims=False, str? device=None) -> "
        "(Tensor min, Tensor max)"
    ),
    "moments": _SPREAD + "(Tensor mean, Tensor var)",
    "norm": (
        "(Tensor x, *, float ord=2.0, int[1]? axis=None, bool keepdims=False, "
        "str? device=None) -> Tensor"
    ),
    "logsumexp": _ALONG,
    "nansum": _TYPED,
    "nanmean": _ALONG,
    "nanmin": _ALONG,
    "nanmax": _ALONG,
}

#: The same of the other operators.
OTHERS: dict[str, str] = {
    "topk": (
        "(Tensor x, int k, *, int axis=-1, bool largest=True, str? device=None) -> "
        "(Tensor values, Tensor indices)"
    ),
    "dot": (
        "(Tensor a, Tensor b, *, int[1]? axis=None, ScalarType? dtype=None, "
        "bool keepdims=False, str? device=None) -> Tensor"
    ),
    "segment_reduce": (
        '(Tensor values, Tensor offsets, str op="sum", *, float correction=0.0, '
        "bool check=True, str? device=None) -> Tensor"
    ),
    "reduce_by_key": (
        '(Tensor keys, Tensor values, str op="sum", *, str? device=None) -> '
        "(Tensor, Tensor, Tensor)"
    ),
    "bincount": (
        "(Tensor keys, Tensor? weights=None, *, int minlength=0, int? bins=None, "
        "bool check=True, str? device=None) -> Tensor"
    ),
}


def _plain(x: Any) -> Any:
    """Return the tensor without its gradient, which torch keeps outside of kernels."""
    return x.detach() if x is not None and x.requires_grad else x


def _axis(axis: Any) -> Any:
    return axis if axis is None or isinstance(axis, int) else tuple(axis)


def _along(name: str) -> Callable[..., Any]:
    code = 0 if name == "norm" else numbered(name)

    def kernel(
        x: Any,
        *,
        axis: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        correction: float = 0.0,
        method: str | None = None,
        ord: float = 2.0,
        device: str | None = None,
    ) -> Any:
        op = order_code(ord) if name == "norm" else code
        return reduce(op, _plain(x), _axis(axis), dtype, keepdims, None, correction, method, device)

    return kernel


def _topk(
    x: Any, k: int, *, axis: int = -1, largest: bool = True, device: str | None = None
) -> Any:
    return topk(_plain(x), k, axis, largest, device)


def _dot(
    a: Any,
    b: Any,
    *,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    device: str | None = None,
) -> Any:
    return dot(_plain(a), _plain(b), _axis(axis), dtype, keepdims, None, device)


def _segment_reduce(
    values: Any,
    offsets: Any,
    op: str = "sum",
    *,
    correction: float = 0.0,
    check: bool = True,
    device: str | None = None,
) -> Any:
    return segment_reduce(_plain(values), offsets, op, correction, check, None, device)


def _reduce_by_key(keys: Any, values: Any, op: str = "sum", *, device: str | None = None) -> Any:
    return reduce_by_key(_plain(keys), _plain(values), op, device)


def _bincount(
    keys: Any,
    weights: Any = None,
    *,
    minlength: int = 0,
    bins: int | None = None,
    check: bool = True,
    device: str | None = None,
) -> Any:
    return bincount(keys, _plain(weights), minlength, bins, check, device)


def register() -> None:
    """Define the operators, and give them their kernels."""
    kernels: dict[str, Callable[..., Any]] = {
        "topk": _topk,
        "dot": _dot,
        "segment_reduce": _segment_reduce,
        "reduce_by_key": _reduce_by_key,
        "bincount": _bincount,
    }
    for name, schema in (ALONG | OTHERS).items():
        library.define(name + schema, tags=(torch.Tag.pt2_compliant_tag,))
        kernel = kernels[name] if name in kernels else _along(name)
        # The kernel takes the tensors of every device, and refuses those that it cannot reduce.
        library.impl(name, kernel, "CompositeExplicitAutograd")
