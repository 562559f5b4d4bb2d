"""torch's own reductions by this package, within a ``with`` statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import NamedTuple


class Declined(NamedTuple):
    """A kind of call that was left to torch: the function, and the reason in words."""

    function: str
    reason: str


class Accelerated:
    """What `accelerate_torch` has done: the calls that it took, and those that it left to torch.

    Attributes
    ----------
    routed
        How many calls of each function ran here, by the function's name.
    declined
        How many calls were left to torch, by function and reason.
    """

    def __init__(self) -> None:
        self.routed: Counter[str] = Counter()
        self.declined: Counter[Declined] = Counter()

    def __str__(self) -> str:
        """Return sentences, one on each line."""
        lines = [f"{count} x {name}: by warpfold" for name, count in sorted(self.routed.items())]
        for (name, reason), count in sorted(self.declined.items()):
            lines.append(f"{count} x {name}: by torch, because {reason}")
        return "\n".join(lines) or "no reduction was called"

    def __repr__(self) -> str:
        routed, declined = self.routed.total(), self.declined.total()
        return f"<Accelerated: {routed} calls by warpfold, {declined} by torch>"


@contextmanager
def accelerate_torch(
    *,
    devices: str | Iterable[str] = "cuda",
    report: Callable[[str], object] | None = None,
) -> Generator[Accelerated, None, None]:
    """Let reductions of torch run here, within a ``with`` statement.

    These functions of torch, and the methods of tensors with these names, are replaced: `sum`,
    `mean`, `prod`, `amax`, `amin`, `max` and `min` without ``dim``, `argmax` and `argmin` of
    integers, `any`, `all`, `var`, `std`, `norm`, `torch.linalg.vector_norm` and `logsumexp`. The
    results have torch's types and torch's meaning. A call for which that would not hold is left to
    torch. Gradients are those of `warpfold.torch`.

    Only calls of Python in this thread are seen. What torch calls inside its own functions is not,
    and neither is what `torch.compile` has compiled. Another function of torch that is called from
    Python costs one look-up more.

    Parameters
    ----------
    devices
        The type of devices whose tensors are reduced here, or several: ``"cuda"`` and ``"cpu"``.
        Tensors of other devices are left to torch without a word.
    report
        A function that is called with a sentence for each call that is left to torch, once for each
        reason: `print`, `warnings.warn`, or a method of a logger.

    Yields
    ------
    Accelerated
        An object that counts the calls, those that are left to torch by their reasons.

    Raises
    ------
    ImportError
        If torch is not installed, or older than 2.5.

    Examples
    --------
    >>> import torch, warpfold as wf
    >>> x = torch.tensor([[1.0, 2.0], [4.0, 8.0]])
    >>> with wf.accelerate_torch(devices=["cuda", "cpu"]) as calls:
    ...     x.sum(dim=0), torch.linalg.vector_norm(x, ord=3)
    (tensor([ 5., 10.]), tensor(8.3634))
    >>> print(calls)
    1 x sum: by warpfold
    1 x vector_norm: by torch, because the orders are 1, 2 and infinity, and this one is 3
    """
    from .torch._routing import Routing

    calls = Accelerated()
    chosen = {devices} if isinstance(devices, str) else devices
    with Routing(calls, frozenset(chosen), report):
        yield calls


for _class in (Accelerated, Declined):
    _class.__module__ = "warpfold"
