"""Which calls of torch's reductions this package takes, and what it does with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._accelerate import Accelerated, Declined
from .._common import numbered, order_code
from .._native import reduce
from . import _calls
from ._library import torch

_LOW = (torch.float16, torch.bfloat16)
_FLOATS = (*_LOW, torch.float32, torch.float64)
#: What torch sums as `int64`. It has no sums of wider unsigned integers on every device.
_INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
#: The types to which a number of each type can be converted without rounding.
_WIDER = {
    torch.float16: (torch.float32, torch.float64),
    torch.bfloat16: (torch.float32, torch.float64),
    torch.float32: (torch.float64,),
}


class Declining(Exception):
    """The reason why a call is left to torch."""


class Call:
    """A call that this package takes: the reduction, and its arguments."""

    def __init__(self, name: str, dim: Any, keepdim: Any) -> None:
        self.name = name
        self.dim = dim
        self.keepdim = keepdim
        self.dtype: Any = None
        self.correction = 0.0
        self.order = 2.0

    def code(self) -> int:
        """Return the number of the reduction."""
        return order_code(self.order) if self.name == "norm" else numbered(self.name)


def _bound(
    args: Any, kwargs: Mapping[str, Any], names: tuple[str, ...], named: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the arguments behind the tensor by their names, the last of which are keywords."""
    if len(args) > len(names):
        raise Declining("it has more arguments than this package knows")
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        # torch takes NumPy's names too.
        name = {"axis": "dim", "keepdims": "keepdim"}.get(name, name)
        if name in given or name not in names + named:
            raise Declining(f"it has the argument {name}")
        given[name] = value
    return given


def _integers(dim: Any) -> list[int]:
    if isinstance(dim, bool):
        raise Declining("its axes are no integers")
    if isinstance(dim, int):
        return [dim]
    try:
        axes = list(dim)
    except TypeError:
        raise Declining("its axes are no integers") from None
    if isinstance(dim, torch.Tensor) or not all(type(axis) is int for axis in axes):
        raise Declining("its axes are no integers")
    return axes


def _dim(x: Any, dim: Any) -> Any:
    """Return the axes, if they mean the same here."""
    if dim is None:
        return None
    axes = _integers(dim)
    if not axes:
        raise Declining("it names no axis, which torch takes for all")
    rank = x.dim()
    if rank == 0:
        raise Declining("the tensor has no axis")
    if any(not -rank <= axis < rank for axis in axes):
        raise Declining("the tensor has no such axis")
    if len({axis % rank for axis in axes}) < len(axes):
        raise Declining("an axis is repeated")
    return tuple(axes)


def _call(name: str, x: Any, given: dict[str, Any]) -> Call:
    keepdim = given.get("keepdim", False)
    if not isinstance(keepdim, bool):
        raise Declining("keepdim is no bool")
    return Call(name, _dim(x, given.get("dim")), keepdim)


def _typed(call: Call, x: Any, given: dict[str, Any]) -> Call:
    """Take the argument `dtype`, to which torch converts the elements before it reduces them."""
    wanted = given.get("dtype")
    if x.dtype in _FLOATS:
        if wanted in (None, x.dtype):
            return call
        if wanted not in _WIDER.get(x.dtype, ()):
            raise Declining(f"torch would round the elements to {wanted}")
        call.dtype = wanted
    elif x.dtype in _INTEGERS:
        if wanted not in (None, torch.int64):
            raise Declining(f"torch would convert the elements to {wanted}")
        call.dtype = torch.int64
    else:
        raise Declining(f"the elements are of {x.dtype}")
    return call


def _of_floats(x: Any) -> None:
    if x.dtype not in _FLOATS:
        raise Declining(f"the elements are of {x.dtype}")


def _sum(x: Any, args: Any, kwargs: Any) -> Call:
    given = _bound(args, kwargs, ("dim", "keepdim"), ("dtype",))
    return _typed(_call("sum", x, given), x, given)


def _mean(x: Any, args: Any, kwargs: Any) -> Call:
    given = _bound(args, kwargs, ("dim", "keepdim"), ("dtype",))
    _of_floats(x)
    if given.get("dtype") not in (None, x.dtype):
        raise Declining("a mean has no dtype here")
    return _call("mean", x, given)


def _prod(x: Any, args: Any, kwargs: Any) -> Call:
    given = _bound(args, kwargs, ("dim", "keepdim"), ("dtype",))
    if not isinstance(given.get("dim", 0), int):
        raise Declining("torch takes one axis")
    call = _typed(_call("prod", x, given), x, given)
    if call.dtype == torch.float64:
        raise Declining("torch would multiply in torch.float64")
    return call


