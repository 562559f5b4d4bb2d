// The ladder in CUDA C++, with which the Rust kernels are compared: rungs 1 to 14 and the atomic
// ones, for sums of int and float. The kernels have the names, signatures, launch shapes and bounds
// of those in kernels/src/ladder. Compile this file and give ladder.cubin to the `ladder`
// benchmark:
//
//     nvcc -arch=sm_90 -O3 -cubin -o ladder.cubin ladder.cu

#include <cstddef>
#include <cstdint>

// The dynamic shared memory of the block, as an array of T.
template <typename T>
__device__ __forceinline__ T *shared_memory() {
    extern __shared__ __align__(16) unsigned char bytes[];
    return reinterpret_cast<T *>(bytes);
}

template <typename T>
__device__ __forceinline__ T element_or_zero(const T *input, size_t i, size_t n) {
    return i < n ? input[i] : T(0);
}

// Rung 1: interleaved addressing. Every 2s-th thread adds, so the warps diverge.
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

// Rung 2: the first threads do the same additions, so warps no longer diverge, but banks conflict.
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

// Rungs 3 and 4, after their loads: sequential addressing.
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

// Rung 4: the first addition is done during the load.
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

// One step of the last warp. The lecture relies on lanes that run in lock step. Since Volta they do
// not, so a barrier of the warp follows the reads, and another one follows the writes.
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

// Rung 5: the last warp is unrolled.
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

// Rung 6: completely unrolled, because the compiler knows the block size.
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

// Combines the values of a warp. Lane 0 gets the result.
template <typename T>
__device__ __forceinline__ T warp_reduce(T value) {
    for (unsigned delta = 16; delta > 0; delta /= 2) value += __shfl_down_sync(0xffffffff, value, delta);
    return value;
}

// Combines the values of a block with one slot for each warp and one barrier. Thread 0 gets the
// result.
template <typename T>
__device__ __forceinline__ T block_reduce(T *slots, T value) {
    unsigned tid = threadIdx.x;
    value = warp_reduce(value);
    if (tid % 32 == 0) slots[tid / 32] = value;
    __syncthreads();
    if (tid >= 32) return value;
    return warp_reduce(tid < blockDim.x / 32 ? slots[tid] : T(0));
}

// Rung 8: warp shuffles, after the loop of rung 7.
template <typename T>
__device__ __forceinline__ void reduce8(const T *input, T *output, size_t n) {
    size_t i = size_t(blockIdx.x) * (size_t(blockDim.x) * 2) + threadIdx.x;
    size_t grid_size = size_t(gridDim.x) * (size_t(blockDim.x) * 2);
    T sum = 0;
    while (i < n) {
        sum += input[i];
        if (i + blockDim.x < n) sum += input[i + blockDim.x];
        i += grid_size;
    }
    sum = block_reduce(shared_memory<T>(), sum);
    if (threadIdx.x == 0) output[blockIdx.x] = sum;
}

// Four elements of 32 bits, which one instruction loads.
template <typename T>
struct __align__(16) Pack {
    T lanes[4];
};

template <typename T>
__device__ __forceinline__ T fold(const Pack<T> &pack, T sum) {
    for (int lane = 0; lane < 4; lane++) sum += pack.lanes[lane];
    return sum;
}

// The number of elements before the first address that is a multiple of 16 bytes.
template <typename T>
__device__ __forceinline__ size_t elements_to_boundary(const T *input, size_t n) {
    size_t head = (-reinterpret_cast<uintptr_t>(input) % 16) / sizeof(T);
    return head < n ? head : n;
}

// Rung 9: 128-bit loads, four of them in flight. The input may have any alignment.
template <typename T>
__device__ __forceinline__ T thread_reduce(const T *input, size_t n) {
    size_t grid_size = size_t(gridDim.x) * blockDim.x;
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    size_t head = elements_to_boundary(input, n);
    size_t packs = (n - head) / 4;
    size_t tail = head + packs * 4;

    T sum = 0;
    if (i < head) sum += input[i];
    if (tail + i < n) sum += input[tail + i];
    const Pack<T> *packed = reinterpret_cast<const Pack<T> *>(input + head);
    while (i + 3 * grid_size < packs) {
        Pack<T> a = packed[i], b = packed[i + grid_size];
        Pack<T> c = packed[i + 2 * grid_size], d = packed[i + 3 * grid_size];
        sum = fold(d, fold(c, fold(b, fold(a, sum))));
        i += 4 * grid_size;
    }
    while (i < packs) {
        sum = fold(packed[i], sum);
        i += grid_size;
    }
    return sum;
}

