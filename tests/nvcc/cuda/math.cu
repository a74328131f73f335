// nvcc: -arch=compute_80
// The mathematical functions of both precisions, one result per function and argument.

template <typename T> struct Results {
    static const int COUNT = 20;
};

extern "C" __global__ void functions64(const double *x, double *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n)
        return;
    double v = x[at], p = fabs(v) + 0.125;
    double results[] = {sin(v),  cos(v),    tan(v),      exp(v * 0.5), log(p),       pow(p, 1.7),   sqrt(p),
                        cbrt(v), atan(v),   atan2(v, p), sinh(v / 8),  tanh(v),      log2(p),       exp2(v),
                        erf(v),  fmod(v, p), floor(v),   rint(v),      hypot(v, p),  log1p(p)};
    for (int i = 0; i < 20; i++)
        out[20 * at + i] = results[i];
}

extern "C" __global__ void functions32(const float *x, float *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n)
        return;
    float v = x[at], p = fabsf(v) + 0.125f;
    float results[] = {sinf(v),  cosf(v),     tanf(v),      expf(v * 0.5f), logf(p),      powf(p, 1.7f), sqrtf(p),
                       cbrtf(v), atanf(v),    atan2f(v, p), sinhf(v / 8),   tanhf(v),     log2f(p),      exp2f(v),
                       erff(v),  fmodf(v, p), floorf(v),    rintf(v),       hypotf(v, p), log1pf(p)};
    for (int i = 0; i < 20; i++)
        out[20 * at + i] = results[i];
}

extern "C" __global__ void conversions(const double *x, long long *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n)
        return;
    double v = x[at];
    long long *mine = out + 8 * at;
    mine[0] = __double2int_rz(v);
    mine[1] = __double2ll_ru(v);
    mine[2] = __float2int_rn((float)v);
    mine[3] = __double2uint_rd(v);
    mine[4] = __float_as_int(__double2float_rz(v));
    mine[5] = __double_as_longlong(__ll2double_rd((long long)v * 1234567891ll));
    mine[6] = (short)(int)v;
    mine[7] = isnan(v) + 2 * isinf(v) + 4 * signbit(v);
}
