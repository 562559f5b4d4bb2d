"""The device on which arrays of the host are reduced."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from ._native import check_device

chosen: ContextVar[str | None] = ContextVar("warpfold.use", default=None)


@contextmanager
def use(device: str) -> Generator[None, None, None]:
    """Reduce arrays of the host on this device, within a ``with`` statement.

    Arrays on a GPU are reduced there, whatever is chosen here. The choice holds for the thread or
    the asynchronous task alone, and the argument ``device`` of a function takes precedence.

    Parameters
    ----------
    device
        ``"cpu"``, which is also what is used without a choice; ``"simulator"``, which runs the
        kernels of the GPUs on the host and is thousands of times slower; ``"cuda"`` or
        ``"cuda:N"``, to which arrays are copied.

    Raises
    ------
    ValueError
        If there is no device of this name.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> with wf.use("simulator"):
    ...     wf.sum(np.array([1.5, 2.0]))
    array(3.5)
    """
    check_device(device)
    token = chosen.set(device)
    try:
        yield
    finally:
        chosen.reset(token)
