// For each point of a window: the steps, at most `limit`, until z = z^2 + c has |z| > 2.

extern "C" __global__ void mandelbrot(int* steps, int width, int height, float left, float top, float scale, int limit) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float c_re = left + x * scale, c_im = top + y * scale;
    float re = 0, im = 0;
    int step = 0;
    while (step < limit && re * re + im * im <= 4) {
        float next = re * re - im * im + c_re;
        im = 2 * re * im + c_im;
        re = next;
        step++;
    }
    steps[y * width + x] = step;
}
