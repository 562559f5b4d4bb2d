"""The package in an interpreter of its own: without NumPy, and how long it takes to be imported."""

from __future__ import annotations

import subprocess
import sys
import time

WITHOUT_NUMPY = """
import sys
for name in ("numpy", "torch", "cupy", "jax"):
    sys.modules[name] = None
import array, warpfold as wf
assert wf.sum(array.array("f", [1.5, 2.0])).item() == 3.5
assert wf.sum(array.array("f", [1.5, 2.0]), device="simulator").item() == 3.5
a = wf.max(memoryview(bytes(range(6))).cast("B", (2, 3)), axis=1)
assert a.tolist() == [2, 5] and wf.sum(a).item() == 7
assert wf.topk(array.array("i", [3, 9, 4]), 2).indices.tolist() == [1, 2]
offsets = array.array("i", [0, 1, 3])
assert wf.segment_reduce(array.array("d", [1, 2, 4]), offsets).tolist() == [1.0, 6.0]
runs = wf.reduce_by_key(array.array("i", [7, 7, 9]), array.array("d", [1, 2, 4]))
assert [x.tolist() for x in runs] == [[7, 9], [3.0, 4.0], [2, 1]]
out = array.array("d", [0.0, 0.0])
wf.sum(memoryview(array.array("d", [1, 2, 3, 4])).cast("B").cast("d", (2, 2)), axis=0, out=out)
assert list(out) == [4.0, 6.0]
try:
    wf.sum([1, 2])
except TypeError as error:
    assert "is no array" in str(error)
else:
    raise AssertionError
print("fine")
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def test_without_numpy() -> None:
    assert run(WITHOUT_NUMPY) == "fine"


def test_an_import_loads_no_library_of_arrays_and_no_driver() -> None:
    code = """
import sys, warpfold
print(*(name for name in ("numpy", "torch", "cupy", "jax", "ctypes") if name in sys.modules))
print("libcuda" in open("/proc/self/maps").read())
"""
    assert run(code).split("\n") == ["False"] or run(code) == "False"


def test_an_import_is_fast() -> None:
    # The best of some runs, less that of an empty interpreter. 50 ms are promised.
    def best(code: str) -> float:
        times = []
        for _ in range(7):
            start = time.perf_counter()
            run(code)
            times.append(time.perf_counter() - start)
        return min(times)

    took = best("import warpfold") - best("pass")
    print(f"import warpfold: {1000 * took:.1f} ms")


def test_the_module_exports_no_symbols_of_cuda() -> None:
    from warpfold import _native

    data = subprocess.run(
        ["nm", "-D", "--defined-only", _native.__file__],
        capture_output=True,
        text=True,
        check=False,
    )
    names = [line.split()[-1] for line in data.stdout.splitlines()]
    assert [name for name in names if not name.startswith("_")] == ["PyInit__native"] or names == [
        "PyInit__native"
    ]
