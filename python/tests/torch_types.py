"""The types of torch that have reductions here on every version of torch, by their names."""

from __future__ import annotations

TYPES = [
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64"),
]
