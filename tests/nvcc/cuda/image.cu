// nvcc: -arch=compute_80
// Rows and columns: a transposition through a padded tile, a separable convolution whose weights are constant memory, and
// the Mandelbrot set.

#define RADIUS 4

__constant__ float weights[2 * RADIUS + 1];

extern "C" __global__ void transpose(const unsigned short *in, unsigned short *out, int width, int height)
{
    __shared__ unsigned short tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x;
    for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (x < width && blockIdx.y * 32 + y < height)
            tile[y][threadIdx.x] = in[(blockIdx.y * 32 + y) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (x < height && blockIdx.x * 32 + y < width)
            out[(blockIdx.x * 32 + y) * height + x] = tile[threadIdx.x][y];
}

template <int STEP_X, int STEP_Y> __device__ void convolve(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0;
#pragma unroll
    for (int i = -RADIUS; i <= RADIUS; i++) {
        int sx = min(max(x + i * STEP_X, 0), width - 1), sy = min(max(y + i * STEP_Y, 0), height - 1);
        sum += weights[i + RADIUS] * in[sy * width + sx];
    }
    out[y * width + x] = sum;
}

extern "C" __global__ void convolve_rows(const float *in, float *out, int width, int height)
{
    convolve<1, 0>(in, out, width, height);
}

extern "C" __global__ void convolve_columns(const float *in, float *out, int width, int height)
{
    convolve<0, 1>(in, out, width, height);
}

extern "C" __global__ void mandelbrot(uchar4 *pixels, unsigned short *counts, int width, int height, double left, double top,
                                      double step, int limit)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    double cr = __dadd_rn(left, __dmul_rn(step, x)), ci = __dadd_rn(top, __dmul_rn(step, y)), zr = 0, zi = 0;
    int count = 0;
    while (count < limit) {
        double rr = __dmul_rn(zr, zr), ii = __dmul_rn(zi, zi);
        if (__dadd_rn(rr, ii) > 4)
            break;
        zi = __dadd_rn(__dmul_rn(__dadd_rn(zr, zr), zi), ci);
        zr = __dadd_rn(__dsub_rn(rr, ii), cr);
        count++;
    }
    counts[y * width + x] = count;
    pixels[y * width + x] = make_uchar4(count, count >> 8, count * 7, 255);
}
