"""A reduction on the simulator, with what its launches did."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal, NamedTuple

from ._common import Axis, Method, numbered, order_code
from ._native import simulate as _simulate

#: The reductions along axes.
AxisOp = Literal[
    "sum",
    "prod",
    "max",
    "min",
    "mean",
    "var",
    "std",
    "argmax",
    "argmin",
    "all",
    "any",
    "count_nonzero",
    "minmax",
    "moments",
    "norm",
    "logsumexp",
    "nansum",
    "nanmean",
    "nanmin",
    "nanmax",
]


class Finding(NamedTuple):
    """A mistake of a kernel that the simulator has found.

    Attributes
    ----------
    severity
        ``"error"`` if a result may depend on it, ``"warning"`` if this one does not, or ``"note"``.
    kind
        The class, such as ``"race"``.
    text
        The whole report: what happened, where, and what to try next.
    """

    severity: str
    kind: str
    text: str


class Launch(NamedTuple):
    """What was observed of one launch of a kernel.

    Attributes
    ----------
    kernel
        The name of the kernel.
    grid, block
        The numbers of blocks and of a block's threads along each dimension.
    shared_bytes
        The bytes of dynamic shared memory of a block.
    counters
        How often what happened, by the names of the counters, such as
        ``"global.load.sectors"``. Counters of 0 are left out, and without ``profile`` all are.
    findings
        The mistakes that were found.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    counters: dict[str, int]
    findings: tuple[Finding, ...]


