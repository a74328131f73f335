// Gravity between all pairs of bodies, and a step of k-means.
#include "common.cuh"

KERNEL __launch_bounds__(256) nbody(const float4 *__restrict__ bodies, u64 n, float softening,
                                    float4 *__restrict__ acceleration, u64) {
    __shared__ float4 tile[256];
    u64 i = (u64)blockIdx.x * 256 + threadIdx.x;
    float4 own = i < n ? bodies[i] : float4{};
    float3 sum = {};
    for (u64 start = 0; start < n; start += 256) {
        tile[threadIdx.x] = start + threadIdx.x < n ? bodies[start + threadIdx.x] : float4{};
        __syncthreads();
        for (int k = 0; k < 256; k++) {
            float4 other = tile[k];
            float3 d = {other.x - own.x, other.y - own.y, other.z - own.z};
            float inverse = rsqrtf(d.x * d.x + d.y * d.y + d.z * d.z + softening);
            float pull = other.w * inverse * inverse * inverse;
            sum.x += pull * d.x, sum.y += pull * d.y, sum.z += pull * d.z;
        }
        __syncthreads();
    }
    if (i < n) acceleration[i] = {sum.x, sum.y, sum.z, 0.0f};
}

KERNEL __launch_bounds__(128) kmeans(const float4 *__restrict__ points, u64, const float4 *__restrict__ centres,
                                     u64 count, u32 *__restrict__ labels, u64 n, float *sums, u64) {
    __shared__ float4 near[128];
    __shared__ float local[128 * 5];
    if (threadIdx.x < count) near[threadIdx.x] = centres[threadIdx.x];
    for (u32 i = threadIdx.x; i < 128 * 5; i += 128) local[i] = 0.0f;
    __syncthreads();
    for (u64 i = (u64)blockIdx.x * 128 + threadIdx.x; i < n; i += (u64)gridDim.x * 128) {
        float4 point = points[i];
        u32 nearest = 0;
        float least = __int_as_float(0x7f800000);
        for (u32 k = 0; k < count; k++) {
            float4 centre = near[k];
            float x = point.x - centre.x, y = point.y - centre.y, z = point.z - centre.z, w = point.w - centre.w;
            float distance = x * x + y * y + z * z + w * w;
            if (distance < least) nearest = k, least = distance;
        }
        labels[i] = nearest;
        atomicAdd(&local[5 * nearest], point.x);
        atomicAdd(&local[5 * nearest + 1], point.y);
        atomicAdd(&local[5 * nearest + 2], point.z);
        atomicAdd(&local[5 * nearest + 3], point.w);
        atomicAdd(&local[5 * nearest + 4], 1.0f);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < 5 * count; i += 128) atomicAdd(&sums[i], local[i]);
}

KERNEL spmv(const u32 *__restrict__ starts, u64, const u32 *__restrict__ columns, u64,
            const float *__restrict__ values, u64, const float *__restrict__ x, u64, float *__restrict__ y, u64 rows) {
    u64 row = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u32 lane = threadIdx.x % 32;
    u32 start = row < rows ? starts[row] : 0, end = row < rows ? starts[row + 1] : 0;
    float own = 0;
    for (u32 step = 0; step < 8; step++) {
        u32 owner = 4 * step + lane / 8;
        u32 first = __shfl_sync(~0u, start, owner), last = __shfl_sync(~0u, end, owner);
        float sum = 0;
        for (u32 k = first + lane % 8; k < last; k += 8) sum += values[k] * x[columns[k]];
        for (int lanes = 4; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
        sum = __shfl_sync(~0u, sum, lane % 4 * 8);
        if (lane / 4 == step) own = sum;
    }
    if (row < rows) y[row] = own;
}
