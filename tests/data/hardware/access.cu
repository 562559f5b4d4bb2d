// Each of these kernels has one kind of memory access, with a good or a bad layout.
// tests/hardware.rs compares the simulator's counters for them with those of a GPU.
// access.sm_75.ptx is made by
//
//     nvcc -ptx -std=c++17 -O3 -arch=compute_75 access.cu -o access.sm_75.ptx
//
// Its `.version` is then lowered to 7.0, so that drivers older than nvcc accept it.
typedef unsigned u32;
typedef unsigned long long u64;

#define KERNEL extern "C" __global__ void

__device__ inline u32 index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Copies `n` elements: neighbouring ones, those from `offset` on, or every `stride`-th.
# define COPIES(name, type)
# \
    KERNEL copy_##name(const type *input, type *output, u32 n) {                                       \
        u32 i = index();                                                                               \
        if (i < n) output[i] = input[i];                                                               \
    }                                                                                                  \
    KERNEL copy_offset_##name(const type *input, type *output, u32 n, u32 offset) {                    \
        u32 i = index();                                                                               \
        if (i < n) output[i] = input[i + offset];                                                      \
    }                                                                                                  \
    KERNEL copy_strided_##name(const type *input, type *output, u32 n, u32 stride) {                   \
        u32 i = index();                                                                               \
        if (i < n) output[i] = input[i * stride];                                                      \
    }                                                                                                  \
    KERNEL scatter_strided_##name(const type *input, type *output, u32 n, u32 stride) {                \
        u32 i = index();                                                                               \
        if (i < n) output[i * stride] = input[i];                                                      \
    }
COPIES(b8, unsigned char)
COPIES(b16, unsigned short)
COPIES(b32, u32)
COPIES(b64, u64)
COPIES(b128, uint4)

// Gathers and scatters elements through random indices.
KERNEL gather(const u32 *indices, const u32 *input, u32 *output, u32 n, u32 mask) {
    u32 i = index();
    if (i < n) output[i] = input[indices[i] & mask];
}
KERNEL scatter(const u32 *indices, u32 *output, u32 n, u32 mask) {
    u32 i = index();
    if (i < n) output[indices[i] & mask] = i;
}

// Transposes a matrix of `width` by `height`, in blocks of 32 by 8 threads and tiles of 32 by 32.
KERNEL transpose_naive(const float *input, float *output, u32 width, u32 height) {
    u32 x = blockIdx.x * 32 + threadIdx.x;
    for (u32 y = blockIdx.y * 32 + threadIdx.y; y < blockIdx.y * 32 + 32; y += 8)
        if (x < width && y < height) output[x * height + y] = input[y * width + x];
}
template <int pitch> __device__ void transpose(const float *input, float *output, u32 width, u32 height) {
    __shared__ float tile[32 * pitch];
    u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (u32 j = 0; j < 32; j += 8)
        if (x < width && y + j < height) tile[(threadIdx.y + j) * pitch + threadIdx.x] = input[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (u32 j = 0; j < 32; j += 8)
        if (x < height && y + j < width) output[(y + j) * height + x] = tile[threadIdx.x * pitch + threadIdx.y + j];
}
KERNEL transpose_tiled(const float *input, float *output, u32 width, u32 height) {
    transpose<32>(input, output, width, height);
}
KERNEL transpose_padded(const float *input, float *output, u32 width, u32 height) {
    transpose<33>(input, output, width, height);
}

// Each thread writes a cell of dynamic shared memory and reads the cell of another thread. The
// cells of neighbouring threads are `stride` cells apart, so a block needs `stride` cells for each
// thread. The block size must be a power of two.
# define SHARED(name, type)
# \
    KERNEL shared_strided_##name(const type *input, type *output, u32 stride) {                        \
        extern __shared__ uint4 cells[];                                                               \
        type *cell = reinterpret_cast<type *>(cells);                                                  \
        cell[threadIdx.x * stride] = input[index()];                                                   \
        __syncthreads();                                                                               \
        output[index()] = cell[(threadIdx.x ^ 1) * stride];                                            \
    }                                                                                                  \
    /* `group` (a power of two) neighbouring threads read the same cell. */                            \
    KERNEL shared_broadcast_##name(const type *input, type *output, u32 group) {                       \
        extern __shared__ uint4 cells[];                                                               \
        type *cell = reinterpret_cast<type *>(cells);                                                  \
        cell[threadIdx.x] = input[index()];                                                            \
        __syncthreads();                                                                               \
        output[index()] = cell[threadIdx.x / group];                                                   \
    }
SHARED(b8, unsigned char)
SHARED(b32, u32)
SHARED(b64, u64)
SHARED(b128, uint4)

