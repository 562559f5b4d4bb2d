/* A library with the driver's function names and none of its function, for tests.
   VERSION, INIT and DEVICES are what it answers. FUNCTIONS stands for those that only write down how they were called. */
#include <stddef.h>
#include <stdint.h>

/* The last call: its name, and its arguments as 64-bit words. */
const char *fake_name;
uint64_t fake_arguments[16];

static unsigned fake_called(const char *name, unsigned count, const uint64_t *arguments) {
    fake_name = name;
    for (unsigned i = 0; i < count; i++) fake_arguments[i] = arguments[i];
    return 5000 + count;
}

/* A handle that is passed by value, and a number that depends on all of its bytes. */
struct handle { unsigned char reserved[64]; };

uint64_t handle_word(struct handle handle) {
    uint64_t word = 0;
    for (unsigned i = 0; i < sizeof handle.reserved; i++) word = word * 31 + handle.reserved[i];
    return word;
}

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

FUNCTIONS
