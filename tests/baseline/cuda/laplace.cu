// Stencils in two and three dimensions, four points for each thread.
#include "common.cuh"

__device__ __forceinline__ float4 across(const float4 *before, float4 own, u64 at, u32 x, u32 columns) {
    float left = x > 0 ? before[at - 1].w : 0.0f, right = x + 1 < columns ? before[at + 1].x : 0.0f;
    return {left + own.y, own.x + own.z, own.y + own.w, own.z + right};
}

__device__ __forceinline__ float4 inner(float4 old, float4 mean, u32 x, u32 columns) {
    return {x > 0 ? mean.x : old.x, mean.y, mean.z, x + 1 < columns ? mean.w : old.w};
}

__device__ __forceinline__ float4 sum(float4 a, float4 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

__device__ __forceinline__ float4 times(float factor, float4 a) {
    return {factor * a.x, factor * a.y, factor * a.z, factor * a.w};
}

KERNEL laplace_2d(const float4 *__restrict__ before, u64, float4 *__restrict__ after, u32 rows, u32 columns) {
    u32 x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    u64 at = (u64)y * columns + x;
    float4 own = before[at], next = own;
    if (y > 0 && y + 1 < rows) {
        float4 row = across(before, own, at, x, columns), up = before[at - columns], down = before[at + columns];
        next = inner(own, times(0.25f, sum(row, sum(up, down))), x, columns);
    }
    after[at] = next;
}

// Not unrolled and with fewer registers than nvcc chooses by itself, it is faster.
KERNEL __launch_bounds__(256, 8) laplace_3d(const float4 *__restrict__ before, u64, float4 *__restrict__ after,
                                            u32 layers, u32 rows, u32 columns) {
    u32 x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    u32 first = 4 * (blockIdx.z * blockDim.z + threadIdx.z);
    if (x >= columns || y >= rows || first >= layers) return;
    u64 layer = (u64)rows * columns, at = first * layer + (u64)y * columns + x;
    bool inside = y > 0 && y + 1 < rows;
    u32 end = min(first + 4, layers);
    const float4 *p = before + at;
    float4 *q = after + at;
#pragma unroll 1
    for (u32 z = first; z < end; z++) {
        float4 own = *p, next = own;
        if (inside && z > 0 && z + 1 < layers) {
            float4 row = across(p, own, 0, x, columns), up = *(p - columns), down = p[columns];
            float4 front = *(p - layer), back = p[layer];
            next = inner(own, times(1.0f / 6.0f, sum(row, sum(sum(up, down), sum(front, back)))), x, columns);
        }
        *q = next;
        p += layer, q += layer;
    }
}
