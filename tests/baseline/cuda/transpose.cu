// Tiles in shared memory: transposition, and convolution with a halo.
#include "common.cuh"

KERNEL __launch_bounds__(512) transpose(const float *__restrict__ input, u64, float *__restrict__ output, u32 columns,
                                        u32 rows) {
    __shared__ float tile[64][65];
    u32 left = blockIdx.x * 64, top = blockIdx.y * 64, x = threadIdx.x;
#pragma unroll
    for (u32 y = threadIdx.y; y < 64; y += 8)
        if (top + y < rows && left + x < columns) tile[y][x] = input[(u64)(top + y) * columns + left + x];
    __syncthreads();
#pragma unroll
    for (u32 y = threadIdx.y; y < 64; y += 8)
        if (left + y < columns && top + x < rows) output[(u64)(left + y) * rows + top + x] = tile[x][y];
}

struct Filter {
    float weights[5][5];
};

KERNEL __launch_bounds__(256) convolution(const float *__restrict__ image, u64, const __grid_constant__ Filter filter,
                                          float *__restrict__ output, u32 rows, u32 columns) {
    __shared__ float tile[36][36];
    u32 left = blockIdx.x * 32, top = blockIdx.y * 32;
    for (u32 y = threadIdx.y; y < 36; y += 8)
        for (u32 x = threadIdx.x; x < 36; x += 32) {
            u32 row = top + y - 2, column = left + x - 2;
            tile[y][x] = row < rows && column < columns ? image[(u64)row * columns + column] : 0.0f;
        }
    __syncthreads();
#pragma unroll
    for (u32 y = threadIdx.y; y < 32; y += 8) {
        u32 x = threadIdx.x;
        float sum = 0;
#pragma unroll
        for (int j = 0; j < 5; j++)
#pragma unroll
            for (int i = 0; i < 5; i++) sum += filter.weights[j][i] * tile[y + j][x + i];
        if (top + y < rows && left + x < columns) output[(u64)(top + y) * columns + left + x] = sum;
    }
}
