"""Objects that hand arrays over by DLPack, made by hand, which count how often they are freed."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np


class Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
name_of = ctypes.pythonapi.PyCapsule_GetName
name_of.restype = ctypes.c_char_p
name_of.argtypes = [ctypes.py_object]

CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class Producer:
    """An object with DLPack of one version, around an array of NumPy."""

    def __init__(
        self,
        array: np.ndarray,
        version: tuple[int, int] | None = (1, 1),
        *,
        flags: int = 0,
        code: int | None = None,
        bits: int | None = None,
        lanes: int = 1,
        device: tuple[int, int] = (1, 0),
        null_strides: bool = False,
        byte_offset: int = 0,
    ) -> None:
        self.array = array
        self.version = version
        self.flags = flags
        self.dtype = DataType(
            CODES.get(array.dtype.kind, 2) if code is None else code,
            8 * array.dtype.itemsize if bits is None else bits,
            lanes,
        )
        self.device = device
        self.null_strides = null_strides
        self.byte_offset = byte_offset
        self.freed = 0
        self.capsules: list[Any] = []
        self.kept: list[Any] = []
        self.asked: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **options: Any) -> Any:
        self.asked.append(options)
        if self.version is None and "max_version" in options:
            raise TypeError("unexpected keyword argument 'max_version'")

        def free(_: int | None) -> None:
            self.freed += 1

        deleter = Deleter(free)
        rank = self.array.ndim
        shape = (ctypes.c_int64 * max(rank, 1))(*self.array.shape)
        steps = [stride // self.array.itemsize for stride in self.array.strides]
        strides = (ctypes.c_int64 * max(rank, 1))(*steps)
        tensor = Tensor(
            self.array.ctypes.data - self.byte_offset,
            Device(*self.device),
            rank,
            self.dtype,
            shape,
            None if self.null_strides else strides,
            self.byte_offset,
        )
        address = ctypes.cast(deleter, ctypes.c_void_p).value
        managed: Any
        if self.version is None:
            managed, name = Legacy(tensor, None, address), b"dltensor"
        else:
            managed = Versioned(*self.version, None, address, self.flags, tensor)
            name = b"dltensor_versioned"
        self.kept.append((deleter, shape, strides, managed, name))
        capsule = new_capsule(ctypes.addressof(managed), name, None)
        self.capsules.append(capsule)
        return capsule
