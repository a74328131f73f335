// Rows of a matrix, one warp for each: softmax and layer normalisation.
#include "common.cuh"

#define EACH(k) _Pragma("unroll") for (int k = 0; k < 8; k++)

KERNEL softmax(const float4 *__restrict__ x, u64, float4 *__restrict__ y, u32 rows, u32 columns) {
    u32 lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    for (u32 row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < rows; row += warps) {
        const float4 *in = x + (u64)row * columns;
        float4 *out = y + (u64)row * columns;
        float nothing = __int_as_float(0xff800000);
        float4 own[8];
        EACH(k) own[k] = lane + 32 * k < columns ? in[lane + 32 * k] : float4{nothing, nothing, nothing, nothing};
        float largest = nothing;
        EACH(k) largest = fmaxf(fmaxf(fmaxf(fmaxf(largest, own[k].x), own[k].y), own[k].z), own[k].w);
        for (int lanes = 16; lanes > 0; lanes /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, lanes));
        float sum = 0.0f;
        EACH(k) {
            own[k] = {__expf(own[k].x - largest), __expf(own[k].y - largest), __expf(own[k].z - largest),
                      __expf(own[k].w - largest)};
            sum += own[k].x, sum += own[k].y, sum += own[k].z, sum += own[k].w;
        }
        float scale = 1.0f / warp_sum(sum);
        EACH(k) if (lane + 32 * k < columns) out[lane + 32 * k] =
            {own[k].x * scale, own[k].y * scale, own[k].z * scale, own[k].w * scale};
    }
}

KERNEL layer_norm(const float4 *__restrict__ x, u64, const float4 *__restrict__ scale, u64,
                  const float4 *__restrict__ offset, u64, float epsilon, float4 *__restrict__ y, u32 rows,
                  u32 columns) {
    u32 lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    float count = 4 * columns;
    for (u32 row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < rows; row += warps) {
        const float4 *in = x + (u64)row * columns;
        float4 *out = y + (u64)row * columns;
        float4 own[8];
        EACH(k) own[k] = lane + 32 * k < columns ? in[lane + 32 * k] : float4{};
        float sum = 0.0f, squares = 0.0f;
        EACH(k) sum += own[k].x, sum += own[k].y, sum += own[k].z, sum += own[k].w;
        float mean = warp_sum(sum) / count;
        EACH(k) if (lane + 32 * k < columns) {
            own[k] = {own[k].x - mean, own[k].y - mean, own[k].z - mean, own[k].w - mean};
            squares += own[k].x * own[k].x, squares += own[k].y * own[k].y;
            squares += own[k].z * own[k].z, squares += own[k].w * own[k].w;
        }
        float factor = rsqrtf(warp_sum(squares) / count + epsilon);
        EACH(k) if (lane + 32 * k < columns) {
            float4 s = scale[lane + 32 * k], o = offset[lane + 32 * k];
            out[lane + 32 * k] = {own[k].x * factor * s.x + o.x, own[k].y * factor * s.y + o.y,
                                  own[k].z * factor * s.z + o.z, own[k].w * factor * s.w + o.w};
        }
    }
}
