// Reduction kernels with shared memory, shuffles, votes, calls and atomics.
// nvcc -std=c++17 -arch=sm_75 -ptx reduce.cu -o nvcc.sm_75.ptx; also for sm_90, and with -lineinfo.
#include <cstdint>

__constant__ float weights[8];
__device__ unsigned int blocks_done;
extern __shared__ float dynamic[];

struct Scale { int factor; float offset; double power; };

__device__ __noinline__ int helper(int a, long long b) { return a * static_cast<int>(b) + 7; }

extern "C" __global__ void grid_stride(const int* __restrict__ in, int* out, int n, Scale scale) {
  __shared__ int tile[256];
  int t = threadIdx.x, sum = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += in[i] % scale.factor;
  tile[t] = sum;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d >>= 1) {
    if (t < d) tile[t] += tile[t + d];
    __syncthreads();
  }
  int v = __shfl_down_sync(~0u, tile[t], 3);
  if (t == 0) {
    out[blockIdx.x] = helper(v, scale.factor);
    __threadfence();
    if (atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1) out[0] = -1;
  }
  dynamic[t] = weights[t & 7] * sinf(scale.offset) + sqrtf(scale.offset) + static_cast<float>(exp(scale.power));
  if (__syncthreads_or(dynamic[t] > 3.f)) out[7] = __syncthreads_count(dynamic[t] > 4.f);
}

extern "C" __global__ void interleaved(const int* in, int* out) {
  extern __shared__ int data[];
  unsigned t = threadIdx.x;
  data[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    if (t % (2 * s) == 0) data[t] += data[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = data[0];
}

extern "C" __global__ void warps(const int* in, unsigned* out, unsigned long long* wide) {
  int v = in[threadIdx.x];
  int pred;
  v += __shfl_xor_sync(~0u, v, 16);
  v += __shfl_up_sync(~0u, v, 2, 16);
  v += __shfl_sync(~0u, v, 3, 8);
  out[0] = __ballot_sync(~0u, v > 3);
  if (__any_sync(~0u, v > 4)) out[1] = __activemask();
  if (__all_sync(~0u, v > 5)) out[2] = 5;
  if (__uni_sync(~0u, v > 5)) out[2] = 6;
#if __CUDA_ARCH__ >= 700
  out[3] = __match_any_sync(~0u, v);
  out[4] = __match_all_sync(~0u, wide[threadIdx.x], &pred) + pred;
#endif
#if __CUDA_ARCH__ >= 800
  out[5] = __reduce_add_sync(~0u, v) + __reduce_max_sync(~0u, v) + __reduce_xor_sync(~0u, static_cast<unsigned>(v));
#endif
  __syncwarp();
  unsigned lane, mask;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  out[6] = lane + mask;
  wide[0] = clock64();
}

extern "C" __global__ void atomics(int* i, float* f, double* d, unsigned long long* u) {
  __shared__ int s;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  atomicAdd(&s, i[threadIdx.x]);
  atomicAdd(f, 1.5f);
  atomicAdd(d, 2.5);
  atomicMax(i, 3);
  atomicMin(u, 3ull);
  atomicExch(i + 1, 4);
  atomicAnd(i + 2, 5);
  atomicXor(i + 3, atomicOr(i + 4, 6));
  unsigned long long old = *u, seen;
  do { seen = old; old = atomicCAS(u, seen, seen * 3); } while (old != seen);
  __threadfence_block();
  __threadfence_system();
  atomicAdd_block(i + 5, s);
  atomicAdd_system(i + 6, s);
}

extern "C" __global__ void vectors(const float4* __restrict__ in, float4* out, const volatile int* flag) {
  float4 v = in[threadIdx.x];
  v.x = fmaf(v.y, v.z, v.w);
  v.y = fminf(v.x, fabsf(v.z)) / v.w;
  v.z = rsqrtf(v.y) + __fdividef(v.x, v.y) + __expf(v.x) + __logf(v.y) + truncf(v.z) + rintf(v.w);
  v.w = __fadd_rz(v.x, v.y) + __saturatef(v.z) + copysignf(v.x, v.y);
  while (*flag == 0) __nanosleep(100);
  out[threadIdx.x] = v;
}

extern "C" __global__ void doubles(double* d, long long* l, int n) {
  double local[16];
  for (int i = 0; i < 16; ++i) local[i] = d[i] * n;
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += local[(i * 7) & 15];
  d[0] = sqrt(sum) / (1 + fmin(sum, d[1])) + static_cast<double>(l[0]) + floor(d[2]);
  l[0] = static_cast<long long>(sum) / l[1] + l[2] % l[3] + __mul64hi(l[4], l[5]);
  l[1] = __popcll(l[1]) + __clzll(l[2]) + __brevll(l[3]) + __ffs(n) + __double_as_longlong(sum);
  l[2] = min(static_cast<unsigned>(n), 7u) / 3u + abs(n) + (l[4] << n) + (l[5] >> n);
}

extern "C" __global__ void bits(unsigned* u) {
  unsigned a = u[0], b = u[1];
  u[2] = __byte_perm(a, b, 0x3210 ^ a) + __funnelshift_l(a, b, a) + __funnelshift_r(a, b, 3) + (a & b ^ u[5] | ~u[6]);
  u[3] = __umulhi(a, b) + __sad(a, b, 3) + __brev(a) + __popc(a) + __clz(b);
  unsigned r;
  asm("bfe.u32 %0, %1, 3, 5;" : "=r"(r) : "r"(a));
  asm("bfi.b32 %0, %1, %2, 3, 5;" : "+r"(r) : "r"(a), "r"(b));
  asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p add.u32 %0, %1, 1; }" : "+r"(r) : "r"(a));
  asm("{ add.cc.u32 %0, %1, %2; addc.u32 %0, %0, 0; }" : "=r"(r) : "r"(r), "r"(b));
  u[4] = r;
  reinterpret_cast<unsigned char*>(u)[40] = static_cast<unsigned char>(a);
  reinterpret_cast<short*>(u)[30] = static_cast<short>(b) + reinterpret_cast<short*>(u)[31];
}

extern "C" __global__ void __launch_bounds__(128, 2) branches(int* x) {
  switch (x[threadIdx.x]) {
    case 0: x[0] = 3; break;
    case 1: x[1] += 5; break;
    case 2: x[2] *= 7; break;
    case 3: x[3] ^= 11; break;
    case 4: x[4] = x[5] / 3; break;
    case 5: x[6] = __shfl_sync(~0u, x[7], 0); break;
    case 6: x[7] -= 13; __syncthreads(); break;
    case 7: __trap();
    default: return;
  }
  x[8] = 1;
}
