// nvcc: -arch=compute_90 -lineinfo
// Gravity among n bodies: each block stages the others in shared memory, tile by tile.

extern "C" __global__ void nbody(const float4 *bodies, float4 *velocities, float4 *moved, int n, float step)
{
    extern __shared__ float4 tile[];
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = at < n ? bodies[at] : make_float4(0, 0, 0, 0);
    float3 pull = make_float3(0, 0, 0);
    for (int start = 0; start < n; start += blockDim.x) {
        int other = start + threadIdx.x;
        tile[threadIdx.x] = other < n ? bodies[other] : make_float4(0, 0, 0, 0);
        __syncthreads();
#pragma unroll 4
        for (int i = 0; i < blockDim.x; i++) {
            float dx = tile[i].x - own.x, dy = tile[i].y - own.y, dz = tile[i].z - own.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float force = tile[i].w * inverse * inverse * inverse;
            pull.x += force * dx;
            pull.y += force * dy;
            pull.z += force * dz;
        }
        __syncthreads();
    }
    if (at >= n)
        return;
    float4 velocity = velocities[at];
    velocity.x += step * pull.x;
    velocity.y += step * pull.y;
    velocity.z += step * pull.z;
    velocities[at] = velocity;
    moved[at] = make_float4(own.x + step * velocity.x, own.y + step * velocity.y, own.z + step * velocity.z, own.w);
}
