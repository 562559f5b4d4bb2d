// Accelerations by all pairs of bodies (position and mass), in tiles of blockDim.x bodies.

extern "C" __global__ void nbody(const float4* bodies, float4* accelerations, int n, float softening) {
    extern __shared__ float4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float x = 0, y = 0, z = 0;
    for (int start = 0; start < n; start += blockDim.x) {
        int other = start + threadIdx.x;
        tile[threadIdx.x] = other < n ? bodies[other] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < blockDim.x; k++) {
            float4 body = tile[k];
            float dx = body.x - own.x, dy = body.y - own.y, dz = body.z - own.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            float weight = body.w * inverse * inverse * inverse;
            x += weight * dx;
            y += weight * dy;
            z += weight * dz;
        }
        __syncthreads();
    }
    if (i < n) accelerations[i] = make_float4(x, y, z, 0);
}
