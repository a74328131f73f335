// Inclusive scan in one pass: each block adds the sums of the earlier tiles of its group to the last of the group before.
#include "common.cuh"

#define SCAN_BLOCK 64
#define SCAN_HELD 16 // rows in shared memory; the others are in registers
#define SCAN_ROWS 32
#define SCAN_TILE (4 * SCAN_ROWS * SCAN_BLOCK)
#define SCAN_GROUP 128
#define SCAN_PLACES (SCAN_GROUP + 16)
#define SCAN_THERE (1ull << 32)

__device__ __forceinline__ uint4 load(const u32 *x, u64 n, u64 i, bool whole) {
    if (whole) return *(const uint4 *)(x + i);
    return {i < n ? x[i] : 0, i + 1 < n ? x[i + 1] : 0, i + 2 < n ? x[i + 2] : 0, i + 3 < n ? x[i + 3] : 0};
}

__device__ __forceinline__ void store(u32 *sums, u64 n, u64 i, bool whole, uint4 v) {
    if (whole) {
        *(uint4 *)(sums + i) = v;
        return;
    }
    if (i < n) sums[i] = v.x;
    if (i + 1 < n) sums[i + 1] = v.y;
    if (i + 2 < n) sums[i + 2] = v.z;
    if (i + 3 < n) sums[i + 3] = v.w;
}

__device__ __forceinline__ u32 sum_before(volatile u64 *published, u32 whole) {
    u32 lane = threadIdx.x % 32, group = blockIdx.x / SCAN_GROUP, earlier = blockIdx.x % SCAN_GROUP;
    bool last = earlier == SCAN_GROUP - 1;
    u32 start = group * SCAN_PLACES, first = start - (group > 0), end = start + earlier;
    u32 own = last ? start + SCAN_PLACES - 1 : end;
    if (!last) {
        if (lane == 0) published[own] = SCAN_THERE | whole;
        __nanosleep(3500);
    }
    u32 sum = 0, missing = 0;
#pragma unroll
    for (int k = 0; k < 5; k++) {
        u32 place = start + 32 * k + lane - 32;
        if (place >= first && place < end) missing |= 1 << k;
    }
    while (__any_sync(~0u, missing)) {
#pragma unroll
        for (int k = 0; k < 5; k++) {
            if (missing >> k & 1) {
                u64 word = published[start + 32 * k + lane - 32];
                if (word) sum += (u32)word, missing &= ~(1 << k);
            }
        }
    }
    sum = warp_sum(sum);
    if (last && lane == 0) published[own] = SCAN_THERE | (sum + whole);
    return sum;
}

KERNEL __launch_bounds__(SCAN_BLOCK, 10) scan(const u32 *__restrict__ x, u64 length, u64 *published, u64, u32 *__restrict__ sums, u64 n) {
    __shared__ uint4 held[SCAN_HELD * SCAN_BLOCK];
    __shared__ u32 parts[SCAN_ROWS * 2];
    __shared__ u32 before;
    u64 first = (u64)blockIdx.x * SCAN_TILE;
    bool whole_x = first + SCAN_TILE <= length && (u64)x % 16 == 0, whole_sums = first + SCAN_TILE <= n && (u64)sums % 16 == 0;
    u32 thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    u64 start = first + 4 * thread;
    uint4 rows[2][4], kept[SCAN_ROWS - SCAN_HELD];
#pragma unroll
    for (int k = 0; k < 4; k++) rows[0][k] = load(x, length, start + 4 * SCAN_BLOCK * k, whole_x);
#pragma unroll
    for (int time = 0; time < SCAN_ROWS / 4; time++) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (time < 7) rows[(time + 1) % 2][k] = load(x, length, start + 4 * SCAN_BLOCK * (4 * time + 4 + k), whole_x);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            int row = 4 * time + k;
            uint4 v = rows[time % 2][k];
            u32 up_to = warp_scan(v.x + v.y + v.z + v.w);
            if (lane == 31) parts[2 * row + warp] = up_to;
            v.x = up_to;
            if (row < SCAN_HELD) held[SCAN_BLOCK * row + thread] = v;
            else kept[row - SCAN_HELD] = v;
        }
    }
    __syncthreads();
    u32 starts[2], whole = 0;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        u32 part = parts[32 * half + lane], up_to = warp_scan(part) + whole;
        whole = __shfl_sync(~0u, up_to, 31);
        starts[half] = up_to - part;
    }
    if (warp == 0) {
        u32 sum = sum_before(published, whole);
        if (lane == 0) before = sum;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < SCAN_ROWS; i++) {
        int row = (i + SCAN_HELD) % SCAN_ROWS;
        u32 sum = __shfl_sync(~0u, starts[row / 16], 2 * (row % 16) + warp) + before;
        uint4 v = row < SCAN_HELD ? held[SCAN_BLOCK * row + thread] : kept[row < SCAN_HELD ? 0 : row - SCAN_HELD];
        u32 last = v.x + sum, third = last - v.w, second = third - v.z;
        v = {second - v.y, second, third, last};
        store(sums, n, start + 4 * SCAN_BLOCK * row, whole_sums, v);
    }
}
