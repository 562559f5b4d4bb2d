// Rung 5 as the lectures write it, for warps in lock step: Filipovič, "Implementace 5".
// With CUDA 13: nvcc -ptx -lineinfo -arch=sm_80 lock_step.cu -o lock_step.sm_80.ptx
extern "C" __global__ void rung5(const int* v, int* partial, unsigned n) {
    extern __shared__ int sv[];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * (blockDim.x * 2) + tid;
    sv[tid] = (i < n ? v[i] : 0) + (i + blockDim.x < n ? v[i + blockDim.x] : 0);
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s) sv[tid] += sv[tid + s];
        __syncthreads();
    }
    if (tid < 32) {
        sv[tid] += sv[tid + 32];
        sv[tid] += sv[tid + 16];
        sv[tid] += sv[tid + 8];
        sv[tid] += sv[tid + 4];
        sv[tid] += sv[tid + 2];
        sv[tid] += sv[tid + 1];
    }
    if (tid == 0) partial[blockIdx.x] = sv[0];
}

// The same with a volatile pointer for the last warp, as it was long recommended.
extern "C" __global__ void rung5_volatile(const int* v, int* partial, unsigned n) {
    extern __shared__ int sv[];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * (blockDim.x * 2) + tid;
    sv[tid] = (i < n ? v[i] : 0) + (i + blockDim.x < n ? v[i + blockDim.x] : 0);
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s) sv[tid] += sv[tid + s];
        __syncthreads();
    }
    if (tid < 32) {
        volatile int* warp = sv;
        warp[tid] += warp[tid + 32];
        warp[tid] += warp[tid + 16];
        warp[tid] += warp[tid + 8];
        warp[tid] += warp[tid + 4];
        warp[tid] += warp[tid + 2];
        warp[tid] += warp[tid + 1];
    }
    if (tid == 0) partial[blockIdx.x] = sv[0];
}
