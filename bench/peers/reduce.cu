// Five kernels of the production reducer in CUDA C++. They are a peer with which the Rust kernels
// are compared, and they have the names, parameters and structure of those in
// crates/warpfold_device.
//
//     nvcc -arch=sm_90 -O3 -std=c++17 -cubin -o reduce.cubin reduce.cu
//
// Then give reduce.cubin to the `reducer` benchmark.

#include <cstddef>
#include <cstdint>

constexpr unsigned ALL = 0xffffffff;
constexpr unsigned WARP = 32;
// The number of threads of a block that may read an element before the first pack. As many others
// may read an element after the last pack.
constexpr unsigned EDGE = 16;
// The tag, which is the upper half of a word that has been written.
constexpr uint64_t TAG = uint64_t(1) << 32;

// The place of an element: the block that reduces it and a number. If indices have 32 bits, the
// number is the element's index. Otherwise it counts from the start of the block's part.
struct Position {
    unsigned block, number;
};

// The division of the input among the blocks: the number of elements before the first pack, the
// number of packs, the number of packs for each block, the number of packs that the first block has
// fewer (so that the other blocks begin at a cache line), the number of elements in a pack, and
// whether indices may have more than 32 bits.
struct Parts {
    size_t head, packs, span, skew, lanes;
    bool is_long;

    // The index of the block's first pack. The block may have no packs.
    __device__ size_t begin(unsigned block) const { return min(block * span - min(block * span, skew), packs); }
    // The index of the first element in the block's packs.
    __device__ size_t first(unsigned block) const { return head + begin(block) * lanes; }
    // The elements of the block's packs are numbered from EDGE on, because fewer than EDGE elements
    // lie before the first pack.
    __device__ Position position(size_t index, unsigned block) const {
        return {block, unsigned(is_long ? index + EDGE - first(block) : index)};
    }
    __device__ uint64_t index(Position at) const {
        return is_long ? first(at.block) + at.number - EDGE : at.number;
    }
};

// A policy for L2: a line is kept as usual with this probability. Otherwise it is among the first
// to be evicted.
__device__ __forceinline__ uint64_t keep_in_l2(float fraction) {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_normal.L2::evict_first.b64 %0, %1;" : "=l"(policy) : "f"(fraction));
    return policy;
}

// Loads 16 bytes with a policy for L2. They are not allocated in L1.
__device__ __forceinline__ uint4 load(const uint4 *at, uint64_t policy) {
    uint4 v;
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at), "l"(policy));
    return v;
}

// Loads 16 bytes if `valid`, by a predicate and not by a branch. Otherwise the result is undefined.
__device__ __forceinline__ uint4 load_if(const uint4 *at, uint64_t policy, bool valid) {
    uint4 v;
    asm volatile("{\n.reg .pred valid;\nsetp.ne.b32 valid, %6, 0;\n"
                 "@valid ld.global.L1::no_allocate.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;\n}"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at), "l"(policy), "r"(int(valid)));
    return v;
}

template <typename T>
__device__ __forceinline__ T load_if(const T *at, bool valid) {
    unsigned bits;
    asm volatile("{\n.reg .pred valid;\nsetp.ne.b32 valid, %2, 0;\n@valid ld.global.b32 %0, [%1];\n}"
                 : "=r"(bits)
                 : "l"(at), "r"(int(valid)));
    return reinterpret_cast<const T &>(bits);
}

template <typename T>
__device__ __forceinline__ T lane_of(uint4 pack, int lane) {
    unsigned bits = lane == 0 ? pack.x : lane == 1 ? pack.y : lane == 2 ? pack.z : pack.w;
    return reinterpret_cast<const T &>(bits);
}

