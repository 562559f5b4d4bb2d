"""Reductions of two arrays, of segments, of runs of keys, and into bins."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ._common import ArrayT, Axis
from ._route import bincount as _bincount
from ._route import dot as _dot
from ._route import reduce_by_key as _reduce_by_key
from ._route import segment_reduce as _segment_reduce

#: The reductions of segments.
SegmentOp = Literal[
    "sum", "prod", "min", "max", "mean", "var", "std", "argmin", "argmax", "all", "any"
]

#: The reductions of runs of keys.
KeyOp = Literal["sum", "prod", "min", "max", "mean"]


def dot(
    a: ArrayT,
    b: ArrayT,
    /,
    *,
    axis: Axis = None,
    dtype: object = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    device: str | None = None,
) -> ArrayT:
    """Return the sum of the products of the elements of two arrays.

    The arrays are broadcast to one shape. The result has the type that a sum has.

    Parameters
    ----------
    a, b
        Two arrays of one library, on one device and with elements of one type.
    axis
        The axis or the axes of the common shape along which products are summed. All of them by
        default.
    dtype
        The type of the result.
    keepdims
        Whether the axes that are reduced stay, with the size 1.
    out
        An array that takes the result. Its shape and type are those of the result.
    device
        Where arrays of the host are reduced; see `sum`.

    Returns
    -------
    An array of the library of ``a`` on the same device.

    Raises
    ------
    TypeError
        If the elements have two types, or a type that cannot be reduced.
    ValueError
        If the shapes do not fit together, or the arrays are on two devices.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.dot(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))
    array(32.)
    >>> wf.dot(np.array([[1, 2], [3, 4]]), np.array([10, 1]), axis=1)
    array([12, 34])
    """
    result: ArrayT = _dot(a, b, axis, dtype, keepdims, out, device)
    return result


def segment_reduce(
    values: ArrayT,
    offsets: object,
    op: SegmentOp = "sum",
    /,
    *,
    correction: float = 0.0,
    check: bool = True,
    out: ArrayT | None = None,
    device: str | None = None,
) -> ArrayT:
    """Return one result for each segment of an array of one axis.

    Segment ``i`` is the elements from ``offsets[i]`` to ``offsets[i + 1]``. A segment without
    elements has the result that changes no other one: the sum 0, the product 1, as a maximum the
    least number of the type or -infinity, and as an index -1. Its mean is NaN.

    Parameters
    ----------
    values
        An array of one axis, on a GPU a contiguous one.
    offsets
        Integers that do not decrease, one more than segments, on the same device. On a GPU they
        have 32 or 64 bits.
    op
        The reduction.
    correction
        What ``"var"`` and ``"std"`` subtract from the number of elements; see `var`.
    check
        Whether wrong offsets are told, for which the call waits for a GPU. Otherwise results mean
        nothing if offsets are wrong, and nothing else is read or written.
    out
        An array that takes the result. Its shape and type are those of the result.
    device
        Where arrays of the host are reduced; see `sum`.

    Returns
    -------
    An array of the library of ``values`` on the same device, with one element for each segment.

    Raises
    ------
    ValueError
        If there are no offsets, or with ``check`` if they decrease or lead out of the values.
    TypeError
        If offsets are no integers, or values of a type that cannot be reduced.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> values = np.array([1.5, 2.0, 4.0, 8.0])
    >>> wf.segment_reduce(values, np.array([0, 2, 2, 4]), "sum")
    array([ 3.5,  0. , 12. ])
    """
    result: ArrayT = _segment_reduce(values, offsets, op, correction, check, out, device)
    return result


class KeyRuns(NamedTuple):
    """The runs of equal neighbouring keys, in order: the result of `reduce_by_key`."""

    keys: Any
    results: Any
    counts: Any


def reduce_by_key(
    keys: object,
    values: object,
    op: KeyOp = "sum",
    /,
    *,
    device: str | None = None,
) -> KeyRuns:
    """Return one result for each run of equal neighbouring keys.

    A key that comes again behind another one begins a new run, so that sorted keys give one result
    for each key. Keys are equal if their bits are. On a GPU the call waits for the number of runs.

    Parameters
    ----------
    keys
        An array of one axis, on a GPU a contiguous one.
    values
        As many values.
    op
        The reduction.
    device
        Where arrays of the host are reduced; see `sum`.

    Returns
    -------
    A named tuple of three arrays: the ``keys`` and ``results`` of the runs, and their ``counts`` of
    elements.

    Raises
    ------
    ValueError
        If there are not as many values as keys.
    TypeError
        If values are of a type that cannot be reduced.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> runs = wf.reduce_by_key(np.array([3, 3, 5, 5, 5]), np.array([1.0, 2.0, 4.0, 8.0, 16.0]))
    >>> runs.keys, runs.results, runs.counts
    (array([3, 5]), array([ 3., 28.]), array([2, 3]))
    """
    return KeyRuns(*_reduce_by_key(keys, values, op, device))


def bincount(
    keys: ArrayT,
    /,
    *,
    weights: ArrayT | None = None,
    minlength: int = 0,
    bins: int | None = None,
    check: bool = True,
    device: str | None = None,
) -> ArrayT:
    """Count how often each number occurs, or sum the weights of each number.

    Parameters
    ----------
    keys
        Integers of one axis that are not negative, on a GPU contiguous ones.
    weights
        As many numbers, which are summed. Their sums have the type that a sum has.
    minlength
        The least number of bins.
    bins
        The number of bins, which all keys must be below. By default it is one more than the
        greatest key, for which the call waits for a GPU. On a GPU there are at most 65536.
    check
        Whether keys that are no bins are told, for which the call waits for a GPU. Otherwise they
        are left out. On the host they are always told.
    device
        Where arrays of the host are counted; see `sum`.

    Returns
    -------
    An array of the library of ``keys`` on the same device, with one element for each bin.

    Raises
    ------
    ValueError
        If a key is negative or no bin, or if there are not as many weights as keys.
    TypeError
        If keys are no integers.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.bincount(np.array([3, 0, 3]))
    array([1, 0, 0, 2])
    >>> wf.bincount(np.array([1, 0, 1]), weights=np.array([0.5, 1.0, 2.0]), minlength=3)
    array([1. , 2.5, 0. ])
    """
    result: ArrayT = _bincount(keys, weights, minlength, bins, check, device)
    return result
