// The product of two matrices of f16 numbers by tensor cores: tiles of 128 by 128 in four warps, two stages by cp.async.
#include "common.cuh"

#define SIDE 128
#define DEPTH 32
// Numbers from one row of a tile to the next: one vector of padding.
#define A_STRIDE (DEPTH + 8)
#define B_STRIDE (SIDE + 8)

struct Stage {
    unsigned short a[SIDE * A_STRIDE], b[DEPTH * B_STRIDE];
};

__device__ __forceinline__ u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }

// Starts to copy a vector, or writes zeros where there is none.
__device__ __forceinline__ void copy(void *to, const uint4 *from, bool there) {
    if (there)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
    else
        *(uint4 *)to = make_uint4(0, 0, 0, 0);
}

__device__ __forceinline__ void fetch(Stage &stage, const uint4 *a, const uint4 *b, u32 start, u32 inner, u32 rows,
                                      u32 columns) {
    u32 a_width = (inner + 7) / 8, b_width = (columns + 7) / 8;
#pragma unroll
    for (u32 row = threadIdx.y; row < SIDE; row += 32) {
        u32 y = blockIdx.y * SIDE + row, x = start / 8 + threadIdx.x;
        copy(stage.a + row * A_STRIDE + threadIdx.x * 8, a + (u64)y * a_width + x, y < rows && x < a_width);
    }
#pragma unroll
    for (u32 column = threadIdx.x; column < SIDE / 8; column += 4) {
        u32 y = start + threadIdx.y, x = blockIdx.x * (SIDE / 8) + column;
        copy(stage.b + threadIdx.y * B_STRIDE + column * 8, b + (u64)y * b_width + x, y < inner && x < b_width);
    }
}

KERNEL __launch_bounds__(128) matmul_mma(const uint4 *__restrict__ a, u64, const uint4 *__restrict__ b, u64, u32 inner,
                                         float *__restrict__ c, u32 rows, u32 columns) {
    __shared__ __align__(16) Stage stages[2];
    u32 thread = threadIdx.y * 4 + threadIdx.x, lane = thread % 32, warp = thread / 32;
    u32 top = warp / 2 * 64, left = warp % 2 * 64;
    float sums[4][8][4] = {};
    fetch(stages[0], a, b, 0, inner, rows, columns);
    for (u32 start = 0, front = 0; start < inner; start += DEPTH, front ^= 1) {
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
        fetch(stages[front ^ 1], a, b, start + DEPTH, inner, rows, columns);
        const Stage &stage = stages[front];
#pragma unroll
        for (u32 k = 0; k < DEPTH; k += 16) {
            u32 a_part[4][4], b_part[8][2];
#pragma unroll
            for (u32 i = 0; i < 4; i++)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(a_part[i][0]), "=r"(a_part[i][1]), "=r"(a_part[i][2]), "=r"(a_part[i][3])
                             : "r"(shared_address(stage.a + (top + 16 * i + lane % 16) * A_STRIDE + k + lane / 16 * 8))
                             : "memory");
#pragma unroll
            for (u32 j = 0; j < 8; j++)
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                             : "=r"(b_part[j][0]), "=r"(b_part[j][1])
                             : "r"(shared_address(stage.b + (k + lane % 16) * B_STRIDE + left + 8 * j))
                             : "memory");
#pragma unroll
            for (u32 i = 0; i < 4; i++)
#pragma unroll
                for (u32 j = 0; j < 8; j++) {
                    float *d = sums[i][j];
                    const u32 *x = a_part[i], *y = b_part[j];
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
                }
        }
    }
#pragma unroll
    for (u32 i = 0; i < 4; i++)
#pragma unroll
        for (u32 j = 0; j < 8; j++)
#pragma unroll
            for (u32 n = 0; n < 4; n++) {
                u32 y = blockIdx.y * SIDE + top + 16 * i + lane / 4 + 8 * (n / 2);
                u32 x = blockIdx.x * SIDE + left + 8 * j + lane % 4 * 2 + n % 2;
                if (y < rows && x < columns) c[(u64)y * columns + x] = sums[i][j][n];
            }
}
