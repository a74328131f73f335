// Inclusive scan in one pass, with decoupled look-back.
#include "common.cuh"

#define OWN (1ull << 32)
#define ALL (2ull << 32)

__device__ __forceinline__ u32 look_back(volatile u64 *tiles, u32 whole) {
    u32 tile = blockIdx.x, lane = threadIdx.x % 32;
    if (lane == 0) tiles[tile] = (tile == 0 ? ALL : OWN) | whole;
    if (tile == 0) return 0;
    if (tile >= 32) __nanosleep(3000);
    u32 sum = 0, at = tile - (lane + 1);
    while (true) {
        u64 word;
        do word = at < tile ? tiles[at] : ALL;
        while (!__all_sync(~0u, word >= OWN));
        u32 complete = __ballot_sync(~0u, word >= ALL);
        u32 last = complete ? __ffs(complete) - 1 : 32;
        sum += warp_sum(lane <= last ? (u32)word : 0);
        if (complete) break;
        at -= 32;
    }
    if (lane == 0) tiles[tile] = ALL | (sum + whole);
    return sum;
}

KERNEL __launch_bounds__(256) scan(const uint4 *__restrict__ x, u64, u64 *tiles, u64, uint4 *__restrict__ sums, u64 n) {
    __shared__ u32 warps[8][8];
    __shared__ u32 before;
    u64 first = (u64)blockIdx.x * 2048 + threadIdx.x;
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint4 within[8];
    u32 lanes[8];
#pragma unroll
    for (int k = 0; k < 8; k++) within[k] = first + 256 * k < n ? x[first + 256 * k] : uint4{};
#pragma unroll
    for (int k = 0; k < 8; k++) {
        within[k].y += within[k].x, within[k].z += within[k].y, within[k].w += within[k].z;
        lanes[k] = warp_scan(within[k].w);
        if (lane == 31) warps[k][warp] = lanes[k];
    }
    __syncthreads();
    u32 starts[2], whole = 0;
#pragma unroll
    for (int part = 0; part < 2; part++) {
        u32 total = warps[4 * part + lane / 8][lane % 8], up_to = warp_scan(total) + whole;
        whole = __shfl_sync(~0u, up_to, 31);
        starts[part] = up_to - total;
    }
    if (warp == 0) {
        u32 sum = look_back(tiles, whole);
        if (lane == 0) before = sum;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++) {
        u32 start = __shfl_sync(~0u, starts[k / 4], 8 * (k % 4) + warp) + before + lanes[k] - within[k].w;
        uint4 sum = {within[k].x + start, within[k].y + start, within[k].z + start, within[k].w + start};
        if (first + 256 * k < n) sums[first + 256 * k] = sum;
    }
}
