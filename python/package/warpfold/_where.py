"""The arguments ``initial`` and ``where`` of reductions, with NumPy's meaning.

The caller's own library selects the elements, and adds ``initial`` to the results. So tensors of
torch keep their gradients, and a compiled program has no break.
"""

from __future__ import annotations

from contextlib import nullcontext
from sys import modules
from typing import Any

from ._common import name_of, numbered
from ._route import reduce as _reduce

_ANY = numbered("any")

#: What changes no result. An extreme has no such number, and takes ``initial``.
_NEUTRAL = {"sum": 0, "prod": 1, "any": 0, "all": 1}

#: The functions that put ``initial`` and a result together, in NumPy and in the standard.
_UFUNCS = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}


class _Numpy:
    """NumPy or CuPy, which works on the device that is current."""

    def __init__(self, module: Any, device: Any) -> None:
        self.module = module
        self.device = device

    def full(self, like: Any, shape: Any, value: Any) -> Any:
        with self.device:
            return self.module.full(shape, value, dtype=like.dtype)

    def select(self, where: Any, x: Any, value: Any) -> Any:
        with self.device:
            return self.module.where(where, x, x.dtype.type(value))

    def combine(self, name: str, result: Any, value: Any, out: Any) -> Any:
        ufunc = getattr(self.module, _UFUNCS[name])
        with self.device:
            # A result of 0 dimensions would become a scalar, if it were not written where it is.
            return ufunc(result, result.dtype.type(value), out=result)


class _Torch:
    """torch, whose functions are traced and have derivatives."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def full(self, like: Any, shape: Any, value: Any) -> Any:
        return like.new_full(shape, value)

    def select(self, where: Any, x: Any, value: Any) -> Any:
        return self.module.where(where, x, x.new_full((), value))

    def combine(self, name: str, result: Any, value: Any, out: Any) -> Any:
        number = result.new_full((), value)
        kind = _type_name(result)
        if name == "sum" and kind.startswith("uint"):
            # torch adds no unsigned integers but uint8. The bits of signed ones are the same.
            signed = getattr(self.module, kind[1:])
            made = (result.view(signed) + number.view(signed)).view(result.dtype)
        elif name == "sum":
            made = result + number
        elif name == "prod":
            made = result * number
        else:
            made = getattr(self.module, _UFUNCS[name])(result, number)
        return made if out is None else out.copy_(made)


class _Standard:
    """A library with the functions of the array API standard."""

    def __init__(self, namespace: Any) -> None:
        self.namespace = namespace

    def full(self, like: Any, shape: Any, value: Any) -> Any:
        return self.namespace.full(shape, value, dtype=like.dtype, device=like.device)

    def select(self, where: Any, x: Any, value: Any) -> Any:
        return self.namespace.where(where, x, value)

    def combine(self, name: str, result: Any, value: Any, out: Any) -> Any:
        made = getattr(self.namespace, _UFUNCS[name])(result, value)
        if out is None:
            return made
        out[...] = made
        return out


def _library_of(x: Any) -> _Numpy | _Torch | _Standard:
    torch: Any = modules.get("torch")
    if torch is not None and isinstance(x, getattr(torch, "Tensor", ())):
        return _Torch(torch)
    for name, classes in (("numpy", ("ndarray", "generic")), ("cupy", ("ndarray",))):
        module: Any = modules.get(name)
        # A module that takes the place of another one may lack the classes.
        kinds: Any = tuple(getattr(module, kind) for kind in classes if hasattr(module, kind))
        if isinstance(x, kinds):
            return _Numpy(module, x.device if name == "cupy" else nullcontext())
    namespace = getattr(x, "__array_namespace__", None)
    if namespace is not None:
        return _Standard(namespace())
    raise TypeError(
        f"initial and where are applied by the library of the array, and an object of type "
        f"{type(x).__name__} has none that can: pass an array of torch, CuPy, NumPy or JAX"
    )


def _type_name(x: Any) -> str:
    name: str = getattr(x.dtype, "name", None) or str(x.dtype).rsplit(".", 1)[-1]
    return name


def _number(initial: Any, name: str) -> Any:
    """Return ``initial`` as an element of the type with this name."""
    if name == "bool":
        return bool(initial)
    if name.startswith("complex"):
        return complex(initial)
    if not name.startswith(("int", "uint")):
        return float(initial)
    # As NumPy does, this drops what is behind the point.
    value = int(initial)
    bits = int(name.removeprefix("u").removeprefix("int"))
    least = 0 if name.startswith("u") else -(2 ** (bits - 1))
    if not least <= value < least + 2**bits:
        raise OverflowError(f"initial is {value}, which {name} does not hold")
    return value


def _check_mask(x: Any, where: Any) -> None:
    shape = getattr(where, "shape", None)
    if shape is None or _type_name(where) != "bool":
        raise TypeError(
            "where is an array of bool of the library of the array that is reduced: cast it"
        )
    rank, given = len(x.shape), len(shape)
    sizes = zip(shape, x.shape[rank - given :], strict=True) if given <= rank else None
    if sizes is None or any(size not in (1, other) for size, other in sizes):
        raise ValueError(
            f"where has the shape {tuple(shape)}, which does not broadcast to that of the array, "
            f"{tuple(x.shape)}"
        )


def reduce(
    op: int,
    x: Any,
    axis: Any,
    dtype: object,
    keepdims: bool,
    out: Any,
    method: str | None,
    device: str | None,
    initial: Any,
    where: Any,
) -> Any:
    """Reduce the elements of an array for which ``where`` is true, and ``initial``."""
    name = name_of(op)
    library = _library_of(x)
    is_extreme = name not in _NEUTRAL
    if initial is not None and method == "checked":
        raise TypeError('method="checked" takes no initial, because adding it is not checked')
    value = None
    if initial is not None and (is_extreme or out is not None):
        value = _number(initial, _type_name(x if is_extreme else out))
    if where is not None:
        _check_mask(x, where)
        if is_extreme and initial is None:
            raise ValueError(
                f"the {name} of no elements is not defined, so that where needs the argument "
                f"initial"
            )
        neutral = value if is_extreme else _number(_NEUTRAL[name], _type_name(x))
        x = library.select(where, x, neutral)
    if is_extreme and value is not None and 0 in x.shape:
        # There is a result of no elements then. It is that of one element, which is `initial`.
        kept = _reduce(_ANY, x, axis, None, True, None, 0.0, None, device)
        x = library.full(x, kept.shape, value)
    result = _reduce(op, x, axis, dtype, keepdims, out, 0.0, method, device)
    if initial is None:
        return result
    return library.combine(name, result, _number(initial, _type_name(result)), out)
