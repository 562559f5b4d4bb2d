// The transpositions in CUDA C++, with which the Rust kernels are compared. The kernels have the
// names, signatures, launch shapes and bounds of those in kernels/src/transpose. Compile this file
// and give transpose.cubin to the `transposition` benchmark:
//
//     nvcc -arch=sm_90 -O3 -cubin -o transpose.cubin transpose.cu

#include <cstddef>
#include <cstdint>

constexpr unsigned BLOCK_ROWS = 8;

struct alignas(16) Pair {
    uint64_t low, high;
};

__device__ __forceinline__ unsigned tile_column() { return blockIdx.x; }
__device__ __forceinline__ unsigned tile_row() { return blockIdx.z * gridDim.y + blockIdx.y; }
// The tile's column and row, in a grid whose blocks go down two columns of tiles at a time.
__device__ __forceinline__ uint2 tile_by_columns() {
    return make_uint2(2 * tile_row() + blockIdx.x % 2, blockIdx.x / 2);
}
__device__ __forceinline__ size_t at(unsigned y, unsigned x, unsigned cols) { return size_t(y) * cols + x; }

// All loads come before the stores, because the compiler cannot know that the matrices do not
// overlap and so could not reorder them.
template <typename T, unsigned TILE>
__device__ __forceinline__ void copy(const T *input, T *output, unsigned rows, unsigned cols) {
    unsigned x = tile_column() * TILE + threadIdx.x, y = tile_row() * TILE + threadIdx.y;
    T elements[TILE / BLOCK_ROWS];
    for (unsigned i = 0; i < TILE; i += BLOCK_ROWS)
        if (x < cols && y + i < rows) elements[i / BLOCK_ROWS] = input[at(y + i, x, cols)];
    for (unsigned i = 0; i < TILE; i += BLOCK_ROWS)
        if (x < cols && y + i < rows) output[at(y + i, x, cols)] = elements[i / BLOCK_ROWS];
}

template <typename T, unsigned TILE>
__device__ __forceinline__ void strided_copy(const T *input, T *output, unsigned rows, unsigned cols) {
    unsigned y = tile_column() * TILE + threadIdx.x, x = tile_row() * TILE + threadIdx.y;
    for (unsigned i = 0; i < TILE; i += BLOCK_ROWS)
        if (y < rows && x + i < cols) output[at(y, x + i, cols)] = input[at(y, x + i, cols)];
}

template <typename T, unsigned TILE>
__device__ __forceinline__ void naive_store(const T *input, T *output, unsigned rows, unsigned cols) {
    unsigned x = tile_column() * TILE + threadIdx.x, y = tile_row() * TILE + threadIdx.y;
    for (unsigned i = 0; i < TILE; i += BLOCK_ROWS)
        if (x < cols && y + i < rows) output[at(x, y + i, rows)] = input[at(y + i, x, cols)];
}

template <typename T, unsigned TILE>
__device__ __forceinline__ void naive_load(const T *input, T *output, unsigned rows, unsigned cols) {
    unsigned x = tile_column() * TILE + threadIdx.x, y = tile_row() * TILE + threadIdx.y;
    for (unsigned i = 0; i < TILE; i += BLOCK_ROWS)
        if (x < rows && y + i < cols) output[at(y + i, x, rows)] = input[at(x, y + i, cols)];
}

template <typename T, unsigned TILE, unsigned PITCH>
__device__ __forceinline__ void shared_copy(const T *input, T *output, unsigned rows, unsigned cols) {
    __shared__ T tile[TILE][PITCH];
    unsigned x = tile_column() * TILE + threadIdx.x, y = tile_row() * TILE + threadIdx.y;
    for (unsigned i = 0; i < TILE; i += BLOCK_ROWS)
        if (x < cols && y + i < rows) tile[threadIdx.y + i][threadIdx.x] = input[at(y + i, x, cols)];
    __syncthreads();
    for (unsigned i = 0; i < TILE; i += BLOCK_ROWS)
        if (x < cols && y + i < rows) output[at(y + i, x, cols)] = tile[threadIdx.y + i][threadIdx.x];
}

// Transposes one tile. A tile that is WHOLE lies inside the matrix, so it needs no test of the
// edges.
template <typename T, unsigned TILE, unsigned PITCH, bool WHOLE>
__device__ __forceinline__ void turn_tile(const T *input, T *output, unsigned rows, unsigned cols, T (&tile)[TILE][PITCH],
                                          unsigned column, unsigned row) {
    unsigned x = column * TILE + threadIdx.x, y = row * TILE + threadIdx.y;
    size_t index_in = at(y, x, cols);
    for (unsigned i = 0; i < TILE; i += BLOCK_ROWS)
        if (WHOLE || (x < cols && y + i < rows)) tile[threadIdx.y + i][threadIdx.x] = input[index_in + at(i, 0, cols)];
    __syncthreads();
    x = row * TILE + threadIdx.x, y = column * TILE + threadIdx.y;
    size_t index_out = at(y, x, rows);
    for (unsigned i = 0; i < TILE; i += BLOCK_ROWS)
        if (WHOLE || (x < rows && y + i < cols)) output[index_out + at(i, 0, rows)] = tile[threadIdx.x][threadIdx.y + i];
}