// Reads the words of a slot, in pairs if their number is even. Each word is read in one access.
// `write` writes them in the same way.
template <int N>
__device__ __forceinline__ void read(const uint64_t *slot, uint64_t (&words)[N]) {
#pragma unroll
    for (int i = 0; i < N; i += 2 - N % 2)
        if constexpr (N % 2 == 0)
            asm volatile("ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2];"
                         : "=l"(words[i]), "=l"(words[i + 1])
                         : "l"(slot + i)
                         : "memory");
        else
            asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(words[i]) : "l"(slot + i) : "memory");
}

template <int N>
__device__ __forceinline__ void write(uint64_t *slot, const uint64_t (&words)[N]) {
#pragma unroll
    for (int i = 0; i < N; i += 2 - N % 2)
        if constexpr (N % 2 == 0)
            asm volatile("st.relaxed.gpu.global.v2.b64 [%0], {%1, %2};" ::"l"(slot + i), "l"(words[i]),
                         "l"(words[i + 1])
                         : "memory");
        else
            asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(slot + i), "l"(words[i]) : "memory");
}

// redux.sync adds 32 bits, so a sum of 64 bits takes three of these instructions.

__device__ __forceinline__ unsigned warp_sum(unsigned x) { return __reduce_add_sync(ALL, x); }

// A sum of 32 numbers of 16 bits fits into 32 bits, so no carry is lost. The upper half may wrap.
__device__ __forceinline__ int64_t warp_sum(int64_t x) {
    uint64_t lowest = warp_sum(unsigned(x) & 0xffff), middle = warp_sum(unsigned(x) >> 16);
    return lowest + (middle << 16) + (uint64_t(warp_sum(unsigned(x >> 32))) << 32);
}

// A rank is an integer; ranks have the order of the floats, and NaN comes last. For negative
// numbers, all bits except the sign are inverted.
constexpr int LAST_RANK = 0x7fffffff;
__device__ __forceinline__ float nan() { return __int_as_float(0x7fc00000); }
__device__ __forceinline__ int turned(int bits) { return bits ^ int(unsigned(bits >> 31) >> 1); }
__device__ __forceinline__ int rank(float x) { return x == x ? turned(__float_as_int(x)) : LAST_RANK; }
__device__ __forceinline__ float of_rank(int rank) {
    float x = __int_as_float(turned(rank));
    return x == x ? x : nan();
}

// min.f32 ignores NaN and takes -0 as less than +0.
__device__ __forceinline__ float least_of(uint4 pack) {
    float4 x = reinterpret_cast<const float4 &>(pack);
    return fminf(fminf(x.x, x.y), fminf(x.z, x.w));
}

template <typename A>
constexpr int WORDS = sizeof(A) / 4;

// The number of words of its accumulator that a block leaves in its slot. They are the first ones.
// The other words are the block's number, which the reader knows.
template <typename A>
constexpr int IN_SLOT = WORDS<A>;

// A reduction has four types: `Item` of the elements, `Kept` of the value that a thread keeps while
// it reads packs, the accumulator `Acc` of WORDS 32-bit words, and `Raw` of the result in memory.
// `warp` combines the first 8 or all 32 lanes of a warp. It compares positions by block and number,
// or by number alone. The other lanes have the identity. Only lane 0 gets the result. `append`
// combines two accumulators if all elements of the first come before those of the second.

// The base of reductions whose threads keep an accumulator from the beginning and write it as it
// is.
template <typename T, typename A>
struct Fold {
    using Item = T;
    using Kept = A;
    using Acc = A;
    using Raw = A;
    static __device__ Acc finish(Kept kept, Position) { return kept; }
    static __device__ Acc item(T x, Position) { return x; }
    static __device__ Raw raw(Acc acc, Parts) { return acc; }
    // Whether an accumulator that is combined with itself stays the same.
    static constexpr bool IS_IDEMPOTENT = false;
};

