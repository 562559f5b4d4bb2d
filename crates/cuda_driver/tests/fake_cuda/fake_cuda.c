/* A library with the driver's function names and none of its function, for tests.
   VERSION, INIT and DEVICES are what it answers; OMIT leaves one function out. */
#include <stddef.h>
#include <stdint.h>

unsigned cuDriverGetVersion(int *version) { *version = VERSION; return 0; }
unsigned cuInit(unsigned flags) { return flags ? 1 : INIT; }
unsigned cuDeviceGetCount(int *count) { *count = DEVICES; return 0; }

unsigned cuGetErrorName(unsigned code, const char **text) {
    *text = code == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" : NULL;
    return *text ? 0 : 1;
}
unsigned cuGetErrorString(unsigned code, const char **text) {
    *text = code == 803 ? "system has unsupported display driver / cuda driver combination" : NULL;
    return *text ? 0 : 1;
}

/* The only one with many arguments: it accepts 1, 2, ... 11, of which the last five travel on the stack. */
unsigned cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, void *stream, void **params, void **extra) {
    return (uintptr_t)function == 1 && gx == 2 && gy == 3 && gz == 4 && bx == 5 && by == 6 && bz == 7 && shared == 8 &&
           (uintptr_t)stream == 9 && (uintptr_t)params == 10 && (uintptr_t)extra == 11 ? 0 : 1;
}

#define PRESENT(name) unsigned name(void) { return 801; }
PRESENTS
#ifndef OMIT
PRESENT(cuModuleUnload)
#endif
