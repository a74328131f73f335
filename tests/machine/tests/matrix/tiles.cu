// Tiled products of half-precision matrices: with fragments, and with `mma.sync` and `ldmatrix` by hand.
// Compiled by nvcc 13.5: nvcc --ptx -arch=compute_80 tiles.cu
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

// c = a * b; a is m by k, b k by n, c m by n, all by rows. A block of 64 threads makes 32 by 32 of c.
extern "C" __global__ void fragments(const half *a, const half *b, float *c, int n, int k) {
    __shared__ half as[32][24], bs[16][40];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2];
    for (int i = 0; i < 2; i++) wmma::fill_fragment(sums[i], 0.0f);
    int top = blockIdx.y * 32, left = blockIdx.x * 32, warp = threadIdx.x / 32;
    for (int at = 0; at < k; at += 16) {
        for (int i = threadIdx.x; i < 32 * 16; i += blockDim.x) {
            as[i / 16][i % 16] = a[(top + i / 16) * k + at + i % 16];
            bs[i / 32][i % 32] = b[(at + i / 32) * n + left + i % 32];
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
        wmma::load_matrix_sync(x, &as[warp * 16][0], 24);
        for (int i = 0; i < 2; i++) {
            wmma::load_matrix_sync(y, &bs[0][i * 16], 40);
            wmma::mma_sync(sums[i], x, y, sums[i]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        wmma::store_matrix_sync(c + (top + warp * 16) * n + left + i * 16, sums[i], n, wmma::mem_row_major);
}

// The same by hand.
extern "C" __global__ void by_hand(const half *a, const half *b, float *c, int n, int k) {
    __shared__ __align__(16) half as[32][24], bs[16][40];
    float sums[4][4] = {};
    int top = blockIdx.y * 32, left = blockIdx.x * 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int at = 0; at < k; at += 16) {
        for (int i = threadIdx.x; i < 32 * 16 / 8; i += blockDim.x) {
            *(uint4 *)&as[i / 2][i % 2 * 8] = *(const uint4 *)&a[(top + i / 2) * k + at + i % 2 * 8];
            *(uint4 *)&bs[i / 4][i % 4 * 8] = *(const uint4 *)&b[(at + i / 4) * n + left + i % 4 * 8];
        }
        __syncthreads();
        unsigned x[4], y[4];
        unsigned from = __cvta_generic_to_shared(&as[warp * 16 + lane % 16][lane / 16 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from));
        for (int i = 0; i < 2; i++) {
            from = __cvta_generic_to_shared(&bs[lane % 16][i * 16 + lane / 16 * 8]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3]) : "r"(from));
            for (int j = 0; j < 2; j++) {
                float *sum = sums[2 * i + j];
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                             : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                             : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2 * j]), "r"(y[2 * j + 1]));
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) {
        float *out = c + (top + warp * 16 + lane / 4) * n + left + i * 8 + lane % 4 * 2;
        out[0] = sums[i][0], out[1] = sums[i][1], out[8 * n] = sums[i][2], out[8 * n + 1] = sums[i][3];
    }
}
