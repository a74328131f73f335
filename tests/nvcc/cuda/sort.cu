// nvcc: -arch=compute_80
// Three sorts: four bits at a time with votes, a bitonic network in shared memory and beyond, and merging by
// binary search of each element's rank.

extern "C" __global__ void radix_count(const unsigned *keys, int n, int shift, unsigned *counts)
{
    __shared__ unsigned digits[16];
    if (threadIdx.x < 16)
        digits[threadIdx.x] = 0;
    __syncthreads();
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        atomicAdd(&digits[keys[at] >> shift & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16)
        counts[threadIdx.x * gridDim.x + blockIdx.x] = digits[threadIdx.x];
}

extern "C" __global__ void radix_offsets(unsigned *counts, int n)
{
    unsigned sum = 0;
    for (int base = 0; base < n; base += 32) {
        int at = base + threadIdx.x;
        unsigned own = at < n ? counts[at] : 0, value = own;
        for (int distance = 1; distance < 32; distance *= 2) {
            unsigned other = __shfl_up_sync(0xffffffff, value, distance);
            value += threadIdx.x >= distance ? other : 0;
        }
        if (at < n)
            counts[at] = sum + value - own;
        sum += __shfl_sync(0xffffffff, value, 31);
    }
}

extern "C" __global__ void radix_scatter(const unsigned *keys, unsigned *out, int n, int shift, const unsigned *offsets)
{
    __shared__ unsigned before[16][8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    bool inside = at < n;
    unsigned key = inside ? keys[at] : 0, digit = key >> shift & 15;
    unsigned rank = 0;
    for (unsigned candidate = 0; candidate < 16; candidate++) {
        unsigned same = __ballot_sync(~0u, inside && digit == candidate);
        if (candidate == digit)
            rank = __popc(same & ((1u << lane) - 1));
        if (lane == 0)
            before[candidate][warp] = __popc(same);
    }
    __syncthreads();
    if (threadIdx.x < 16) {
        unsigned sum = offsets[threadIdx.x * gridDim.x + blockIdx.x];
        for (int w = 0; w < blockDim.x / 32; w++) {
            unsigned count = before[threadIdx.x][w];
            before[threadIdx.x][w] = sum;
            sum += count;
        }
    }
    __syncthreads();
    if (inside)
        out[before[digit][warp] + rank] = key;
}

template <typename T> __device__ void exchange(T &a, T &b, bool ascending)
{
    if ((a > b) == ascending) {
        T swap = a;
        a = b;
        b = swap;
    }
}

extern "C" __global__ void bitonic_block(float *keys)
{
    __shared__ float part[512];
    keys += blockIdx.x * 512;
    part[threadIdx.x] = keys[threadIdx.x];
    part[threadIdx.x + 256] = keys[threadIdx.x + 256];
    for (unsigned size = 2; size <= 512; size *= 2)
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            unsigned low = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            unsigned global = blockIdx.x * 512 + low;
            exchange(part[low], part[low + stride], (global & size) == 0);
        }
    __syncthreads();
    keys[threadIdx.x] = part[threadIdx.x];
    keys[threadIdx.x + 256] = part[threadIdx.x + 256];
}

extern "C" __global__ void bitonic_step(float *keys, unsigned size, unsigned stride)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned low = 2 * thread - (thread & (stride - 1));
    exchange(keys[low], keys[low + stride], (low & size) == 0);
}

template <bool Equal> __device__ int rank_in(const long long *keys, int count, long long key)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (Equal ? keys[middle] <= key : keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

extern "C" __global__ void merge_runs(const long long *in, long long *out, int n, int run)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n)
        return;
    int start = at / (2 * run) * (2 * run), middle = min(start + run, n), end = min(start + 2 * run, n);
    long long key = in[at];
    int rank = at < middle ? at - start + rank_in<false>(in + middle, end - middle, key)
                           : at - middle + rank_in<true>(in + start, middle - start, key);
    out[start + rank] = key;
}
