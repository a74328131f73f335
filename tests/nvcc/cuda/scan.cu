// nvcc: -arch=compute_75
// Inclusive sums: of a block by doubling distances and by an up- and a down-sweep in dynamic shared memory, and of any
// length in one pass in which each block looks back at the published sums of those before it.

extern "C" __global__ void scan_doubling(const int *in, int *out, int n)
{
    extern __shared__ int buffers[];
    int *from = buffers, *to = buffers + blockDim.x;
    int thread = threadIdx.x;
    from[thread] = thread < n ? in[thread] : 0;
    __syncthreads();
    for (int distance = 1; distance < blockDim.x; distance *= 2) {
        to[thread] = thread >= distance ? from[thread] + from[thread - distance] : from[thread];
        __syncthreads();
        int *swap = from;
        from = to;
        to = swap;
    }
    if (thread < n)
        out[thread] = from[thread];
}

extern "C" __global__ void scan_sweeps(const int *in, int *out, int n)
{
    extern __shared__ int tree[];
    int thread = threadIdx.x, size = 2 * blockDim.x;
    tree[2 * thread] = 2 * thread < n ? in[2 * thread] : 0;
    tree[2 * thread + 1] = 2 * thread + 1 < n ? in[2 * thread + 1] : 0;
    int step = 1;
    for (int active = size / 2; active > 0; active /= 2, step *= 2) {
        __syncthreads();
        if (thread < active)
            tree[step * (2 * thread + 2) - 1] += tree[step * (2 * thread + 1) - 1];
    }
    if (thread == 0)
        tree[size - 1] = 0;
    for (int active = 1; active < size; active *= 2) {
        step /= 2;
        __syncthreads();
        if (thread < active) {
            int left = step * (2 * thread + 1) - 1, right = step * (2 * thread + 2) - 1;
            int value = tree[left];
            tree[left] = tree[right];
            tree[right] += value;
        }
    }
    __syncthreads();
    for (int at = thread; at < n && at < size; at += blockDim.x)
        out[at] = tree[at] + in[at];
}

// A tile's word: its state in the upper half (0 nothing, 1 own sum, 2 sum of all up to here), the value in the lower.
__device__ unsigned long long pack(unsigned state, unsigned value) { return (unsigned long long)state << 32 | value; }

extern "C" __global__ void scan_look_back(const unsigned *in, unsigned *out, int n, unsigned *ticket,
                                          volatile unsigned long long *tiles)
{
    __shared__ unsigned warps[32];
    __shared__ unsigned tile, before;
    if (threadIdx.x == 0)
        tile = atomicAdd(ticket, 1);
    __syncthreads();
    int at = tile * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned value = at < n ? in[at] : 0;
    for (int distance = 1; distance < 32; distance *= 2) {
        unsigned other = __shfl_up_sync(~0u, value, distance);
        if (lane >= distance)
            value += other;
    }
    if (lane == 31)
        warps[warp] = value;
    __syncthreads();
    if (warp == 0) {
        unsigned sum = lane < blockDim.x / 32 ? warps[lane] : 0;
        for (int distance = 1; distance < 32; distance *= 2) {
            unsigned other = __shfl_up_sync(~0u, sum, distance);
            if (lane >= distance)
                sum += other;
        }
        warps[lane] = sum;
    }
    __syncthreads();
    if (warp > 0)
        value += warps[warp - 1];
    if (threadIdx.x == blockDim.x - 1) {
        unsigned sum = 0;
        if (tile == 0) {
            tiles[0] = pack(2, value);
        } else {
            tiles[tile] = pack(1, value);
            __threadfence();
            for (int back = (int)tile - 1;;) {
                unsigned long long word = tiles[back];
                if (word >> 32 == 0)
                    continue;
                sum += (unsigned)word;
                if (word >> 32 == 2)
                    break;
                back--;
            }
            tiles[tile] = pack(2, sum + value);
        }
        before = sum;
    }
    __syncthreads();
    if (at < n)
        out[at] = value + before;
}
