"""The exceptions of the package."""

from __future__ import annotations


class AxisError(ValueError, IndexError):
    """An axis that an array does not have.

    It is a `ValueError` and an `IndexError`, as NumPy's exception of this name. torch raises an
    `IndexError`.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> wf.sum(np.ones((2, 3)), axis=2)
    Traceback (most recent call last):
        ...
    warpfold.AxisError: axis 2 is none of an array of 2 dimensions
    """


AxisError.__module__ = "warpfold"
