// Functions of CUDA's math library in double precision, one kernel each.

#define UNARY(function)                                                            \
    extern "C" __global__ void d_##function(const double *x, double *out, int n) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                             \
        if (i < n) out[i] = function(x[i]);                                        \
    }
#define BINARY(function)                                                                            \
    extern "C" __global__ void d_##function(const double *x, const double *y, double *out, int n) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                              \
        if (i < n) out[i] = function(x[i], y[i]);                                                   \
    }

UNARY(log) UNARY(log2) UNARY(log10) UNARY(log1p)
UNARY(exp) UNARY(exp2) UNARY(exp10) UNARY(expm1)
UNARY(sin) UNARY(cos) UNARY(tan) UNARY(asin) UNARY(acos) UNARY(atan)
UNARY(sinh) UNARY(cosh) UNARY(tanh) UNARY(asinh) UNARY(acosh) UNARY(atanh)
UNARY(sqrt) UNARY(rsqrt) UNARY(cbrt) UNARY(rcbrt)
UNARY(erf) UNARY(erfc) UNARY(erfinv) UNARY(lgamma) UNARY(tgamma)
BINARY(pow) BINARY(atan2) BINARY(hypot) BINARY(fmod)
