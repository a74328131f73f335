// nvcc: -arch=compute_80 -std=c++17
// Copies that overlap with work: two stages of asynchronous copies to shared memory.

#include <cuda_pipeline.h>

extern "C" __global__ void pipelined(const float4 *in, float4 *out, int tiles)
{
    __shared__ float4 stage[2][64];
    int thread = threadIdx.x;
    __pipeline_memcpy_async(&stage[0][thread], &in[thread], sizeof(float4));
    __pipeline_commit();
    for (int tile = 0; tile < tiles; tile++) {
        if (tile + 1 < tiles)
            __pipeline_memcpy_async(&stage[(tile + 1) % 2][thread], &in[(tile + 1) * 64 + thread], sizeof(float4));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 a = stage[tile % 2][thread], b = stage[tile % 2][63 - thread];
        out[tile * 64 + thread] = make_float4(a.x + b.w, a.y - b.z, a.z * b.y, a.w + 2 * b.x);
        __syncthreads();
    }
}
