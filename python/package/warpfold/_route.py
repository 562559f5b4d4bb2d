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


def _routed(native: Any, first: int, arrays: int) -> Any:
    """Return a call of the native part that goes by the operators where these are needed.

    So many arguments from number ``first`` on are arrays. The operators take the same arguments.
    """
    name = native.__name__
    last = first + arrays

    def call(*args: Any) -> Any:
        if "torch" in modules and _traces(*args[first:last]):
            return getattr(_operators(), name)(*args)
        try:
            return native(*args)
        except Exception:
            if not _needs_operator(*args[first:last]):
                raise
        return getattr(_operators(), name)(*args)

    return call


reduce = _routed(_reduce, 1, 1)
topk = _routed(_topk, 0, 1)
dot = _routed(_dot, 0, 2)
segment_reduce = _routed(_segment_reduce, 0, 2)
reduce_by_key = _routed(_reduce_by_key, 0, 2)
bincount = _routed(_bincount, 0, 2)
