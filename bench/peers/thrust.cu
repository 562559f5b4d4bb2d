// thrust::reduce as plain C functions. They are named thrust_<operation>_<type> and are called as
// those of cub.cu are.
//
// thrust::reduce returns its result to the host. So out is memory of the host, the call waits for
// the end of the reduction, and it cannot be captured into a graph. It takes its temporary memory
// from temp, because otherwise it would allocate memory in each call.
//
// thrust::reduce_into leaves its result in memory of the device and does not wait. CCCL 3.2 and
// later versions have it. Its functions are named thrust_into_<operation>_<type>.

#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/system/cuda/execution_policy.h>

#include <cstdint>
#include <exception>
#include <limits>
#include <new>
#include <string>

namespace {

constexpr size_t PREPARED_BYTES = 16 << 20;

struct Prepared {
    using value_type = char;
    char *memory;

    char *allocate(std::ptrdiff_t bytes) {
        if (size_t(bytes) > PREPARED_BYTES) throw std::bad_alloc();
        return memory;
    }
    void deallocate(char *, size_t) {}
};

template <typename T, typename Op>
cudaError_t reduce(void *temp, size_t *temp_bytes, const T *in, void *out, uint64_t n, cudaStream_t stream, T init,
                   Op op) {
    if (!temp) {
        *temp_bytes = PREPARED_BYTES;
        return cudaSuccess;
    }
    Prepared prepared{static_cast<char *>(temp)};
    try {
        *static_cast<T *>(out) = thrust::reduce(thrust::cuda::par_nosync(prepared).on(stream), in, in + n, init, op);
        return cudaGetLastError();
    } catch (const std::exception &) {
        // The error must not be found by the next call.
        cudaGetLastError();
        return cudaErrorUnknown;
    }
}

#if CCCL_VERSION >= 3002000
#define HAS_REDUCE_INTO 1

template <typename T, typename Op>
cudaError_t reduce_into(void *temp, size_t *temp_bytes, const T *in, void *out, uint64_t n, cudaStream_t stream,
                        T init, Op op) {
    if (!temp) {
        *temp_bytes = PREPARED_BYTES;
        return cudaSuccess;
    }
    Prepared prepared{static_cast<char *>(temp)};
    try {
        thrust::reduce_into(thrust::cuda::par_nosync(prepared).on(stream), in, in + n,
                            thrust::device_pointer_cast(static_cast<T *>(out)), init, op);
        return cudaGetLastError();
    } catch (const std::exception &) {
        // The error must not be found by the next call.
        cudaGetLastError();
        return cudaErrorUnknown;
    }
}
#endif

} // namespace

#define REDUCTION(operation, name, T, init, Op)                                                                       \
    extern "C" cudaError_t thrust_##operation##_##name(void *temp, size_t *temp_bytes, const T *in, const T *,        \
                                                       void *out, uint64_t n, cudaStream_t stream) {                  \
        return reduce<T>(temp, temp_bytes, in, out, n, stream, init, Op<T>{});                                        \
    }                                                                                                                 \
    REDUCTION_INTO(operation, name, T, init, Op)
#if HAS_REDUCE_INTO
#define REDUCTION_INTO(operation, name, T, init, Op)                                                                  \
    extern "C" cudaError_t thrust_into_##operation##_##name(void *temp, size_t *temp_bytes, const T *in, const T *,   \
                                                            void *out, uint64_t n, cudaStream_t stream) {             \
        return reduce_into<T>(temp, temp_bytes, in, out, n, stream, init, Op<T>{});                                   \
    }
#else
#define REDUCTION_INTO(operation, name, T, init, Op)
#endif
#define TYPE(name, T)                                                                                                 \
    REDUCTION(sum, name, T, T(0), thrust::plus)                                                                       \
    REDUCTION(min, name, T, std::numeric_limits<T>::max(), thrust::minimum)

TYPE(i32, int32_t)
TYPE(u32, uint32_t)
TYPE(i64, int64_t)
TYPE(f32, float)
TYPE(f64, double)

// The versions of nvcc and of CCCL with which the whole library was compiled.
extern "C" const char *peer_versions() {
    static const std::string versions =
        "nvcc " + std::to_string(__CUDACC_VER_MAJOR__) + "." + std::to_string(__CUDACC_VER_MINOR__) + "." +
        std::to_string(__CUDACC_VER_BUILD__) + ", CCCL " + std::to_string(CCCL_VERSION / 1000000) + "." +
        std::to_string(CCCL_VERSION / 1000 % 1000) + "." + std::to_string(CCCL_VERSION % 1000);
    return versions.c_str();
}
