// Transposes a matrix of `height` rows through a tile in shared memory, in blocks of 32 x 8
// threads. All elements of a column of the unpadded tile lie in one bank.

template <int PAD>
__device__ void transpose(const float* in, float* out, int width, int height) {
    __shared__ float tile[32][32 + PAD];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void transpose_tiled(const float* in, float* out, int width, int height) {
    transpose<0>(in, out, width, height);
}

extern "C" __global__ void transpose_padded(const float* in, float* out, int width, int height) {
    transpose<1>(in, out, width, height);
}
