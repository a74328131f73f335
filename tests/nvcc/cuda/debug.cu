// nvcc: -arch=compute_75 -G
// Unoptimised, as a debugger wants it: every variable in memory, calls not inlined, sections of debug information.

struct Pair {
    int sum, product;
};

__device__ Pair combine(int a, int b)
{
    Pair pair;
    pair.sum = a + b;
    pair.product = a * b;
    return pair;
}

extern "C" __global__ void unoptimised(const int *in, int *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) {
        Pair pair = combine(in[at], at);
        int total = 0;
        for (int i = 0; i < 3; i++)
            total += pair.sum - i * pair.product;
        out[at] = total;
    }
}
