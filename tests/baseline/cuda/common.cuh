// What the baselines share. A kernel has the name, the parameters and the launch of the Rust kernel that it is measured
// against: a slice is a pointer and a length, a matrix a pointer and its shape.
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define KERNEL extern "C" __global__ void

// The value summed over the warp, in every lane.
template <class T> __device__ __forceinline__ T warp_sum(T value) {
    for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(~0u, value, lanes);
    return value;
}

// The sum up to each lane.
__device__ __forceinline__ u32 warp_scan(u32 value) {
    u32 lane = threadIdx.x % 32;
    for (u32 distance = 1; distance < 32; distance *= 2) {
        u32 lower = __shfl_up_sync(~0u, value, distance);
        if (lane >= distance) value += lower;
    }
    return value;
}
