#!/bin/sh
# Compiles the .cu files here to the PTX that the tests run, as <name>.<O3 or G>.<arch>.ptx.
# It needs nvcc 13 on PATH, or named by NVCC, with the headers of CCCL (PyPI: nvidia-cuda-nvcc,
# -crt, -cccl, -runtime). A folder that nvcc does not find by itself goes into
# NVCC_APPEND_FLAGS=-I... The output depends on nvcc's version, and not on the machine: of the
# paths in `.file`, only the name of the file stays, and the debug sections of -G are removed.
# The names of inlined functions are removed with them, because `.loc` takes them from there.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-nvcc}
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT

# compile NAME ARCH BUILD: BUILD is O3 or G.
compile() {
    "$nvcc" -std=c++17 "-$3" -arch="$2" -ptx "$1.cu" -o "$scratch"
    awk '
        /^[ \t]*\.section[ \t]+\.debug_/ { skip = 1 }
        skip { if ($0 ~ /}/) skip = 0; next }
        /^[ \t]*\.file[ \t]/ { gsub(/"[^"]*\//, "\"") }
        { print }
    ' "$scratch" > "$1.$3.$2.ptx"
}

for name in vector transpose scan histogram matmul reduce groups bitonic mandelbrot nbody half math calls print; do
    compile "$name" sm_75 O3
    compile "$name" sm_75 G
done
# The text that the kernel `conversions` of print.cu must print.
printf '#include <cstdio>\n#define P printf\nint main() { volatile double zero = 0; const char *null = nullptr;\n#include "print.inc"\n}\n' |
    "${CXX:-g++}" -w -O0 -I. -x c++ - -o "$scratch.host"
"$scratch.host" > print.txt
rm "$scratch.host"
# Barriers of the whole grid.
compile grid sm_75 O3
compile grid sm_75 G
# Newer hardware has other instructions for the same code: redux.sync, and min and max of halves.
# bfloat16 begins at sm_80.
compile bfloat sm_80 O3
compile bfloat sm_80 G
# cp.async, which begins at sm_80, and what begins at sm_90.
compile async sm_80 O3
compile async sm_80 G
for name in cluster bulk; do
    compile "$name" sm_90 O3
    compile "$name" sm_90 G
done
for name in groups half bfloat; do
    compile "$name" sm_90 O3
    compile "$name" sm_90 G
done
# The values with which the tests compare those of math.cu are in math.csv (math_values.py).
compile math sm_100 O3
