// Sums: by shuffles and one atomic for each block; and in one launch, by the last block.

template <typename T>
__device__ T warp_sum(T value) {
    for (int d = 16; d > 0; d /= 2) value += __shfl_down_sync(0xffffffff, value, d);
    return value;
}

// The sum of a block of at most 1024 threads, in its first warp.
template <typename T>
__device__ T block_sum(T value) {
    __shared__ T warps[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = warp_sum(value);
    if (lane == 0) warps[warp] = value;
    __syncthreads();
    if (warp == 0) value = warp_sum(lane < (blockDim.x + 31) / 32 ? warps[lane] : T(0));
    return value;
}

extern "C" __global__ void reduce_shuffle(const int* in, int* out, int n) {
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

// `partial` has an element for each block; `*ticket` is 0 before and after.
extern "C" __global__ void reduce_last_block(const float* in, float* partial, unsigned* ticket, float* out, int n) {
    __shared__ bool is_last;
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicAdd(ticket, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!is_last) return;
    sum = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum += partial[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        *out = sum;
        *ticket = 0;
    }
}
