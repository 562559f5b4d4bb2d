// The production reducer in CUDA C++, as a peer to measure the Rust kernels against: five of its kernels, with the names,
// parameters and structure of those in kernels/src/reduce.
//
// nvcc -arch=sm_90 -O3 -std=c++17 -cubin -o reduce.cubin reduce.cu; then give reduce.cubin to the `reducer` benchmark.

#include <cstddef>
#include <cstdint>

// Loads that a thread has under way.
constexpr int LOADS = 8;
constexpr unsigned ALL = 0xffffffff;
// Upper half of a word that is written.
constexpr uint64_t TAG = uint64_t(1) << 32;

// 16 bytes through L2's policy, and past L1.
__device__ __forceinline__ uint4 load(const uint4 *at, uint64_t policy) {
    uint4 v;
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at), "l"(policy));
    return v;
}

__device__ __forceinline__ void store_relaxed(uint64_t *at, uint64_t word) {
    asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
}

__device__ __forceinline__ uint64_t load_relaxed(const uint64_t *at) {
    uint64_t word;
    asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
    return word;
}

__device__ __forceinline__ unsigned lane_of(uint4 pack, int lane) {
    return lane == 0 ? pack.x : lane == 1 ? pack.y : lane == 2 ? pack.z : pack.w;
}

// A reduction has the type of elements, what a thread keeps of packs, an accumulator of WORDS 32-bit words, and what it
// leaves in memory.

template <typename T, typename Wide>
struct Sum {
    using Item = T;
    using Acc = Wide;
    using Raw = Wide;
    struct Kept {
        Wide lanes[4];
    };
    static __device__ Kept start() { return {}; }
    static __device__ void pack(Kept &kept, uint4 pack, unsigned) {
#pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            unsigned bits = lane_of(pack, lane);
            kept.lanes[lane] += reinterpret_cast<const T &>(bits);
        }
    }
    static __device__ Acc finish(const Kept &kept, uint64_t) {
        return (kept.lanes[0] + kept.lanes[1]) + (kept.lanes[2] + kept.lanes[3]);
    }
    static __device__ Acc item(T x, uint64_t) { return x; }
    static __device__ Acc identity() { return 0; }
    static __device__ Acc combine(Acc a, Acc b) { return a + b; }
    static __device__ Raw raw(Acc acc) { return acc; }
};

struct MinF32 {
    using Item = float;
    using Acc = float;
    using Raw = float;
    struct Kept {
        float lanes[4];
    };
    static __device__ float identity() { return __uint_as_float(0x7fffffff); }
    static __device__ Kept start() { return {{identity(), identity(), identity(), identity()}}; }
    static __device__ void pack(Kept &kept, uint4 pack, unsigned) {
#pragma unroll
        for (int lane = 0; lane < 4; lane++)
            kept.lanes[lane] = combine(kept.lanes[lane], __uint_as_float(lane_of(pack, lane)));
    }
    static __device__ Acc finish(const Kept &kept, uint64_t) {
        return combine(combine(kept.lanes[0], kept.lanes[1]), combine(kept.lanes[2], kept.lanes[3]));
    }
    static __device__ Acc item(float x, uint64_t) { return x; }
    // min.f32 drops NaN and has -0 below +0.
    static __device__ Acc combine(Acc a, Acc b) { return fminf(a, b); }
    static __device__ Raw raw(Acc acc) { return acc; }
};

struct Indexed {
    float value;
    uint64_t index;
};