def _of_numbers(x: Any) -> None:
    if x.dtype not in _FLOATS + _INTEGERS:
        raise Declining(f"the elements are of {x.dtype}")
    if x.numel() == 0:
        raise Declining("the tensor is empty")


def _extreme(name: str) -> Callable[[Any, Any, Any], Call]:
    def take(x: Any, args: Any, kwargs: Any) -> Call:
        given = _bound(args, kwargs, ("dim", "keepdim"))
        _of_numbers(x)
        return _call(name, x, given)

    return take


def _whole_extreme(name: str) -> Callable[[Any, Any, Any], Call]:
    def take(x: Any, args: Any, kwargs: Any) -> Call:
        if args or kwargs:
            raise Declining("it returns indices too, or compares two tensors")
        _of_numbers(x)
        if x.requires_grad and torch.is_grad_enabled():
            raise Declining("torch shares its gradient in another way among NaNs")
        return Call(name, None, False)

    return take


def _index(name: str) -> Callable[[Any, Any, Any], Call]:
    def take(x: Any, args: Any, kwargs: Any) -> Call:
        given = _bound(args, kwargs, ("dim", "keepdim"))
        _of_numbers(x)
        if x.dtype in _FLOATS:
            raise Declining("+0 and -0 are equal in torch, and on a GPU not here")
        if x.dtype == torch.bool:
            raise Declining("the elements are of torch.bool")
        if not isinstance(given.get("dim", 0), (int, type(None))):
            raise Declining("torch takes one axis")
        return _call(name, x, given)

    return take


def _truth(name: str) -> Callable[[Any, Any, Any], Call]:
    def take(x: Any, args: Any, kwargs: Any) -> Call:
        given = _bound(args, kwargs, ("dim", "keepdim"))
        if x.dtype == torch.uint8:
            raise Declining("torch's result is of torch.uint8 for elements of that type")
        if x.dtype not in _FLOATS + _INTEGERS:
            raise Declining(f"the elements are of {x.dtype}")
        return _call(name, x, given)

    return take


def _spread(name: str) -> Callable[[Any, Any, Any], Call]:
    def take(x: Any, args: Any, kwargs: Any) -> Call:
        # torch has two forms: `x.var(unbiased)` and `x.var(dim, unbiased, keepdim)`.
        if args and isinstance(args[0], bool):
            given = _bound(args, kwargs, ("unbiased",))
        else:
            given = _bound(args, kwargs, ("dim", "unbiased", "keepdim"), ("correction",))
        _of_floats(x)
        call = _call(name, x, given)
        if "unbiased" in given and "correction" in given:
            raise Declining("it has both unbiased and correction")
        if not isinstance(given.get("unbiased", True), bool):
            raise Declining("unbiased is no bool")
        correction = given.get("correction", given.get("unbiased", True))
        correction = 1 if correction is None else correction
        if not isinstance(correction, (int, float)):
            raise Declining("correction is no number")
        call.correction = float(correction)
        count = 1
        for axis in range(x.dim()) if call.dim is None else call.dim:
            count *= x.shape[axis]
        if count <= call.correction:
            raise Declining("there are no more elements than the correction, of which torch warns")
        return call

    return take


def _norm_of(x: Any, order: Any, given: dict[str, Any]) -> Call:
    _of_floats(x)
    if given.get("dtype") not in (None, x.dtype):
        raise Declining("a norm has no dtype here")
    if not isinstance(order, (int, float)) or order not in (1, 2, float("inf")):
        raise Declining(f"the orders are 1, 2 and infinity, and this one is {order}")
    if order == float("inf") and x.numel() == 0:
        raise Declining("the tensor is empty")
    call = _call("norm", x, given)
    call.order = float(order)
    return call


def _vector_norm(x: Any, args: Any, kwargs: Any) -> Call:
    given = _bound(args, kwargs, ("ord", "dim", "keepdim"), ("dtype",))
    return _norm_of(x, given.get("ord", 2), given)


def _norm(x: Any, args: Any, kwargs: Any) -> Call:
    given = _bound(args, kwargs, ("p", "dim", "keepdim", "out", "dtype"))
    if given.get("out") is not None:
        raise Declining("it has the argument out")
    order = given.get("p", "fro")
    return _norm_of(x, 2 if order is None or order == "fro" else order, given)


