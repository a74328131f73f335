// Streams: four elements for each thread, a block apart; all four are read before the first is written.
#include "common.cuh"

template <class T, class Read, class Work>
__device__ __forceinline__ void each(u64 n, T *out, const Read &read, const Work &work) {
    u64 step = blockDim.x, first = blockIdx.x * step * 4 + threadIdx.x;
    if (first + 3 * step < n) {
        decltype(read(0)) values[4];
#pragma unroll
        for (int k = 0; k < 4; k++) values[k] = read(first + k * step);
#pragma unroll
        for (int k = 0; k < 4; k++) out[first + k * step] = work(values[k]);
    } else {
        for (u64 i = first; i < n; i += step) out[i] = work(read(i));
    }
}

struct Two {
    float a, b;
};

KERNEL increment_f32(float *a, u64 n) {
    each(n, a, [=](u64 i) { return a[i]; }, [](float a) { return a + 1.0f; });
}

KERNEL increment_f64(double *a, u64 n) {
    each(n, a, [=](u64 i) { return a[i]; }, [](double a) { return a + 1.0; });
}

KERNEL add(const float *__restrict__ a, u64, const float *__restrict__ b, u64, float *__restrict__ out, u64 n) {
    each(n, out, [=](u64 i) { return Two{a[i], b[i]}; }, [](Two two) { return two.a + two.b; });
}

KERNEL multiply(const float *__restrict__ a, u64, const float *__restrict__ b, u64, float *__restrict__ out, u64 n) {
    each(n, out, [=](u64 i) { return Two{a[i], b[i]}; }, [](Two two) { return two.a * two.b; });
}

KERNEL saxpy(float a, const float *__restrict__ x, u64, float *__restrict__ y, u64 n) {
    each(n, y, [=](u64 i) { return Two{x[i], y[i]}; }, [=](Two two) { return two.b + a * two.a; });
}
