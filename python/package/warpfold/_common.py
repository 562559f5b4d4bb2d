"""What the functions have in common: types, and the numbers of reductions."""

from __future__ import annotations

from typing import Literal, TypeVar

from ._native import number

#: An array of any library. A result is an array of the same library.
ArrayT = TypeVar("ArrayT")

#: How a sum is computed.
Method = Literal["fast", "reproducible", "compensated", "wide", "checked"]

#: The axes that are reduced.
Axis = int | tuple[int, ...] | None

_NAMES: dict[int, str] = {}


def numbered(name: str) -> int:
    """Return the number by which the native part knows a reduction."""
    found = number(name)
    if found is None:
        raise ValueError(f"there is no reduction {name}")
    _NAMES[found] = name
    return found


def name_of(code: int) -> str:
    """Return the name of a reduction that `numbered` was asked for."""
    return _NAMES[code]


_NORM1 = numbered("norm1")
_NORM2 = numbered("norm2")
_NORMINF = numbered("norminf")


def order_code(order: float) -> int:
    """Return the number of the norm of this order."""
    if order == 2:
        return _NORM2
    if order == 1:
        return _NORM1
    if order == float("inf"):
        return _NORMINF
    raise ValueError(f"there is no norm of order {order} here: the orders are 1, 2 and infinity")
