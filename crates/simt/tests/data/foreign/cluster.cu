// Thread-block clusters and distributed shared memory, as the CUDA programming guide shows them.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Bytes counted in bins that the blocks of a cluster share out among themselves.
extern "C" __global__ void cluster_histogram(int *bins, int nbins, int bins_per_block, const unsigned char *in, int n) {
    extern __shared__ int smem[];
    cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) smem[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int bin = in[i] % nbins;
        int *dst = cluster.map_shared_rank(smem, bin / bins_per_block);
        atomicAdd(dst + bin % bins_per_block, 1);
    }
    cluster.sync();
    int *mine = bins + cluster.block_rank() * bins_per_block;
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) atomicAdd(&mine[i], smem[i]);
}

// A sum for each cluster of four: rank 0 collects from the others' shared memory.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_sum(const int *in, int *out, int n) {
    __shared__ int sum;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&sum, in[i]);
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        int total = 0;
        for (unsigned rank = 0; rank < cluster.num_blocks(); rank++) total += *cluster.map_shared_rank(&sum, rank);
        out[blockIdx.x / cluster.num_blocks()] = total;
    }
    cluster.sync();
}

// Arrival and wait apart: each block writes into the next one's shared memory.
extern "C" __global__ void cluster_ring(int *out) {
    __shared__ int cell[128];
    cg::cluster_group cluster = cg::this_cluster();
    auto token = cluster.barrier_arrive();
    int value = 1000 * blockIdx.x + threadIdx.x;
    cluster.barrier_wait(std::move(token));
    cluster.map_shared_rank(cell, (cluster.block_rank() + 1) % cluster.num_blocks())[threadIdx.x] = value;
    cluster.sync();
    out[blockIdx.x * blockDim.x + threadIdx.x] = cell[threadIdx.x];
}
