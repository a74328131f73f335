// nvcc: -arch=compute_80
// Prices of options: Black and Scholes in closed form, and by simulated paths with a generator of our own.

__device__ float normal_cdf(float x) { return 0.5f * erfcf(-x * 0.70710678f); }

extern "C" __global__ void black_scholes(const float *price, const float *strike, const float *years, float *calls,
                                         float *puts, int n, float rate, float volatility)
{
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < n; at += gridDim.x * blockDim.x) {
        float root = sqrtf(years[at]);
        float d1 = (logf(price[at] / strike[at]) + (rate + 0.5f * volatility * volatility) * years[at]) / (volatility * root);
        float d2 = d1 - volatility * root;
        float discounted = strike[at] * expf(-rate * years[at]);
        calls[at] = price[at] * normal_cdf(d1) - discounted * normal_cdf(d2);
        puts[at] = discounted * normal_cdf(-d2) - price[at] * normal_cdf(-d1);
    }
}

// Four words from a counter and a key by ten rounds of multiplication.
__device__ uint4 philox(uint4 counter, uint2 key)
{
    for (int round = 0; round < 10; round++) {
        unsigned high0 = __umulhi(0xD2511F53u, counter.x), low0 = 0xD2511F53u * counter.x;
        unsigned high1 = __umulhi(0xCD9E8D57u, counter.z), low1 = 0xCD9E8D57u * counter.z;
        counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return counter;
}

extern "C" __global__ void random_words(uint4 *out, int n, unsigned long long seed)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        out[at] = philox(make_uint4(at, 0, 0, 0), make_uint2((unsigned)seed, (unsigned)(seed >> 32)));
}

extern "C" __global__ void monte_carlo(double *sum, int paths, int steps, float start, float strike, float drift,
                                       float spread, unsigned long long seed)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    double value = 0;
    if (path < paths) {
        float price = start;
        for (int step = 0; step < steps; step++) {
            uint4 words = philox(make_uint4(path, step, 0, 0), make_uint2((unsigned)seed, (unsigned)(seed >> 32)));
            float u = (words.x + 1.0f) * 2.3283064e-10f, v = words.y * 2.3283064e-10f;
            float normal = sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
            price *= expf(drift + spread * normal);
        }
        value = fmaxf(price - strike, 0.0f);
    }
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(~0u, value, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, value);
}

extern "C" __global__ void fast_math(const float *x, float *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n)
        return;
    float value = x[at];
    out[5 * at] = __sinf(value);
    out[5 * at + 1] = __expf(-value);
    out[5 * at + 2] = __logf(value + 1.5f);
    out[5 * at + 3] = __powf(value + 1.0f, 1.5f);
    out[5 * at + 4] = __fdividef(value, value + 2.0f);
}