template <typename T>
__device__ __forceinline__ void reduce9(const T *input, T *output, size_t n) {
    T sum = block_reduce(shared_memory<T>(), thread_reduce(input, n));
    if (threadIdx.x == 0) output[blockIdx.x] = sum;
}

// Combines the partial results of all blocks, with the threads of one block.
template <typename T>
__device__ __forceinline__ void combine_partials(T *slots, const T *partials, T *output) {
    T sum = 0;
    for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x) sum += partials[block];
    sum = block_reduce(slots, sum);
    if (threadIdx.x == 0) *output = sum;
}

// Rung 10: a single pass. The block with the last ticket combines the partial results.
template <typename T>
__device__ __forceinline__ void reduce10(const T *input, T *output, size_t n, T *partials, unsigned *ticket) {
    __shared__ bool is_last;
    T *slots = shared_memory<T>();
    T sum = block_reduce(slots, thread_reduce(input, n));
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
        __threadfence();
        unsigned drawn = atomicInc(ticket, gridDim.x - 1);
        __threadfence();
        is_last = drawn == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last) combine_partials(slots, partials, output);
}

// Rung 11: `redux.sync` combines the values of a warp.
__device__ __forceinline__ void reduce11(const int *input, int *output, size_t n) {
    int *slots = shared_memory<int>();
    unsigned tid = threadIdx.x;
    int sum = __reduce_add_sync(0xffffffff, thread_reduce(input, n));
    if (tid % 32 == 0) slots[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = __reduce_add_sync(0xffffffff, tid < blockDim.x / 32 ? slots[tid] : 0);
        if (tid == 0) output[blockIdx.x] = sum;
    }
}

// Waits for all blocks of the grid. Their additions together flip the highest bit of the barrier
// and leave its other bits as they were, so the barrier is ready for the next use.
__device__ __forceinline__ void grid_sync(unsigned *barrier) {
    constexpr unsigned GENERATION = 1u << 31;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned arrival = blockIdx.x == 0 ? GENERATION - (gridDim.x - 1) : 1;
        __threadfence();
        unsigned before = atomicAdd(barrier, arrival);
        while (((before ^ *static_cast<volatile unsigned *>(barrier)) & GENERATION) == 0) {
        }
        __threadfence();
    }
    __syncthreads();
}

// Rung 12: a barrier for the whole grid.
template <typename T>
__device__ __forceinline__ void reduce12(const T *input, T *output, size_t n, T *partials, unsigned *barrier) {
    T *slots = shared_memory<T>();
    T sum = block_reduce(slots, thread_reduce(input, n));
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
    grid_sync(barrier);
    if (blockIdx.x == 0) combine_partials(slots, partials, output);
}

__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

__device__ __forceinline__ unsigned shared_address(const void *pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Reads the value that the block of rank `rank` in the cluster has at this address of its shared
// memory.
template <typename T>
__device__ __forceinline__ T shared_of(const T *pointer, unsigned rank) {
    unsigned address, bits;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(pointer)), "r"(rank));
    asm volatile("ld.shared::cluster.b32 %0, [%1];" : "=r"(bits) : "r"(address) : "memory");
    return *reinterpret_cast<T *>(&bits);
}

// Rung 13: thread-block clusters, distributed shared memory.
template <typename T>
__device__ __forceinline__ void reduce13(const T *input, T *output, size_t n) {
    unsigned rank, size, cluster;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(cluster));
    T *slots = shared_memory<T>();
    unsigned tid = threadIdx.x;
    T sum = block_reduce(slots, thread_reduce(input, n));
    if (tid == 0) slots[0] = sum;
    cluster_sync();
    if (rank == 0 && tid < 32) {
        sum = warp_reduce(tid < size ? shared_of(slots, tid) : T(0));
        if (tid == 0) output[cluster] = sum;
    }
    cluster_sync();
}

// Waits until the phase of this parity of an mbarrier is complete.
__device__ __forceinline__ void wait(uint64_t *barrier, unsigned parity) {
    unsigned complete = 0;
    while (!complete) {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(complete)
            : "r"(shared_address(barrier)), "r"(parity)
            : "memory");
    }
}

