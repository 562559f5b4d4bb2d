// The peers of the `rows` benchmark, as plain C functions: CUB's segmented reductions, and a twin
// that only reads and writes.
//
// CUB must be that of CCCL 3.2 or newer, which is in CUDA 13.2. Older versions have no fixed size
// of segments.
//
// All functions return a cudaError_t and start their work on the given stream. twin_stream reads
// `bytes` bytes, which begin at a multiple of 16, folds them, and writes `out_bytes` bytes, rounded
// up to a multiple of 16. A reduction that reads and writes as many bytes cannot be much faster.
//
// Each function cub_rows_<operation>_<type> reduces `rows` rows of `length` elements that lie one
// after another. It is called in the way in which CUB's own functions are called: if temp is null,
// it writes the number of bytes that temp must have to *temp_bytes, and starts nothing. It writes
// one result for each row:
//   sum     float for f16 and f32, int64_t for i32, uint64_t for u8, double for f64
//   min     the least element
//   max     the greatest element
//   argmin  the index of the least element, an int, and behind it the element
//   argmax  the same of the greatest element
//
// The functions cub_segments_sum_<type> do the same for segments. `length` is replaced by the
// address of the offsets, which are 32-bit: one more than there are segments.
//
// The functions cub_keys_sum_<type> sum the values of each run of equal neighbouring keys, which
// have 32 bits. They write the sums, the keys of the runs, and the number of runs, in 64 bits.
//
// The functions cub_histogram_<type> count n keys, which are below the number of bins. Each count
// has 32 bits. atomic_bins_sum_f32 sums n values into bins with one addition to global memory for
// each value, in the simplest way. Its last two numbers are the number of bins and nothing.

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/version.cuh>

#include <string>
#include <cuda/std/functional>
#include <cuda/std/utility>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

namespace {

constexpr int threads = 256;

__device__ uint4 fold(uint4 a, uint4 b) { return {a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w}; }

__device__ uint4 load(const uint4 *from) {
    uint4 x;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "l"(from));
    return x;
}

// Each thread has `in_flight` loads under way. Each block reads one chunk of the input and writes
// its share of the output.
template <int in_flight>
__global__ void __launch_bounds__(threads, 6) stream(const uint4 *in, uint64_t packs, uint64_t bytes, uint4 *out,
                                                  uint64_t out_packs, uint64_t out_share) {
    uint64_t first = uint64_t(blockIdx.x) * threads * in_flight + threadIdx.x;
    uint4 all = {0, 0, 0, 0};
    if (first - threadIdx.x + threads * in_flight <= packs) {
        uint4 x[in_flight];
#pragma unroll
        for (int i = 0; i < in_flight; i++) x[i] = load(in + first + i * threads);
#pragma unroll
        for (int i = 0; i < in_flight; i++) all = fold(all, x[i]);
    } else {
        for (int i = 0; i < in_flight; i++) {
            if (first + i * threads < packs) all = fold(all, load(in + first + i * threads));
        }
        uint64_t rest = packs * 16 + threadIdx.x;
        if (blockIdx.x == gridDim.x - 1 && rest < bytes) all.x ^= reinterpret_cast<const uint8_t *>(in)[rest];
    }
    uint64_t begin = blockIdx.x * out_share, end = min(begin + out_share, out_packs);
    for (uint64_t i = begin + threadIdx.x; i < end; i += threads) out[i] = all;
    // Without this store, a thread that writes nothing would not need what it has read.
    if (all.x == 0x9e3779b9 && all.y == 0x7f4a7c15 && all.z == 0xf39cc060 && all.w == 0x5cedc834) out[0] = all;
}

template <int in_flight>
cudaError_t start(const void *input, uint64_t bytes, void *out, uint64_t out_bytes, cudaStream_t on) {
    uint64_t packs = bytes / 16, chunk = threads * in_flight, out_packs = (out_bytes + 15) / 16;
    uint64_t blocks = std::max<uint64_t>((packs + chunk - 1) / chunk, 1);
    stream<in_flight><<<unsigned(blocks), threads, 0, on>>>(static_cast<const uint4 *>(input), packs, bytes,
                                                            static_cast<uint4 *>(out), out_packs,
                                                            (out_packs + blocks - 1) / blocks);
    return cudaGetLastError();
}

// An addition whose result has a wider type than the elements.
template <typename To>
struct Add {
    __host__ __device__ To operator()(To a, To b) const { return a + b; }
};

// Counts that fit into an `int` are given as such, as most programs do, because CUB then has
// shorter indices.
template <typename Call>
cudaError_t with_count(uint64_t n, Call call) {
    return n <= INT32_MAX ? call(static_cast<int>(n)) : call(static_cast<int64_t>(n));
}

} // namespace

// Small inputs have fewer loads under way in each thread, so that there are two blocks for each
// multiprocessor.
extern "C" cudaError_t twin_stream(const void *input, uint64_t bytes, void *out, uint64_t out_bytes,
                                   cudaStream_t on) {
    int device = 0, multiprocessors = 0;
    if (cudaError_t error = cudaGetDevice(&device)) return error;
    if (cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device)) return error;
    uint64_t wanted = uint64_t(multiprocessors) * 2 * threads * 16;
    if (bytes >= 8 * wanted) return start<8>(input, bytes, out, out_bytes, on);
    if (bytes >= 4 * wanted) return start<4>(input, bytes, out, out_bytes, on);
    if (bytes >= 2 * wanted) return start<2>(input, bytes, out, out_bytes, on);
    return start<1>(input, bytes, out, out_bytes, on);
}

#define ROWS(operation, type, T, Out)                                                                                \
    extern "C" cudaError_t cub_rows_##operation##_##type(void *temp, size_t *temp_bytes, const T *in, uint64_t rows, \
                                                         uint64_t length, Out *out, cudaStream_t on)
