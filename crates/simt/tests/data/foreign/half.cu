// Arithmetic, comparison and conversion of half precision, one by one and in pairs.

#include <cuda_fp16.h>

extern "C" __global__ void half_add(const __half* a, const __half* b, __half* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void half2_add(const __half2* a, const __half2* b, __half2* c, int pairs) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) c[i] = a[i] + b[i];
}

// Eight results for each element.
extern "C" __global__ void half_operations(const __half* a, const __half* b, const __half* c, __half* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half* to = out + 8 * i;
    to[0] = a[i] - b[i];
    to[1] = a[i] * b[i];
    to[2] = __hfma(a[i], b[i], c[i]);
    to[3] = __hmul_sat(a[i], b[i]);
    to[4] = __hneg(a[i]);
    to[5] = __habs(a[i]);
    to[6] = __hmin(a[i], b[i]);
    to[7] = __hmax(a[i], b[i]);
}

// Four results for each pair.
extern "C" __global__ void half2_operations(const __half2* a, const __half2* b, const __half2* c, __half2* out, int pairs) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs) return;
    __half2* to = out + 4 * i;
    to[0] = __hfma2(a[i], b[i], c[i]);
    to[1] = __hmul2(a[i], b[i]);
    to[2] = __hgt2(a[i], b[i]);
    to[3] = __lowhigh2highlow(__hsub2(a[i], b[i]));
}

// A bit for each comparison that holds: < <= > >= == !=, then the same with NaN taken as true.
extern "C" __global__ void half_compare(const __half* a, const __half* b, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half x = a[i], y = b[i];
    out[i] = __hlt(x, y) | __hle(x, y) << 1 | __hgt(x, y) << 2 | __hge(x, y) << 3 | __heq(x, y) << 4 | __hne(x, y) << 5
        | __hltu(x, y) << 6 | __hleu(x, y) << 7 | __hgtu(x, y) << 8 | __hgeu(x, y) << 9 | __hequ(x, y) << 10
        | __hneu(x, y) << 11 | __hbge2(__halves2half2(x, y), __halves2half2(y, x)) << 12 | __hisnan(x) << 13;
}

// Eight results for each element: the four roundings of a float, and integers there and back.
extern "C" __global__ void half_convert(const float* in, unsigned short* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned short* to = out + 8 * i;
    float x = in[i];
    to[0] = __half_as_ushort(__float2half_rn(x));
    to[1] = __half_as_ushort(__float2half_rz(x));
    to[2] = __half_as_ushort(__float2half_rd(x));
    to[3] = __half_as_ushort(__float2half_ru(x));
    to[4] = __half_as_ushort(__int2half_rn(__float2int_rz(x)));
    to[5] = __half2short_rn(__float2half_rn(x));
    to[6] = __half2uint_rz(__float2half_rn(x));
    float2 pair = __half22float2(__floats2half2_rn(x, 2 * x));
    to[7] = __half_as_ushort(__double2half(double(pair.x) + double(pair.y) / 4096));
}

// A dot product: products in half precision, pair by pair, summed in single.
extern "C" __global__ void half_dot(const __half2* a, const __half2* b, float* out, int pairs) {
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += blockDim.x * gridDim.x) {
        float2 product = __half22float2(__hmul2(a[i], b[i]));
        sum += product.x + product.y;
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

// Elements i, i + 16, .. of a add up in slot i % 16, two slots at a time.
extern "C" __global__ void half_atomic(const __half2* a, __half2* slots, int pairs) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) atomicAdd(&slots[i % 8], a[i]);
}