// Rung 14: bulk copies, which are four tiles of 8 KiB ahead.
template <typename T>
__device__ __forceinline__ void reduce14(const T *input, T *output, size_t n) {
    constexpr unsigned STAGES = 4, TILE = 8 << 10;
    unsigned char *tiles = shared_memory<unsigned char>();
    uint64_t *barriers = reinterpret_cast<uint64_t *>(tiles + STAGES * TILE);
    T *slots = reinterpret_cast<T *>(barriers + STAGES);
    unsigned tid = threadIdx.x;
    size_t block = blockIdx.x, blocks = gridDim.x;
    size_t head = elements_to_boundary(input, n);
    size_t tile_count = (n - head) / (TILE / sizeof(T));
    const unsigned char *source = reinterpret_cast<const unsigned char *>(input + head);
    auto fill = [&](unsigned stage, size_t tile) {
        unsigned barrier = shared_address(barriers + stage);
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(TILE) : "memory");
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                shared_address(tiles + stage * TILE)),
            "l"(__cvta_generic_to_global(source + tile * TILE)), "r"(TILE), "r"(barrier)
            : "memory");
    };

    if (tid == 0) {
        for (unsigned stage = 0; stage < STAGES; stage++) {
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(barriers + stage)) : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        for (unsigned stage = 0; stage < STAGES && block + stage * blocks < tile_count; stage++) {
            fill(stage, block + stage * blocks);
        }
    }
    __syncthreads();

    T sum = 0;
    size_t tiled = tile_count * (TILE / sizeof(T));
    for (size_t i = block * blockDim.x + tid; i < n - tiled; i += blocks * blockDim.x) {
        sum += input[i < head ? i : i + tiled];
    }
    unsigned round = 0;
    for (size_t tile = block; tile < tile_count; tile += blocks, round++) {
        unsigned stage = round % STAGES;
        wait(barriers + stage, round / STAGES % 2);
        const Pack<T> *packs = reinterpret_cast<const Pack<T> *>(tiles + stage * TILE);
        for (unsigned i = tid; i < TILE / sizeof(Pack<T>); i += blockDim.x) sum = fold(packs[i], sum);
        __syncthreads();
        size_t next = tile + STAGES * blocks;
        if (tid == 0 && next < tile_count) fill(stage, next);
    }
    sum = block_reduce(slots, sum);
    if (tid == 0) output[blockIdx.x] = sum;
}

// Rungs `atomic` and `atomic-warp`: one atomic operation for each block, or for each warp.
template <typename T>
__device__ __forceinline__ void atomic_block(const T *input, T *output, size_t n) {
    T sum = block_reduce(shared_memory<T>(), thread_reduce(input, n));
    if (threadIdx.x == 0) atomicAdd(output, sum);
}

template <typename T>
__device__ __forceinline__ void atomic_warp(const T *input, T *output, size_t n) {
    T sum = warp_reduce(thread_reduce(input, n));
    if (threadIdx.x % 32 == 0) atomicAdd(output, sum);
}

#define RUN_TIME_BLOCK(rung, T, type)                                                                                 \
    extern "C" __global__ void reduce##rung##_sum_##type(const T *input, T *output, size_t n) {                       \
        reduce##rung<T>(input, output, n);                                                                            \
    }
#define FIXED_BLOCK(rung, T, type, B)                                                                                 \
    extern "C" __global__ void reduce##rung##_sum_##type##_b##B(const T *input, T *output, size_t n) {                \
        reduce##rung<B, T>(input, output, n);                                                                         \
    }
#define WITH_WORKSPACE(rung, T, type)                                                                                 \
    extern "C" __global__ void reduce##rung##_sum_##type(const T *input, T *output, size_t n, T *partials,            \
                                                         unsigned *counter) {                                         \
        reduce##rung<T>(input, output, n, partials, counter);                                                         \
    }
#define ATOMIC(family, function, T, type)                                                                             \
    extern "C" __global__ void family##_sum_##type(const T *input, T *output, size_t n) {                             \
        function<T>(input, output, n);                                                                                \
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
    FIXED_BLOCK(7, T, type, 1024)                                                                                     \
    RUN_TIME_BLOCK(8, T, type)                                                                                        \
    RUN_TIME_BLOCK(9, T, type)                                                                                        \
    WITH_WORKSPACE(10, T, type)                                                                                       \
    WITH_WORKSPACE(12, T, type)                                                                                       \
    RUN_TIME_BLOCK(13, T, type)                                                                                       \
    RUN_TIME_BLOCK(14, T, type)                                                                                       \
    ATOMIC(atomic, atomic_block, T, type)                                                                             \
    ATOMIC(atomicwarp, atomic_warp, T, type)

LADDER(int, i32)
LADDER(float, f32)

extern "C" __global__ void reduce11_sum_i32(const int *input, int *output, size_t n) { reduce11(input, output, n); }
