"""The native part of the package. The other modules say what its arguments mean."""

from typing import Any, SupportsIndex, final

__version__: str

@final
class Array:
    """An array that this package has allocated, in C order."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def device(self) -> str: ...
    def item(self) -> bool | int | float | complex: ...
    def tolist(self) -> Any: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

def number(name: str) -> int | None: ...
def check_device(device: object) -> None: ...
def driver() -> tuple[str, int, str, bool]: ...
def gpu(ordinal: int) -> tuple[str, tuple[int, int], int, int]: ...
def reduce(
    op: int,
    x: object,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    dtype: object,
    keepdims: bool,
    out: object,
    correction: float,
    method: str | None,
    device: object,
) -> Any: ...
def simulate(
    op: int,
    x: object,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    dtype: object,
    keepdims: bool,
    correction: float,
    method: str | None,
    is_checked: bool,
) -> tuple[
    Any,
    list[
        tuple[
            str,
            tuple[int, int, int],
            tuple[int, int, int],
            int,
            list[tuple[str, int]],
            list[tuple[str, str, str]],
        ]
    ],
]: ...
def topk(
    x: object, k: int, axis: SupportsIndex, is_largest: bool, device: object
) -> tuple[Any, Any]: ...
def dot(
    a: object,
    b: object,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    dtype: object,
    keepdims: bool,
    out: object,
    device: object,
) -> Any: ...
def segment_reduce(
    values: object,
    offsets: object,
    op: str,
    correction: float,
    check: bool,
    out: object,
    device: object,
) -> Any: ...
def reduce_by_key(
    keys: object, values: object, op: str, device: object
) -> tuple[Any, Any, Any]: ...
def bincount(
    keys: object,
    weights: object,
    minlength: int,
    bins: int | None,
    check: bool,
    device: object,
) -> Any: ...
