// nvcc: -arch=compute_80 -std=c++17
// What goes into a kernel by value and lies in its variables: structures with holes, arrays, vectors, unions, bit fields
// and functors, initialised tables in global and constant memory, and pointers to both.

struct __align__(16) Inner {
    char tag;
    double weight;
    short values[3];
};

struct Large {
    int count;
    Inner inner[2];
    float4 corner;
    unsigned char flags : 3, mode : 5;
    union {
        float real;
        unsigned bits;
    };
};

extern "C" __global__ void by_value(Large large, char before, long long *out, short after)
{
    int thread = threadIdx.x;
    const Inner &inner = large.inner[thread % 2];
    out[thread] = large.count + before * 1000 + after + inner.tag + (long long)(inner.weight * 4) + inner.values[thread % 3] +
                  (long long)large.corner.z + large.flags * 7 + large.mode * 11 + (large.bits >> 20);
}

extern "C" __global__ void indexed_parameter(Large large, double *out, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        large.inner[i & 1].weight += i;
        out[i] = large.inner[i & 1].weight;
    }
}

template <typename F> __global__ void apply(F function, float *data, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        data[at] = function(data[at], at);
}

struct Affine {
    float scale, offset;
    __device__ float operator()(float x, int) const { return scale * x + offset; }
};

struct Weighted {
    const float *weights;
    int count;
    __device__ float operator()(float x, int at) const { return x * weights[at % count]; }
};

template __global__ void apply<Affine>(Affine, float *, int);
template __global__ void apply<Weighted>(Weighted, float *, int);

__device__ int primes[8] = {2, 3, 5, 7, 11, 13};
__constant__ double fractions[4] = {0.5, 0.25, -0.125};
__device__ const char greeting[] = "device";
__device__ int *primes_pointer = &primes[2];
__device__ Inner record = {'x', 2.5, {1, 2, 3}};
__device__ unsigned counter;

extern "C" __global__ void variables(double *out)
{
    int thread = threadIdx.x;
    out[thread] = primes[thread % 8] + fractions[thread % 4] + greeting[thread % 7] + primes_pointer[thread % 4] +
                  record.weight + record.values[thread % 3];
    atomicAdd(&counter, thread);
    if (thread == 0)
        primes[7] = 19;
}

extern __shared__ char dynamic[];

extern "C" __global__ void carved(const int *in, double *out, int n)
{
    double *sums = (double *)dynamic;
    int *values = (int *)(sums + blockDim.x);
    unsigned char *marks = (unsigned char *)(values + blockDim.x);
    int thread = threadIdx.x;
    values[thread] = thread < n ? in[thread] : 0;
    marks[thread] = values[thread] % 2 == 0;
    __syncthreads();
    sums[thread] = 0;
    for (int i = 0; i <= thread; i++)
        if (marks[i])
            sums[thread] += 0.5 * values[i];
    __syncthreads();
    if (thread < n)
        out[thread] = sums[blockDim.x - 1 - thread];
}
