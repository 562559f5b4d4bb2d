// One-dimensional bulk copies with mbarriers, by inline PTX and by libcu++.
#include <cstdint>
// Its debugging build alone would be half a megabyte.
#ifndef __CUDACC_DEBUG__
#include <cuda/barrier>
#endif

constexpr int TILE = 256;
constexpr int STAGES = 2;

__device__ uint32_t shared(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ void fetch(int *tile, const int *from, uint64_t *bar) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(bar)), "r"(TILE * 4) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared(tile)),
                 "l"(from), "r"(TILE * 4), "r"(shared(bar))
                 : "memory");
}

__device__ void wait(uint64_t *bar, int parity) {
    asm volatile(
        "{ .reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again; }" ::"r"(shared(bar)),
        "r"(parity)
        : "memory");
}

// Each block sums every gridDim-th tile of `in`, two of them in flight.
extern "C" __global__ void pipeline_sum(const int *in, int *out, int tiles) {
    __shared__ alignas(128) int buffer[STAGES][TILE];
    __shared__ uint64_t full[STAGES];
    const bool leader = threadIdx.x == 0;
    if (leader) {
        for (int s = 0; s < STAGES; s++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared(&full[s])) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    int first = blockIdx.x, step = gridDim.x;
    if (leader)
        for (int s = 0; s < STAGES; s++)
            if (first + s * step < tiles) fetch(buffer[s], in + (first + s * step) * TILE, &full[s]);
    int sum = 0, round = 0;
    for (int tile = first; tile < tiles; tile += step, round++) {
        int stage = round % STAGES;
        wait(&full[stage], round / STAGES & 1);
        sum += buffer[stage][threadIdx.x];
        __syncthreads();
        int next = tile + STAGES * step;
        if (leader && next < tiles) fetch(buffer[stage], in + next * TILE, &full[stage]);
    }
    atomicAdd(out, sum);
}

// A tile doubled in shared memory and copied back.
extern "C" __global__ void double_tile(int *data) {
    __shared__ alignas(128) int buffer[TILE];
    __shared__ uint64_t full;
    int *mine = data + blockIdx.x * TILE;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared(&full)) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        fetch(buffer, mine, &full);
    }
    __syncthreads();
    wait(&full, 0);
    buffer[threadIdx.x] *= 2;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(mine), "r"(shared(buffer)),
                     "r"(TILE * 4)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}

#ifndef __CUDACC_DEBUG__
// The library's own: all threads arrive, one has announced the bytes.
extern "C" __global__ void reverse_tile(const int *in, int *out) {
    __shared__ alignas(16) int buffer[TILE];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    if (threadIdx.x == 0)
        cuda::memcpy_async(buffer, in + blockIdx.x * TILE, cuda::aligned_size_t<16>(sizeof(buffer)), bar);
    bar.arrive_and_wait();
    out[blockIdx.x * TILE + threadIdx.x] = buffer[TILE - 1 - threadIdx.x];
}
#endif
