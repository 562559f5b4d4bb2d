// The ladder of the lectures in CUDA C++, as a peer to measure the Rust kernels against: rungs 1 to 7, sums of int and
// float, with the names, signatures, launch shapes and bounds of the kernels in kernels/src/ladder.
//
// nvcc -arch=sm_90 -O3 -cubin -o ladder.cubin ladder.cu; then give ladder.cubin to the `ladder` benchmark.

#include <cstddef>

// Dynamic shared memory as an array of T.
template <typename T>
__device__ __forceinline__ T *shared_memory() {
    extern __shared__ __align__(16) unsigned char bytes[];
    return reinterpret_cast<T *>(bytes);
}

template <typename T>
__device__ __forceinline__ T element_or_zero(const T *input, size_t i, size_t n) {
    return i < n ? input[i] : T(0);
}

// Rung 1: interleaved addressing. Every 2s-th thread adds; the warps diverge.
template <typename T>
__device__ __forceinline__ void reduce1(const T *input, T *output, size_t n) {
    T *sv = shared_memory<T>();
    unsigned tid = threadIdx.x;
    size_t i = size_t(blockIdx.x) * blockDim.x + tid;
    sv[tid] = element_or_zero(input, i, n);
    __syncthreads();

    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0) sv[tid] += sv[tid + s];
        __syncthreads();
    }

    if (tid == 0) output[blockIdx.x] = sv[0];
}

// Rung 2: the same additions by the first threads; the banks conflict.
template <typename T>
__device__ __forceinline__ void reduce2(const T *input, T *output, size_t n) {
    T *sv = shared_memory<T>();
    unsigned tid = threadIdx.x;
    size_t i = size_t(blockIdx.x) * blockDim.x + tid;
    sv[tid] = element_or_zero(input, i, n);
    __syncthreads();

    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        unsigned index = 2 * s * tid;
        if (index < blockDim.x) sv[index] += sv[index + s];
        __syncthreads();
    }

    if (tid == 0) output[blockIdx.x] = sv[0];
}

// Rungs 3 and 4 after their load: sequential addressing.
template <typename T>
__device__ __forceinline__ void sequential(T *sv, unsigned tid) {
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sv[tid] += sv[tid + s];
        __syncthreads();
    }
}

template <typename T>
__device__ __forceinline__ void reduce3(const T *input, T *output, size_t n) {
    T *sv = shared_memory<T>();
    unsigned tid = threadIdx.x;
    size_t i = size_t(blockIdx.x) * blockDim.x + tid;
    sv[tid] = element_or_zero(input, i, n);
    __syncthreads();
    sequential(sv, tid);
    if (tid == 0) output[blockIdx.x] = sv[0];
}

// Rung 4: the first addition while loading.
template <typename T>
__device__ __forceinline__ void reduce4(const T *input, T *output, size_t n) {
    T *sv = shared_memory<T>();
    unsigned tid = threadIdx.x;
    size_t i = size_t(blockIdx.x) * (size_t(blockDim.x) * 2) + tid;
    sv[tid] = element_or_zero(input, i, n) + element_or_zero(input, i + blockDim.x, n);
    __syncthreads();
    sequential(sv, tid);
    if (tid == 0) output[blockIdx.x] = sv[0];
}

// The lecture relies on a warp in lock step. Since Volta there is none: reads, barrier, writes, barrier.
template <unsigned S, typename T>
__device__ __forceinline__ void warp_step(T *sv, unsigned tid) {
    T both = sv[tid] + sv[tid + S];
    __syncwarp();
    sv[tid] = both;
    __syncwarp();
}

template <typename T>
__device__ __forceinline__ void last_warp(T *sv, unsigned tid) {
    warp_step<32>(sv, tid);
    warp_step<16>(sv, tid);
    warp_step<8>(sv, tid);
    warp_step<4>(sv, tid);
    warp_step<2>(sv, tid);
    warp_step<1>(sv, tid);
}

