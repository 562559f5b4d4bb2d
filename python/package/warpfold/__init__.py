"""GPU reductions of the arrays of torch, CuPy, NumPy, JAX and others.

>>> import numpy as np, warpfold as wf
>>> wf.sum(np.array([[1.5, 2.0], [4.0, 8.0]]), axis=0)
array([ 5.5, 10. ])

The functions have the names and the rules of the array API standard (2024.12). They take arrays of
torch, CuPy and NumPy, and any object with DLPack, ``__cuda_array_interface__``,
``__array_interface__`` or a buffer. A result is an array of the same library on the same device;
that of a reduction along all axes has 0 dimensions, so that nothing waits for a GPU. If the library
cannot be asked for an array, the result is an `Array`.

Arrays on a GPU are reduced on the stream that their library uses now. Arrays of the host are
reduced on the CPU, or on the device that the argument ``device`` or `use` names.
"""

from __future__ import annotations

from ._accelerate import Accelerated, Declined, accelerate_torch
from ._errors import AxisError
from ._more import (
    MinMax,
    Moments,
    TopK,
    logsumexp,
    minmax,
    moments,
    nanmax,
    nanmean,
    nanmin,
    nansum,
    norm,
    topk,
)
from ._native import Array, __version__
from ._ragged import KeyRuns, bincount, dot, reduce_by_key, segment_reduce
from ._simulate import Finding, Launch, Simulation, simulate
from ._standard import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from ._use import use

__all__ = [
    "Accelerated",
    "Array",
    "AxisError",
    "Declined",
    "Finding",
    "KeyRuns",
    "Launch",
    "MinMax",
    "Moments",
    "Simulation",
    "TopK",
    "__version__",
    "accelerate_torch",
    "all",
    "any",
    "argmax",
    "argmin",
    "bincount",
    "count_nonzero",
    "dot",
    "logsumexp",
    "max",
    "mean",
    "min",
    "minmax",
    "moments",
    "nanmax",
    "nanmean",
    "nanmin",
    "nansum",
    "norm",
    "prod",
    "reduce_by_key",
    "segment_reduce",
    "simulate",
    "std",
    "sum",
    "topk",
    "use",
    "var",
]
