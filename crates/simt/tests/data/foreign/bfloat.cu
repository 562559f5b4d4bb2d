// Arithmetic, comparison and conversion of bfloat16. Below sm_90 sums and products are made of fma.

#include <cuda_bf16.h>

extern "C" __global__ void bfloat_add(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

// Eight results for each element.
extern "C" __global__ void bfloat_operations(const __nv_bfloat16* a, const __nv_bfloat16* b, const __nv_bfloat16* c,
                                             __nv_bfloat16* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat16* to = out + 8 * i;
    to[0] = a[i] - b[i];
    to[1] = a[i] * b[i];
    to[2] = __hfma(a[i], b[i], c[i]);
    to[3] = __hneg(a[i]);
    to[4] = __habs(a[i]);
    to[5] = __hmin(a[i], b[i]);
    to[6] = __hlt(a[i], b[i]) ? a[i] : b[i];
    to[7] = __float2bfloat16_rz(__bfloat162float(a[i]) * 1.2345f);
}

// The sums of pairs, and fused products.
extern "C" __global__ void bfloat2_operations(const __nv_bfloat162* a, const __nv_bfloat162* b, __nv_bfloat162* out,
                                              int pairs) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs) return;
    out[2 * i] = __hadd2(a[i], b[i]);
    out[2 * i + 1] = __hfma2(a[i], b[i], a[i]);
}