struct ArgMinF32 {
    using Item = float;
    struct Acc {
        int rank;
        unsigned low, high;
    };
    using Raw = Indexed;
    struct Kept {
        int ranks[4];
        unsigned places[4];
    };
    // Integers in the order of the numbers, NaN last.
    static __device__ int rank(float x) {
        int bits = __float_as_int(x);
        return x == x ? bits ^ int(unsigned(bits >> 31) >> 1) : 0x7fffffff;
    }
    static __device__ Acc identity() { return {0x7fffffff, ~0u, ~0u}; }
    static __device__ Kept start() {
        Kept kept;
        for (int lane = 0; lane < 4; lane++) kept.ranks[lane] = 0x7fffffff, kept.places[lane] = ~0u;
        return kept;
    }
    static __device__ void pack(Kept &kept, uint4 pack, unsigned place) {
#pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            int here = rank(__uint_as_float(lane_of(pack, lane)));
            bool wins = here < kept.ranks[lane] || kept.places[lane] == ~0u;
            if (wins) kept.ranks[lane] = here, kept.places[lane] = place;
        }
    }
    static __device__ Acc at(int rank, uint64_t index) { return {rank, unsigned(index), unsigned(index >> 32)}; }
    static __device__ uint64_t index(Acc acc) { return uint64_t(acc.high) << 32 | acc.low; }
    static __device__ Acc finish(const Kept &kept, uint64_t first) {
        Acc best = identity();
        for (int lane = 0; lane < 4; lane++)
            if (kept.places[lane] != ~0u)
                best = combine(best, at(kept.ranks[lane], first + uint64_t(kept.places[lane]) * 4 + lane));
        return best;
    }
    static __device__ Acc item(float x, uint64_t index) { return at(rank(x), index); }
    static __device__ Acc combine(Acc a, Acc b) {
        return b.rank < a.rank || (b.rank == a.rank && index(b) < index(a)) ? b : a;
    }
    static __device__ Raw raw(Acc acc) {
        int bits = acc.rank == 0x7fffffff ? 0x7fffffff : acc.rank ^ int(unsigned(acc.rank >> 31) >> 1);
        return {__int_as_float(bits), index(acc)};
    }
};

template <typename A>
constexpr int WORDS = sizeof(A) / 4;

template <typename A>
union AsWords {
    A acc;
    unsigned words[WORDS<A>];
    __device__ AsWords() {}
};

template <typename R>
__device__ __forceinline__ typename R::Acc warp_reduce(typename R::Acc acc) {
#pragma unroll
    for (int distance = 16; distance; distance >>= 1) {
        AsWords<typename R::Acc> mine, theirs;
        mine.acc = acc;
#pragma unroll
        for (int i = 0; i < WORDS<typename R::Acc>; i++)
            theirs.words[i] = __shfl_down_sync(ALL, mine.words[i], distance);
        acc = R::combine(acc, theirs.acc);
    }
    return acc;
}

template <>
__device__ __forceinline__ unsigned warp_reduce<Sum<unsigned, unsigned>>(unsigned acc) {
    return __reduce_add_sync(ALL, acc);
}

// In thread 0 only.
template <typename R>
__device__ __forceinline__ typename R::Acc block_reduce(typename R::Acc acc) {
    using Acc = typename R::Acc;
    __shared__ alignas(16) unsigned char of_warps[32 * sizeof(Acc)];
    Acc *warps = reinterpret_cast<Acc *>(of_warps);
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    acc = warp_reduce<R>(acc);
    if (blockDim.x == 32) return acc;
    if (lane == 0) warps[warp] = acc;
    __syncthreads();
    if (warp == 0) acc = warp_reduce<R>(lane < blockDim.x / 32 ? warps[lane] : R::identity());
    return acc;
}

// A block leaves its accumulator in tagged words. The last block reads them in order, sets them back to 0, and combines
// them with its own threads' accumulators.
struct TaggedWords {
    template <typename R>
    static __device__ __forceinline__ void combine(typename R::Acc acc, typename R::Raw *output, uint64_t *slots) {
        using Acc = typename R::Acc;
        constexpr int words = WORDS<Acc>;
        unsigned last = gridDim.x - 1;
        if (blockIdx.x < last) {
            AsWords<Acc> mine;
            mine.acc = block_reduce<R>(acc);
            if (threadIdx.x > 0) return;
#pragma unroll
            for (int i = 0; i < words; i++) store_relaxed(slots + blockIdx.x * words + i, TAG | mine.words[i]);
            return;
        }
        for (unsigned block = threadIdx.x; block < last; block += blockDim.x) {
            AsWords<Acc> theirs;
#pragma unroll
            for (int i = 0; i < words; i++) {
                uint64_t word;
                do word = load_relaxed(slots + block * words + i);
                while (word < TAG);
                slots[block * words + i] = 0;
                theirs.words[i] = unsigned(word);
            }
            acc = R::combine(acc, theirs.acc);
        }
        acc = block_reduce<R>(acc);
        if (threadIdx.x == 0) *output = R::raw(acc);
    }
};

