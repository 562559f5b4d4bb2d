// Sorts 512 keys in each block of 256 threads, ascending. Missing keys count as the largest.

extern "C" __global__ void bitonic_sort(unsigned* keys, int n) {
    __shared__ unsigned tile[512];
    int t = threadIdx.x, first = blockIdx.x * 512;
    for (int k = t; k < 512; k += 256) tile[k] = first + k < n ? keys[first + k] : 0xffffffff;
    for (int size = 2; size <= 512; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            int low = 2 * t - (t & (stride - 1)), high = low + stride;
            bool ascending = (low & size) == 0;
            unsigned a = tile[low], b = tile[high];
            if ((a > b) == ascending) {
                tile[low] = b;
                tile[high] = a;
            }
        }
    }
    __syncthreads();
    for (int k = t; k < 512; k += 256)
        if (first + k < n) keys[first + k] = tile[k];
}
