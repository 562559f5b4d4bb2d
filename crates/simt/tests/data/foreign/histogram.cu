// Bytes counted in shared memory, and a block's counts added to the whole.

extern "C" __global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
    __shared__ unsigned own[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) own[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&own[in[i]], 1u);
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(&bins[k], own[k]);
}