template <typename T, unsigned TILE, unsigned PITCH>
__device__ __forceinline__ void transpose_tile(const T *input, T *output, unsigned rows, unsigned cols, unsigned column,
                                               unsigned row) {
    __shared__ T tile[TILE][PITCH];
    if ((column + 1) * TILE <= cols && (row + 1) * TILE <= rows)
        turn_tile<T, TILE, PITCH, true>(input, output, rows, cols, tile, column, row);
    else
        turn_tile<T, TILE, PITCH, false>(input, output, rows, cols, tile, column, row);
}

template <typename T, unsigned TILE, unsigned PITCH>
__device__ __forceinline__ void tiled(const T *input, T *output, unsigned rows, unsigned cols) {
    uint2 at = tile_by_columns();
    transpose_tile<T, TILE, PITCH>(input, output, rows, cols, at.x, at.y);
}

template <typename T, unsigned TILE, unsigned PITCH>
__device__ __forceinline__ void padded(const T *input, T *output, unsigned rows, unsigned cols) {
    uint2 at = tile_by_columns();
    transpose_tile<T, TILE, PITCH>(input, output, rows, cols, at.x, at.y);
}

template <typename T, unsigned TILE, unsigned PITCH>
__device__ __forceinline__ void diagonal(const T *input, T *output, unsigned rows, unsigned cols) {
    unsigned column = tile_column(), row = tile_row(), tile_rows = (rows + TILE - 1) / TILE;
    if (row < tile_rows) row = (row + column) % tile_rows;
    transpose_tile<T, TILE, PITCH>(input, output, rows, cols, column, row);
}

template <typename T, unsigned TILE, unsigned PITCH>
__device__ __forceinline__ void swizzled(const T *input, T *output, unsigned rows, unsigned cols) {
    __shared__ T tile[TILE][PITCH];
    unsigned tx = threadIdx.x, ty = threadIdx.y, column = tile_by_columns().x, row = tile_by_columns().y;
    unsigned x = column * TILE + tx, y = row * TILE + ty;
    for (unsigned i = 0; i < TILE; i += BLOCK_ROWS)
        if (x < cols && y + i < rows) tile[ty + i][tx ^ (ty + i)] = input[at(y + i, x, cols)];
    __syncthreads();
    x = row * TILE + tx, y = column * TILE + ty;
    for (unsigned i = 0; i < TILE; i += BLOCK_ROWS)
        if (x < rows && y + i < cols) output[at(y + i, x, rows)] = tile[tx][(ty + i) ^ tx];
}

template <typename T, unsigned TILE, unsigned PITCH>
__device__ __forceinline__ void in_place(T *data, unsigned n) {
    __shared__ T tile[TILE][PITCH], mirror[TILE][PITCH];
    unsigned column = tile_column(), row = tile_row();
    if (column < row) return;
    unsigned tx = threadIdx.x, ty = threadIdx.y;
    unsigned x = column * TILE + tx, y = row * TILE + ty;
    unsigned mirror_x = row * TILE + tx, mirror_y = column * TILE + ty;
    for (unsigned i = 0; i < TILE; i += BLOCK_ROWS) {
        if (x < n && y + i < n) tile[ty + i][tx] = data[at(y + i, x, n)];
        if (column != row && mirror_x < n && mirror_y + i < n) mirror[ty + i][tx] = data[at(mirror_y + i, mirror_x, n)];
    }
    __syncthreads();
    for (unsigned i = 0; i < TILE; i += BLOCK_ROWS) {
        if (mirror_x < n && mirror_y + i < n) data[at(mirror_y + i, mirror_x, n)] = tile[tx][ty + i];
        if (column != row && x < n && y + i < n) data[at(y + i, x, n)] = mirror[tx][ty + i];
    }
}

// Transposes a square of W vectors V, each of W elements, in registers. If the elements are whole
// words, this only renames registers. Smaller elements are moved between words.
template <typename T, typename V, unsigned W>
__device__ __forceinline__ void turn(const V (&square)[W], V (&turned)[W]) {
    const T(&from)[W][W] = reinterpret_cast<const T(&)[W][W]>(square);
    T(&to)[W][W] = reinterpret_cast<T(&)[W][W]>(turned);
#pragma unroll
    for (unsigned r = 0; r < W; r++)
#pragma unroll
        for (unsigned c = 0; c < W; c++) to[c][r] = from[r][c];
}

