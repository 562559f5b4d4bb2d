#!/usr/bin/env bash
# Compiles the peers of the reducer with nvcc, for the GPU of this machine or for the given
# architecture:
#
#   bench/peers/build.sh FOLDER [sm_90]
#
# The script writes three files to FOLDER: peers.so (CUB, Thrust and a kernel of one block, as plain
# C functions), rows-peers.so (the peers of the `rows` and `segments` benchmarks, which need the CUB
# of CUDA 13.2 or newer) and reduce.cubin (the production kernels in CUDA C++). If the variable ONLY
# is `rows`, rows-peers.so alone is written. The variable TYPES names the element types for which
# CUB is compiled in peers.so. Without it, CUB is compiled for all types. CUB and Thrust
# are taken from the toolkit, or from the folder that the variable CCCL names, such as
# nvidia/cu13/include/cccl of the Python package nvidia-cuda-cccl. This package is useful because
# the CUB of CUDA 13.0 lacks two of the three determinisms.

set -euo pipefail
sources=$(cd "$(dirname "$0")" && pwd)
folder=$1
arch=${2:-sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)}
compile() { nvcc -std=c++17 -O3 -arch="$arch" ${CCCL:+-I"$CCCL"} "$@"; }

mkdir -p "$folder"
if [ "${ONLY:-}" = rows ]; then
    compile -Xcompiler -fPIC -shared -cudart static -o "$folder/rows-peers.so" "$sources/rows.cu"
    exit
fi
objects=()
jobs=()
# start OBJECT SOURCE [FLAG...]: starts a compilation. As many run at once as there are processors.
start() {
    local object=$folder/$1.o source=$sources/$2
    shift 2
    objects+=("$object")
    compile -Xcompiler -fPIC "$@" -c -o "$object" "$source" &
    jobs+=($!)
    [ "${#jobs[@]}" -lt "$(nproc)" ] || { wait "${jobs[0]}" && jobs=("${jobs[@]:1}"); }
}
start thrust thrust.cu
for type in ${TYPES:-i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64}; do
    start "cub_$type" cub.cu -DTYPE="$type"
done
start naive naive.cu
for job in "${jobs[@]}"; do wait "$job"; done
compile -shared -o "$folder/peers.so" "${objects[@]}"
rm "${objects[@]}"
compile -cubin -o "$folder/reduce.cubin" "$sources/reduce.cu" || echo "there is no twin: reduce.cu needs sm_90" >&2
compile -Xcompiler -fPIC -shared -cudart static -o "$folder/rows-peers.so" "$sources/rows.cu" ||
    echo "there are no peers for rows: rows.cu needs CCCL 3.2 or newer" >&2