def _logsumexp(x: Any, args: Any, kwargs: Any) -> Call:
    given = _bound(args, kwargs, ("dim", "keepdim"))
    _of_floats(x)
    if given.get("dim") is None:
        raise Declining("torch needs an axis")
    return _call("logsumexp", x, given)


def _functions() -> dict[Any, tuple[str, Callable[[Any, Any, Any], Call]]]:
    """Return what is taken: the functions of torch and the methods of tensors."""
    takers: dict[str, Callable[[Any, Any, Any], Call]] = {
        "sum": _sum,
        "mean": _mean,
        "prod": _prod,
        "amax": _extreme("max"),
        "amin": _extreme("min"),
        "max": _whole_extreme("max"),
        "min": _whole_extreme("min"),
        "argmax": _index("argmax"),
        "argmin": _index("argmin"),
        "any": _truth("any"),
        "all": _truth("all"),
        "var": _spread("var"),
        "std": _spread("std"),
        "norm": _norm,
        "logsumexp": _logsumexp,
    }
    found: dict[Any, tuple[str, Callable[[Any, Any, Any], Call]]] = {}
    for name, take in takers.items():
        for place in (torch, torch.Tensor):
            found[getattr(place, name)] = (name, take)
    found[torch.linalg.vector_norm] = ("vector_norm", _vector_norm)
    found[torch.special.logsumexp] = ("logsumexp", _logsumexp)
    return found


_FUNCTIONS = _functions()
_PLAIN = (torch.Tensor, torch.nn.Parameter)


def _is_low_under_autocast(x: Any) -> bool:
    return x.dtype in _LOW and torch.is_autocast_enabled(x.device.type)


def _check_surroundings(x: Any) -> None:
    """Decline where a call means more to torch than its result."""
    if x.layout is not torch.strided:
        raise Declining("the tensor is not strided")
    if x.is_complex():
        raise Declining(f"the elements are of {x.dtype}")
    if x.is_neg():
        raise Declining("the tensor is a lazily negated view")
    if _is_low_under_autocast(x):
        raise Declining("autocast changes the type")
    if torch._C._len_torch_dispatch_stack() > 0:
        raise Declining("a TorchDispatchMode watches the operators")
    if torch._C._functorch.peek_interpreter_stack() is not None:
        raise Declining("torch.func transforms the program")
    if torch.autograd.forward_ad._current_level >= 0:
        raise Declining("derivatives in forward mode are not implemented")
    if torch.jit.is_tracing():
        raise Declining("torch.jit traces the program")


class Routing(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
    """The mode of torch that takes the calls."""

    # A mode for functions sees each call from Python once, above automatic differentiation. One
    # below it, for operators, would cost every operator more, and would take the tensors from the
    # derivatives.

    def __init__(
        self,
        calls: Accelerated,
        devices: frozenset[str],
        report: Callable[[str], object] | None,
    ) -> None:
        torch.overrides.TorchFunctionMode.__init__(self)
        self.calls = calls
        self.devices = devices
        self.report = report

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Take a call, or leave it to torch."""
        kwargs = kwargs or {}
        entry = _FUNCTIONS.get(func)
        if entry is None or torch.compiler.is_compiling():
            return func(*args, **kwargs)
        if args:
            x, rest, named = args[0], args[1:], kwargs
        else:
            named = dict(kwargs)
            x, rest = named.pop("input", None), ()
        if type(x) not in _PLAIN or x.device.type not in self.devices:
            return func(*args, **kwargs)
        name, take = entry
        try:
            _check_surroundings(x)
            result = _run(take(x, rest, named), x)
        except Declining as reason:
            self._decline(name, str(reason))
        except Exception as error:
            # What this package refuses, torch may take. If it does not, it tells so itself.
            self._decline(name, f"this package refuses it: {error}")
        else:
            self.calls.routed[name] += 1
            return result
        return func(*args, **kwargs)

    def _decline(self, name: str, reason: str) -> None:
        kind = Declined(name, reason)
        self.calls.declined[kind] += 1
        if self.report is not None and self.calls.declined[kind] == 1:
            self.report(f"{name} is left to torch, because {reason}")


def _run(call: Call, x: Any) -> Any:
    code = call.code()
    dim = call.dim[0] if call.name in ("argmax", "argmin") and call.dim else call.dim
    if x.requires_grad and torch.is_grad_enabled():
        arguments = (code, x, dim, call.dtype, call.keepdim, None, call.correction, None, None)
        return _calls.reduce(*arguments)
    return reduce(code, x, dim, call.dtype, call.keepdim, None, call.correction, None, None)
