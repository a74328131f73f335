// nvcc: -arch=compute_80 -std=c++17
// Sums and extremes: a tree in shared memory, shuffles, tiles of cooperative groups, and the instruction that reduces
// over a warp. Templates over type, operation and block size; the kernels have C++ names.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

struct Sum {
    template <typename T> __device__ T operator()(T a, T b) const { return a + b; }
};

struct Largest {
    template <typename T> __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

template <typename T, typename F, int BLOCK> __global__ void tree(const T *in, T *out, int n, T start)
{
    __shared__ T values[BLOCK];
    F combine;
    T value = start;
    for (int at = blockIdx.x * BLOCK + threadIdx.x; at < n; at += BLOCK * gridDim.x)
        value = combine(value, in[at]);
    values[threadIdx.x] = value;
    __syncthreads();
#pragma unroll
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = values[0];
}

template __global__ void tree<float, Sum, 128>(const float *, float *, int, float);
template __global__ void tree<double, Largest, 64>(const double *, double *, int, double);
template __global__ void tree<short, Largest, 256>(const short *, short *, int, short);

extern "C" __global__ void shuffled(const double *in, double *out, int n)
{
    double value = 0;
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < n; at += blockDim.x * gridDim.x)
        value += in[at];
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_xor_sync(0xffffffff, value, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, value);
}

extern "C" __global__ void tiles(const int *in, int *out, int n)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int at = blockIdx.x * blockDim.x + block.thread_rank();
    int value = at < n ? in[at] : 0;
    int sum = cg::reduce(tile, value, cg::plus<int>());
    int largest = cg::reduce(tile, value, cg::greater<int>());
    for (int distance = tile.size() / 2; distance > 0; distance /= 2)
        value ^= tile.shfl_down(value, distance);
    if (tile.thread_rank() == 0) {
        int place = 3 * (at / 8);
        out[place] = sum;
        out[place + 1] = largest;
        out[place + 2] = value;
    }
}

extern "C" __global__ void coalesced_count(const int *in, int *counter, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n && in[at] % 3 == 0) {
        cg::coalesced_group group = cg::coalesced_threads();
        if (group.thread_rank() == 0)
            atomicAdd(counter, group.size());
    }
}

extern "C" __global__ void instructions(const unsigned *in, unsigned *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = at < n ? in[at] : 0;
    unsigned warp = at / 32;
    unsigned results[] = {__reduce_add_sync(~0u, value), __reduce_min_sync(~0u, value), __reduce_max_sync(~0u, value),
                          __reduce_and_sync(~0u, value), __reduce_or_sync(~0u, value), __reduce_xor_sync(~0u, value),
                          (unsigned)__reduce_min_sync(~0u, (int)value)};
    if (at % 32 < 7)
        out[warp * 7 + at % 32] = results[at % 32];
}
