// Sums whose blocks meet at a barrier of the whole grid.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Each block leaves its sum in `partial`. After the grid's barrier, each thread adds all sums.
extern "C" __global__ void total_by_groups(const int *in, int *partial, int *out, int n) {
    __shared__ int sum;
    cg::grid_group grid = cg::this_grid();
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) atomicAdd(&sum, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    grid.sync();
    int total = 0;
    for (int block = 0; block < gridDim.x; block++) total += partial[block];
    out[grid.thread_rank()] = total;
    grid.sync();
    out[grid.thread_rank()] += partial[(blockIdx.x + 1) % gridDim.x];
}

// The same barrier in software: a counter that only grows.
__device__ void meet(unsigned *counter, unsigned round) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(counter, 1);
        while (*(volatile unsigned *)counter < round * gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
}

// Inclusive sums over neighbours at growing distances, one array at a time (Hillis and Steele).
extern "C" __global__ void scan_by_counter(int *a, int *b, unsigned *counter, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned round = 0;
    for (int distance = 1; distance < n; distance *= 2) {
        if (i < n) b[i] = a[i] + (i >= distance ? a[i - distance] : 0);
        meet(counter, ++round);
        int *other = a;
        a = b;
        b = other;
    }
}