struct SumF32 : Fold<float, float> {
    static __device__ Acc identity() { return 0; }
    static __device__ Kept start() { return 0; }
    static __device__ Kept pack(Kept sum, uint4 pack, unsigned) {
        float4 x = reinterpret_cast<const float4 &>(pack);
        return sum + ((x.x + x.y) + (x.z + x.w));
    }
    static __device__ Acc combine(Acc a, Acc b) { return a + b; }
    static __device__ Acc append(Acc a, Acc b) { return a + b; }
    static __device__ Acc warp(Acc acc, unsigned lanes, bool) {
#pragma unroll
        for (unsigned distance = WARP / 2; distance; distance /= 2)
            if (distance < lanes) acc += __shfl_down_sync(ALL, acc, distance);
        return acc;
    }
};

template <typename T, typename Wide>
struct SumOfIntegers : Fold<T, Wide> {
    static __device__ Wide identity() { return 0; }
    static __device__ Wide start() { return 0; }
    static __device__ Wide pack(Wide sum, uint4 pack, unsigned) {
#pragma unroll
        for (int lane = 0; lane < 4; lane++) sum += Wide(lane_of<T>(pack, lane));
        return sum;
    }
    static __device__ Wide combine(Wide a, Wide b) { return a + b; }
    static __device__ Wide append(Wide a, Wide b) { return a + b; }
    static __device__ Wide warp(Wide acc, unsigned, bool) { return warp_sum(acc); }
};
using SumI32 = SumOfIntegers<int, int64_t>;
using WrappingU32 = SumOfIntegers<unsigned, unsigned>;

// The accumulator is a rank, because one comparison then orders numbers, zeros and NaNs, and
// redux.sync does it for a whole warp.
struct MinF32 {
    using Item = float;
    using Kept = float;
    using Acc = int;
    using Raw = float;
    static __device__ Acc identity() { return LAST_RANK; }
    static __device__ Kept start() { return nan(); }
    static __device__ Kept pack(Kept least, uint4 pack, unsigned) { return fminf(least, least_of(pack)); }
    static __device__ Acc finish(Kept kept, Position) { return rank(kept); }
    static __device__ Acc item(float x, Position) { return rank(x); }
    static __device__ Acc combine(Acc a, Acc b) { return min(a, b); }
    static __device__ Acc append(Acc a, Acc b) { return min(a, b); }
    static constexpr bool IS_IDEMPOTENT = true;
    static __device__ Acc warp(Acc acc, unsigned, bool) { return __reduce_min_sync(ALL, acc); }
    static __device__ Raw raw(Acc acc, Parts) { return of_rank(acc); }
};

// The element's bits, extended with zeros, and its index.
struct Indexed {
    uint64_t value, index;
};

// The rank of the best element, and its position.
struct Best {
    int rank;
    unsigned number, block;
    __device__ uint64_t order() const { return uint64_t(block) << 32 | number; }
};
template <>
constexpr int IN_SLOT<Best> = 2;

