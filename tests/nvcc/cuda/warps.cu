// nvcc: -arch=compute_80
// What lanes say to each other: votes, matches, shuffles of every kind and width, and divided warps that meet again.

extern "C" __global__ void votes(const int *in, unsigned *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    int value = at < n ? in[at] : -1;
    int lane = threadIdx.x % 32;
    unsigned odd = __ballot_sync(~0u, value & 1);
    unsigned any = __any_sync(~0u, value == 7), all = __all_sync(~0u, value >= -1);
    unsigned same = __match_any_sync(~0u, value & 3);
    int everyone;
    unsigned whole = __match_all_sync(~0u, value >> 8, &everyone);
    unsigned live = 0;
    if (value & 1)
        live = __ballot_sync(odd, value & 2);
    else
        live = __popc(__ballot_sync(~odd, value & 4));
    __syncwarp();
    unsigned *mine = out + 6 * at;
    mine[0] = odd;
    mine[1] = any << 1 | all;
    mine[2] = same;
    mine[3] = whole ^ everyone;
    mine[4] = live;
    mine[5] = __popc(__activemask()) * (lane + 1);
}

extern "C" __global__ void shuffles(const long long *in, long long *out)
{
    int lane = threadIdx.x;
    long long value = in[lane];
    out[lane] = __shfl_sync(~0u, value, lane * 5 % 32);
    out[32 + lane] = __shfl_up_sync(~0u, value, 3, 16);
    out[64 + lane] = __shfl_down_sync(~0u, value, 5, 8);
    out[96 + lane] = __shfl_xor_sync(~0u, value, 9);
    out[128 + lane] = __double_as_longlong(__shfl_sync(~0u, (double)value, lane ^ 1, 4));
    out[160 + lane] = (unsigned short)__shfl_sync(~0u, (unsigned)value & 0xffff, 31 - lane);
}

// Each lane sorts a column of its own by exchanging with its neighbours.
extern "C" __global__ void odd_even(int *keys)
{
    int lane = threadIdx.x % 32, key = keys[blockIdx.x * 32 + lane];
    for (int round = 0; round < 32; round++) {
        int partner = (lane + round) % 2 == 0 ? lane + 1 : lane - 1;
        int other = __shfl_sync(~0u, key, partner & 31);
        if (partner >= 0 && partner < 32)
            key = partner > lane ? min(key, other) : max(key, other);
    }
    keys[blockIdx.x * 32 + lane] = key;
}

extern "C" __global__ void collatz(const unsigned *in, unsigned *steps, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n)
        return;
    unsigned long long x = in[at];
    unsigned count = 0;
    while (x > 1) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        count++;
    }
    steps[at] = count;
}
