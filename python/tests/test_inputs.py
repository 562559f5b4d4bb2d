"""Arrays of every kind as inputs: DLPack, interfaces, buffers; and what is refused."""

from __future__ import annotations

import array
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import warpfold as wf
from producers import Producer, name_of
from references import ALL

VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("version", [None, (1, 0), (1, 1), (1, 9)])
@pytest.mark.parametrize("view", [np.s_[:], np.s_[::-1, ::2], np.s_[1:, 1:3]])
def test_dlpack_of_each_version(version: Any, view: Any) -> None:
    producer = Producer(VALUES[view], version)
    result = wf.sum(producer, axis=0)
    assert isinstance(result, wf.Array)
    assert result.tolist() == VALUES[view].sum(axis=0).tolist()
    assert producer.freed == 1
    used = b"used_dltensor" if version is None else b"used_dltensor_versioned"
    assert name_of(producer.capsules[0]) == used
    # A producer of an old version is asked twice, because it does not know the argument.
    assert len(producer.asked) == (2 if version is None else 1)


def test_dlpack_without_strides_and_with_an_offset() -> None:
    producer = Producer(VALUES, null_strides=True, byte_offset=64)
    assert wf.sum(producer).item() == 66.0
    assert producer.freed == 1
    assert wf.sum(Producer(np.array(3.5))).item() == 3.5
    assert wf.sum(Producer(np.empty((0, 3), dtype=np.float64)), axis=0).tolist() == [0.0] * 3


def test_dlpack_is_given_back_once_after_every_error() -> None:
    cases = [
        (Producer(VALUES, (2, 0)), BufferError, "DLPack 2.0"),
        (Producer(VALUES, code=5, bits=32), TypeError, "complex32"),
        (Producer(VALUES, lanes=4), TypeError, "lanes"),
        (Producer(VALUES, code=10, bits=8), TypeError, "type 10"),
        (Producer(VALUES, code=0, bits=4), TypeError, "4 bits"),
        (Producer(VALUES, device=(10, 0)), TypeError, "DLPack's type 10"),
    ]
    for producer, error, text in cases:
        with pytest.raises(error, match=text):
            wf.sum(producer)
        assert producer.freed == len(producer.capsules)
    producer = Producer(VALUES)
    with pytest.raises(wf.AxisError):
        wf.sum(producer, axis=5)
    assert producer.freed == 1


def test_a_capsule_is_taken_once() -> None:
    class Twice(Producer):
        def __dlpack__(self, **options: Any) -> Any:
            return self.capsules[0] if self.capsules else super().__dlpack__(**options)

    producer = Twice(VALUES)
    assert wf.sum(producer).item() == 66.0
    with pytest.raises(TypeError, match="used already"):
        wf.sum(producer)
    assert producer.freed == 1


def test_read_only_memory_is_read_and_never_written() -> None:
    flagged = Producer(np.zeros(3, dtype=np.float32), flags=1)
    assert wf.sum(flagged).item() == 0.0
    with pytest.raises(ValueError, match="read-only"):
        wf.sum(np.ones((3, 3), dtype=np.float32), axis=0, out=flagged)
    assert flagged.freed == 2
    frozen = np.zeros(3, dtype=np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        wf.sum(np.ones((3, 3), dtype=np.float32), axis=0, out=frozen)
    assert wf.sum(frozen) == 0


def test_an_exception_of_a_producer_is_passed_on() -> None:
    class Broken:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **_: Any) -> Any:
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        wf.sum(Broken())

    class Odd(Broken):
        def __dlpack__(self, **_: Any) -> Any:
            return 5

    with pytest.raises(TypeError, match="no capsule"):
        wf.sum(Odd())


def test_results_go_to_the_library_of_a_producer() -> None:
    class Namespace:
        @staticmethod
        def from_dlpack(x: Any) -> Any:
            return ("converted", np.from_dlpack(x))

    class Theirs(Producer):
        def __array_namespace__(self) -> Any:
            return Namespace

    word, result = wf.sum(Theirs(VALUES), axis=1)  # type: ignore[misc]
    assert word == "converted" and result.tolist() == [6.0, 22.0, 38.0]


class Interface:
    """An object with `__array_interface__`."""

    def __init__(self, values: np.ndarray, **changes: Any) -> None:
        self.values = values
        self.__array_interface__ = {**values.__array_interface__, **changes}


