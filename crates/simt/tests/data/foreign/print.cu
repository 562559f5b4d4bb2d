// printf and assert.
#include <cassert>
#include <cstdio>

#define P printf
extern "C" __global__ void conversions(double zero, const char *null) {
#include "print.inc"
}

// Threads of all blocks print in a certain order, and count what printf returns.
extern "C" __global__ void order(int *counts) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    counts[i] = printf("block %d thread %d\n", blockIdx.x, threadIdx.x);
    __syncthreads();
    if (threadIdx.x % 32 == 3) counts[i] += 10 * printf("%s again, %.1f\n", threadIdx.x < 32 ? "first" : "second", 0.5);
}

// A format and a text in shared memory and in the thread's own memory.
extern "C" __global__ void spaces(int n) {
    __shared__ char format[16];
    char own[4] = {'a', 'b', 0, 0};
    for (int i = 0; i < n; ++i) own[i % 2] = 'x';
    if (threadIdx.x == 0) {
        const char *text = "<%s %d>\n";
        for (int i = 0; i < 9; ++i) format[i] = text[i];
    }
    __syncthreads();
    printf(format, own, n);
}

extern "C" __global__ void check(const int *x, int limit) {
    printf("checking %d\n", x[threadIdx.x]);
    assert(x[threadIdx.x] < limit && "too large");
}