// A thread compares whole packs and keeps the first pack that has the best element. At the end it
// finds which element of the pack that was. At the start it claims the block's first pack, with the
// last rank. If the last rank is the best, all elements have it, so the first element wins.
struct ArgMinF32 {
    using Item = float;
    struct Kept {
        float best;
        unsigned place;
        uint4 pack;
    };
    using Acc = Best;
    using Raw = Indexed;
    static __device__ Acc identity() { return {LAST_RANK, ~0u, ~0u}; }
    static __device__ Kept start() { return {nan(), 0, {}}; }
    static __device__ bool same(float a, float b) { return __float_as_int(a) == __float_as_int(b); }
    static __device__ Kept pack(Kept kept, uint4 pack, unsigned place) {
        float best = fminf(kept.best, least_of(pack));
        bool taken = !same(best, kept.best);
        // The fields are chosen one by one, because nvcc would move whole structures otherwise.
        return {best,
                taken ? place : kept.place,
                {taken ? pack.x : kept.pack.x, taken ? pack.y : kept.pack.y, taken ? pack.z : kept.pack.z,
                 taken ? pack.w : kept.pack.w}};
    }
    static __device__ Acc finish(Kept kept, Position first) {
        unsigned found = 0;
        // The loop goes from the last element to the first, so the first match stays.
#pragma unroll
        for (int lane = 3; lane >= 0; lane--) {
            float x = lane_of<float>(kept.pack, lane);
            if (x == x ? same(x, kept.best) : kept.best != kept.best) found = lane;
        }
        return {rank(kept.best), first.number + kept.place * 4 + found, first.block};
    }
    static __device__ Acc item(float x, Position at) { return {rank(x), at.number, at.block}; }
    static __device__ Acc combine(Acc a, Acc b) {
        return (b.rank < a.rank) | ((b.rank == a.rank) & (b.order() < a.order())) ? b : a;
    }
    static __device__ Acc append(Acc a, Acc b) { return b.rank < a.rank ? b : a; }
    static constexpr bool IS_IDEMPOTENT = true;
    static __device__ Acc warp(Acc acc, unsigned, bool by_block) {
        int rank = __reduce_min_sync(ALL, acc.rank);
        bool is_best = acc.rank == rank;
        unsigned block = acc.block;
        if (by_block) {
            block = __reduce_min_sync(ALL, is_best ? acc.block : ~0u);
            is_best &= acc.block == block;
        }
        return {rank, __reduce_min_sync(ALL, is_best ? acc.number : ~0u), block};
    }
    static __device__ Raw raw(Acc acc, Parts parts) {
        // If the best element is a NaN, all elements are NaN.
        uint64_t index = acc.rank == INT_MAX ? 0 : parts.index({acc.block, acc.number});
        return {__float_as_uint(of_rank(acc.rank)), index};
    }
};

template <typename A>
union AsWords {
    A acc;
    unsigned words[WORDS<A>];
    __device__ AsWords() {}
    __device__ AsWords(A acc) : acc(acc) {}
};

// Combines the accumulators of the block's first `warps` warps, which are all or one. Only thread 0
// gets the result. Between two calls for more than one warp there must be a barrier.
template <typename R>
__device__ __forceinline__ typename R::Acc block_reduce(typename R::Acc acc, unsigned warps, bool by_block) {
    using Acc = typename R::Acc;
    __shared__ unsigned of_warps[WORDS<Acc>][WARP];
    unsigned tid = threadIdx.x;
    acc = R::warp(acc, WARP, by_block);
    if (warps == 1) return acc;
    AsWords<Acc> mine(acc), of_warp(R::identity());
    if (tid % WARP == 0) {
#pragma unroll
        for (int i = 0; i < WORDS<Acc>; i++) of_warps[i][tid / WARP] = mine.words[i];
    }
    __syncthreads();
    if (tid >= WARP) return acc;
    if (tid < warps) {
#pragma unroll
        for (int i = 0; i < WORDS<Acc>; i++) of_warp.words[i] = of_warps[i][tid];
    }
    // Most blocks have at most eight warps, and then fewer steps suffice. Everything waits for
    // these steps of the last block.
    return R::warp(of_warp.acc, warps > 8 ? WARP : 8, by_block);
}

// Each block but the last leaves its accumulator in tagged words. The last block reads the words of
// all others until they have their tags, and sets them back to 0.
struct Polled {
    // The number of slots that a thread reads before it looks at the first one. SMALL_GROUP is that
    // number if one warp reads all slots.
    template <typename A>
    static constexpr unsigned GROUP = IN_SLOT<A> == 1 ? 8 : 6;
    static constexpr unsigned SMALL_GROUP = 5;

