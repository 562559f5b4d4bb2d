"""The operators under `torch.vmap`: one call for the whole batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._library import library, torch
from ._operators import ALONG
from ._shapes import reduced


def _along(name: str) -> Callable[..., Any]:
    def batched(_info: Any, in_dims: Any, x: Any, *, axis: Any = None, **others: Any) -> Any:
        x = x.movedim(in_dims[0], 0)
        operator = getattr(torch.ops.warpfold, name)
        if name in ("argmax", "argmin"):
            if axis is None:
                # The index is that in the flattened array, and each example keeps its axes as 1.
                keeps = others.get("keepdims", False)
                result = operator(x.flatten(1), axis=1, **{**others, "keepdims": False})
                return (result.view([-1] + [1] * (x.dim() - 1)) if keeps else result), 0
            return operator(x, axis=reduced(axis, x.dim() - 1)[0] + 1, **others), 0
        along = [number + 1 for number in reduced(axis, x.dim() - 1)]
        result = operator(x, axis=along, **others)
        return result, (0, 0) if isinstance(result, tuple) else 0

    return batched


def _topk(_info: Any, in_dims: Any, x: Any, k: int, *, axis: int = -1, **others: Any) -> Any:
    x = x.movedim(in_dims[0], 0)
    axis = reduced(axis, x.dim() - 1)[0] + 1
    return torch.ops.warpfold.topk(x, k, axis=axis, **others), (0, 0)


def _dot(_info: Any, in_dims: Any, a: Any, b: Any, *, axis: Any = None, **others: Any) -> Any:
    pair = [
        x.unsqueeze(0) if batch is None else x.movedim(batch, 0)
        for x, batch in zip((a, b), in_dims, strict=True)
    ]
    rank = max(x.dim() - 1 for x in pair)
    # Axes of the size 1 are put behind that of the batch, so that the others stay the last ones.
    a, b = (x.reshape([x.shape[0], *[1] * (rank + 1 - x.dim()), *x.shape[1:]]) for x in pair)
    along = [number + 1 for number in reduced(axis, rank)]
    return torch.ops.warpfold.dot(a, b, axis=along, **others), 0


def _with_gradient(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse to lose a gradient, which torch 2.5 does within `torch.vmap`."""

    def batched(info: Any, in_dims: Any, *args: Any, **others: Any) -> Any:
        result, dims = rule(info, in_dims, *args, **others)
        tensors = [x for x in args if isinstance(x, torch.Tensor)]
        if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
            results: list[Any] = [*result] if isinstance(dims, tuple) else [result]
            for one in results:
                if one.is_floating_point() and not one.requires_grad:
                    raise NotImplementedError(
                        f"torch {torch.__version__} has no gradient of an operator within "
                        f"torch.vmap: use a newer one, or reduce the whole batch along axes"
                    )
        return result, dims

    return batched


def register() -> None:
    """Tell torch how the operators take batches."""
    rules: dict[str, Callable[..., Any]] = {name: _along(name) for name in ALONG}
    rules["topk"], rules["dot"] = _topk, _dot
    for name, rule in rules.items():
        torch.library.register_vmap(f"warpfold::{name}", _with_gradient(rule), lib=library)
