"""The reductions of the array API standard."""

from __future__ import annotations

from ._common import ArrayT, Axis, Method, numbered
from ._route import reduce as _reduce
from ._where import reduce as _reduce_where

_SUM = numbered("sum")
_PROD = numbered("prod")
_MIN = numbered("min")
_MAX = numbered("max")
_MEAN = numbered("mean")
_VAR = numbered("var")
_STD = numbered("std")
_ARGMIN = numbered("argmin")
_ARGMAX = numbered("argmax")
_ALL = numbered("all")
_ANY = numbered("any")
_COUNT_NONZERO = numbered("count_nonzero")


def sum(
    x: ArrayT,
    /,
    *,
    axis: Axis = None,
    dtype: object = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    initial: complex | None = None,
    where: object = None,
    method: Method | None = None,
    device: str | None = None,
) -> ArrayT:
    """Return the sum of elements.

    The result has the type of the elements if these are floats, `int64` if they are truth values or
    signed integers, and `uint64` if they are unsigned ones. Sums of `float16`, `bfloat16` and
    `float32` are computed in 32 bits at least. The real and the imaginary parts of complex numbers
    are summed apart. The sum of no elements is 0.

    Parameters
    ----------
    x
        An array of torch, CuPy, NumPy, JAX or another library; see the package's documentation.
    axis
        The axis or the axes along which elements are reduced. All of them by default.
    dtype
        The type of the result. A sum of `float32` that is asked for as `float64` is computed in
        64 bits. Sums of floats may be asked for as complex numbers.
    keepdims
        Whether the axes that are reduced stay, with the size 1.
    out
        An array that takes the result. Its shape and type are those of the result.
    initial
        A number that takes part in each result, also if there are no elements. It is converted to
        the type of the result, which must hold it; as in NumPy, an integer drops what is behind
        the point.
    where
        An array of bool of the same library, which is broadcast to the shape of ``x``. Elements
        for which it is false take no part. The library of the arrays makes a copy of ``x`` for
        this, in which they are replaced.
    method
        How the sum is computed. ``"reproducible"`` gives the exact sum, rounded once, and has the
        same bits on every device and in every order. ``"compensated"`` corrects rounding errors.
        ``"wide"`` computes in `float64`, and the result is `float64`. ``"checked"`` raises an
        `OverflowError` if the type of the result cannot hold a sum of integers; this waits for a
        GPU. Sums of integers are exact modulo 2^64 with each method.
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
    OverflowError
        With ``method="checked"``, if the type of the result cannot hold the sum.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.sum(np.array([[1.5, 2.0], [4.0, 8.0]], dtype=np.float32), axis=0)
    array([ 5.5, 10. ], dtype=float32)
    >>> wf.sum(np.array([200, 100], dtype=np.uint8))
    array(300, dtype=uint64)
    >>> wf.sum(np.array([1.0, 1e30, -1e30], dtype=np.float32), method="reproducible")
    array(1., dtype=float32)
    """
    if initial is not None or where is not None:
        selected: ArrayT = _reduce_where(
            _SUM, x, axis, dtype, keepdims, out, method, device, initial, where
        )
        return selected
    result: ArrayT = _reduce(_SUM, x, axis, dtype, keepdims, out, 0.0, method, device)
    return result


def prod(
    x: ArrayT,
    /,
    *,
    axis: Axis = None,
    dtype: object = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    initial: complex | None = None,
    where: object = None,
    device: str | None = None,
) -> ArrayT:
    """Return the product of elements.

    The result has the type that a sum has. The product of no elements is 1. Products of complex
    numbers are computed on the CPU alone.

    Parameters
    ----------
    x
        An array of torch, CuPy, NumPy, JAX or another library; see the package's documentation.
    axis
        The axis or the axes along which elements are reduced. All of them by default.
    dtype
        The type of the result. Products of floats may be asked for as complex numbers.
    keepdims
        Whether the axes that are reduced stay, with the size 1.
    out
        An array that takes the result. Its shape and type are those of the result.
    initial
        A number that takes part in each result, also if there are no elements. It is converted to
        the type of the result, which must hold it; as in NumPy, an integer drops what is behind
        the point.
    where
        An array of bool of the same library, which is broadcast to the shape of ``x``. Elements
        for which it is false take no part. The library of the arrays makes a copy of ``x`` for
        this, in which they are replaced.
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
    >>> wf.prod(np.array([[1, 2, 3], [4, 5, 6]]), axis=1)
    array([  6, 120])
    """
    if initial is not None or where is not None:
        selected: ArrayT = _reduce_where(
            _PROD, x, axis, dtype, keepdims, out, None, device, initial, where
        )
        return selected
    result: ArrayT = _reduce(_PROD, x, axis, dtype, keepdims, out, 0.0, None, device)
    return result


