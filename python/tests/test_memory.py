"""Reference counts, memory, threads and exceptions."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warpfold as wf
from producers import Producer

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
KEYS = np.array([0, 0, 1, 1, 1], dtype=np.int32)


def error() -> None:
    with pytest.raises(wf.AxisError):
        wf.sum(X, axis=7)
    with pytest.raises(TypeError):
        wf.sum(X, dtype="int64")
    with pytest.raises(ValueError):
        wf.sum(X, out=np.zeros(3, dtype=np.float32))


CALLS: dict[str, Callable[[], Any]] = {
    "sum": lambda: wf.sum(X),
    "axis": lambda: wf.max(X, axis=(0, -1), keepdims=True),
    "pair": lambda: wf.minmax(X, axis=1),
    "top": lambda: wf.topk(X, 2, axis=0),
    "dot": lambda: wf.dot(X, X, axis=0),
    "segments": lambda: wf.segment_reduce(X.ravel(), KEYS[:0:-1] * 0),
    "keys": lambda: wf.reduce_by_key(KEYS, KEYS),
    "bins": lambda: wf.bincount(KEYS, weights=KEYS),
    "buffer": lambda: wf.sum(memoryview(X)),
    "errors": error,
}


def resident() -> int:
    """The memory of the process that is resident, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.parametrize("name", CALLS)
def test_many_calls_keep_nothing(name: str) -> None:
    call = CALLS[name]
    for _ in range(300):
        call()
    gc.collect()
    counts = [sys.getrefcount(x) for x in (X, KEYS, np.dtype("float32"), wf.AxisError)]
    before = resident()
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    for _ in range(3000):
        call()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    assert [sys.getrefcount(x) for x in (X, KEYS, np.dtype("float32"), wf.AxisError)] == counts
    assert grown < 30_000, grown
    assert resident() - before < 8 << 20


def test_many_capsules_are_freed_once() -> None:
    producer = Producer(X)
    for _ in range(1000):
        wf.sum(producer)
        producer.kept.clear()
        producer.capsules.clear()
    assert producer.freed == 1000


def test_the_simulator_keeps_nothing() -> None:
    for _ in range(20):
        wf.var(X, axis=1, device="simulator")
    before = resident()
    for _ in range(200):
        wf.var(X, axis=1, device="simulator")
        wf.segment_reduce(X.ravel(), np.array([0, 7, 60]), "mean", device="simulator")
    assert resident() - before < 8 << 20


def test_threads(device: str) -> None:
    random = np.random.default_rng(3)
    arrays = [random.integers(0, 100, (50, 30 + i)).astype(np.float64) for i in range(4)]
    failures: list[BaseException] = []

    def work(x: np.ndarray) -> None:
        try:
            for _ in range(40):
                assert np.array_equal(wf.sum(x, axis=0, device=device), x.sum(axis=0))
                assert np.array_equal(wf.argmax(x, axis=1, device=device), x.argmax(axis=1))
                assert np.allclose(wf.var(x, device=device), x.var())
                with pytest.raises(wf.AxisError):
                    wf.sum(x, axis=3, device=device)
        except BaseException as failure:  # noqa: BLE001
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_choice_of_a_device_holds_for_its_thread_alone() -> None:
    x = np.array([1.0, 2.0**-60, -1.0])
    seen: list[Any] = []
    with wf.use("simulator"):
        thread = threading.Thread(target=lambda: seen.append(wf.sum(x)))
        thread.start()
        thread.join()
    assert seen == [wf.sum(x, device="cpu")]


def test_the_interpreter_runs_on_during_a_call() -> None:
    x = np.ones(20_000_000, dtype=np.float64)
    started, ended, count = threading.Event(), threading.Event(), 0

    def work() -> None:
        started.set()
        for _ in range(5):
            wf.sum(x, method="compensated")
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    while not ended.is_set():
        count += 1
    thread.join()
    # Without the lock's release, this thread would be let in only between two calls.
    assert count > 100
