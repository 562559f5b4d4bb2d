"""Calls of the native part, or of the operators of torch for tensors that need these.

Nothing here imports torch. An array of another library costs a look-up in `sys.modules` more, and a
tensor of torch the question whether torch traces.
"""

from __future__ import annotations

from sys import modules
from typing import Any

from ._native import bincount as _bincount
from ._native import dot as _dot
from ._native import reduce as _reduce
from ._native import reduce_by_key as _reduce_by_key
from ._native import segment_reduce as _segment_reduce
from ._native import topk as _topk


def _traces(*arrays: object) -> bool:
    """Return whether torch traces the program, and one of these is a tensor."""
    torch: Any = modules["torch"]
    try:
        if not torch.compiler.is_compiling():
            if torch.autograd.forward_ad._current_level >= 0:
                _refuse_tangents(torch, arrays)
            return False
    except AttributeError:
        # What takes the place of torch, or is being imported, lacks these.
        return False
    return any(isinstance(array, torch.Tensor) for array in arrays)


def _refuse_tangents(torch: Any, arrays: tuple[object, ...]) -> None:
    for array in arrays:
        if isinstance(array, torch.Tensor):
            if torch.autograd.forward_ad.unpack_dual(array).tangent is not None:
                raise NotImplementedError(
                    "derivatives in forward mode are not implemented, and the tensor has a "
                    "tangent: use the reduction of torch"
                )


def _needs_operator(*arrays: object) -> bool:
    """Return whether the native part has refused these because they are for the operators."""
    torch: Any = modules.get("torch")
    tensor: Any = getattr(torch, "Tensor", None)
    if tensor is None:
        return False
    for array in arrays:
        if not isinstance(array, tensor):
            continue
        x: Any = array
        # A subclass may have no memory, and torch knows what an operator means for it. So it is for
        # what torch.vmap and torch.func wrap.
        if type(x) not in (tensor, torch.nn.Parameter):
            return True
        if torch._C._functorch.is_functorch_wrapped_tensor(x):
            return True
        if x.requires_grad and torch.is_grad_enabled():
            return True
    return False


def _operators() -> Any:
    from .torch import _calls

    return _calls


def reduce(
    op: int,
    x: Any,
    axis: Any,
    dtype: object,
    keepdims: bool,
    out: Any,
    correction: float,
    method: str | None,
    device: str | None,
) -> Any:
    """Reduce an array along axes."""
    if "torch" in modules and _traces(x):
        return _operators().reduce(op, x, axis, dtype, keepdims, out, correction, method, device)
    try:
        return _reduce(op, x, axis, dtype, keepdims, out, correction, method, device)
    except Exception:
        if not _needs_operator(x):
            raise
    return _operators().reduce(op, x, axis, dtype, keepdims, out, correction, method, device)


def topk(x: Any, k: int, axis: int, is_largest: bool, device: str | None) -> Any:
    """Return the best few elements of an array, and their indices."""
    if "torch" in modules and _traces(x):
        return _operators().topk(x, k, axis, is_largest, device)
    try:
        return _topk(x, k, axis, is_largest, device)
    except Exception:
        if not _needs_operator(x):
            raise
    return _operators().topk(x, k, axis, is_largest, device)


def dot(
    a: Any, b: Any, axis: Any, dtype: object, keepdims: bool, out: Any, device: str | None
) -> Any:
    """Sum the products of two arrays."""
    if "torch" in modules and _traces(a, b):
        return _operators().dot(a, b, axis, dtype, keepdims, out, device)
    try:
        return _dot(a, b, axis, dtype, keepdims, out, device)
    except Exception:
        if not _needs_operator(a, b):
            raise
    return _operators().dot(a, b, axis, dtype, keepdims, out, device)


def segment_reduce(
    values: Any,
    offsets: Any,
    op: str,
    correction: float,
    check: bool,
    out: Any,
    device: str | None,
) -> Any:
    """Reduce the segments of an array."""
    if "torch" in modules and _traces(values, offsets):
        return _operators().segment_reduce(values, offsets, op, correction, check, out, device)
    try:
        return _segment_reduce(values, offsets, op, correction, check, out, device)
    except Exception:
        if not _needs_operator(values, offsets):
            raise
    return _operators().segment_reduce(values, offsets, op, correction, check, out, device)


def reduce_by_key(keys: Any, values: Any, op: str, device: str | None) -> Any:
    """Reduce the runs of equal keys."""
    if "torch" in modules and _traces(keys, values):
        return _operators().reduce_by_key(keys, values, op, device)
    try:
        return _reduce_by_key(keys, values, op, device)
    except Exception:
        if not _needs_operator(keys, values):
            raise
    return _operators().reduce_by_key(keys, values, op, device)


def bincount(
    keys: Any, weights: Any, minlength: int, bins: int | None, check: bool, device: str | None
) -> Any:
    """Count keys, or sum weights."""
    if "torch" in modules and _traces(keys, weights):
        return _operators().bincount(keys, weights, minlength, bins, check, device)
    try:
        return _bincount(keys, weights, minlength, bins, check, device)
    except Exception:
        if not _needs_operator(keys, weights):
            raise
    return _operators().bincount(keys, weights, minlength, bins, check, device)
