// A step of radix sort by a digit of 8 bits: counting, and scattering.
#include "common.cuh"

#define KEYS 16

__device__ __forceinline__ u64 first_key() {
    return ((u64)blockIdx.x * 8 + threadIdx.x / 32) * KEYS * 32 + threadIdx.x % 32;
}

KERNEL __launch_bounds__(256) radix_count(const u32 *__restrict__ keys, u64 n, u32 shift, u32 *counts, u64) {
    __shared__ u32 local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    u64 first = first_key();
#pragma unroll
    for (int k = 0; k < KEYS; k++)
        if (first + 32 * k < n) atomicAdd(&local[keys[first + 32 * k] >> shift & 255], 1);
    __syncthreads();
    counts[(u64)threadIdx.x * gridDim.x + blockIdx.x] = local[threadIdx.x];
}

KERNEL __launch_bounds__(256) radix_scatter(const u32 *__restrict__ keys, u64 n, u32 shift,
                                            const u32 *__restrict__ ends, u64, u32 *sorted, u64) {
    __shared__ u32 tables[8][256];
#pragma unroll
    for (int warp = 0; warp < 8; warp++) tables[warp][threadIdx.x] = 0;
    __syncthreads();
    u64 first = first_key();
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, lower = (1u << lane) - 1;
    u32 own[KEYS], ranks[KEYS];
#pragma unroll
    for (int k = 0; k < KEYS; k++) own[k] = first + 32 * k < n ? keys[first + 32 * k] : 0;
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        bool there = first + 32 * k < n;
        u32 digit = there ? own[k] >> shift & 255 : 256;
        u32 equals = __match_any_sync(~0u, digit), leader = __ffs(equals) - 1, before = 0;
        if (lane == leader && there) before = atomicAdd(&tables[warp][digit], __popc(equals));
        ranks[k] = __shfl_sync(~0u, before, leader) + __popc(equals & lower);
    }
    __syncthreads();
    u64 at = (u64)threadIdx.x * gridDim.x + blockIdx.x;
    u32 place = at > 0 ? ends[at - 1] : 0;
#pragma unroll
    for (int warp = 0; warp < 8; warp++) {
        u32 count = tables[warp][threadIdx.x];
        tables[warp][threadIdx.x] = place;
        place += count;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < KEYS; k++)
        if (first + 32 * k < n) sorted[tables[warp][own[k] >> shift & 255] + ranks[k]] = own[k];
}