def max(
    x: ArrayT,
    /,
    *,
    axis: Axis = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    initial: complex | None = None,
    where: object = None,
    device: str | None = None,
) -> ArrayT:
    """Return the greatest element.

    If an element is NaN, the result is NaN; `nanmax` leaves NaNs out.

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
    initial
        A number that takes part in each result, also if there are no elements. It is converted to
        the type of the result, which must hold it; as in NumPy, an integer drops what is behind
        the point.
    where
        An array of bool of the same library, which is broadcast to the shape of ``x``. Elements
        for which it is false take no part. The library of the arrays makes a copy of ``x`` for
        this, in which they are replaced. It needs ``initial``, because an extreme of no elements is
        not defined.
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
    >>> wf.max(np.array([[3, 9], [7, 5]]), axis=1, keepdims=True)
    array([[9],
           [7]])
    """
    if initial is not None or where is not None:
        selected: ArrayT = _reduce_where(
            _MAX, x, axis, None, keepdims, out, None, device, initial, where
        )
        return selected
    result: ArrayT = _reduce(_MAX, x, axis, None, keepdims, out, 0.0, None, device)
    return result


def min(
    x: ArrayT,
    /,
    *,
    axis: Axis = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    initial: complex | None = None,
    where: object = None,
    device: str | None = None,
) -> ArrayT:
    """Return the least element.

    If an element is NaN, the result is NaN; `nanmin` leaves NaNs out.

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
    initial
        A number that takes part in each result, also if there are no elements. It is converted to
        the type of the result, which must hold it; as in NumPy, an integer drops what is behind
        the point.
    where
        An array of bool of the same library, which is broadcast to the shape of ``x``. Elements
        for which it is false take no part. The library of the arrays makes a copy of ``x`` for
        this, in which they are replaced. It needs ``initial``, because an extreme of no elements is
        not defined.
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
    >>> wf.min(np.array([2.0, np.nan, 1.0])), wf.nanmin(np.array([2.0, np.nan, 1.0]))
    (array(nan), array(1.))
    """
    if initial is not None or where is not None:
        selected: ArrayT = _reduce_where(
            _MIN, x, axis, None, keepdims, out, None, device, initial, where
        )
        return selected
    result: ArrayT = _reduce(_MIN, x, axis, None, keepdims, out, 0.0, None, device)
    return result


def mean(
    x: ArrayT,
    /,
    *,
    axis: Axis = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    device: str | None = None,
) -> ArrayT:
    """Return the mean of elements.

    The result has the type of the elements if these are floats or complex numbers, else `float64`.
    The mean of no elements is NaN.

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
    >>> wf.mean(np.array([[1.0, 2.0], [3.0, 6.0]]), axis=0)
    array([2., 4.])
    """
    result: ArrayT = _reduce(_MEAN, x, axis, None, keepdims, out, 0.0, None, device)
    return result


def var(
    x: ArrayT,
    /,
    *,
    axis: Axis = None,
    correction: float = 0.0,
    keepdims: bool = False,
    out: ArrayT | None = None,
    device: str | None = None,
) -> ArrayT:
    """Return the variance of elements.

    It is computed in `float64`, and without a loss of digits if the mean is large. The result has
    the type that a mean has. The result of no elements is NaN.

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
    >>> wf.var(np.array([1.0, 2.0, 3.0, 4.0])), wf.var(np.array([1.0, 2.0, 3.0]), correction=1)
    (array(1.25), array(1.))
    """
    result: ArrayT = _reduce(_VAR, x, axis, None, keepdims, out, correction, None, device)
    return result


def std(
    x: ArrayT,
    /,
    *,
    axis: Axis = None,
    correction: float = 0.0,
    keepdims: bool = False,
    out: ArrayT | None = None,
    device: str | None = None,
) -> ArrayT:
    """Return the standard deviation of elements.

    It is computed in `float64`, and without a loss of digits if the mean is large. The result has
    the type that a mean has. The result of no elements is NaN.

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
    >>> wf.std(np.array([[1.0, 5.0], [2.0, 2.0]]), axis=1)
    array([2., 0.])
    """
    result: ArrayT = _reduce(_STD, x, axis, None, keepdims, out, correction, None, device)
    return result


def argmax(
    x: ArrayT,
    /,
    *,
    axis: int | None = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    device: str | None = None,
) -> ArrayT:
    """Return the index of the greatest element.

    Of several equal elements the first one counts. If an element is NaN, the result is the index of
    the first NaN. On a GPU +0 counts as greater than -0.

    Parameters
    ----------
    x
        An array of torch, CuPy, NumPy, JAX or another library; see the package's documentation.
    axis
        The axis along which elements are compared. By default the array is flattened.
    keepdims
        Whether the axes that are reduced stay, with the size 1.
    out
        An array that takes the result. Its shape and type are those of the result.
    device
        Where an array of the host is reduced: ``"cpu"``, ``"simulator"``, ``"cuda"`` or
        ``"cuda:N"``. The choice of `use` by default.

    Returns
    -------
    An array of `int64` of the same library on the same device.

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
    >>> wf.argmax(np.array([[3, 9, 9], [7, 5, 6]]), axis=1)
    array([1, 0])
    """
    result: ArrayT = _reduce(_ARGMAX, x, axis, None, keepdims, out, 0.0, None, device)
    return result


