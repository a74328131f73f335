// nvcc: -arch=compute_80
// Progress: a lock that every thread of every warp takes, a flag handed from block to block, warps that produce and
// consume, and a lock built on 64-bit exchanges.

extern "C" __global__ void spin_lock(int *lock, int *counter, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        bool done = false;
        while (!done) {
            if (atomicCAS(lock, 0, 1) == 0) {
                __threadfence();
                *(volatile int *)counter = *(volatile int *)counter + 1;
                __threadfence();
                atomicExch(lock, 0);
                done = true;
            }
        }
    }
}

extern "C" __global__ void ticket_lock(unsigned *next, unsigned *serving, unsigned long long *order)
{
    unsigned mine = atomicAdd(next, 1);
    while (atomicAdd(serving, 0) != mine)
        __nanosleep(20);
    order[mine] = (unsigned long long)blockIdx.x << 32 | threadIdx.x;
    __threadfence();
    atomicAdd(serving, 1);
}

extern "C" __global__ void relay(volatile int *flags, int *values)
{
    if (threadIdx.x == 0) {
        if (blockIdx.x > 0)
            while (flags[blockIdx.x - 1] == 0) {
            }
        __threadfence();
        values[blockIdx.x] = (blockIdx.x > 0 ? values[blockIdx.x - 1] : 0) + blockIdx.x;
        __threadfence();
        flags[blockIdx.x] = 1;
    }
}

extern "C" __global__ void produce_consume(const int *in, int *out, int n)
{
    __shared__ volatile int slot[32];
    __shared__ volatile int state;
    int lane = threadIdx.x % 32;
    if (threadIdx.x == 0)
        state = 0;
    __syncthreads();
    for (int start = 0, turn = 0; start < n; start += 32, turn += 2) {
        if (threadIdx.x < 32) {
            while (state != turn) {
            }
            slot[lane] = start + lane < n ? in[start + lane] : 0;
            __threadfence_block();
            __syncwarp();
            if (lane == 0)
                state = turn + 1;
        } else {
            while (state != turn + 1) {
            }
            __threadfence_block();
            if (start + lane < n)
                out[start + lane] = 2 * slot[31 - lane];
            __syncwarp();
            if (lane == 0)
                state = turn + 2;
        }
    }
}