// Each warp adds up values of a 32 by 32 tile in shared memory, which it reads by rows and by
// columns.
template <int pitch> __device__ void columns(const u32 *input, u32 *output) {
    __shared__ u32 tile[32 * pitch];
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    tile[lane * pitch + warp] = input[threadIdx.x];
    __syncthreads();
    u32 sum = 0;
    // Each warp begins at another row, so that ptxas cannot merge neighbouring accesses of a row.
    for (u32 i = 0; i < 32; i++) {
        u32 at = (i + warp) % 32;
        sum += tile[at * pitch + lane] ^ tile[lane * pitch + at];
    }
    output[threadIdx.x] = sum;
}
KERNEL columns_naive(const u32 *input, u32 *output) { columns<32>(input, output); }
KERNEL columns_padded(const u32 *input, u32 *output) { columns<33>(input, output); }

// Atomics on global memory. Their values differ from lane to lane and from call to call. The
// kernels named `atom_…` store the results of the atomics; those named `red_…` do not use them.
KERNEL atom_distinct(u32 *cells, u32 *output, u32 n, u32 stride) {
    u32 i = index();
    if (i < n) output[i] = atomicAdd(cells + i * stride, i);
}
KERNEL atom_groups(u32 *cells, u32 *output, u32 n, u32 group) {
    u32 i = index();
    if (i < n) output[i] = atomicMax(cells + i / group, i);
}
KERNEL atom_random(const u32 *indices, u32 *cells, u32 *output, u32 n, u32 mask) {
    u32 i = index();
    if (i < n) output[i] = atomicExch(cells + (indices[i] & mask), i);
}
KERNEL atom_wide(u64 *cells, u64 *output, u32 n, u32 stride) {
    u32 i = index();
    if (i < n) output[i] = atomicAdd(cells + i * stride, (u64)i);
}
KERNEL atom_cas(u32 *cells, u32 *output, u32 n, u32 stride) {
    u32 i = index();
    if (i < n) output[i] = atomicCAS(cells + i * stride, i, i + 1);
}
KERNEL red_distinct(u32 *cells, u32 n, u32 stride) {
    u32 i = index();
    if (i < n) atomicAdd(cells + i * stride, i);
}
KERNEL red_groups(u32 *cells, u32 n, u32 group) {
    u32 i = index();
    if (i < n) atomicMax(cells + i / group, i);
}
KERNEL red_random(const u32 *indices, float *cells, u32 n, u32 mask) {
    u32 i = index();
    if (i < n) atomicAdd(cells + (indices[i] & mask), (float)i);
}
KERNEL red_same(float *cell, const float *input, u32 n) {
    u32 i = index();
    if (i < n) atomicAdd(cell, input[i]);
}

// Histograms of 256 bins, directly in global memory or through shared memory. The increments differ
// from thread to thread, because hardware has a faster way for equal increments.
KERNEL histogram_global(const u32 *input, u32 *bins, u32 n, u32 mask) {
    for (u32 i = index(); i < n; i += gridDim.x * blockDim.x) atomicAdd(bins + (input[i] & mask), i);
}
KERNEL histogram_shared(const u32 *input, u32 *bins, u32 n, u32 mask) {
    __shared__ u32 mine[256];
    for (u32 bin = threadIdx.x; bin < 256; bin += blockDim.x) mine[bin] = 0;
    __syncthreads();
    for (u32 i = index(); i < n; i += gridDim.x * blockDim.x) atomicAdd(mine + (input[i] & mask), i);
    __syncthreads();
    for (u32 bin = threadIdx.x; bin < 256; bin += blockDim.x) atomicAdd(bins + bin, mine[bin]);
}
// Atomics on shared memory, whose results are stored. The cells of neighbouring threads are
// `stride` cells apart.
KERNEL shared_atom(u32 *output, u32 stride) {
    extern __shared__ u32 slots[];
    for (u32 i = threadIdx.x; i < blockDim.x * stride; i += blockDim.x) slots[i] = i;
    __syncthreads();
    output[index()] = atomicExch(slots + (threadIdx.x * stride & (blockDim.x - 1)), threadIdx.x);
}

// Lanes that diverge: by the parity of a value, by the length of a loop, or by a bit pattern.
KERNEL divergent_halves(const u32 *input, u32 *output, u32 n) {
    u32 i = index();
    if (i >= n) return;
    u32 value = input[i];
    if (value & 1) {
        for (u32 step = 0; step < 3; step++) value = value * 1664525 + input[(i + 7 * value) % n];
        output[i] = value;
    } else {
        output[i] = __popc(value);
    }
}
KERNEL divergent_loop(const u32 *input, u32 *output, u32 n) {
    u32 i = index();
    if (i >= n) return;
    u32 sum = 0;
#pragma unroll 1
    for (u32 step = 0; step <= threadIdx.x % 8; step++) sum += input[(i + 32 * step) % n];
    output[i] = sum;
}
KERNEL sparse_lanes(const u32 *input, u32 *output, u32 n, u32 lanes) {
    u32 i = index();
    if (i < n && (lanes >> (threadIdx.x % 32) & 1)) output[i] = input[i];
}
