// CUB's DeviceReduce as plain C functions. It is a peer with which warpfold's reducer is compared.
//
// build.sh compiles this file once for each element type: nvcc -DTYPE=f32 …, where TYPE is one of
// i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64. In this file, T is the element type,
// and the halves are f16 and bf16. Each function is named cub_<operation>_<type> and is called in
// the way in which CUB's own functions are called. If temp is null, it writes the number of bytes
// that temp must have to *temp_bytes. Otherwise it starts the reduction on the stream and returns.
// It returns a cudaError_t. The operations dot and ssd take a second input, right, which the others
// ignore. Inputs need no more than the alignment of an element.
//
// The functions write these results to out:
//   sum           the sum in the type that C++ gives a sum of two elements: int (or unsigned) for
//                 integers of 8 and 16 bits, otherwise T
//   sum_wide      the sum in 64 bits for integers of at most 32 bits, in float for the halves, in
//                 double for float, otherwise in T
//   min, max      the least or the greatest element, a T
//   argmin        the least element, a T, and its 64-bit index at byte 16
//   argmax        the greatest element in the same way
//   minmax        the least and the greatest element, two T
// Floating-point types have these as well:
//   dot, ssd      the sum of products, or of squared differences: float for the halves, otherwise T
//   sumabs, sumsq the sum of absolute values, or of squares, in the same types
//   maxabs        the greatest absolute value, a T
//   moments       a 64-bit count, the mean, and the sum of squared deviations from the mean; the
//                 last two are double
// float and double also have sum_not_guaranteed and sum_gpu_to_gpu if this version of CUB has them.
// The determinism of these two is in their names. The other sums have the default, run_to_run.

#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/zip_function.h>

#include <cstdint>
#include <new>
#include <type_traits>

#define FLOAT_f16 1
#define FLOAT_bf16 1
#define FLOAT_f32 2
#define FLOAT_f64 2
#define FLOAT_OF(type) FLOAT_##type
#define FLOAT(type) FLOAT_OF(type)
#define IS_FLOAT (FLOAT(TYPE) >= 1)
// Whether this CUB has calls with an environment, in which a program can ask for a determinism, and
// whether one of the determinisms is not_guaranteed.
#define HAS_ENVIRONMENT (FLOAT(TYPE) == 2 && CCCL_VERSION >= 3001000)
#define HAS_NOT_GUARANTEED (FLOAT(TYPE) == 2 && CCCL_VERSION >= 3002000)

#if HAS_ENVIRONMENT
#include <cuda/__execution/determinism.h>
#include <cuda/__execution/require.h>
#include <cuda/__memory_resource/get_memory_resource.h>
#include <cuda/__stream/get_stream.h>
#include <cuda/std/__execution/env.h>
#endif

