"""Reductions of one array that the array API standard does not have."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ._common import ArrayT, Axis, numbered, order_code
from ._route import reduce as _reduce
from ._route import topk as _topk

_MINMAX = numbered("minmax")
_MOMENTS = numbered("moments")
_LOGSUMEXP = numbered("logsumexp")
_NANSUM = numbered("nansum")
_NANMEAN = numbered("nanmean")
_NANMIN = numbered("nanmin")
_NANMAX = numbered("nanmax")


class MinMax(NamedTuple):
    """The least and the greatest elements: the result of `minmax`."""

    min: Any
    max: Any


class Moments(NamedTuple):
    """The mean and the variance: the result of `moments`."""

    mean: Any
    var: Any


class TopK(NamedTuple):
    """The best few elements and their indices: the result of `topk`."""

    values: Any
    indices: Any


def minmax(
    x: object,
    /,
    *,
    axis: Axis = None,
    keepdims: bool = False,
    device: str | None = None,
) -> MinMax:
    """Return the least and the greatest element.

    They are the results of `min` and of `max`. Integers on a GPU are read once for both.

    Parameters
    ----------
    x
        An array of torch, CuPy, NumPy, JAX or another library; see the package's documentation.
    axis
        The axis or the axes along which elements are reduced. All of them by default.
    keepdims
        Whether the axes that are reduced stay, with the size 1.
    device
        Where an array of the host is reduced: ``"cpu"``, ``"simulator"``, ``"cuda"`` or
        ``"cuda:N"``. The choice of `use` by default.

    Returns
    -------
    A named tuple of two arrays, ``min`` and ``max``.

    Raises
    ------
    ValueError
        If there are no elements, which have no such result.
    TypeError
        If the type of the elements cannot be reduced so. The text tells what to cast to.
    AxisError
        If the array has no such axis.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.minmax(np.array([3, -7, 5]))
    MinMax(min=array(-7), max=array(5))
    """
    return MinMax(*_reduce(_MINMAX, x, axis, None, keepdims, None, 0.0, None, device))


def moments(
    x: object,
    /,
    *,
    axis: Axis = None,
    correction: float = 0.0,
    keepdims: bool = False,
    device: str | None = None,
) -> Moments:
    """Return the mean and the variance of elements, which are read once on a GPU.

    They are computed in `float64`.

    Parameters
    ----------
    x
        An array of torch, CuPy, NumPy, JAX or another library; see the package's documentation.
    axis
        The axis or the axes along which elements are reduced. All of them by default.
    correction
        What is subtracted from the number of elements to get the divisor: 0 for a whole
        population, 1 for a sample.
    keepdims
        Whether the axes that are reduced stay, with the size 1.
    device
        Where an array of the host is reduced: ``"cpu"``, ``"simulator"``, ``"cuda"`` or
        ``"cuda:N"``. The choice of `use` by default.

    Returns
    -------
    A named tuple of two arrays, ``mean`` and ``var``.

    Raises
    ------
    TypeError
        If the type of the elements cannot be reduced so. The text tells what to cast to.
    AxisError
        If the array has no such axis.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.moments(np.array([1.0, 2.0, 3.0, 4.0]))
    Moments(mean=array(2.5), var=array(1.25))
    """
    return Moments(*_reduce(_MOMENTS, x, axis, None, keepdims, None, correction, None, device))


def logsumexp(
    x: ArrayT,
    /,
    *,
    axis: Axis = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    device: str | None = None,
) -> ArrayT:
    """Return the logarithm of the sum of the exponentials of elements.

    No exponential overflows. The result of no elements is -infinity.

    Parameters
    ----------
    x
        An array of torch, CuPy, NumPy, JAX or another library; see the package's documentation.
    axis
        The axis or the axes along which elements are reduced. All of them by default.
    keepdims
        Whether the axes that are reduced stay, with the size 1.
    out
        An array that takes the result. Its shape and type are those of the result.
    device
        Where an array of the host is reduced: ``"cpu"``, ``"simulator"``, ``"cuda"`` or
        ``"cuda:N"``. The choice of `use` by default.

    Returns
    -------
    An array of the same library on the same device, of 0 dimensions if all axes are reduced.

    Raises
    ------
    TypeError
        If the type of the elements cannot be reduced so. The text tells what to cast to.
    AxisError
        If the array has no such axis.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.logsumexp(np.array([1000.0, 1000.0]))
    array(1000.69314718)
    """
    result: ArrayT = _reduce(_LOGSUMEXP, x, axis, None, keepdims, out, 0.0, None, device)
    return result


def nansum(
    x: ArrayT,
    /,
    *,
    axis: Axis = None,
    dtype: object = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    device: str | None = None,
) -> ArrayT:
    """Return the sum of the elements that are not NaN.

    The sum of no numbers is 0.

    Parameters
    ----------
    x
        An array of torch, CuPy, NumPy, JAX or another library; see the package's documentation.
    axis
        The axis or the axes along which elements are reduced. All of them by default.
    dtype
        The type of the result. A sum of `float32` that is asked for as `float64` is computed in
        64 bits.
    keepdims
        Whether the axes that are reduced stay, with the size 1.
    out
        An array that takes the result. Its shape and type are those of the result.
    device
        Where an array of the host is reduced: ``"cpu"``, ``"simulator"``, ``"cuda"`` or
        ``"cuda:N"``. The choice of `use` by default.

    Returns
    -------
    An array of the same library on the same device, of 0 dimensions if all axes are reduced.

    Raises
    ------
    TypeError
        If the type of the elements cannot be reduced so. The text tells what to cast to.
    AxisError
        If the array has no such axis.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.nansum(np.array([1.0, np.nan, 2.0]))
    array(3.)
    """
    result: ArrayT = _reduce(_NANSUM, x, axis, dtype, keepdims, out, 0.0, None, device)
    return result


def nanmean(
    x: ArrayT,
    /,
    *,
    axis: Axis = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    device: str | None = None,
) -> ArrayT:
    """Return the mean of the elements that are not NaN.

    The mean of no numbers is NaN.

    Parameters
    ----------
    x
        An array of torch, CuPy, NumPy, JAX or another library; see the package's documentation.
    axis
        The axis or the axes along which elements are reduced. All of them by default.
    keepdims
        Whether the axes that are reduced stay, with the size 1.
    out
        An array that takes the result. Its shape and type are those of the result.
    device
        Where an array of the host is reduced: ``"cpu"``, ``"simulator"``, ``"cuda"`` or
        ``"cuda:N"``. The choice of `use` by default.

    Returns
    -------
    An array of the same library on the same device, of 0 dimensions if all axes are reduced.

    Raises
    ------
    TypeError
        If the type of the elements cannot be reduced so. The text tells what to cast to.
    AxisError
        If the array has no such axis.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.nanmean(np.array([1.0, np.nan, 2.0]))
    array(1.5)
    """
    result: ArrayT = _reduce(_NANMEAN, x, axis, None, keepdims, out, 0.0, None, device)
    return result


def nanmin(
    x: ArrayT,
    /,
    *,
    axis: Axis = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    device: str | None = None,
) -> ArrayT:
    """Return the least of the elements that are not NaN.

    If all elements are NaN, the result is NaN, and nothing is warned.

    Parameters
    ----------
    x
        An array of torch, CuPy, NumPy, JAX or another library; see the package's documentation.
    axis
        The axis or the axes along which elements are reduced. All of them by default.
    keepdims
        Whether the axes that are reduced stay, with the size 1.
    out
        An array that takes the result. Its shape and type are those of the result.
    device
        Where an array of the host is reduced: ``"cpu"``, ``"simulator"``, ``"cuda"`` or
        ``"cuda:N"``. The choice of `use` by default.

    Returns
    -------
    An array of the same library on the same device, of 0 dimensions if all axes are reduced.

    Raises
    ------
    ValueError
        If there are no elements, which have no such result.
    TypeError
        If the type of the elements cannot be reduced so. The text tells what to cast to.
    AxisError
        If the array has no such axis.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.nanmin(np.array([1.0, np.nan, 2.0]))
    array(1.)
    """
    result: ArrayT = _reduce(_NANMIN, x, axis, None, keepdims, out, 0.0, None, device)
    return result


def nanmax(
    x: ArrayT,
    /,
    *,
    axis: Axis = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    device: str | None = None,
) -> ArrayT:
    """Return the greatest of the elements that are not NaN.

    If all elements are NaN, the result is NaN, and nothing is warned.

    Parameters
    ----------
    x
        An array of torch, CuPy, NumPy, JAX or another library; see the package's documentation.
    axis
        The axis or the axes along which elements are reduced. All of them by default.
    keepdims
        Whether the axes that are reduced stay, with the size 1.
    out
        An array that takes the result. Its shape and type are those of the result.
    device
        Where an array of the host is reduced: ``"cpu"``, ``"simulator"``, ``"cuda"`` or
        ``"cuda:N"``. The choice of `use` by default.

    Returns
    -------
    An array of the same library on the same device, of 0 dimensions if all axes are reduced.

    Raises
    ------
    ValueError
        If there are no elements, which have no such result.
    TypeError
        If the type of the elements cannot be reduced so. The text tells what to cast to.
    AxisError
        If the array has no such axis.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.nanmax(np.array([1.0, np.nan, 2.0]))
    array(2.)
    """
    result: ArrayT = _reduce(_NANMAX, x, axis, None, keepdims, out, 0.0, None, device)
    return result


def norm(
    x: ArrayT,
    /,
    *,
    ord: Literal[1, 2] | float = 2,
    axis: Axis = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    device: str | None = None,
) -> ArrayT:
    """Return the norm of vectors of floats or complex numbers.

    The absolute value of a complex number is a float, and so are the norms of these vectors. For
    the orders 1 and infinity, memory is allocated that has the absolute value of each.

    Parameters
    ----------
    x
        An array of torch, CuPy, NumPy, JAX or another library; see the package's documentation.
    ord
        2 for the root of the sum of squares, 1 for the sum of absolute values, and infinity for the
        greatest absolute value.
    axis
        The axis or the axes along which elements are reduced. All of them by default.
    keepdims
        Whether the axes that are reduced stay, with the size 1.
    out
        An array that takes the result. Its shape and type are those of the result.
    device
        Where an array of the host is reduced: ``"cpu"``, ``"simulator"``, ``"cuda"`` or
        ``"cuda:N"``. The choice of `use` by default.

    Returns
    -------
    An array of the same library on the same device, of 0 dimensions if all axes are reduced.

    Raises
    ------
    ValueError
        If there is no norm of this order.
    TypeError
        If the elements are integers. The text tells what to cast to.
    AxisError
        If the array has no such axis.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.norm(np.array([3.0, -4.0])), wf.norm(np.array([3.0, -4.0]), ord=1)
    (array(5.), array(7.))
    """
    result: ArrayT = _reduce(order_code(ord), x, axis, None, keepdims, out, 0.0, None, device)
    return result


def topk(
    x: object,
    k: int,
    /,
    *,
    axis: int = -1,
    largest: bool = True,
    device: str | None = None,
) -> TopK:
    """Return the few greatest elements along an axis, the greatest first, with their indices.

    Of equal elements the one with the smaller index comes first. NaNs come behind all numbers.
    Both differ from torch.

    Parameters
    ----------
    x
        An array of torch, CuPy, NumPy, JAX or another library; see the package's documentation.
    k
        The number of elements. On a GPU it is at most 8.
    axis
        The axis along which elements are compared.
    largest
        False for the least elements, the least first.
    device
        Where an array of the host is reduced: ``"cpu"``, ``"simulator"``, ``"cuda"`` or
        ``"cuda:N"``. The choice of `use` by default.

    Returns
    -------
    A named tuple of two arrays, ``values`` and ``indices``, which is of `int64`.

    Raises
    ------
    ValueError
        If the axis has fewer elements than ``k``.
    AxisError
        If the array has no such axis.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.topk(np.array([2, 9, 4, 9]), 3)
    TopK(values=array([9, 9, 4]), indices=array([1, 3, 2]))
    """
    return TopK(*_topk(x, k, axis, largest, device))
