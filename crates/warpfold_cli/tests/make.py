#!/usr/bin/env python3
"""Makes tests/files and tests/table.json with NumPy: input files of every kind, good and bad, and
for commands over them the answer that NumPy gives, or the status and a part of the error.

    python3 crates/warpfold_cli/tests/make.py

The files are committed, so the test needs no Python. NumPy 2.x of 2026 made them."""

import io
import json
import pathlib
import struct
import zipfile

import numpy as np

HERE = pathlib.Path(__file__).parent
FILES = HERE / "files"
table = []
rng = np.random.default_rng(16)


def save(name, array):
    """Saves an array under any name."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    (FILES / name).write_bytes(buffer.getvalue())
    return array


def npy(header, data, version=(1, 0)):
    """A .npy file with this text as its header."""
    text = header.encode("utf8" if version[0] == 3 else "latin1")
    length = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + length + text + data


def text(value):
    """A NumPy scalar as the command prints it, and whether it may differ in the last digits."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    value = float(value)
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value)


def good(*args, is_near=False, expected):
    values = expected if isinstance(expected, tuple) else (expected,)
    table.append({"args": list(args), "status": 0, "expected": [text(value) for value in values],
                  "near": is_near})


def bad(*args, error, status=2):
    table.append({"args": list(args), "status": status, "error": error})


def exact(array):
    """The sum of integers, however large."""
    return sum(int(x) for x in array.ravel())


def reduce_all(name, array, *options):
    """The operations that every type has, and those of floats or integers."""
    wide = array.astype(np.float64)
    is_float = array.dtype.kind == "f"
    total = float(wide.sum()) if is_float else exact(array)
    good("sum", name, *options, expected=total, is_near=is_float)
    good("mean", name, *options, expected=wide.mean(), is_near=True)
    good("var", name, *options, expected=wide.var(), is_near=True)
    good("std", name, *options, "--ddof", "1", expected=wide.std(ddof=1), is_near=True)
    good("count", name, *options, expected=np.count_nonzero(array))
    good("any", name, *options, expected=array.any())
    good("all", name, *options, expected=array.all())
    # The command ignores NaNs in min and max, as NumPy's fmin and fmax do; minimum and maximum
    # return them, as NumPy's min and max do.
    good("min", name, *options, expected=np.fmin.reduce(array, axis=None))
    good("max", name, *options, expected=np.fmax.reduce(array, axis=None))
    good("minimum", name, *options, expected=array.min())
    good("maximum", name, *options, expected=array.max())
    good("argminimum", name, *options, expected=array.argmin())
    good("argmaximum", name, *options, expected=array.argmax())
    if not np.isnan(wide).any():
        good("argmin", name, *options, expected=array.argmin())
        good("argmax", name, *options, expected=array.argmax())
    good("minmax", name, *options,
         expected=(np.fmin.reduce(array, axis=None), np.fmax.reduce(array, axis=None)))


# Every type of NumPy that is reduced.
for descr in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]:
    info = np.iinfo(descr)
    array = rng.integers(info.min, info.max, 37, dtype=descr, endpoint=True)
    array[[3, 30]] = info.min
    array[[5, 21]] = info.max
    name = f"{descr}.npy"
    reduce_all(name, save(name, array))
    bits = int(descr[1]) * 8
    low = exact(array) % 2**bits
    if descr[0] == "i" and low >= 2 ** (bits - 1):
        low -= 2**bits
    good("wrapping-sum", name, expected=low)
    good("bit-and", name, expected=np.bitwise_and.reduce(array))
    good("bit-or", name, expected=np.bitwise_or.reduce(array))
    good("bit-xor", name, expected=np.bitwise_xor.reduce(array))
    good("max-abs", name, expected=max(abs(int(x)) for x in array))
    if bits < 64:
        good("norm1", name, expected=sum(abs(int(x)) for x in array))
    if descr == "i4":
        for sign, options in [(-1, ()), (1, ("--smallest",))]:
            order = np.argsort(sign * array.astype(np.int64), kind="stable")[:4]
            good("topk", name, "-k", "4", *options,
                 expected=tuple(f"{k}:{array[k]}" for k in order))
