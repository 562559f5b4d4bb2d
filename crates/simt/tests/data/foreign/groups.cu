// Cooperative groups: tiles reduce, and the block's threads meet through its group.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

// The sum and the largest element. Blocks of at most 1024 threads.
extern "C" __global__ void reduce_groups(const int* in, int* sum, int* largest, int n) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    __shared__ int sums[32], most[32];
    int total = 0, most_seen = INT_MIN;
    for (int i = cg::this_grid().thread_rank(); i < n; i += cg::this_grid().size()) {
        total += in[i];
        most_seen = max(most_seen, in[i]);
    }
    total = cg::reduce(tile, total, cg::plus<int>());
    most_seen = cg::reduce(tile, most_seen, cg::greater<int>());
    if (tile.thread_rank() == 0) {
        sums[tile.meta_group_rank()] = total;
        most[tile.meta_group_rank()] = most_seen;
    }
    block.sync();
    if (tile.meta_group_rank() == 0) {
        bool holds = tile.thread_rank() < tile.meta_group_size();
        total = cg::reduce(tile, holds ? sums[tile.thread_rank()] : 0, cg::plus<int>());
        most_seen = cg::reduce(tile, holds ? most[tile.thread_rank()] : INT_MIN, cg::greater<int>());
        if (tile.thread_rank() == 0) {
            atomicAdd(sum, total);
            atomicMax(largest, most_seen);
        }
    }
}

// Each tile of 8 gets the sum of its floats.
extern "C" __global__ void reduce_tiles(const float* in, float* out, int n) {
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = cg::reduce(tile, i < n ? in[i] : 0.0f, cg::plus<float>());
    if (tile.thread_rank() == 0 && i < n) out[i / 8] = sum;
}
