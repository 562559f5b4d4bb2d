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


def numbered(name: str) -> int:
    """Return the number by which the native part knows a reduction."""
    found = number(name)
    if found is None:
        raise ValueError(f"there is no reduction {name}")
    return found
