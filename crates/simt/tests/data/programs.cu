// Programs of the kinds that people write, for the tests in ../programs.rs. CUDA 13's headers and
// nvcc -ptx -std=c++17 -arch=sm_80 programs.cu -o programs.sm_80.ptx
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
typedef unsigned u32;
typedef unsigned long long u64;

// Blocks sum with warp shuffles; the last one to finish sums their results.
__device__ u32 finished;
__device__ volatile u32 partial[1024];
extern "C" __global__ void last_block(const u32* in, u32* out, u32 n) {
    __shared__ u32 warps[32];
    __shared__ bool last;
    u32 sum = 0;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
        for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __shared__ u32 total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    for (u32 i = threadIdx.x; i < gridDim.x; i += blockDim.x) atomicAdd(&total, partial[i]);
    __syncthreads();
    if (threadIdx.x == 0) *out = total;
}

// An inclusive scan in one pass: blocks look back at published sums. A ticket chooses the tile.
__device__ u32 ticket;
__device__ u64 status[4096]; // 1 in the high word: the block's sum; 2: the sum of all up to it
extern "C" __global__ void look_back(const u32* in, u32* out, u32 n) {
    __shared__ u32 tile, before;
    __shared__ u32 sums[256];
    u32 t = threadIdx.x;
    if (t == 0) tile = atomicAdd(&ticket, 1);
    __syncthreads();
    u32 i = tile * 256 + t;
    sums[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (u32 d = 1; d < 256; d *= 2) {
        u32 v = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += v;
        __syncthreads();
    }
    if (t == 0) {
        u32 own = sums[255], sum = 0;
        volatile u64* published = status;
        published[tile] = (tile == 0 ? 2ull << 32 : 1ull << 32) | own;
        for (int look = (int)tile - 1; look >= 0;) {
            u64 seen = published[look];
            if (seen >> 32 == 0) continue;
            sum += (u32)seen;
            if (seen >> 32 == 2) break;
            look--;
        }
        published[tile] = 2ull << 32 | (u32)(sum + own);
        before = sum;
    }
    __syncthreads();
    if (i < n) out[i] = before + sums[t];
}

// All blocks wait for each other, round after round.
__device__ u32 arrived;
extern "C" __global__ void grid_wide(const u32* in, u32* out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    for (u32 round = 1; round <= 4; round++) {
        // The rounds alternate between the halves of out.
        volatile u32* from = round % 2 ? out : out + n;
        volatile u32* to = round % 2 ? out + n : out;
        if (i < n) to[i] = (round == 1 ? in[i] : from[i]) + (round == 1 ? in[(i + 1) % n] : from[(i + 1) % n]);
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(&arrived, 1);
            while (*(volatile u32*)&arrived < round * gridDim.x) {}
        }
        __syncthreads();
    }
}

// Each lane takes the lock for itself.
__device__ u32 lock_word;
extern "C" __global__ void spin_lock(const u32* in, u32* out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock_word, 0, 1) == 0) {
            __threadfence();
            volatile u32* total = out;
            total[0] = total[0] * 3 + 1;
            total[1] = total[1] + in[i];
            __threadfence();
            atomicExch(&lock_word, 0);
            done = true;
        }
    }
}
extern "C" __global__ void spin_lock_bare(const u32* in, u32* out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    while (atomicCAS(&lock_word, 0, 1) != 0) {}
    __threadfence();
    volatile u32* total = out;
    total[0] = total[0] * 3 + 1;
    total[1] = total[1] + in[i];
    __threadfence();
    atomicExch(&lock_word, 0);
}

// Largest float and double by compare-and-swap.
extern "C" __global__ void cas_max(const float* in, double* out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64* wide = (u64*)out;
    u64 old = *wide;
    while (__longlong_as_double(old) < in[i]) {
        u64 seen = atomicCAS(wide, old, __double_as_longlong((double)in[i]));
        if (seen == old) break;
        old = seen;
    }
    int* narrow = (int*)(out + 1);
    int before = *narrow;
    while (__int_as_float(before) < in[i]) {
        int seen = atomicCAS(narrow, before, __float_as_int(in[i]));
        if (seen == before) break;
        before = seen;
    }
}

