// Two levels of inlining: `nvcc -arch=sm_75 -ptx -lineinfo inlined.cu -o nvcc_inlined.sm_75.ptx`.
__device__ __forceinline__ int inner(int x) {
  return x * x % 7;
}
__device__ __forceinline__ int middle(int x) {
  return inner(x + 3) + 1;
}
extern "C" __global__ void nested(int *p) {
  *p = middle(*p);
}