class Simulation:
    """What `simulate` returns. A notebook shows it as tables.

    Attributes
    ----------
    op
        The name of the reduction.
    result
        The result of the reduction.
    launches
        What was observed of each launch, in order.
    checked, profiled
        Whether the launches were checked, and whether they were counted.
    """

    def __init__(
        self, op: str, result: Any, launches: list[Launch], checked: bool, profiled: bool
    ) -> None:
        self.op = op
        self.result = result
        self.launches = launches
        self.checked = checked
        self.profiled = profiled

    @property
    def findings(self) -> list[Finding]:
        """The findings of all launches."""
        return [finding for launch in self.launches for finding in launch.findings]

    @property
    def counters(self) -> Counter[str]:
        """The sums of the launches' counters."""
        total: Counter[str] = Counter()
        for launch in self.launches:
            total.update(launch.counters)
        return total

    def _verdict(self) -> str:
        count = len(self.findings)
        if not self.checked:
            return "The launches were not checked."
        if count == 0:
            return "The checks found nothing."
        return f"The checks found {count} mistake{'s' if count > 1 else ''}."

    def _rows(self) -> list[tuple[str, list[str]]]:
        """Return the names of the counters, and what each launch counted."""
        names = {name: None for launch in self.launches for name in launch.counters}
        return [
            (_words(name), [_grouped(launch.counters.get(name, 0)) for launch in self.launches])
            for name in names
        ]

    def __repr__(self) -> str:
        """Return a table of text."""
        count = len(self.launches)
        lines = [f"{self.op} on the simulator: {count} {'launch' if count == 1 else 'launches'}"]
        for number, launch in enumerate(self.launches, 1):
            lines.append(f"{number}. {_shape(launch)}")
        rows = self._rows()
        if rows:
            head = ("counter", [f"launch {number + 1}" for number in range(len(self.launches))])
            widths = [max(len(row[0]) for row in [*rows, head])]
            for column in range(len(self.launches)):
                widths.append(max(len(row[1][column]) for row in [*rows, head]))
            for name, cells in [head, *rows]:
                padded = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
                lines.append("  ".join([name.ljust(widths[0]), *padded]))
        lines.append(self._verdict())
        lines += [finding.text for finding in self.findings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return tables of HTML, for notebooks."""
        # Few programs need it, and the import of the package is to be fast.
        from html import escape

        launches = "".join(f"<li>{escape(_shape(launch))}</li>" for launch in self.launches)
        html = f"<p>{escape(self.op)} on the simulator</p><ol>{launches}</ol>"
        rows = self._rows()
        if rows:
            head = "".join(f"<th>launch {n + 1}</th>" for n in range(len(self.launches)))
            body = "".join(
                f"<tr><th>{escape(name)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
                for name, cells in rows
            )
            html += f"<table><thead><tr><th>counter</th>{head}</tr></thead>"
            html += f"<tbody>{body}</tbody></table>"
        html += f"<p>{escape(self._verdict())}</p>"
        return html + "".join(f"<pre>{escape(finding.text)}</pre>" for finding in self.findings)


def _words(name: str) -> str:
    return name.replace(".", " ").replace("_", " ")


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _shape(launch: Launch) -> str:
    grid, block = (" x ".join(map(str, _short(size))) for size in (launch.grid, launch.block))
    shared = f", {launch.shared_bytes} bytes of shared memory" if launch.shared_bytes else ""
    blocks = "block" if launch.grid == (1, 1, 1) else "blocks"
    return f"{launch.kernel}: {grid} {blocks} of {block} threads{shared}"


def _short(size: tuple[int, int, int]) -> tuple[int, ...]:
    """Return the dimensions without those of 1 at the end."""
    if size[2] > 1:
        return size
    return size[:2] if size[1] > 1 else size[:1]


def simulate(
    x: object,
    op: AxisOp = "sum",
    /,
    *,
    axis: Axis = None,
    dtype: object = None,
    keepdims: bool = False,
    correction: float = 0.0,
    method: Method | None = None,
    ord: float = 2,
    check: bool = True,
    profile: bool = True,
) -> Simulation:
    """Reduce an array on the simulator, and tell what the launches did.

    The simulator runs the kernels that a GPU would run for this array. It counts their instructions
    and accesses to memory as a GPU counts them, and looks for data races, reads of memory that
    nothing has written, and barriers that some threads miss. It does not tell times.

    Parameters
    ----------
    x
        An array of the host. Some thousands of elements take a second.
    op
        The reduction, by the name of the function.
    axis
        The axis or the axes along which elements are reduced. All of them by default.
    dtype
        The type of the result, for those reductions that take one.
    keepdims
        Whether the axes that are reduced stay, with the size 1.
    correction
        What ``"var"``, ``"std"`` and ``"moments"`` subtract from the number of elements; see `var`.
    method
        How a sum is computed; see `sum`.
    ord
        The order of ``"norm"``; see `norm`.
    check
        Whether mistakes are looked for.
    profile
        Whether instructions and accesses are counted. The kernels run a second time for it.

    Returns
    -------
    Simulation
        The result, and what was observed of each launch.

    Raises
    ------
    ValueError
        If there is no such reduction, or the array is on a GPU.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> seen = wf.simulate(np.ones(1000, dtype=np.float32), "sum")
    >>> seen.result, seen.findings
    (array(1000., dtype=float32), [])
    >>> seen.counters["global.load.sectors"] * 32 >= 4 * 1000
    True
    """
    if op == "norm":
        code = order_code(ord)
    elif op.startswith("norm"):
        raise ValueError(f"there is no reduction {op}")
    else:
        code = numbered(op)
    runs: list[Any] = []
    result: Any = None
    for is_wanted, is_checked in ((profile, False), (check, True)):
        if is_wanted:
            result, seen = _simulate(code, x, axis, dtype, keepdims, correction, method, is_checked)
            runs.append((is_checked, seen))
    if not runs:
        raise ValueError("there is nothing to tell: pass check=True or profile=True")
    launches: list[Launch] = []
    for number, (kernel, grid, block, shared_bytes, _, _) in enumerate(runs[0][1]):
        counters: dict[str, int] = {}
        findings: list[Finding] = []
        for is_checked, seen in runs:
            _, _, _, _, counted, reports = seen[number]
            if is_checked:
                findings = [Finding(*report) for report in reports]
            else:
                counters = {name: count for name, count in counted if count > 0}
        launches.append(Launch(kernel, grid, block, shared_bytes, counters, tuple(findings)))
    return Simulation(op, result, launches, check, profile)


for _class in (Finding, Launch, Simulation):
    _class.__module__ = "warpfold"
