// nvcc: -arch=compute_80 -std=c++17
// Matrix products on tensor cores: C = A * B of 16 by 16 tiles, one warp each.

#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void product_half(const half *a, const half *b, float *c, int size)
{
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> y;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < size; k += 16) {
        wmma::load_matrix_sync(x, a + row * size + k, size);
        wmma::load_matrix_sync(y, b + column * size + k, size);
        wmma::mma_sync(sum, x, y, sum);
    }
    for (int i = 0; i < sum.num_elements; i++)
        sum.x[i] *= 0.5f;
    wmma::store_matrix_sync(c + row * size + column, sum, size, wmma::mem_row_major);
}

extern "C" __global__ void product_bytes(const signed char *a, const signed char *b, int *c, int size)
{
    int row = blockIdx.y * 32, column = blockIdx.x * 8;
    wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::row_major> y;
    wmma::fragment<wmma::accumulator, 32, 8, 16, int> sum;
    wmma::fill_fragment(sum, 7);
    for (int k = 0; k < size; k += 16) {
        wmma::load_matrix_sync(x, a + row * size + k, size);
        wmma::load_matrix_sync(y, b + k * size + column, size);
        wmma::mma_sync(sum, x, y, sum);
    }
    wmma::store_matrix_sync(c + row * size + column, sum, size, wmma::mem_row_major);
}
