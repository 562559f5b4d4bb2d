"""Reductions on the simulator with counters and findings."""

from __future__ import annotations

import html.parser
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import warpfold as wf


def test_a_sum() -> None:
    x = np.arange(1000, dtype=np.float32)
    seen = wf.simulate(x, "sum")
    assert seen.result == 499500.0 and isinstance(seen.result, np.ndarray)
    assert seen.findings == [] and seen.checked and seen.profiled
    first = seen.launches[0]
    assert first.kernel.startswith("reduce_sum_f32")
    assert all(size >= 1 for size in first.grid + first.block)
    # Each sector has 32 bytes, and each element is read once.
    assert seen.counters["global.load.sectors"] >= 125
    assert all(count > 0 for launch in seen.launches for count in launch.counters.values())


def test_the_counters_grow_with_the_array() -> None:
    few, many = (wf.simulate(np.ones(n), "max", check=False) for n in (1000, 4000))
    name = "global.load.sectors"
    assert many.counters[name] > 3 * few.counters[name]
    again = wf.simulate(np.ones(1000), "max", check=False)
    assert again.counters == few.counters


@pytest.mark.parametrize(
    ("op", "options"),
    [
        ("sum", {"method": "reproducible"}),
        ("sum", {"dtype": "float64", "axis": 1, "keepdims": True}),
        ("mean", {"axis": 0}),
        ("var", {"correction": 1, "axis": 1}),
        ("argmax", {"axis": 1}),
        ("norm", {"ord": 1}),
        ("norm", {"ord": float("inf"), "axis": 0}),
        ("logsumexp", {}),
        ("nansum", {"axis": (0, 1)}),
        ("all", {}),
    ],
)
def test_results_are_those_of_the_functions(op: Any, options: dict[str, Any]) -> None:
    x = np.random.default_rng(3).normal(size=(7, 90)).astype(np.float32)
    seen = wf.simulate(x, op, **options)
    want = getattr(wf, op)(x, device="simulator", **options)
    assert np.array_equal(seen.result, want) and seen.result.dtype == want.dtype
    assert seen.findings == [] and len(seen.launches) >= 1
    pair = wf.simulate(x, "minmax").result
    assert pair[0] == x.min() and pair[1] == x.max()


def test_one_instrument_alone() -> None:
    x = np.ones(50)
    counted = wf.simulate(x, check=False)
    assert counted.counters and "were not checked" in repr(counted)
    checked = wf.simulate(x, profile=False)
    assert not checked.counters and "found nothing" in repr(checked)
    assert "counter" not in repr(checked) and "<table>" not in checked._repr_html_()
    with pytest.raises(ValueError, match="nothing to tell"):
        wf.simulate(x, check=False, profile=False)


def test_what_is_shown() -> None:
    # The kernel of a sum of exponentials leaves it to a second one to make the logarithm.
    seen = wf.simulate(np.ones((4, 300)), "logsumexp", axis=1)
    lines = repr(seen).splitlines()
    assert lines[0] == "logsumexp on the simulator: 2 launches" and len(seen.launches) == 2
    assert repr(wf.simulate(np.ones((4, 300)), "mean", axis=1)).startswith(
        "mean on the simulator: 1 launch\n"
    )
    assert repr(wf.simulate(np.ones(9))).startswith("sum on the simulator: 1 launch\n")
    assert lines[1].startswith(f"1. {seen.launches[0].kernel}: ")
    assert lines[-1] == "The checks found nothing."
    row = next(line for line in lines if line.startswith("warp instructions "))
    assert re.split(" {2,}", row)[1].replace(" ", "") == str(
        seen.launches[0].counters["warp_instructions"]
    )
    tags: list[str] = []

    class Parser(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert tags.pop() == tag

    text = seen._repr_html_()
    Parser().feed(text)
    assert not tags and text.count("<td>") == len(seen._rows()) * len(seen.launches)


def test_findings_are_shown() -> None:
    finding = wf.Finding("error", "race", "error: two threads write <one> word")
    launch = wf.Launch("bad", (2, 1, 1), (32, 4, 1), 16, {}, (finding,))
    seen = wf.Simulation("sum", 1.0, [launch], True, False)
    assert seen.findings == [finding]
    assert "1. bad: 2 blocks of 32 x 4 threads, 16 bytes of shared memory" in repr(seen)
    assert "The checks found 1 mistake.\nerror: two threads write <one> word" in repr(seen)
    assert "<pre>error: two threads write &lt;one&gt; word</pre>" in seen._repr_html_()


def test_threads_take_turns() -> None:
    # The launches of one call are not among those of another, and none of them waits for ever.
    sizes = [100, 2000, 100, 2000] * 3

    def launches(size: int) -> str:
        return repr(wf.simulate(np.ones(size, dtype=np.float32), "sum"))

    alone = [launches(size) for size in sizes]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(launches, sizes, timeout=120)) == alone


def test_wrong_arguments() -> None:
    x = np.ones((2, 3))
    for op in ("nothing", "norm1", "topk"):
        with pytest.raises(ValueError, match=f"there is no reduction {op}"):
            wf.simulate(x, op)  # type: ignore[arg-type]
    with pytest.raises(wf.AxisError):
        wf.simulate(x, "sum", axis=2)
    with pytest.raises(ValueError, match="of no elements"):
        wf.simulate(x[:0], "max")
    with pytest.raises(TypeError, match="takes no method"):
        wf.simulate(x, "max", method="wide")
    with pytest.raises(TypeError, match="takes no dtype"):
        wf.simulate(x, "max", dtype="float32")
    assert wf.simulate(x[:0], "sum").result == 0.0