for descr in ["f2", "f4", "f8"]:
    array = rng.standard_normal(53).astype(descr)
    array[[7, 40]] = array.max()
    name = f"{descr}.npy"
    reduce_all(name, save(name, array))
    wide = array.astype(np.float64)
    good("norm1", name, expected=np.abs(wide).sum(), is_near=True)
    good("norm2", name, expected=np.linalg.norm(wide), is_near=True)
    good("sum-squares", name, expected=(wide**2).sum(), is_near=True)
    good("max-abs", name, expected=np.abs(array).max())
    good("exact", name, expected=wide.sum(), is_near=True)
    good("compensated", name, expected=wide.sum(), is_near=True)
    good("nansum", name, expected=np.nansum(wide), is_near=True)
    good("nanmean", name, expected=np.nanmean(wide), is_near=True)
    good("logsumexp", name, expected=np.log(np.exp(wide).sum()), is_near=True)
    good("product", name, expected=wide.prod(), is_near=True)
    good("dot", name, name, expected=(wide**2).sum(), is_near=True)
truths = save("bool.npy", np.array([True, False, True, True]))
good("sum", "bool.npy", expected=3)
good("mean", "bool.npy", expected=0.75)
good("any", "bool.npy", expected=True)
good("all", "bool.npy", expected=False)
good("min", "bool.npy", expected=False)
good("max", "bool.npy", expected=True)
good("argmin", "bool.npy", expected=1)
good("bit-xor", "bool.npy", expected=True)

# Byte orders, orders of the axes, shapes and headers.
for descr in [">u2", ">i4", ">f2", ">f8"]:
    array = rng.integers(0, 1000, (3, 7)).astype(descr)
    name = f"big_endian_{descr[1:]}.npy"
    reduce_all(name, save(name, array))
columns = save("fortran.npy", np.asfortranarray(rng.integers(0, 5, (6, 5, 4), dtype="i4")))
reduce_all("fortran.npy", columns)
rows = save("rows.npy", np.ascontiguousarray(columns))
good("dot", "fortran.npy", "rows.npy", expected=int((columns.astype(int) ** 2).sum()))
good("distance", "both_f4_1.npy", "both_f4_2.npy", expected=np.linalg.norm(
    save("both_f4_1.npy", rng.random(70, "f4")).astype(float)
    - save("both_f4_2.npy", rng.random(70, "f4"))), is_near=True)
good("distance", "u1.npy", "u1.npy", expected=0.0)
good("norm2", "u1.npy", expected=np.linalg.norm(np.load(FILES / "u1.npy").astype(float)))
good("sum-squares", "i2.npy", expected=int((np.load(FILES / "i2.npy").astype(int) ** 2).sum()))
good("wide", "f4.npy", expected=np.load(FILES / "f4.npy").astype(float).sum(), is_near=True)
good("dot", "fortran.npy", "fortran.npy", expected=int((columns.astype(int) ** 2).sum()))
good("squared-distance", "rows.npy", "fortran.npy", expected=0)
both = save("fortran_big_endian.npy", np.asfortranarray(rng.random((4, 9)).astype(">f4")))
reduce_all("fortran_big_endian.npy", both)
scalar = save("scalar.npy", np.array(2.5))
good("sum", "scalar.npy", expected=2.5)
good("argmax", "scalar.npy", expected=0)
save("empty.npy", np.zeros((3, 0), "f4"))
good("sum", "empty.npy", expected=0.0)
good("product", "empty.npy", expected=1.0)
good("all", "empty.npy", expected=True)
good("nansum", "empty.npy", expected=0.0)
good("nanmean", "empty.npy", expected=np.nan)
good("logsumexp", "empty.npy", expected=-np.inf)
for operation in ["min", "argmax", "mean", "minmax"]:
    bad(operation, "empty.npy", error="of no elements is not defined")
plain = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }"
three = np.array([1, 2, -4], "<i4").tobytes()
for version in [(2, 0), (3, 0)]:
    name = f"version_{version[0]}.npy"
    (FILES / name).write_bytes(npy(plain + " " * 20 + "\n", three, version))
    good("sum", name, expected=-1)
# NumPy aligns the elements to 64 bytes, and other writers need not.
(FILES / "unaligned.npy").write_bytes(npy(plain + "\n", three))
good("sum", "unaligned.npy", expected=-1)
(FILES / "SHOUTED.NPY").write_bytes(npy(plain + " " * 5 + "\n", three))
good("min", "SHOUTED.NPY", expected=-4)
(FILES / "renamed.dat").write_bytes((FILES / "i4.npy").read_bytes())
good("sum", "renamed.dat", expected=exact(np.load(FILES / "i4.npy")))
bad("sum", "renamed.dat", "--type", "f32", error="renamed.dat holds i32, not f32")