// One 64-bit word: blocks that came below, their sum above. Who comes last has it all.
struct Ticket {
    template <typename R>
    static __device__ __forceinline__ void combine(unsigned acc, unsigned *output, uint64_t *slots) {
        acc = block_reduce<R>(acc);
        if (threadIdx.x > 0) return;
        if (gridDim.x == 1) {
            *output = acc;
            return;
        }
        uint64_t mine = uint64_t(acc) << 32 | 1;
        uint64_t before = atomicAdd(reinterpret_cast<unsigned long long *>(slots), mine);
        if (unsigned(before) == gridDim.x - 1) {
            *output = unsigned((before + mine) >> 32);
            *slots = 0;
        }
    }
};

template <typename R, typename Between = TaggedWords>
__device__ __forceinline__ void reduce(const typename R::Item *input, size_t n, size_t span, float keep,
                                       typename R::Raw *output, uint64_t *slots) {
    using Item = typename R::Item;
    constexpr size_t LANES = 16 / sizeof(Item);
    unsigned tid = threadIdx.x, threads = blockDim.x;
    size_t head = -reinterpret_cast<size_t>(input) % 16 / sizeof(Item);
    if (head > n) head = n;
    size_t packs = (n - head) / LANES, first = size_t(blockIdx.x) * span;
    if (first > packs) first = packs;
    unsigned count = unsigned(packs - first < span ? packs - first : span);
    const uint4 *part = reinterpret_cast<const uint4 *>(input + head) + first;

    uint64_t policy;
    asm volatile("griddepcontrol.launch_dependents;");
    asm("createpolicy.fractional.L2::evict_normal.L2::evict_first.b64 %0, %1;" : "=l"(policy) : "f"(keep));
    // So that the address is translated by then; what is there may not be written yet.
    if (tid < count) asm volatile("prefetch.global.L2 [%0];" ::"l"(part + tid));
    asm volatile("griddepcontrol.wait;" ::: "memory");

    auto kept = R::start();
    unsigned place = tid;
    for (; place + (LOADS - 1) * threads < count; place += LOADS * threads) {
        uint4 v[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; k++) v[k] = load(part + place + k * threads, policy);
#pragma unroll
        for (int k = 0; k < LOADS; k++) R::pack(kept, v[k], place + k * threads);
    }
    if (place < count) {
        uint4 v[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            if (place + k * threads < count) v[k] = load(part + place + k * threads, policy);
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            if (place + k * threads < count) R::pack(kept, v[k], place + k * threads);
    }
    auto acc = R::finish(kept, head + first * LANES);
    // Elements before the first pack and behind the last one.
    if (blockIdx.x == 0 && tid < head) acc = R::combine(acc, R::item(input[tid], tid));
    size_t behind = head + packs * LANES + tid;
    if (blockIdx.x == gridDim.x - 1 && behind < n) acc = R::combine(acc, R::item(input[behind], behind));

    Between::template combine<R>(acc, output, slots);
}

#define KERNEL(name, R, ...)                                                                                          \
    extern "C" __global__ void __launch_bounds__(1024)                                                                \
        reduce_##name(const R::Item *input, size_t n, size_t span, float keep, R::Raw *output, uint64_t *slots) {     \
        reduce<R __VA_OPT__(, ) __VA_ARGS__>(input, n, span, keep, output, slots);                                    \
    }

using SumI32 = Sum<int, int64_t>;
using SumF32 = Sum<float, float>;
using WrappingU32 = Sum<unsigned, unsigned>;
KERNEL(sum_i32, SumI32)
KERNEL(sum_f32, SumF32)
KERNEL(wrapping_u32, WrappingU32, Ticket)
KERNEL(min_f32, MinF32)
KERNEL(argmin_f32, ArgMinF32)
