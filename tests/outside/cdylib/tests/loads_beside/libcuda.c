/* A stand-in for libcuda.so.1 of a host without a GPU. It counts how often it was initialised.
   The last line stands for all that a driver must have beside these and nobody calls here. */
unsigned stand_in_inits;

unsigned cuInit(unsigned flags) { stand_in_inits++; return flags ? 1 : 0; }
unsigned cuDriverGetVersion(int *version) { *version = 13000; return 0; }
unsigned cuDeviceGetCount(int *count) { *count = 0; return 0; }

FUNCTIONS