namespace {

namespace types {
using i8 = int8_t;
using u8 = uint8_t;
using i16 = int16_t;
using u16 = uint16_t;
using i32 = int32_t;
using u32 = uint32_t;
using i64 = int64_t;
using u64 = uint64_t;
using i128 = __int128;
using u128 = unsigned __int128;
using f16 = __half;
using bf16 = __nv_bfloat16;
using f32 = float;
using f64 = double;
} // namespace types

using T = types::TYPE;

constexpr bool is_half = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

template <bool condition, typename A, typename B>
using either = std::conditional_t<condition, A, B>;

using Word = either<std::is_signed_v<T>, int64_t, uint64_t>;
using Wider = either<is_half, float, either<std::is_same_v<T, float>, double, either<(sizeof(T) < 8), Word, T>>>;
using Sum = either<(sizeof(T) < 4) && !is_half, either<std::is_signed_v<T>, int32_t, uint32_t>, T>;

template <typename To>
struct Widen {
    __host__ __device__ To operator()(T x) const { return To(x); }
};

struct Pair {
    T min, max;
};

struct ToPair {
    __host__ __device__ Pair operator()(T x) const { return {x, x}; }
};

struct MinMax {
    __host__ __device__ Pair operator()(Pair a, Pair b) const {
        return {b.min < a.min ? b.min : a.min, a.max < b.max ? b.max : a.max};
    }
};

#if IS_FLOAT
// The type in which sums of products and of absolute values are kept.
using Wide = either<is_half, float, T>;

template <typename To>
struct Abs {
    __host__ __device__ To operator()(T x) const { return x < T(0) ? -To(x) : To(x); }
};

struct Square {
    __host__ __device__ Wide operator()(T x) const { return Wide(x) * Wide(x); }
};

struct Product {
    __host__ __device__ Wide operator()(T a, T b) const { return Wide(a) * Wide(b); }
};

// The count, the mean and the sum of squared deviations. They are combined by the formulas of Chan,
// Golub and LeVeque (1979), as in Thrust's example summary_statistics, but in double.
struct Moments {
    uint64_t count;
    double mean, squares;
};

struct ToMoments {
    __host__ __device__ Moments operator()(T x) const { return {1, double(x), 0}; }
};

struct CombineMoments {
    __host__ __device__ Moments operator()(Moments a, Moments b) const {
        if (a.count == 0) return b;
        if (b.count == 0) return a;
        uint64_t count = a.count + b.count;
        double difference = b.mean - a.mean, share = double(b.count) / double(count);
        return {count, a.mean + difference * share,
                a.squares + b.squares + difference * difference * double(a.count) * share};
    }
};

struct SquaredDifference {
    __host__ __device__ Wide operator()(T a, T b) const {
        Wide difference = Wide(a) - Wide(b);
        return difference * difference;
    }
};
#endif

// Passes the count in 32 bits if they suffice, because CUB has separate kernels for such counts.
template <typename Call>
cudaError_t with_count(uint64_t n, Call call) {
    return n <= UINT32_MAX ? call(static_cast<uint32_t>(n)) : call(n);
}

#if HAS_ENVIRONMENT
// Gives CUB memory that is allocated already. Otherwise CUB's calls with an environment would
// allocate temporary memory each time.
struct Prepared {
    static constexpr size_t bytes = 16 << 20;
    void *memory;

