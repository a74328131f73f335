// Sums: of blocks, and the histogram.
#include "common.cuh"

KERNEL reduce(const float *__restrict__ x, u64 n, float *__restrict__ sums, u64) {
    __shared__ float warps[32];
    u64 fours = n / 4, first = (u64)blockIdx.x * blockDim.x + threadIdx.x, step = (u64)gridDim.x * blockDim.x;
    float a = 0, b = 0, c = 0, d = 0;
    for (u64 i = first; i < fours; i += step) {
        float4 four = reinterpret_cast<const float4 *>(x)[i];
        a += four.x, b += four.y, c += four.z, d += four.w;
    }
    float sum = (a + b) + (c + d);
    for (u64 i = fours * 4 + first; i < n; i += step) sum += x[i];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    u32 lane = threadIdx.x % 32;
    sum = warp_sum(lane < (blockDim.x + 31) / 32 ? warps[lane] : 0.0f);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

KERNEL __launch_bounds__(256) histogram(const uint4 *__restrict__ bytes, u64 n, u32 *counts, u64) {
    __shared__ u32 local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) {
        uint4 four = bytes[i];
        u32 words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < 16; k++) atomicAdd(&local[words[k / 4] >> 8 * (k % 4) & 255], 1);
    }
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}
