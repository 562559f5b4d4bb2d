// Each block scans its part. Inclusive: Hillis and Steele in two buffers. Exclusive: Blelloch's
// tree, with two elements a thread. Both take 2 * blockDim.x integers of dynamic shared memory.

extern "C" __global__ void inclusive_scan(const int* in, int* out, int n) {
    extern __shared__ int buffer[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int from = 0;
    buffer[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        const int* old = buffer + from * blockDim.x;
        int* fresh = buffer + (1 - from) * blockDim.x;
        fresh[t] = t >= d ? old[t] + old[t - d] : old[t];
        from = 1 - from;
        __syncthreads();
    }
    if (i < n) out[i] = buffer[from * blockDim.x + t];
}

extern "C" __global__ void exclusive_scan(const int* in, int* out, int n) {
    extern __shared__ int tree[];
    int t = threadIdx.x, size = 2 * blockDim.x, first = blockIdx.x * size;
    for (int k = t; k < size; k += blockDim.x) tree[k] = first + k < n ? in[first + k] : 0;
    int stride = 1;
    for (int d = blockDim.x; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) tree[stride * (2 * t + 2) - 1] += tree[stride * (2 * t + 1) - 1];
        stride *= 2;
    }
    if (t == 0) tree[size - 1] = 0;
    for (int d = 1; d < size; d *= 2) {
        stride /= 2;
        __syncthreads();
        if (t < d) {
            int left = stride * (2 * t + 1) - 1, right = stride * (2 * t + 2) - 1;
            int value = tree[left];
            tree[left] = tree[right];
            tree[right] += value;
        }
    }
    __syncthreads();
    for (int k = t; k < size; k += blockDim.x)
        if (first + k < n) out[first + k] = tree[k];
}
