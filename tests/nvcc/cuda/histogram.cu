// nvcc: -arch=compute_80
// Counts of byte values: straight into memory, and through a histogram per block; and a weighted one with
// floating-point atomics.

extern "C" __global__ void histogram_global(const unsigned char *data, long long n, unsigned *bins)
{
    long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += stride)
        atomicAdd(&bins[data[at]], 1u);
}

extern "C" __global__ void histogram_shared(const unsigned *words, int count, unsigned *bins)
{
    __shared__ unsigned own[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        own[bin] = 0;
    __syncthreads();
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += gridDim.x * blockDim.x) {
        unsigned word = words[at];
        for (int byte = 0; byte < 4; byte++)
            atomicAdd(&own[__byte_perm(word, 0, 0x4440 + byte)], 1u);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        if (own[bin] != 0)
            atomicAdd(&bins[bin], own[bin]);
}

extern "C" __global__ void histogram_weighted(const float *x, const float *weight, int n, float low, float width, int count,
                                              double *bins)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n)
        return;
    int bin = (int)floorf((x[at] - low) / width);
    if (bin >= 0 && bin < count)
        atomicAdd(&bins[bin], (double)weight[at]);
}