// Cooperative groups: tiles of 8 sum and scan, and the block is summed through the tiles' leaders.
extern "C" __global__ void tiles(const int* in, int* out, u32 n) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    u32 i = block.group_index().x * block.size() + block.thread_rank();
    int v = i < n ? in[i] : 0;
    int sum = cg::reduce(tile, v, cg::plus<int>());
    int scan = cg::inclusive_scan(tile, v);
    int most = cg::reduce(tile, v, cg::greater<int>());
    __shared__ int total;
    if (block.thread_rank() == 0) total = 0;
    block.sync();
    if (tile.thread_rank() == 0) atomicAdd(&total, sum);
    block.sync();
    if (i < n) {
        out[4 * i] = sum;
        out[4 * i + 1] = scan;
        out[4 * i + 2] = most;
        out[4 * i + 3] = total;
    }
}

// Lanes of equal values count together with one atomic; odd and even lanes count separately.
extern "C" __global__ void aggregate(const u32* in, u32* out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 value = in[i] % 7, lane = threadIdx.x % 32;
    auto count = [&](u32 base) {
        cg::coalesced_group active = cg::coalesced_threads();
        u32 peers = __match_any_sync(__activemask(), value);
        if (__ffs(peers) - 1 == lane) atomicAdd(&out[base + value], __popc(peers));
        active.sync();
        if (active.thread_rank() == 0) atomicAdd(&out[14], active.size());
    };
    if (lane % 2) count(0); else count(7);
}

