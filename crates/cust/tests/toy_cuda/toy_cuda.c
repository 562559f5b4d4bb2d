/* A toy driver whose device is the host. It allocates by malloc and copies by memcpy, and each call
   does its work before it returns. It counts the live objects, and fails where a test wants it to.
   Functions that the test does not reach exist and return 801. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned CUresult;
typedef unsigned long long CUdeviceptr;

/* The number of live objects: allocations of the device, allocations of the host, contexts,
   modules, streams and events. */
int toy_live[6];
/* The code that the next call of cuMemFree_v2 returns. */
unsigned toy_next_free;
/* The last launch: the grid, the block, the bytes of shared memory, and the arguments of the only
   kernel. */
struct { unsigned shape[7]; uint64_t address; uint32_t len; float factor; } toy_launch;

CUresult cuInit(unsigned flags) { return flags ? 1 : 0; }
CUresult cuDriverGetVersion(int *version) { *version = 12080; return 0; }
CUresult cuGetErrorName(CUresult code, const char **text) { *text = code == 46 ? "CUDA_ERROR_DEVICE_UNAVAILABLE" : NULL; return !*text; }
CUresult cuGetErrorString(CUresult code, const char **text) { *text = code == 46 ? "busy" : NULL; return !*text; }

CUresult cuDeviceGetCount(int *count) { *count = 2; return 0; }
CUresult cuDeviceGet(int *device, int ordinal) { *device = 10 + ordinal; return ordinal < 0 || ordinal > 1 ? 101 : 0; }
CUresult cuDeviceGetName(char *name, int len, int device) { memset(name, 'x', len); memcpy(name, device == 10 ? "first" : "other", 6); return 0; }
CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 1000 + device; return 0; }
CUresult cuDeviceGetAttribute(int *value, unsigned attribute, int device) { *value = attribute * 100 + device; return 0; }
CUresult cuDeviceGetUuid_v2(unsigned char *uuid, int device) { for (int i = 0; i < 16; i++) uuid[i] = 240 + i; return 0; }

static void *current;
CUresult cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)(uintptr_t)(device * 16); toy_live[2]++; return 0; }
CUresult cuDevicePrimaryCtxRelease_v2(int device) { toy_live[2]--; return 0; }
CUresult cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) { return flags ? 1 : 0; }
CUresult cuCtxGetCurrent(void **context) { *context = current; return 0; }
CUresult cuCtxSetCurrent(void *context) { current = context; return 0; }
CUresult cuCtxGetDevice(int *device) { *device = (int)((uintptr_t)current / 16); return 0; }

CUresult cuModuleLoadDataEx(void **module, const void *image, unsigned count, unsigned *options, void **values) {
    if (strcmp(image, "ptx")) return 218;
    if (count != 1 || options[0] != 0 || (uintptr_t)values[0] != 64) return 1;
    *module = (void *)16;
    toy_live[3]++;
    return 0;
}
CUresult cuModuleUnload(void *module) { toy_live[3]--; return 0; }
CUresult cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = (void *)32;
    return strcmp(name, "scale") ? 500 : 0;
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, void *module, const char *name) {
    static float factor = 1.5;
    *address = (uintptr_t)&factor;
    *bytes = sizeof factor;
    return strcmp(name, "FACTOR") ? 500 : 0;
}
CUresult cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, void *stream, void **parameters, void **extra) {
    unsigned shape[7] = {gx, gy, gz, bx, by, bz, shared};
    if (function != (void *)32 || !stream || extra) return 1;
    memcpy(toy_launch.shape, shape, sizeof shape);
    toy_launch.address = *(uint64_t *)parameters[0];
    toy_launch.len = *(uint32_t *)parameters[1];
    toy_launch.factor = *(float *)parameters[2];
    return 0;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
    if (bytes == 46) return 46;
    if (bytes > 1 << 20) return 2;
    *address = (uintptr_t)malloc(bytes);
    toy_live[0]++;
    return 0;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
    unsigned result = toy_next_free;
    toy_next_free = 0;
    if (result) return result;
    free((void *)(uintptr_t)address);
    toy_live[0]--;
    return 0;
}
CUresult cuMemAllocHost_v2(void **memory, size_t bytes) { *memory = malloc(bytes); toy_live[1]++; return 0; }
CUresult cuMemFreeHost(void *memory) { free(memory); toy_live[1]--; return 0; }
CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags) { return flags == 1 ? cuMemAlloc_v2(address, bytes) : 1; }
CUresult cuMemGetInfo_v2(size_t *free, size_t *total) { *free = 5; *total = 7; return 0; }
#define COPY(name, to_type, from_type, ...) \
    CUresult name(to_type to, from_type from, size_t bytes __VA_ARGS__) { memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes); return bytes ? 0 : 1; }
