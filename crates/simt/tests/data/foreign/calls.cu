// Calls through addresses: virtual functions and function pointers.

struct Shape {
    __device__ virtual float area(float scale) const = 0;
    __device__ virtual int sides() const { return 0; }
};
struct Square : Shape {
    float side;
    __device__ explicit Square(float side) : side(side) {}
    __device__ float area(float scale) const override { return side * side * scale; }
    __device__ int sides() const override { return 4; }
};
struct Circle : Shape {
    float radius;
    __device__ explicit Circle(float radius) : radius(radius) {}
    __device__ float area(float scale) const override { return 3.0f * radius * radius * scale; }
};
// A virtual function that calls other objects' virtual functions of the same type.
struct Pair : Shape {
    const Shape *first, *second;
    __device__ Pair(const Shape *first, const Shape *second) : first(first), second(second) {}
    __device__ float area(float scale) const override { return first->area(scale) + second->area(scale); }
    __device__ int sides() const override { return first->sides() + second->sides(); }
};

// Thread i has a square, a circle or a pair of both. With nested pairs, threads with i % 4 == 3
// have a pair of pairs.
extern "C" __global__ void areas(const float *x, float *area, int *sides, int nested) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Square square(x[i]);
    Circle circle(x[i]);
    Pair pair(&square, &circle), pairs(&pair, &pair);
    const Shape *shapes[4] = {&square, &circle, &pair, nested ? &pairs : &pair};
    const Shape *shape = shapes[i % 4];
    area[i] = shape->area(2.0f);
    sides[i] = shape->sides();
}

struct Triple {
    double a;
    int b;
    char c[3];
};
typedef Triple (*Step)(Triple, int);
__device__ Triple grow(Triple t, int by) {
    t.a += by;
    t.c[1] += 1;
    return t;
}
__device__ Triple turn(Triple t, int by) {
    t.b = by - t.b;
    t.c[2] = t.c[1];
    return t;
}
__device__ Step steps[2] = {grow, turn};

// Each thread takes `count` steps, which its bits choose. Nothing waits between the steps, and the
// threads of a warp must meet again for the sum at the end.
extern "C" __global__ void walk(const int *bits, double *a, int *b, int *sum, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Triple t = {1.0, 2, {3, 4, 5}};
    for (int n = 0; n < count; ++n) t = steps[bits[i] >> n & 1](t, n);
    a[i] = t.a;
    b[i] = t.b * 100 + t.c[2];
    int total = t.b;
    for (int distance = 16; distance > 0; distance /= 2) total += __shfl_xor_sync(0xffffffff, total, distance);
    sum[i] = total;
}

// A pointer that a launch may leave null, and that a kernel sets.
__device__ float (*chosen)(float);
__device__ float half_of(float x) { return x / 2; }
__device__ float square_of(float x) { return x * x; }
extern "C" __global__ void choose(int which) { chosen = which ? square_of : half_of; }
extern "C" __global__ void apply(float *x) { x[threadIdx.x] = chosen(x[threadIdx.x]); }