    template <typename R>
    static __device__ __forceinline__ void meet(typename R::Acc acc, typename R::Raw *output, uint64_t *slots,
                                                Parts parts) {
        using Acc = typename R::Acc;
        unsigned tid = threadIdx.x, warps = blockDim.x / WARP, last = gridDim.x - 1;
        Acc own = R::identity();
        // The loop runs once for the block's own accumulator. In the last block it runs once more
        // for those of all others. As a loop, both share the same code.
#pragma unroll 1
        for (bool has_polled = false;; has_polled = true) {
            acc = block_reduce<R>(acc, warps, has_polled && parts.is_long);
            if (has_polled || last == 0) break;
            if (blockIdx.x < last) {
                if (tid > 0) return;
                AsWords<Acc> mine(acc);
                uint64_t words[IN_SLOT<Acc>];
#pragma unroll
                for (int i = 0; i < IN_SLOT<Acc>; i++) words[i] = TAG | mine.words[i];
                write(slots + size_t(blockIdx.x) * IN_SLOT<Acc>, words);
                return;
            }
            own = acc;
            // If one warp can read all slots at once, it does so alone, because that saves a
            // barrier.
            if (last <= WARP * SMALL_GROUP) {
                warps = 1;
                if (tid >= WARP) return;
                acc = poll<R, SMALL_GROUP>(slots, last, WARP);
            } else {
                __syncthreads();
                acc = poll<R, GROUP<Acc>>(slots, last, warps * WARP);
            }
        }
        if (tid == 0) *output = R::raw(R::append(acc, own), parts);
    }

    // Combines the accumulators of every `threads`-th block below the last, from the block whose
    // number is this thread's.
    template <typename R, unsigned group>
    static __device__ __forceinline__ typename R::Acc poll(uint64_t *slots, unsigned last, unsigned threads) {
        using Acc = typename R::Acc;
        constexpr unsigned leaves = 8;
        Acc acc = R::identity();
#pragma unroll 1
        for (unsigned first = threadIdx.x; first < last; first += group * threads) {
            uint64_t *slot[group], words[group][IN_SLOT<Acc>], tags;
            // If there are no more slots, the thread reads its first one again.
            unsigned other[group];
#pragma unroll
            for (unsigned i = 0; i < group; i++) {
                other[i] = first + i * threads < last ? first + i * threads : first;
                slot[i] = slots + size_t(other[i]) * IN_SLOT<Acc>;
            }
#pragma unroll 1
            do {
#pragma unroll
                for (unsigned i = 0; i < group; i++) read(slot[i], words[i]);
                tags = TAG;
#pragma unroll
                for (unsigned i = 0; i < group * IN_SLOT<Acc>; i++) tags &= words[i / IN_SLOT<Acc>][i % IN_SLOT<Acc>];
            } while (tags == 0);
#pragma unroll
            for (unsigned i = 0; i < group; i++) write<IN_SLOT<Acc>>(slot[i], {});
            Acc found[leaves];
#pragma unroll
            for (unsigned i = 0; i < leaves; i++) {
                AsWords<Acc> theirs(R::identity());
                if (i < group && (R::IS_IDEMPOTENT || first + i * threads < last)) {
#pragma unroll
                    for (int word = 0; word < WORDS<Acc>; word++)
                        theirs.words[word] = word < IN_SLOT<Acc> ? unsigned(words[i][word]) : other[i];
                }
                found[i] = theirs.acc;
            }
#pragma unroll
            for (unsigned width = 1; width < leaves; width *= 2) {
#pragma unroll
                for (unsigned i = 0; i < leaves; i += 2 * width) found[i] = R::append(found[i], found[i + width]);
            }
            acc = R::append(acc, found[0]);
        }
        return acc;
    }
};

// All blocks share one 64-bit word. Its lower half counts the blocks that have come, and its upper
// half is their sum. The block that comes last gets the whole sum.
struct Ticket {
    template <typename R>
    static __device__ __forceinline__ void meet(unsigned acc, unsigned *output, uint64_t *slots, Parts) {
        unsigned sum = block_reduce<R>(acc, blockDim.x / WARP, false), others = gridDim.x - 1;
        if (threadIdx.x > 0) return;
        if (others == 0) {
            *output = sum;
            return;
        }
        uint64_t before = atomicAdd(reinterpret_cast<unsigned long long *>(slots), uint64_t(sum) << 32 | 1);
        if (unsigned(before) == others) {
            *output = sum + unsigned(before >> 32);
            write<1>(slots, {});
        }
    }
};