#define SIZES int64_t(rows), int(length)
#define SUM(type, T, Out)                                                                                            \
    ROWS(sum, type, T, Out) {                                                                                        \
        return cub::DeviceSegmentedReduce::Reduce(temp, *temp_bytes, in, out, SIZES, Add<Out>{}, Out(0), on);        \
    }

ROWS(sum, f32, float, float) { return cub::DeviceSegmentedReduce::Sum(temp, *temp_bytes, in, out, SIZES, on); }
ROWS(sum, f64, double, double) { return cub::DeviceSegmentedReduce::Sum(temp, *temp_bytes, in, out, SIZES, on); }
SUM(f16, __half, float)
SUM(i32, int32_t, int64_t)
SUM(u8, uint8_t, uint64_t)

template <typename T>
using Indexed = cuda::std::pair<int, T>;

#define EXTREMES(type, T)                                                                                            \
    ROWS(min, type, T, T) { return cub::DeviceSegmentedReduce::Min(temp, *temp_bytes, in, out, SIZES, on); }          \
    ROWS(max, type, T, T) { return cub::DeviceSegmentedReduce::Max(temp, *temp_bytes, in, out, SIZES, on); }          \
    ROWS(argmin, type, T, Indexed<T>) {                                                                              \
        return cub::DeviceSegmentedReduce::ArgMin(temp, *temp_bytes, in, out, SIZES, on);                            \
    }                                                                                                                \
    ROWS(argmax, type, T, Indexed<T>) {                                                                              \
        return cub::DeviceSegmentedReduce::ArgMax(temp, *temp_bytes, in, out, SIZES, on);                            \
    }
EXTREMES(f32, float)
EXTREMES(f64, double)
EXTREMES(f16, __half)
EXTREMES(i32, int32_t)
EXTREMES(u8, uint8_t)

#define SEGMENTS(type, T, Out)                                                                                       \
    extern "C" cudaError_t cub_segments_sum_##type(void *temp, size_t *temp_bytes, const T *in, uint64_t segments,   \
                                                   const uint32_t *offsets, Out *out, cudaStream_t on)
#define SEGMENTED temp, *temp_bytes, in, out, int64_t(segments), offsets, offsets + 1
#define SEGMENT_SUM(type, T, Out)                                                                                    \
    SEGMENTS(type, T, Out) { return cub::DeviceSegmentedReduce::Reduce(SEGMENTED, Add<Out>{}, Out(0), on); }

SEGMENTS(f32, float, float) { return cub::DeviceSegmentedReduce::Sum(SEGMENTED, on); }
SEGMENTS(f64, double, double) { return cub::DeviceSegmentedReduce::Sum(SEGMENTED, on); }
SEGMENT_SUM(f16, __half, float)
SEGMENT_SUM(u8, uint8_t, uint64_t)

// CUB is tuned for the additions that it knows, of which `plus` is one.
#define KEYS(type, T)                                                                                                \
    extern "C" cudaError_t cub_keys_sum_##type(void *temp, size_t *temp_bytes, const T *in, uint64_t n,              \
                                               const uint32_t *keys, T *out, uint32_t *unique, uint64_t *runs,       \
                                               cudaStream_t on) {                                                    \
        return with_count(n, [=](auto count) {                                                                       \
            return cub::DeviceReduce::ReduceByKey(temp, *temp_bytes, keys, unique, in, out, runs,                    \
                                                  cuda::std::plus<>{}, count, on);                                   \
        });                                                                                                          \
    }
KEYS(f32, float)
KEYS(f64, double)

#define HISTOGRAM(type, T)                                                                                           \
    extern "C" cudaError_t cub_histogram_##type(void *temp, size_t *temp_bytes, const T *keys, uint64_t n,           \
                                                uint64_t bins, uint32_t *out, cudaStream_t on) {                     \
        return with_count(n, [=](auto count) {                                                                       \
            using Count = decltype(count);                                                                           \
            return cub::DeviceHistogram::HistogramEven(temp, *temp_bytes, keys, out, int(bins) + 1, Count(0),        \
                                                       Count(bins), count, on);                                      \
        });                                                                                                          \
    }
HISTOGRAM(u8, uint8_t)
HISTOGRAM(u32, uint32_t)

namespace {
__global__ void add_to_bins(const float *values, const uint32_t *keys, uint64_t n, float *out) {
    uint64_t stride = uint64_t(gridDim.x) * threads;
    for (uint64_t i = uint64_t(blockIdx.x) * threads + threadIdx.x; i < n; i += stride) atomicAdd(out + keys[i], values[i]);
}
} // namespace

extern "C" cudaError_t atomic_bins_sum_f32(void *, size_t *temp_bytes, const float *values, uint64_t n,
                                           const uint32_t *keys, float *out, uint64_t bins, uint64_t, cudaStream_t on) {
    *temp_bytes = 0;
    if (!out) return cudaSuccess;
    if (cudaError_t error = cudaMemsetAsync(out, 0, bins * sizeof(float), on)) return error;
    add_to_bins<<<4096, threads, 0, on>>>(values, keys, n, out);
    return cudaGetLastError();
}

#define TEXT(number) #number
#define NUMBER(number) TEXT(number)
extern "C" const char *rows_peer_versions() {
    static const std::string versions =
        "nvcc " + std::to_string(__CUDACC_VER_MAJOR__) + "." + std::to_string(__CUDACC_VER_MINOR__) + "." +
        std::to_string(__CUDACC_VER_BUILD__) + ", CCCL " + std::to_string(CCCL_VERSION / 1000000) + "." +
        std::to_string(CCCL_VERSION / 1000 % 1000) + "." + std::to_string(CCCL_VERSION % 1000);
    return versions.c_str();
}