def argmin(
    x: ArrayT,
    /,
    *,
    axis: int | None = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    device: str | None = None,
) -> ArrayT:
    """Return the index of the least element.

    Of several equal elements the first one counts. If an element is NaN, the result is the index of
    the first NaN. On a GPU +0 counts as greater than -0.

    Parameters
    ----------
    x
        An array of torch, CuPy, NumPy, JAX or another library; see the package's documentation.
    axis
        The axis along which elements are compared. By default the array is flattened.
    keepdims
        Whether the axes that are reduced stay, with the size 1.
    out
        An array that takes the result. Its shape and type are those of the result.
    device
        Where an array of the host is reduced: ``"cpu"``, ``"simulator"``, ``"cuda"`` or
        ``"cuda:N"``. The choice of `use` by default.

    Returns
    -------
    An array of `int64` of the same library on the same device.

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
    >>> wf.argmin(np.array([[3, 9, 9], [7, 5, 6]]), axis=1)
    array([0, 1])
    """
    result: ArrayT = _reduce(_ARGMIN, x, axis, None, keepdims, out, 0.0, None, device)
    return result


def all(
    x: ArrayT,
    /,
    *,
    axis: Axis = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    where: object = None,
    device: str | None = None,
) -> ArrayT:
    """Return whether all elements are true, which is not zero.

    A NaN is not zero. The result of no elements is true. For complex numbers, memory is allocated
    that has a truth value for each.

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
    where
        An array of bool of the same library, which is broadcast to the shape of ``x``. Elements
        for which it is false take no part. The library of the arrays makes a copy of ``x`` for
        this, in which they are replaced.
    device
        Where an array of the host is reduced: ``"cpu"``, ``"simulator"``, ``"cuda"`` or
        ``"cuda:N"``. The choice of `use` by default.

    Returns
    -------
    An array of `bool` of the same library on the same device.

    Raises
    ------
    TypeError
        If the type of the elements cannot be reduced so. The text tells what to cast to.
    AxisError
        If the array has no such axis.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.all(np.array([[1, 0], [2, 3]]), axis=1)
    array([False,  True])
    """
    if where is not None:
        selected: ArrayT = _reduce_where(
            _ALL, x, axis, None, keepdims, out, None, device, None, where
        )
        return selected
    result: ArrayT = _reduce(_ALL, x, axis, None, keepdims, out, 0.0, None, device)
    return result


def any(
    x: ArrayT,
    /,
    *,
    axis: Axis = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    where: object = None,
    device: str | None = None,
) -> ArrayT:
    """Return whether any element is true, which is not zero.

    A NaN is not zero. The result of no elements is false.

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
    where
        An array of bool of the same library, which is broadcast to the shape of ``x``. Elements
        for which it is false take no part. The library of the arrays makes a copy of ``x`` for
        this, in which they are replaced.
    device
        Where an array of the host is reduced: ``"cpu"``, ``"simulator"``, ``"cuda"`` or
        ``"cuda:N"``. The choice of `use` by default.

    Returns
    -------
    An array of `bool` of the same library on the same device.

    Raises
    ------
    TypeError
        If the type of the elements cannot be reduced so. The text tells what to cast to.
    AxisError
        If the array has no such axis.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.any(np.array([[1, 0], [2, 3]]), axis=1)
    array([ True,  True])
    """
    if where is not None:
        selected: ArrayT = _reduce_where(
            _ANY, x, axis, None, keepdims, out, None, device, None, where
        )
        return selected
    result: ArrayT = _reduce(_ANY, x, axis, None, keepdims, out, 0.0, None, device)
    return result


def count_nonzero(
    x: ArrayT,
    /,
    *,
    axis: Axis = None,
    keepdims: bool = False,
    out: ArrayT | None = None,
    device: str | None = None,
) -> ArrayT:
    """Return the number of elements that are not zero.

    A NaN is not zero. For complex numbers, memory is allocated that has a truth value for each.

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
    An array of `int64` of the same library on the same device.

    Raises
    ------
    TypeError
        If the type of the elements cannot be reduced so. The text tells what to cast to.
    AxisError
        If the array has no such axis.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.count_nonzero(np.array([[1, 0], [2, 3]]), axis=0)
    array([2, 1])
    """
    result: ArrayT = _reduce(_COUNT_NONZERO, x, axis, None, keepdims, out, 0.0, None, device)
    return result