# NaNs, infinities, zeros with signs, sums that do not fit.
nans = save("nans.npy", np.array([np.nan, 3, -2, np.nan, 7, -2], "f4"))
reduce_all("nans.npy", nans)
good("argmin", "nans.npy", expected=2)
good("argmax", "nans.npy", expected=4)
good("nansum", "nans.npy", expected=np.nansum(nans))
good("nanmean", "nans.npy", expected=np.nanmean(nans))
good("logsumexp", "nans.npy", expected=np.nan)
save("only_nans.npy", np.full(3, np.nan))
good("min", "only_nans.npy", expected=np.nan)
good("argmax", "only_nans.npy", expected=0)
good("nansum", "only_nans.npy", expected=0.0)
good("nanmean", "only_nans.npy", expected=np.nan)
save("infinite.npy", np.array([1, np.inf, 2]))
good("sum", "infinite.npy", expected=np.inf)
good("max", "infinite.npy", expected=np.inf)
good("mean", "infinite.npy", expected=np.inf)
good("logsumexp", "infinite.npy", expected=np.inf)
save("both_infinite.npy", np.array([-np.inf, np.inf]))
good("sum", "both_infinite.npy", expected=np.nan)
good("exact", "both_infinite.npy", expected=np.nan)
save("minus_zero.npy", np.array([-0.0, -0.0], "f4"))
good("exact", "minus_zero.npy", expected=-0.0)
good("max", "minus_zero.npy", expected=-0.0)
save("cancelling.npy", np.array([1e100, 1.0, -1e100]))
good("exact", "cancelling.npy", expected=1.0)
large = save("large.npy", np.full(3, 2**62, "i8"))
good("sum", "large.npy", expected=3 * 2**62)
good("wrapping-sum", "large.npy", expected=3 * 2**62 - 2**64)
bad("checked-sum", "large.npy", status=1, error="the sum is 13835058055282163712, which no i64 holds")
vast = save("vast.npy", np.full(4, 2**64 - 1, "u8"))
good("sum", "vast.npy", expected=4 * (2**64 - 1))
good("product", "vast.npy", expected=1)

# Several files as one.
first, second = save("part_1.npy", np.arange(10, dtype="i2")), save("part_2.npy", -np.arange(5, dtype="i2"))
good("sum", "part_1.npy", "part_2.npy", expected=35)
good("checked-sum", "part_1.npy", "part_2.npy", expected=35)
good("argmin", "part_1.npy", "part_2.npy", expected=14)
good("count", "part_1.npy", "part_2.npy", "part_1.npy", expected=22)
bad("sum", "part_1.npy", "i4.npy", error="part_1.npy holds i16, and i4.npy holds i32")
bad("dot", "part_1.npy", "part_2.npy", error="has 10 elements and the second 5")
bad("dot", "part_1.npy", error="2 values required", status=2)

# Archives.
np.savez(FILES / "one.npz", only=np.arange(6, dtype="u1"))
good("sum", "one.npz", expected=15)
good("sum", "one.npz:only", expected=15)
bad("sum", "one.npz:none", error="one.npz has no array 'none': it has only")
np.savez(FILES / "several.npz", a=np.arange(4.0), b=np.asfortranarray(rows[0]), c=np.array([5], ">i8"))
good("sum", "several.npz:a", expected=6.0)
good("argmax", "several.npz:b", expected=rows[0].argmax())
good("sum", "several.npz:c", "several.npz:c", expected=10)
bad("sum", "several.npz", error="several.npz has 3 arrays (a, b, c)")
np.savez_compressed(FILES / "compressed.npz", x=np.arange(5000, dtype="i4"))
good("sum", "compressed.npz", expected=12497500)
(FILES / "archive.bin").write_bytes((FILES / "one.npz").read_bytes())
good("max", "archive.bin", expected=5)
damaged = bytearray((FILES / "one.npz").read_bytes())
damaged[damaged.index(bytes(range(6)))] ^= 0x40
(FILES / "damaged.npz").write_bytes(damaged)
bad("sum", "damaged.npz", error="its checksum is wrong")
(FILES / "cut.npz").write_bytes((FILES / "compressed.npz").read_bytes()[:-60])
bad("sum", "cut.npz", error="cut.npz: not an .npz file that can be read")
with zipfile.ZipFile(FILES / "letters.npz", "w") as archive:
    archive.writestr(zipfile.ZipInfo("letter.txt"), "Dear reader")
bad("sum", "letters.npz", error="letters.npz has 0 arrays")
bad("sum", "i4.npy:x", error="i4.npy is no .npz file")

# Types that NumPy lacks, and raw bytes.
half = np.array([1.5, -2.0, 0.25], "f4")
bfloat = (half.view("u4") >> 16).astype("<u2")
(FILES / "bf16.npy").write_bytes(
    npy("{'descr': '<V2', 'fortran_order': False, 'shape': (3,), }\n", bfloat.tobytes()))
