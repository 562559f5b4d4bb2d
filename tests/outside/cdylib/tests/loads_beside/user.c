/* Another user of libcuda, which names its functions as any C program does. */
unsigned cuInit(unsigned flags);

unsigned user_init(void) { return cuInit(0); }
void *user_address_of_init(void) { return (void *)cuInit; }
