// nvcc: -arch=compute_80
// Text from the device: every kind of conversion, strings, and a loop in which lanes leave one by one.

#include <cstdio>

extern "C" __global__ void print(float scale, const char *name)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        printf("hello from %s\n", name);
        printf("%d %u %x %05d|%-6d|%+d\n", -5, 4000000000u, 0xbeef, 42, 7, 3);
        printf("%lld %llu %llx\n", -1234567890123LL, 12345678901234567890ULL, 0x123456789abcULL);
        printf("%f %.3f %e %g\n", 1.5 * scale, 3.14159265, 12345.678, 0.0001);
        printf("%c%c%c %s %%\n", 'a', 'b', 'c', "inner");
        printf("no arguments\n");
    }
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        if (threadIdx.x == i && blockIdx.x == 0)
            printf("thread %d of %d\n", threadIdx.x, blockDim.x);
        __syncthreads();
    }
}