COPY(cuMemcpyHtoD_v2, CUdeviceptr, const void *)
COPY(cuMemcpyDtoH_v2, void *, CUdeviceptr)
COPY(cuMemcpyDtoD_v2, CUdeviceptr, CUdeviceptr)
COPY(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void *, , void *stream)
COPY(cuMemcpyDtoHAsync_v2, void *, CUdeviceptr, , void *stream)
COPY(cuMemcpyDtoDAsync_v2, CUdeviceptr, CUdeviceptr, , void *stream)
CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t count) { memset((void *)(uintptr_t)address, value, count); return count ? 0 : 1; }
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, void *stream) { return cuMemsetD8_v2(address, value, count); }
CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned value, size_t count) {
    for (size_t i = 0; i < count; i++) ((unsigned *)(uintptr_t)address)[i] = value;
    return count ? 0 : 1;
}

CUresult cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) { *stream = (void *)(uintptr_t)(48 + flags); toy_live[4]++; return priority == -7 ? 0 : 1; }
CUresult cuStreamDestroy_v2(void *stream) { toy_live[4]--; return 0; }
CUresult cuStreamSynchronize(void *stream) { return 719; }
CUresult cuStreamGetFlags(void *stream, unsigned *flags) { *flags = (uintptr_t)stream - 48; return 0; }
CUresult cuStreamAddCallback(void *stream, void (*callback)(void *, CUresult, void *), void *data, unsigned flags) { if (flags) return 1; callback(stream, 0, data); return 0; }
CUresult cuStreamBeginCapture_v2(void *stream, unsigned mode) { return mode == 1 ? 0 : 1; }
CUresult cuStreamEndCapture(void *stream, void **graph) { *graph = (void *)64; return 0; }
CUresult cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) { *exec = (void *)80; return graph != (void *)64 || flags; }
CUresult cuGraphLaunch(void *exec, void *stream) { return exec != (void *)80 || !stream; }
CUresult cuGraphGetNodes(void *graph, void **nodes, size_t *count) {
    if (nodes) { if (*count != 2) return 1; nodes[0] = (void *)96; nodes[1] = (void *)97; }
    *count = 2;
    return 0;
}
CUresult cuGraphNodeGetType(void *node, unsigned *kind) { *kind = (uintptr_t)node - 96; return 0; }
CUresult cuGraphDestroy(void *graph) { return 0; }
CUresult cuGraphExecDestroy(void *exec) { return 0; }
CUresult cuEventCreate(void **event, unsigned flags) { *event = (void *)112; toy_live[5]++; return flags; }
CUresult cuEventDestroy_v2(void *event) { toy_live[5]--; return 0; }
CUresult cuEventRecord(void *event, void *stream) { return 0; }
CUresult cuEventQuery(void *event) { return 600; }
CUresult cuEventElapsedTime(float *milliseconds, void *start, void *end) { *milliseconds = 1.5; return 0; }

#define ABSENT(name) CUresult name(void) { return 801; }
ABSENT(cuFuncGetAttribute)
ABSENT(cuFuncSetAttribute)
ABSENT(cuFuncGetParamInfo)
ABSENT(cuOccupancyMaxActiveBlocksPerMultiprocessor)
ABSENT(cuPointerGetAttribute)
ABSENT(cuStreamGetCtx)
ABSENT(cuStreamWaitEvent)
ABSENT(cuEventSynchronize)
