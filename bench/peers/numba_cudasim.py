"""Numba's CUDA simulator on two of the kernels that `cargo bench -p warpfold-simt` runs.

    pip install numba==0.68.1
    python3 bench/peers/numba_cudasim.py

The simulator interprets Python, with a host thread for each CUDA thread, so only the elements per
second can be compared.
"""

import os
import time

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numba
import numpy as np
from numba import cuda, int32

THREADS = 256


@cuda.jit
def grid_stride(data, out):
    i = cuda.grid(1)
    total = 0
    for j in range(i, data.size, cuda.gridsize(1)):
        total += data[j]
    out[i] = total


@cuda.jit
def tree(data, out):
    tile = cuda.shared.array(THREADS, int32)
    tid = cuda.threadIdx.x
    i = cuda.blockIdx.x * THREADS * 2 + tid
    tile[tid] = data[i] + data[i + THREADS]
    cuda.syncthreads()
    stride = THREADS // 2
    while stride > 0:
        if tid < stride:
            tile[tid] += tile[tid + stride]
        cuda.syncthreads()
        stride //= 2
    if tid == 0:
        out[cuda.blockIdx.x] = tile[0]


def run(name, kernel, blocks, results, n):
    data = np.arange(n, dtype=np.int32) % 1000
    out = np.zeros(results, dtype=np.int32)
    start = time.perf_counter()
    kernel[blocks, THREADS](data, out)
    seconds = time.perf_counter() - start
    assert out.sum() == data.sum(), "the sum is wrong"
    print(f"{name}: {n} elements in {seconds:.2f} s, {n / seconds / 1e6:.4f} M elements/s")


print(f"numba {numba.__version__}, numpy {np.__version__}")
run("grid_stride", grid_stride, 4, 4 * THREADS, 1 << 18)
run("tree", tree, 16, 16, 16 * 2 * THREADS)
