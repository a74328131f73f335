// The product of two matrices: naive, and in tiles of shared memory. And the Mandelbrot set.
#include "common.cuh"

#define TILE 16

KERNEL matmul(const float *__restrict__ a, u64, const float *__restrict__ b, u64, u32 inner, float *__restrict__ c,
              u32 rows, u32 columns) {
    u32 row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || column >= columns) return;
    float sum = 0;
    for (u32 k = 0; k < inner; k++) sum += a[(u64)row * inner + k] * b[(u64)k * columns + column];
    c[(u64)row * columns + column] = sum;
}

KERNEL matmul_tiled(const float *__restrict__ a, u64, const float *__restrict__ b, u64, u32 inner,
                    float *__restrict__ c, u32 rows, u32 columns) {
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    u32 x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (u32 start = 0; start < inner; start += TILE) {
        a_tile[y][x] = row < rows && start + x < inner ? a[(u64)row * inner + start + x] : 0.0f;
        b_tile[y][x] = start + y < inner && column < columns ? b[(u64)(start + y) * columns + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++) sum += a_tile[y][k] * b_tile[k][x];
        __syncthreads();
    }
    if (row < rows && column < columns) c[(u64)row * columns + column] = sum;
}

struct Region {
    float left, top, step;
};

KERNEL mandelbrot(Region region, u32 limit, u32 *__restrict__ iterations, u32 rows, u32 columns) {
    u32 row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || column >= columns) return;
    float re = region.left + column * region.step, im = region.top - row * region.step;
    float x = 0, y = 0;
    u32 count = 0;
    while (count < limit && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + re;
        y = 2.0f * x * y + im;
        x = next;
        count++;
    }
    iterations[(u64)row * columns + column] = count;
}