template <typename R, int LOADS, typename Meet = Polled>
__device__ __forceinline__ void reduce(const typename R::Item *input, size_t n, size_t span, float keep,
                                       typename R::Raw *output, uint64_t *slots) {
    using Item = typename R::Item;
    constexpr size_t LANES = 16 / sizeof(Item);
    asm volatile("griddepcontrol.launch_dependents;");
    unsigned tid = threadIdx.x, threads = blockDim.x, block = blockIdx.x;
    size_t head = min(-reinterpret_cast<size_t>(input) % 16 / sizeof(Item), n), packs = (n - head) / LANES;
    Parts parts = {head, packs, span, (reinterpret_cast<size_t>(input) + 15) / 16 % 8, LANES, n > 0xffffffff};
    size_t first = parts.first(block);
    unsigned count = unsigned(parts.begin(block + 1) - parts.begin(block));
    const uint4 *part = reinterpret_cast<const uint4 *>(input + first);

    // The first threads may have an element before the first pack, the next ones an element after
    // the last pack.
    size_t edge = tid < EDGE ? tid : head + packs * LANES + tid - EDGE;
    bool has_edge = tid < EDGE ? block == 0 && edge < head : block == gridDim.x - 1 && edge < n;

    // Both arms are written out so that ptxas computes the policy before the wait. The second arm
    // is a constant and costs nothing.
    uint64_t policy = keep < 1 ? keep_in_l2(keep) : keep_in_l2(1);
    // The prefetch lets the address be translated before the wait ends. The data may not be written
    // yet.
    if (tid < count) asm volatile("prefetch.global.L2 [%0];" ::"l"(part + tid));
    asm volatile("griddepcontrol.wait;" ::: "memory");

    Item item = load_if(input + edge, has_edge);
    auto kept = R::start();
    unsigned place = tid;
    uint4 v[LOADS];
    // Loads without predicates are faster, which is worth a second copy of the code. Whole warps
    // take part in a round or none of their lanes do.
#pragma unroll 1
    for (; (place | (WARP - 1)) + (LOADS - 1) * threads < count; place += LOADS * threads) {
#pragma unroll
        for (int k = 0; k < LOADS; k++) v[k] = load(part + place + k * threads, policy);
#pragma unroll
        for (int k = 0; k < LOADS; k++) kept = R::pack(kept, v[k], place + k * threads);
    }
    // A load that is predicated off still costs its arithmetic, so the last rounds load fewer packs
    // at once.
    constexpr int REST = 4;
#pragma unroll 1
    for (; (place & ~(WARP - 1)) < count; place += REST * threads) {
#pragma unroll
        for (int k = 0; k < REST; k++)
            v[k] = load_if(part + place + k * threads, policy, place + k * threads < count);
#pragma unroll
        for (int k = 0; k < REST; k++)
            if (place + k * threads < count) kept = R::pack(kept, v[k], place + k * threads);
    }
    auto acc = R::finish(kept, parts.position(first, block));
    if (has_edge) acc = R::combine(acc, R::item(item, parts.position(edge, block)));

    Meet::template meet<R>(acc, output, slots, parts);
}

#define KERNEL(name, R, ...)                                                                                          \
    extern "C" __global__ void __launch_bounds__(1024)                                                                \
        reduce_##name(const R::Item *input, size_t n, size_t span, float keep, R::Raw *output, uint64_t *slots) {     \
        reduce<R, __VA_ARGS__>(input, n, span, keep, output, slots);                                                  \
    }

KERNEL(sum_i32, SumI32, 8)
KERNEL(sum_f32, SumF32, 8)
KERNEL(wrapping_u32, WrappingU32, 8, Ticket)
KERNEL(min_f32, MinF32, 8)
KERNEL(argmin_f32, ArgMinF32, 8)