// 2-D blocks transpose through a padded tile.
extern "C" __global__ void transpose(const u32* in, u32* out, u32 width, u32 height) {
    __shared__ u32 tile[32][33];
    u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (u32 j = 0; j < 32; j += 8)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (u32 j = 0; j < 32; j += 8)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

// Two tiles in turn in dynamic shared memory, filled by 16-byte loads, next to a static array.
extern "C" __global__ void double_buffer(const uint4* in, u32* out, u32 tiles_per_block) {
    extern __shared__ uint4 buffer[];
    __shared__ u32 sums[4];
    u32 t = threadIdx.x, first = blockIdx.x * tiles_per_block;
    if (t < 4) sums[t] = 0;
    buffer[t] = in[first * blockDim.x + t];
    __syncthreads();
    u32 acc = 0;
    for (u32 k = 0; k < tiles_per_block; k++) {
        uint4* now = buffer + (k % 2) * blockDim.x;
        uint4* next = buffer + ((k + 1) % 2) * blockDim.x;
        if (k + 1 < tiles_per_block) next[t] = in[(first + k + 1) * blockDim.x + t];
        uint4 v = now[blockDim.x - 1 - t];
        acc += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
        __syncthreads();
    }
    atomicAdd(&sums[t % 4], acc);
    __syncthreads();
    if (t < 4) out[blockIdx.x * 4 + t] = sums[t];
}

// A local array with a computed index, a switch, and functions that are not inlined.
__device__ __noinline__ u32 step(u32 op, u32 a, u32 b) {
    switch (op) {
        case 0: return a + b;
        case 1: return a - b;
        case 2: return a * b;
        case 3: return a ^ (b << 3);
        case 4: return b ? a / b : a;
        case 5: return b ? a % b : b;
        case 6: return __popc(a) + __clz(b);
        case 7: return __brev(a) ^ b;
        case 8: return __byte_perm(a, b, 0x3175);
        default: return max(a, b) - min(a, b);
    }
}
struct Pair { u32 a; u64 b; };
__device__ __noinline__ Pair twist(Pair p, u32 k) {
    Pair r;
    r.a = step(k % 10, p.a, (u32)p.b);
    r.b = p.b * 6364136223846793005ull + p.a;
    return r;
}
extern "C" __global__ void machine(const u32* in, u32* out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 stack[16];
    for (int k = 0; k < 16; k++) stack[k] = in[i] + k * k;
    Pair p = {in[i], i};
    for (u32 k = 0; k < 5 + i % 11; k++) {
        u32 at = (p.a >> 3) % 16;
        p = twist(p, in[i] + k);
        stack[at] = step((p.b >> 40) % 12, stack[at], p.a);
        stack[(at + 5) % 16] ^= k;
    }
    u32 sum = 0;
    for (int k = 0; k < 16; k++) sum = sum * 31 + stack[k];
    out[i] = sum;
}

// Threads that leave early, and votes of those that stay.
extern "C" __global__ void votes(const u32* in, u32* out, u32 n) {
    u32 t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    u32 i = blockIdx.x * blockDim.x * blockDim.y * blockDim.z + t;
    if (i >= n) return;
    u32 v = in[i];
    int count = __syncthreads_count(v % 2);
    int all = __syncthreads_and(v < 1000);
    int any = __syncthreads_or(v == 3);
    u32 ballot = __ballot_sync(__activemask(), v % 3 == 0);
    out[i] = count + (all ? 10000 : 0) + (any ? 20000 : 0) + __popc(ballot) * 100000;
}

// Warps 0..3 produce, warps 4..7 consume, through named barriers and two slots.
extern "C" __global__ void pipeline(const u32* in, u32* out, u32 rounds) {
    __shared__ u32 slots[2][128];
    u32 t = threadIdx.x % 128;
    bool producer = threadIdx.x < 128;
    if (producer) {
        for (u32 r = 0; r < rounds; r++) {
            u32 s = r % 2;
            if (r >= 2) asm volatile("bar.sync %0, 256;" :: "r"(3 + s) : "memory");
            slots[s][t] = in[(blockIdx.x * rounds + r) * 128 + t] * (r + 1);
            asm volatile("bar.arrive %0, 256;" :: "r"(1 + s) : "memory");
        }
    } else {
        u32 sum = 0;
        for (u32 r = 0; r < rounds; r++) {
            u32 s = r % 2;
            asm volatile("bar.sync %0, 256;" :: "r"(1 + s) : "memory");
            sum += slots[s][127 - t];
            if (r + 2 < rounds) asm volatile("bar.arrive %0, 256;" :: "r"(3 + s) : "memory");
        }
        out[blockIdx.x * 128 + t] = sum;
    }
}

// A histogram of bytes in shared memory, added to global memory at the end.
extern "C" __global__ void histogram(const unsigned char* in, u32* out, u32 n) {
    __shared__ u32 bins[256];
    for (u32 t = threadIdx.x; t < 256; t += blockDim.x) bins[t] = 0;
    __syncthreads();
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1);
    __syncthreads();
    for (u32 t = threadIdx.x; t < 256; t += blockDim.x) if (bins[t]) atomicAdd(&out[t], bins[t]);
}

#if __CUDA_ARCH__ >= 800
// The warp's own reductions.
extern "C" __global__ void redux(const int* in, int* out, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 mask = __ballot_sync(0xffffffff, i < n);
    if (i >= n) return;
    int v = in[i];
    out[i] = __reduce_add_sync(mask, v) ^ __reduce_min_sync(mask, v) ^ __reduce_max_sync(mask, v)
        ^ __reduce_and_sync(mask, v) ^ __reduce_or_sync(mask, v) ^ __reduce_xor_sync(mask, v)
        ^ __reduce_max_sync(mask, (u32)v) ^ (int)__reduce_min_sync(mask, (u32)v);
}
#endif

// 128-bit arithmetic, whose division mixes sub.cc with addc.
extern "C" __global__ void wide(u64* out, u64 n) {
    unsigned __int128 x = (unsigned __int128)n * (n + threadIdx.x) + 7;
    out[threadIdx.x] = (u64)(x >> 60) + (u64)(x % 1000003);
}

// A function with its own shared variable. Each call returns the value that the last one left.
__device__ __noinline__ u32 swap(u32 value) {
    __shared__ u32 kept[64];
    u32 before = kept[threadIdx.x];
    kept[threadIdx.x] = value;
    return before;
}
extern "C" __global__ void shared_in_function(u32* out) {
    swap(threadIdx.x + 5);
    out[threadIdx.x] = swap(1);
}