def test_array_interface() -> None:
    assert wf.sum(Interface(VALUES)).item() == 66.0
    assert wf.sum(Interface(VALUES[:, ::-2]), axis=0).tolist() == VALUES[:, ::-2].sum(0).tolist()
    for changes, error, text in [
        ({"typestr": ">f4"}, TypeError, "order of other machines"),
        ({"typestr": "<c4"}, TypeError, "complex32"),
        ({"typestr": "|O8"}, TypeError, "object"),
        ({"typestr": "f"}, TypeError, "cannot be reduced"),
        ({"shape": (3, -4)}, ValueError, "is none"),
        ({"shape": (2**62, 2**62)}, ValueError, "is none"),
        ({"strides": (4,)}, ValueError, "strides"),
        ({"data": None}, TypeError, "no address"),
        ({"mask": VALUES}, TypeError, "mask"),
    ]:
        with pytest.raises(error, match=text):
            wf.sum(Interface(VALUES, **changes))


@pytest.mark.parametrize("letter", "bBhHiIlLqQfd")
def test_buffers(letter: str) -> None:
    values = array.array(letter, [1, 2, 3, 4])
    result = wf.sum(values)
    assert isinstance(result, wf.Array) and result.shape == () and result.item() == 10
    assert result.dtype.startswith(
        "float" if letter in "fd" else "uint" if letter.isupper() else "int"
    )
    part = memoryview(values)[1::2]
    assert wf.prod(part).item() == 8
    assert wf.max(memoryview(bytes([3, 200, 9]))).item() == 200
    grid = memoryview(bytes(range(6))).cast("B", (2, 3))
    assert wf.sum(grid, axis=0).tolist() == [3, 5, 7]


def test_a_buffer_is_locked_only_during_a_call() -> None:
    values = array.array("d", [1.0, 2.0])
    assert wf.sum(values).item() == 3.0
    values.append(4.0)
    assert wf.sum(values).item() == 7.0
    before = sys.getrefcount(values)
    for _ in range(100):
        wf.sum(values)
    assert sys.getrefcount(values) == before


def test_every_type_of_numpy_has_an_answer() -> None:
    known = {str(dtype) for dtype in ALL} | {"complex64", "complex128"}
    for code in np.typecodes["All"]:
        values = np.zeros(3, dtype=code)
        # Some letters name the same type.
        if str(np.dtype(f"{values.dtype.kind}{values.itemsize}")) in known:
            assert wf.sum(values) == 0, code
        else:
            with pytest.raises(TypeError, match="cannot be reduced"):
                wf.sum(values)
    assert wf.sum(np.ones(3, dtype=ml_dtypes.bfloat16)).dtype == ml_dtypes.bfloat16
    with pytest.raises(TypeError, match="float8_e4m3fn .*cast it to float16"):
        wf.sum(np.ones(3, dtype=ml_dtypes.float8_e4m3fn))
    with pytest.raises(TypeError, match="object .*numeric"):
        wf.sum(np.array([1, None]))


def test_numpy_arrays_that_are_odd() -> None:
    assert wf.sum(np.float32(2.5)) == 2.5
    assert wf.sum(np.array(7)) == 7
    with pytest.raises(TypeError, match="order of other machines"):
        wf.sum(np.ones(3, dtype=">f4"))
    fields = np.zeros(4, dtype=[("a", "i1"), ("b", "<f8")])
    fields["b"] = [1, 2, 3, 4]
    unaligned = fields["b"]
    assert not unaligned.flags.aligned
    assert wf.sum(unaligned) == 10.0 and wf.sum(unaligned, device="simulator") == 10.0
    with pytest.raises(TypeError, match="masked array"):
        wf.sum(np.ma.masked_array([1.0, 2.0], [True, False]))

    class Sub(np.ndarray):
        pass

    assert wf.sum(np.ones(3).view(Sub)) == 3.0
    huge = np.broadcast_to(np.float32(1.0), (1000, 1000, 10))
    assert wf.sum(huge, axis=(0, 1)).tolist() == [1e6] * 10
    assert wf.sum(np.ones((1,) * 20 + (5,))) == 5.0
    many = np.ones((2,) * 12)[..., ::-1]
    assert wf.sum(many, axis=tuple(range(0, 12, 2))).shape == (2,) * 6


@pytest.mark.parametrize("thing", [None, 5, 2.5, "text", [1, 2], (1.0,), {}, object(), np.sum])
def test_what_is_no_array(thing: Any) -> None:
    with pytest.raises(TypeError, match="is no array|cannot be reduced"):
        wf.sum(thing)


def test_cuda_array_interface_without_a_driver() -> None:
    class Theirs:
        __cuda_array_interface__ = {
            "shape": (3,),
            "typestr": "<f4",
            "data": (4096, False),
            "version": 3,
            "stream": 1,
        }

    with pytest.raises((ValueError, RuntimeError)):
        wf.sum(Theirs())

    class Zero:
        __cuda_array_interface__ = {**Theirs.__cuda_array_interface__, "stream": 0}

    with pytest.raises(ValueError, match="stream 0"):
        wf.sum(Zero())
