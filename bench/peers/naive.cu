// The reduction that a programmer writes first, as plain C functions. They are named
// naive_sum_<type> and are called as those of cub.cu are. One block of 1024 threads reads packs of
// 16 bytes.

#include <cuda_fp16.h>

#include <cstdint>

namespace {

constexpr unsigned THREADS = 1024;

// 16 bytes of elements, which a thread reads at once.
template <typename T>
struct alignas(16) Pack {
    T lanes[16 / sizeof(T)];
};

template <typename T, typename Acc, typename Out>
__global__ void __launch_bounds__(THREADS) naive_sum(const T *in, uint64_t n, Out *out) {
    constexpr uint64_t LANES = 16 / sizeof(T);
    __shared__ Acc of_warps[32];
    // The number of elements before the first whole pack, and the index of the first element after
    // the last whole pack.
    uint64_t head = -reinterpret_cast<uint64_t>(in) % 16 / sizeof(T);
    head = head < n ? head : n;
    uint64_t packs = (n - head) / LANES, tail = head + packs * LANES;
    auto whole = reinterpret_cast<const Pack<T> *>(in + head);
    Acc sum = 0;
    if (threadIdx.x < head) sum += Acc(in[threadIdx.x]);
    if (threadIdx.x < n - tail) sum += Acc(in[tail + threadIdx.x]);
    for (uint64_t i = threadIdx.x; i < packs; i += THREADS) {
        Pack<T> pack = whole[i];
        for (T lane : pack.lanes) sum += Acc(lane);
    }
    for (int distance = 16; distance; distance /= 2) sum += __shfl_down_sync(~0u, sum, distance);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = of_warps[threadIdx.x];
    for (int distance = 16; distance; distance /= 2) sum += __shfl_down_sync(~0u, sum, distance);
    if (threadIdx.x == 0) *out = Out(sum);
}

} // namespace

// Results have the types of cub_sum_<type>. A sum of halves is kept in float and is rounded at the
// end.
#define SUM(name, T, Acc, Out)                                                                      \
    extern "C" cudaError_t naive_sum_##name(void *temp, size_t *temp_bytes, const T *in, const T *, \
                                            void *out, uint64_t n, cudaStream_t stream) {           \
        if (!temp) {                                                                                \
            *temp_bytes = 1;                                                                        \
            return cudaSuccess;                                                                     \
        }                                                                                           \
        naive_sum<T, Acc, Out><<<1, THREADS, 0, stream>>>(in, n, static_cast<Out *>(out));          \
        return cudaGetLastError();                                                                  \
    }

SUM(i8, int8_t, int, int)
SUM(i32, int, int, int)
SUM(f16, __half, float, __half)
SUM(f32, float, float, float)
SUM(f64, double, double, double)
