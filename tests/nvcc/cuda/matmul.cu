// nvcc: -arch=compute_80
// Products of matrices of any size: tiles in shared memory, 4 by 4 results per thread in registers, and halves two at a
// time.

#include <cuda_fp16.h>

template <typename T, int TILE> __device__ void tiled(const T *a, const T *b, T *c, int m, int n, int k)
{
    __shared__ T as[TILE][TILE], bs[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    T sum = 0;
    for (int start = 0; start < k; start += TILE) {
        as[threadIdx.y][threadIdx.x] = row < m && start + threadIdx.x < k ? a[row * k + start + threadIdx.x] : T(0);
        bs[threadIdx.y][threadIdx.x] = column < n && start + threadIdx.y < k ? b[(start + threadIdx.y) * n + column] : T(0);
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}

extern "C" __global__ void matmul_tiled(const float *a, const float *b, float *c, int m, int n, int k)
{
    tiled<float, 16>(a, b, c, m, n, k);
}

extern "C" __global__ void matmul_tiled_f64(const double *a, const double *b, double *c, int m, int n, int k)
{
    tiled<double, 8>(a, b, c, m, n, k);
}

extern "C" __global__ __launch_bounds__(64, 4) void matmul_blocked(const float *a, const float *b, float *c, int m, int n,
                                                                     int k)
{
    __shared__ float as[8][32], bs[8][32];
    int top = blockIdx.y * 32, left = blockIdx.x * 32;
    int ty = threadIdx.x / 8 * 4, tx = threadIdx.x % 8 * 4;
    float sums[4][4] = {};
    for (int start = 0; start < k; start += 8) {
        for (int i = threadIdx.x; i < 256; i += 64) {
            int row = top + i / 8, column = left + i % 32;
            as[i % 8][i / 8] = row < m && start + i % 8 < k ? a[row * k + start + i % 8] : 0.0f;
            bs[i / 32][i % 32] = column < n && start + i / 32 < k ? b[(start + i / 32) * n + column] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float4 x = *(float4 *)&as[i][ty], y = *(float4 *)&bs[i][tx];
            float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int r = 0; r < 4; r++)
#pragma unroll
                for (int s = 0; s < 4; s++)
                    sums[r][s] += xs[r] * ys[s];
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; r++)
        for (int s = 0; s < 4; s++)
            if (top + ty + r < m && left + tx + s < n)
                c[(top + ty + r) * n + left + tx + s] = sums[r][s];
}

extern "C" __global__ void matmul_half(const __half2 *a, const __half2 *b, __half *c, int m, int n, int pairs)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    __half2 sum = __float2half2_rn(0.0f);
    for (int i = 0; i < pairs; i++)
        sum = __hfma2(a[row * pairs + i], b[column * pairs + i], sum);
    __half result = __hadd(__low2half(sum), __high2half(sum));
    c[row * n + column] = __hgt(result, __float2half(0.0f)) ? result : hexp(result);
}