// Rung 5: the last warp unrolled.
template <typename T>
__device__ __forceinline__ void reduce5(const T *input, T *output, size_t n) {
    T *sv = shared_memory<T>();
    unsigned tid = threadIdx.x;
    size_t i = size_t(blockIdx.x) * (size_t(blockDim.x) * 2) + tid;
    sv[tid] = element_or_zero(input, i, n) + element_or_zero(input, i + blockDim.x, n);
    __syncthreads();

    for (unsigned s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s) sv[tid] += sv[tid + s];
        __syncthreads();
    }

    if (tid < 32) last_warp(sv, tid);
    if (tid == 0) output[blockIdx.x] = sv[0];
}

template <unsigned S, typename T>
__device__ __forceinline__ void block_step(T *sv, unsigned tid) {
    if (tid < S) sv[tid] += sv[tid + S];
    __syncthreads();
}

template <unsigned B, typename T>
__device__ __forceinline__ void unrolled(T *sv, unsigned tid) {
    if (B >= 1024) block_step<512>(sv, tid);
    if (B >= 512) block_step<256>(sv, tid);
    if (B >= 256) block_step<128>(sv, tid);
    if (B >= 128) block_step<64>(sv, tid);
    if (tid < 32) last_warp(sv, tid);
}

// Rung 6: completely unrolled, for a block size known to the compiler.
template <unsigned B, typename T>
__device__ __forceinline__ void reduce6(const T *input, T *output, size_t n) {
    T *sv = shared_memory<T>();
    unsigned tid = threadIdx.x;
    size_t i = size_t(blockIdx.x) * (B * 2) + tid;
    sv[tid] = element_or_zero(input, i, n) + element_or_zero(input, i + B, n);
    __syncthreads();
    unrolled<B>(sv, tid);
    if (tid == 0) output[blockIdx.x] = sv[0];
}

// Rung 7: many elements per thread.
template <unsigned B, typename T>
__device__ __forceinline__ void reduce7(const T *input, T *output, size_t n) {
    T *sv = shared_memory<T>();
    unsigned tid = threadIdx.x;
    size_t i = size_t(blockIdx.x) * (B * 2) + tid;
    size_t grid_size = size_t(gridDim.x) * (B * 2);
    T sum = 0;
    while (i < n) {
        sum += input[i];
        if (i + B < n) sum += input[i + B];
        i += grid_size;
    }
    sv[tid] = sum;
    __syncthreads();
    unrolled<B>(sv, tid);
    if (tid == 0) output[blockIdx.x] = sv[0];
}

#define RUN_TIME_BLOCK(rung, T, type)                                                                                 \
    extern "C" __global__ void reduce##rung##_sum_##type(const T *input, T *output, size_t n) {                       \
        reduce##rung<T>(input, output, n);                                                                            \
    }
#define FIXED_BLOCK(rung, T, type, B)                                                                                 \
    extern "C" __global__ void reduce##rung##_sum_##type##_b##B(const T *input, T *output, size_t n) {                \
        reduce##rung<B, T>(input, output, n);                                                                         \
    }
#define LADDER(T, type)                                                                                               \
    RUN_TIME_BLOCK(1, T, type)                                                                                        \
    RUN_TIME_BLOCK(2, T, type)                                                                                        \
    RUN_TIME_BLOCK(3, T, type)                                                                                        \
    RUN_TIME_BLOCK(4, T, type)                                                                                        \
    RUN_TIME_BLOCK(5, T, type)                                                                                        \
    FIXED_BLOCK(6, T, type, 64)                                                                                       \
    FIXED_BLOCK(6, T, type, 128)                                                                                      \
    FIXED_BLOCK(6, T, type, 256)                                                                                      \
    FIXED_BLOCK(6, T, type, 512)                                                                                      \
    FIXED_BLOCK(6, T, type, 1024)                                                                                     \
    FIXED_BLOCK(7, T, type, 64)                                                                                       \
    FIXED_BLOCK(7, T, type, 128)                                                                                      \
    FIXED_BLOCK(7, T, type, 256)                                                                                      \
    FIXED_BLOCK(7, T, type, 512)                                                                                      \
    FIXED_BLOCK(7, T, type, 1024)

LADDER(int, i32)
LADDER(float, f32)
