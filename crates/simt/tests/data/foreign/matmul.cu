// c = a * b, of m x k and k x n elements in rows, through tiles of 16 x 16 in shared memory.

const int TILE = 16;

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < k; start += TILE) {
        int x = start + threadIdx.x, y = start + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < m && x < k ? a[row * k + x] : 0;
        right[threadIdx.y][threadIdx.x] = y < k && column < n ? b[y * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
