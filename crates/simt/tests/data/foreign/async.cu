// Asynchronous copies of a few bytes by each thread (cp.async), in two stages.
#include <cstdint>

template <int BYTES>
__device__ void fetch(void *to, const void *from) {
    uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from) : "memory");
}

template <int GROUPS>
__device__ void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
}

// Each block sums the products of its tiles of `a` and `b`.
extern "C" __global__ void staged_dot(const float4 *a, const float *b, float *out, int tiles) {
    __shared__ float4 left[2][64];
    __shared__ float right[2][64];
    const int t = threadIdx.x;
    auto begin = [&](int stage, int tile) {
        fetch<16>(&left[stage][t], &a[tile * 64 + t]);
        fetch<4>(&right[stage][t], &b[tile * 64 + t]);
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    begin(0, blockIdx.x);
    float sum = 0;
    int stage = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, stage ^= 1) {
        int next = tile + gridDim.x;
        if (next < tiles) {
            begin(stage ^ 1, next);
            wait<1>();
        } else {
            wait<0>();
        }
        __syncthreads();
        // Another thread's elements: the barrier above is needed.
        float4 x = left[stage][63 - t];
        sum += (x.x + x.y + x.z + x.w) * right[stage][63 - t];
        __syncthreads();
    }
    out[blockIdx.x * 64 + t] = sum;
}
