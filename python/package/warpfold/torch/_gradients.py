"""The derivatives of the operators. They are made of operations of torch, so that they have
derivatives themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ._library import library, torch
from ._shapes import reduced


class Along(NamedTuple):
    """What a derivative knows of the call: the axes, and what was passed besides."""

    shape: Any
    dtype: Any
    axes: list[int]
    options: dict[str, Any]

    def spread(self, result: Any) -> Any:
        """Return results in a shape that is broadcast to that of the tensor."""
        kept = [1 if number in self.axes else size for number, size in enumerate(self.shape)]
        return result.reshape(kept)

    def total(self, x: Any) -> Any:
        """Return the sums along the axes, which stay with the size 1."""
        # torch takes no axes for all of them.
        return x.sum(dim=self.axes, keepdim=True) if self.axes else x

    def own(self, grad: Any) -> Any:
        """Return a gradient in the type of the tensor."""
        if grad.is_complex() and not self.dtype.is_complex:
            grad = grad.real
        return grad.to(self.dtype)

    def length(self) -> Any:
        """Return the number of elements of each result."""
        count = 1
        for number in self.axes:
            count = count * self.shape[number]
        return count


def _sum(call: Along, grad: Any) -> Any:
    return call.own(call.spread(grad).expand(call.shape))


def _mean(call: Along, grad: Any) -> Any:
    return call.spread(grad).expand(call.shape) / call.length()


def _prod(call: Along, grad: Any, x: Any, _: Any) -> Any:
    # The product of all other elements is that of those before and of those behind. A quotient of
    # the result and the element would be undefined for zeros.
    last = [number for number in range(x.dim()) if number not in call.axes] + call.axes
    rows = x.permute(last).flatten(x.dim() - len(call.axes)) if call.axes else x.unsqueeze(-1)
    one = torch.ones_like(rows[..., :1])
    before = torch.cat([one, rows[..., :-1]], -1).cumprod(-1)
    behind = torch.cat([rows[..., 1:], one], -1).flip(-1).cumprod(-1).flip(-1)
    others = (before * behind).reshape([x.shape[number] for number in last])
    back = sorted(range(x.dim()), key=last.__getitem__)
    return call.own(call.spread(grad) * others.permute(back).conj())


def _extreme(call: Along, grad: Any, x: Any, result: Any) -> Any:
    is_best = (x == call.spread(result)).to(grad.dtype)
    return call.spread(grad) * is_best / call.total(is_best)


def _norm(call: Along, grad: Any, x: Any, result: Any) -> Any:
    grad, result = call.spread(grad), call.spread(result)
    order = call.options["ord"]
    if order == 1:
        return grad * x.sgn()
    if order == 2:
        return (x * (grad / result)).masked_fill(result == 0, 0)
    size = x.abs()
    if x.is_complex():
        # torch may round absolute values in another way than the result was.
        result = size.amax(dim=call.axes, keepdim=True) if call.axes else size
    is_best = ((size == result) | (size.isnan() & result.isnan())).to(grad.dtype)
    return grad * x.sgn() * is_best / call.total(is_best)


def _logsumexp(call: Along, grad: Any, x: Any, result: Any) -> Any:
    return call.spread(grad) * (x - call.spread(result)).exp()


def _centred(call: Along, grad: Any, x: Any) -> Any:
    # The divisor may be 0, for which a tensor becomes infinite, and a number of Python fails.
    divisor = call.length() - call.options["correction"]
    return call.spread(grad) * (x - call.total(x) / call.length()) * 2 / divisor


def _var(call: Along, grad: Any, x: Any, _: Any) -> Any:
    return _centred(call, grad, x)


def _std(call: Along, grad: Any, x: Any, result: Any) -> Any:
    return _centred(call, (grad / (2 * result)).masked_fill(result == 0, 0), x)


def _nansum(call: Along, grad: Any, x: Any, _: Any) -> Any:
    return (call.spread(grad) * x.isnan().logical_not()).to(call.dtype)


def _nanmean(call: Along, grad: Any, x: Any, _: Any) -> Any:
    is_number = x.isnan().logical_not().to(grad.dtype)
    return call.spread(grad) * is_number / call.total(is_number)


def _minmax(call: Along, grads: Any, x: Any, results: Any) -> Any:
    return _extreme(call, grads[0], x, results[0]) + _extreme(call, grads[1], x, results[1])


def _moments(call: Along, grads: Any, x: Any, _: Any) -> Any:
    return _mean(call, grads[0]) + _centred(call, grads[1], x)


#: Derivatives that need neither the elements nor the results.
_LINEAR: dict[str, Callable[..., Any]] = {"sum": _sum, "mean": _mean}
_OTHERS: dict[str, Callable[..., Any]] = {
    "prod": _prod,
    "max": _extreme,
    "min": _extreme,
    "nanmax": _extreme,
    "nanmin": _extreme,
    "norm": _norm,
    "logsumexp": _logsumexp,
    "var": _var,
    "std": _std,
    "nansum": _nansum,
    "nanmean": _nanmean,
    "minmax": _minmax,
    "moments": _moments,
}

#: Operators that have two results.
_PAIRS = ("minmax", "moments")


def _along(name: str) -> None:
    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        (x,) = inputs
        axes = reduced(keyword_only_inputs["axis"], x.dim())
        ctx.call = Along(x.shape, x.dtype, axes, keyword_only_inputs)
        if name in _OTHERS:
            ctx.save_for_backward(x, *(output if name in _PAIRS else [output]))

    def backward(ctx: Any, *grads: Any) -> Any:
        if name in _LINEAR:
            return _LINEAR[name](ctx.call, *grads)
        x, *results = ctx.saved_tensors
        if name in _PAIRS:
            return _OTHERS[name](ctx.call, grads, x, results)
        return _OTHERS[name](ctx.call, *grads, x, *results)

    _register(name, setup, backward)


def _register(name: str, setup: Callable[..., Any], backward: Callable[..., Any]) -> None:
    torch.library.register_autograd(f"warpfold::{name}", backward, setup_context=setup, lib=library)


def _topk() -> None:
    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        ctx.shape, ctx.axis = inputs[0].shape, keyword_only_inputs["axis"]
        ctx.save_for_backward(output[1])

    def backward(ctx: Any, grad: Any, _: Any) -> Any:
        (indices,) = ctx.saved_tensors
        # An index stands once in the results of a row, so that nothing is added up.
        return grad.new_zeros(ctx.shape).scatter(ctx.axis, indices, grad), None

    _register("topk", setup, backward)


def _dot() -> None:
    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        a, b = inputs
        common = torch.broadcast_shapes(a.shape, b.shape)
        axes = reduced(keyword_only_inputs["axis"], len(common))
        ctx.call = Along(common, a.dtype, axes, keyword_only_inputs)
        ctx.save_for_backward(a, b)

    def backward(ctx: Any, grad: Any) -> Any:
        a, b = ctx.saved_tensors
        grad = ctx.call.spread(grad)
        of_a = (grad * b).expand(ctx.call.shape).sum_to_size(a.shape).to(a.dtype)
        return of_a, (grad * a).expand(ctx.call.shape).sum_to_size(b.shape).to(b.dtype)

    _register("dot", setup, backward)


def _check_linear(name: str, op: str) -> None:
    if op in ("sum", "mean"):
        return
    raise NotImplementedError(
        f'the derivative of {name} with "{op}" is not implemented: pass tensor.detach(), or call '
        f"under torch.no_grad()"
    )


def _segment_reduce() -> None:
    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        values, offsets, ctx.op = inputs
        _check_linear("segment_reduce", ctx.op)
        ctx.dtype, ctx.length = values.dtype, values.shape[0]
        ctx.save_for_backward(offsets)

    def backward(ctx: Any, grad: Any) -> Any:
        offsets = ctx.saved_tensors[0].to(torch.int64)
        if ctx.op == "mean":
            # An empty segment has no elements that would take its gradient.
            grad = grad / offsets.diff().clamp(min=1)
        numbers = torch.arange(ctx.length, device=offsets.device)
        segment = torch.searchsorted(offsets, numbers, right=True)
        # Elements before the first segment and behind the last one belong to none.
        nothing = grad.new_zeros(1)
        return torch.cat([nothing, grad, nothing])[segment].to(ctx.dtype), None, None

    _register("segment_reduce", setup, backward)


def _reduce_by_key() -> None:
    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        _, values, ctx.op = inputs
        _check_linear("reduce_by_key", ctx.op)
        ctx.dtype, ctx.length = values.dtype, values.shape[0]
        ctx.save_for_backward(output[2])
        ctx.mark_non_differentiable(output[0])

    def backward(ctx: Any, _keys: Any, grad: Any, _counts: Any) -> Any:
        (counts,) = ctx.saved_tensors
        if ctx.op == "mean":
            grad = grad / counts
        grad = grad.repeat_interleave(counts, output_size=ctx.length)
        return None, grad.to(ctx.dtype), None

    _register("reduce_by_key", setup, backward)


def _bincount() -> None:
    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        keys, weights = inputs
        ctx.dtype = weights.dtype
        ctx.save_for_backward(keys)

    def backward(ctx: Any, grad: Any) -> Any:
        keys = ctx.saved_tensors[0].to(torch.int64)
        is_bin = (keys >= 0) & (keys < grad.shape[0])
        # Keys that are no bins were left out. The gradient of one 0 more stands for them.
        padded = torch.cat([grad, grad.new_zeros(1)])
        return None, padded[keys.where(is_bin, grad.shape[0])].to(ctx.dtype)

    _register("bincount", setup, backward)


def register() -> None:
    """Tell torch the derivatives of the operators that have one."""
    for name in (*_LINEAR, *_OTHERS):
        _along(name)
    _topk()
    _dot()
    _segment_reduce()
    _reduce_by_key()
    _bincount()
