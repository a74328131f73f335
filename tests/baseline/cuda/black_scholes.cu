// Prices of options, and Monte Carlo.
#include "common.cuh"

struct Market {
    float rate, volatility;
};

__device__ __forceinline__ float normal(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float polynomial =
        k * (0.31938154f + k * (-0.35656378f + k * (1.7814779f + k * (-1.8212559f + k * 1.3302745f))));
    float tail = 0.39894228f * expf(-0.5f * d * d) * polynomial;
    return d > 0.0f ? 1.0f - tail : tail;
}

__device__ __forceinline__ float2 price(float stock, float strike, float years, Market market) {
    float deviation = market.volatility * sqrtf(years);
    float d1 = (logf(stock / strike) + (market.rate + 0.5f * market.volatility * market.volatility) * years) / deviation;
    float d2 = d1 - deviation;
    float n1 = normal(d1), n2 = normal(d2);
    float discounted = strike * expf(-market.rate * years);
    return {stock * n1 - discounted * n2, discounted * (1.0f - n2) - stock * (1.0f - n1)};
}

KERNEL black_scholes(const float *__restrict__ stock, u64, const float *__restrict__ strike, u64,
                     const float *__restrict__ years, u64, Market market, float2 *__restrict__ prices, u64 n) {
    u64 step = blockDim.x, first = blockIdx.x * step * 2 + threadIdx.x, last = first + step;
    if (last < n) {
        float s[2] = {stock[first], stock[last]}, k[2] = {strike[first], strike[last]}, t[2] = {years[first], years[last]};
        prices[first] = price(s[0], k[0], t[0], market);
        prices[last] = price(s[1], k[1], t[1], market);
    } else if (first < n) {
        prices[first] = price(stock[first], strike[first], years[first], market);
    }
}

__device__ __forceinline__ u32 in_circle(u32 x, u32 y) {
    x >>= 16, y >>= 16;
    u32 square = x * x;
    return square + y * y >= square;
}

__device__ __forceinline__ u32 points_in_circle(u32 seed, u32 stream, u32 step) {
    u32 c0 = step, c1 = stream, c2 = 0, c3 = 0, k0 = seed, k1 = 0;
#pragma unroll
    for (int round = 0; round < 10; round++) {
        u64 p0 = (u64)0xD2511F53 * c0, p1 = (u64)0xCD9E8D57 * c2;
        c0 = (u32)(p1 >> 32) ^ c1 ^ k0;
        c1 = (u32)p1;
        c2 = (u32)(p0 >> 32) ^ c3 ^ k1;
        c3 = (u32)p0;
        k0 += 0x9E3779B9, k1 += 0xBB67AE85;
    }
    return in_circle(c0, c1) + in_circle(c2, c3);
}

KERNEL pi(u32 seed, u32 steps, u64 *hits, u64) {
    u32 stream = blockIdx.x * blockDim.x + threadIdx.x, count = 0;
    for (u32 step = 0; step < steps; step++) count += points_in_circle(seed, stream, step);
    count = warp_sum(count);
    if (threadIdx.x % 32 == 0) atomicAdd(hits, (u64)count);
}