template <typename T, typename V, unsigned W, unsigned SIDE, unsigned ROWS>
__device__ __forceinline__ void best(const T *input, T *output, unsigned rows, unsigned cols) {
    __shared__ V tile[W][SIDE][SIDE + 1];
    const unsigned side = SIDE * W;
    unsigned tx = threadIdx.x, ty = threadIdx.y, column = tile_column(), row = tile_row();
    if (cols % W == 0) {
        unsigned x = (column * SIDE + tx) * W;
        for (unsigned i = 0; i < SIDE; i += ROWS) {
            unsigned y = (row * SIDE + ty + i) * W;
            V square[W] = {}, turned[W];
#pragma unroll
            for (unsigned k = 0; k < W; k++)
                if (x < cols && y + k < rows) square[k] = *reinterpret_cast<const V *>(input + at(y + k, x, cols));
            turn<T, V, W>(square, turned);
#pragma unroll
            for (unsigned k = 0; k < W; k++) tile[k][tx][ty + i] = turned[k];
        }
    } else {
        for (unsigned i = ty * SIDE + tx; i < side * side; i += SIDE * ROWS) {
            unsigned dy = i / side, dx = i % side, x = column * side + dx, y = row * side + dy;
            if (x < cols && y < rows)
                reinterpret_cast<T *>(&tile[dx % W][dx / W][dy / W])[dy % W] = input[at(y, x, cols)];
        }
    }
    __syncthreads();
    if (rows % W == 0) {
        unsigned x = (row * SIDE + tx) * W;
        for (unsigned i = 0; i < SIDE; i += ROWS) {
            unsigned y = (column * SIDE + ty + i) * W;
#pragma unroll
            for (unsigned k = 0; k < W; k++)
                if (x < rows && y + k < cols)
                    *reinterpret_cast<V *>(output + at(y + k, x, rows)) = tile[k][ty + i][tx];
        }
    } else {
        for (unsigned i = ty * SIDE + tx; i < side * side; i += SIDE * ROWS) {
            unsigned dy = i / side, dx = i % side, x = row * side + dx, y = column * side + dy;
            if (x < rows && y < cols)
                output[at(y, x, rows)] = reinterpret_cast<T *>(&tile[dy % W][dy / W][dx / W])[dx % W];
        }
    }
}

#define DIRECT(variant, T, bytes, TILE)                                                                               \
    extern "C" __global__ void transpose_##variant##_b##bytes##_t##TILE(const T *input, T *output, unsigned rows,    \
                                                                         unsigned cols) {                            \
        variant<T, TILE>(input, output, rows, cols);                                                                 \
    }
#define TILED(variant, T, bytes, TILE, PITCH)                                                                         \
    extern "C" __global__ void transpose_##variant##_b##bytes##_t##TILE(const T *input, T *output, unsigned rows,    \
                                                                         unsigned cols) {                            \
        variant<T, TILE, PITCH>(input, output, rows, cols);                                                          \
    }
#define IN_PLACE(T, bytes, TILE, PITCH)                                                                               \
    extern "C" __global__ void transpose_in_place_b##bytes##_t##TILE(T *data, unsigned n) {                          \
        in_place<T, TILE, PITCH>(data, n);                                                                           \
    }
#define BEST(T, bytes, V, W, SIDE, ROWS, TILE)                                                                        \
    extern "C" __global__ void transpose_best_b##bytes##_t##TILE(const T *input, T *output, unsigned rows,           \
                                                                  unsigned cols) {                                   \
        best<T, V, W, SIDE, ROWS>(input, output, rows, cols);                                                        \
    }
// PADDING is the number of elements in one word, or 1 if an element is at least a word.
#define VARIANTS(T, bytes, TILE, PADDING)                                                                             \
    DIRECT(copy, T, bytes, TILE)                                                                                     \
    DIRECT(strided_copy, T, bytes, TILE)                                                                             \
    DIRECT(naive_store, T, bytes, TILE)                                                                              \
    DIRECT(naive_load, T, bytes, TILE)                                                                               \
    TILED(shared_copy, T, bytes, TILE, TILE)                                                                         \
    TILED(tiled, T, bytes, TILE, TILE)                                                                               \
    TILED(padded, T, bytes, TILE, TILE + PADDING)                                                                    \
    TILED(swizzled, T, bytes, TILE, TILE)                                                                            \
    TILED(diagonal, T, bytes, TILE, TILE + PADDING)                                                                  \
    IN_PLACE(T, bytes, TILE, TILE + PADDING)
#define WIDTH(T, bytes, PADDING)                                                                                      \
    VARIANTS(T, bytes, 16, PADDING)                                                                                  \
    VARIANTS(T, bytes, 32, PADDING)

WIDTH(uint8_t, 1, 4)
WIDTH(uint16_t, 2, 2)
WIDTH(uint32_t, 4, 1)
WIDTH(uint64_t, 8, 1)
WIDTH(Pair, 16, 1)
BEST(uint8_t, 1, uint2, 8, 16, 16, 128)
BEST(uint16_t, 2, uint4, 8, 16, 16, 128)
BEST(uint32_t, 4, uint4, 4, 16, 16, 64)
BEST(uint64_t, 8, uint4, 2, 16, 16, 32)
BEST(Pair, 16, Pair, 1, 16, 16, 16)