    void *allocate(cuda::stream_ref, size_t wanted, size_t = 0) const {
        if (wanted > bytes) throw std::bad_alloc();
        return memory;
    }
    void deallocate(cuda::stream_ref, void *, size_t, size_t = 0) const {}
    void *allocate_sync(size_t wanted, size_t = 0) const { return allocate(cudaStream_t{}, wanted); }
    void deallocate_sync(void *, size_t, size_t = 0) const {}
    bool operator==(const Prepared &other) const { return memory == other.memory; }
    bool operator!=(const Prepared &other) const { return memory != other.memory; }
};

template <typename Determinism>
cudaError_t sum_with(Determinism determinism, void *temp, size_t *temp_bytes, const T *in, T *out, uint64_t n,
                     cudaStream_t stream) {
    if (!temp) {
        *temp_bytes = Prepared::bytes;
        return cudaSuccess;
    }
    auto environment = cuda::std::execution::env{
        cuda::std::execution::prop{cuda::get_stream_t{}, cuda::stream_ref{stream}},
        cuda::std::execution::prop{cuda::mr::__get_memory_resource_t{}, Prepared{temp}},
        cuda::execution::require(determinism)};
    try {
        return with_count(n, [&](auto count) { return cub::DeviceReduce::Sum(in, out, count, environment); });
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
}
#endif

} // namespace

#define JOIN(operation, type) cub_##operation##_##type
#define NAME(operation, type) JOIN(operation, type)
#define REDUCTION(operation)                                                                                          \
    extern "C" cudaError_t NAME(operation, TYPE)(void *temp, size_t *temp_bytes, [[maybe_unused]] const T *in,        \
                                                 [[maybe_unused]] const T *right, void *out, uint64_t n,              \
                                                 cudaStream_t stream)

REDUCTION(sum) {
    return with_count(n, [&](auto count) {
        return cub::DeviceReduce::Sum(temp, *temp_bytes, in, static_cast<Sum *>(out), count, stream);
    });
}

REDUCTION(min) {
    return with_count(n, [&](auto count) {
        return cub::DeviceReduce::Min(temp, *temp_bytes, in, static_cast<T *>(out), count, stream);
    });
}

REDUCTION(max) {
    return with_count(n, [&](auto count) {
        return cub::DeviceReduce::Max(temp, *temp_bytes, in, static_cast<T *>(out), count, stream);
    });
}

REDUCTION(argmin) {
    auto index = reinterpret_cast<int64_t *>(static_cast<char *>(out) + 16);
    return cub::DeviceReduce::ArgMin(temp, *temp_bytes, in, static_cast<T *>(out), index, int64_t(n), stream);
}

REDUCTION(argmax) {
    auto index = reinterpret_cast<int64_t *>(static_cast<char *>(out) + 16);
    return cub::DeviceReduce::ArgMax(temp, *temp_bytes, in, static_cast<T *>(out), index, int64_t(n), stream);
}

template <typename In, typename Out, typename Op, typename Transform, typename Init>
static cudaError_t transform_reduce(void *temp, size_t *temp_bytes, In in, Out *out, uint64_t n, Op op,
                                    Transform transform, Init init, cudaStream_t stream) {
    return with_count(n, [&](auto count) {
        return cub::DeviceReduce::TransformReduce(temp, *temp_bytes, in, out, count, op, transform, init, stream);
    });
}

// CUB does not add a half to a float. So each half is converted to float before it is added.
REDUCTION(sum_wide) {
    if constexpr (is_half) {
        return transform_reduce(temp, temp_bytes, in, static_cast<Wider *>(out), n, cuda::std::plus<>{}, Widen<Wider>{},
                                Wider(0), stream);
    } else {
        return with_count(n, [&](auto count) {
            return cub::DeviceReduce::Sum(temp, *temp_bytes, in, static_cast<Wider *>(out), count, stream);
        });
    }
}

REDUCTION(minmax) {
    Pair none{cuda::std::numeric_limits<T>::max(), cuda::std::numeric_limits<T>::lowest()};
    return transform_reduce(temp, temp_bytes, in, static_cast<Pair *>(out), n, MinMax{}, ToPair{}, none, stream);
}

#if IS_FLOAT
REDUCTION(sumabs) {
    return transform_reduce(temp, temp_bytes, in, static_cast<Wide *>(out), n, cuda::std::plus<>{}, Abs<Wide>{}, Wide(0),
                            stream);
}

REDUCTION(sumsq) {
    return transform_reduce(temp, temp_bytes, in, static_cast<Wide *>(out), n, cuda::std::plus<>{}, Square{}, Wide(0),
                            stream);
}

REDUCTION(moments) {
    return transform_reduce(temp, temp_bytes, in, static_cast<Moments *>(out), n, CombineMoments{}, ToMoments{},
                            Moments{0, 0, 0}, stream);
}

REDUCTION(maxabs) {
    return transform_reduce(temp, temp_bytes, in, static_cast<T *>(out), n, cuda::maximum<>{}, Abs<T>{}, T(0), stream);
}

REDUCTION(dot) {
    return transform_reduce(temp, temp_bytes, thrust::make_zip_iterator(in, right), static_cast<Wide *>(out), n,
                            cuda::std::plus<>{}, thrust::make_zip_function(Product{}), Wide(0), stream);
}

REDUCTION(ssd) {
    return transform_reduce(temp, temp_bytes, thrust::make_zip_iterator(in, right), static_cast<Wide *>(out), n,
                            cuda::std::plus<>{}, thrust::make_zip_function(SquaredDifference{}), Wide(0), stream);
}
#endif

#if HAS_ENVIRONMENT
REDUCTION(sum_gpu_to_gpu) {
    return sum_with(cuda::execution::determinism::gpu_to_gpu, temp, temp_bytes, in, static_cast<T *>(out), n, stream);
}
#endif

#if HAS_NOT_GUARANTEED
REDUCTION(sum_not_guaranteed) {
    return sum_with(cuda::execution::determinism::not_guaranteed, temp, temp_bytes, in, static_cast<T *>(out), n,
                    stream);
}
#endif