good("sum", "bf16.npy", "--type", "bf16", expected=-0.25)
good("argmin", "bf16.npy", "--type", "bf16", expected=1)
bad("sum", "bf16.npy", error="dtype '<V2' cannot be reduced")
(FILES / "raw_f32").write_bytes(half.tobytes())
good("sum", "raw_f32", "--type", "f32", expected=-0.25)
bad("sum", "raw_f32", error="raw_f32 is no .npy or .npz file")
bad("sum", "raw_f32", "--type", "f64", error="12 bytes are not a whole number of f64 elements of 8 bytes")
bad("sum", "raw_f32", "--type", "double", error="unknown type 'double'")
(FILES / "raw_i128").write_bytes((2**127 - 1).to_bytes(16, "little") * 2)
good("sum", "raw_i128", "--type", "i128", expected=2 * (2**127 - 1))
good("sum", "raw_i128", "--type", "u128", expected=2 * (2**127 - 1))
good("max", "raw_i128", "--type", "i128", expected=2**127 - 1)
(FILES / "nothing").write_bytes(b"")
good("sum", "nothing", "--type", "i32", expected=0)
bad("max", "nothing", "--type", "i32", error="of no elements is not defined")
bad("sum", "nothing", error="nothing is no .npy or .npz file")

# What is no array.
(FILES / "table.csv").write_text("1,2\n3,4\n")
bad("sum", "table.csv", error="table.csv is text by its name")
bad("sum", "table.csv", "--type", "u8", error="table.csv is text by its name")
(FILES / "noise.bin").write_bytes(rng.bytes(64))
bad("sum", "noise.bin", error="noise.bin is no .npy or .npz file")
(FILES / "text.npy").write_text("1 2 3\n")
bad("sum", "text.npy", error=r"it does not begin with \x93NUMPY")
whole = (FILES / "i4.npy").read_bytes()
(FILES / "cut.npy").write_bytes(whole[:-2])
bad("sum", "cut.npy", error="announces 148 bytes of elements, and 146 follow")
(FILES / "long.npy").write_bytes(whole + b"\0")
bad("sum", "long.npy", error="announces 148 bytes of elements, and 149 follow")
(FILES / "cut_header.npy").write_bytes(whole[:40])
bad("sum", "cut_header.npy", error="the file ends within its header")
(FILES / "absurd.npy").write_bytes(
    npy("{'descr': '<i4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }\n", three))
bad("sum", "absurd.npy", error="its shape has 2^64 elements or more")
(FILES / "deep.npy").write_bytes(npy("(" * 40 + "\n", b""))
bad("sum", "deep.npy", error="opens more than 8 brackets")
for name, array in {
    "complex.npy": np.zeros(2, "c16"),
    "dates.npy": np.zeros(2, "M8[s]"),
    "strings.npy": np.array(["a", "b"]),
    "fields.npy": np.zeros(2, [("a", "i4"), ("b", "f4")]),
    "objects.npy": np.array([None, {}], object),
    "long_double.npy": np.zeros(2, np.longdouble),
}.items():
    save(name, array)
    bad("sum", name, error=f"{name}: dtype ")
bad("sum", "missing.npy", error="cannot read missing.npy")
bad("sum", ".", error=". is a folder")
bad("sum", error="<FILE>", status=2)
bad("total", "i4.npy", error="unrecognized subcommand", status=2)
bad("norm2", "i4.npy", error="there is no norm2 of i32 elements: it has bool, i8")
bad("exact", "i4.npy", error="there is no exact of i32 elements: it has f16")
bad("logsumexp", "i4.npy", error="there is no logsumexp of i32 elements: it has f16")
bad("bit-or", "f4.npy", error="there is no bit-or of f32 elements: it has bool")
bad("sum", "i4.npy", "--device", "gpu", error="unknown device 'gpu'")
bad("sum", "i4.npy", "--repeat", "0", error="--repeat 0")
bad("sum", "i4.npy", "--piece", "1", error="a piece has at least 16 bytes")
bad("sum", "i4.npy", "--piece", "16", "--repeat", "2", error="--repeat 2: only one array")
bad("sum", "raw_i128", "--type", "i128", "--output", "x.npy", error="NumPy has no type that holds")

(HERE / "table.json").write_text("[\n" + ",\n".join(json.dumps(row) for row in table) + "\n]\n")
print(f"{len(list(FILES.iterdir()))} files, {len(table)} commands")
