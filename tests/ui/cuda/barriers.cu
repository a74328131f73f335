// nvcc: -arch=sm_80,sm_90 -lineinfo -diag-suppress 20054
// PTX version: 8.6
// cuda::barrier of libcu++: phases, tokens, parities, threads that leave, completion functions, and asynchronous copies.
#include <cooperative_groups.h>
#include <cuda/barrier>

using Barrier = cuda::barrier<cuda::thread_scope_block>;

// Each thread's word goes to the thread opposite.
//@ right, 2 x 64: in 128, out 128 = i ^ 63
extern "C" __global__ void barrier_exchange(const unsigned *x, unsigned *y) {
    __shared__ Barrier barrier;
    __shared__ unsigned tile[64];
    const unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) init(&barrier, 64);
    __syncthreads();
    tile[t] = x[i]; //~ data-race
    barrier.arrive_and_wait();
    //@ wrong, barrier_exchange_arrives_only: (void)barrier.arrive();
    y[i] = tile[63 - t]; //~ data-race, unwritten-read?
}

// A sum by exchanges between threads ever further apart, two phases for each.
//@ right, 1 x 64: in 64, out 64 = 2016
extern "C" __global__ void barrier_phases(const unsigned *x, unsigned *y) {
    __shared__ Barrier barrier;
    __shared__ unsigned tile[64];
    const unsigned t = threadIdx.x;
    if (t == 0) init(&barrier, 64);
    __syncthreads();
    unsigned sum = x[t];
#pragma unroll 1
    for (unsigned distance = 1; distance < 64; distance *= 2) {
        tile[t] = sum; //~ data-race
        barrier.arrive_and_wait();
        sum += tile[t ^ distance]; //~ data-race
        barrier.arrive_and_wait();
        //@ wrong, barrier_phases_written_too_early:
    }
    y[t] = sum;
}

// Work of a thread's own between arriving and waiting.
//@ right, 2 x 64: in 128, out 128 = 3 * i + (i ^ 32)
extern "C" __global__ void barrier_split(const unsigned *x, unsigned *y) {
    __shared__ Barrier barrier;
    __shared__ unsigned tile[64];
    const unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) init(&barrier, 64);
    __syncthreads();
    tile[t] = x[i]; //~ data-race
    auto token = barrier.arrive();
    unsigned own = 3 * x[i];
    barrier.wait(std::move(token));
    //@ wrong, barrier_split_never_waits: (void)token;
    y[i] = own + tile[t ^ 32]; //~ data-race, unwritten-read?
}

// One warp fills a buffer, the other empties it: a barrier says that it is free, another that it is full.
//@ right, 1 x 64: in 128, out 32 = 4 * (i ^ 1) + 192
extern "C" __global__ void barrier_producer_consumer(const unsigned *x, unsigned *y) {
    __shared__ Barrier free, full;
    __shared__ unsigned tile[32];
    const unsigned t = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        init(&free, 64);
        init(&full, 64);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
#pragma unroll 1
        for (unsigned round = 0; round < 4; round++) {
            free.arrive_and_wait();
            //@ wrong, barrier_last_round_overruns: round < 3 ? free.arrive_and_wait() : (void)free.arrive();
            tile[t] = x[32 * round + t]; //~ data-race
            (void)full.arrive();
        }
    } else {
        unsigned sum = 0;
        (void)free.arrive();
#pragma unroll 1
        for (unsigned round = 0; round < 4; round++) {
            full.arrive_and_wait();
            //@ wrong, barrier_last_round_read_too_early: round < 3 ? full.arrive_and_wait() : (void)full.arrive();
            sum += tile[t ^ 1]; //~ data-race, unwritten-read?
            if (round < 3) (void)free.arrive();
        }
        y[t] = sum;
    }
}

struct Sum {
    unsigned *tile, *sum;
    __device__ void operator()() noexcept {
        unsigned s = 0;
        for (unsigned i = 0; i < 64; i++) s += tile[i];
        *sum = s;
    }
};

// What the last thread to arrive does is done before any goes on.
//@ right, 2 x 64: in 128, out 128 = i / 64 * 4096 + 2016
extern "C" __global__ void barrier_completion(const unsigned *x, unsigned *y) {
    __shared__ cuda::barrier<cuda::thread_scope_block, Sum> barrier;
    __shared__ unsigned tile[64], sum;
    const unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) init(&barrier, 64, Sum{tile, &sum});
    __syncthreads();
    tile[t] = x[i];
    barrier.arrive_and_wait();
    y[i] = sum;
}

// Half of the threads leave; later phases are the other half's.
//@ right, 1 x 64: in 64, out 32 = 63 - i + (i ^ 1)
extern "C" __global__ void barrier_drop(const unsigned *x, unsigned *y) {
    __shared__ Barrier barrier;
    __shared__ unsigned tile[64];
    const unsigned t = threadIdx.x;
    if (t == 0) init(&barrier, 64);
    __syncthreads();
    tile[t] = x[t];
    if (t >= 32) {
        barrier.arrive_and_drop();
        return;
    }
    barrier.arrive_and_wait();
    unsigned sum = tile[63 - t];
    tile[t] = sum; //~ data-race
    barrier.arrive_and_wait();
    //@ wrong, barrier_drop_second_phase: (void)barrier.arrive();
    y[t] = sum + 63 - tile[t ^ 1]; //~ data-race
}

// Phases by their parity, without tokens.
//@ right, 1 x 64: in 64, out 64 = 6 * (i ^ 63)
extern "C" __global__ void barrier_parity(const unsigned *x, unsigned *y) {
    __shared__ Barrier barrier;
    __shared__ unsigned tile[2][64];
    const unsigned t = threadIdx.x;
    if (t == 0) init(&barrier, 64);
    __syncthreads();
    unsigned sum = 0;
#pragma unroll 1
    for (unsigned phase = 0; phase < 3; phase++) {
        tile[phase % 2][t] = (phase + 1) * x[t]; //~ data-race
        (void)barrier.arrive();
        barrier.wait_parity(phase % 2);
        //@ wrong, barrier_parity_never_waits:
        sum += tile[phase % 2][63 - t]; //~ data-race, unwritten-read?
    }
    y[t] = sum; //~ unwritten-read?
}

// Waiting for a time, again and again.
//@ right, 1 x 64: in 64, out 64 = i ^ 33
extern "C" __global__ void barrier_try_wait(const unsigned *x, unsigned *y) {
    __shared__ Barrier barrier;
    __shared__ unsigned tile[64];
    const unsigned t = threadIdx.x;
    if (t == 0) init(&barrier, 64);
    __syncthreads();
    tile[t] = x[t]; //~ data-race
    auto token = barrier.arrive();
    while (!barrier.try_wait_for(std::move(token), cuda::std::chrono::nanoseconds(100))) {}
    //@ wrong, sometimes, barrier_try_wait_failed: (void)barrier.try_wait_for(std::move(token), cuda::std::chrono::nanoseconds(0));
    y[t] = tile[t ^ 33]; //~ data-race, unwritten-read?
}

// A barrier for each warp.
//@ right, 1 x 64: in 64, out 64 = i ^ 31
extern "C" __global__ void barrier_of_a_warp(const unsigned *x, unsigned *y) {
    __shared__ Barrier barriers[2];
    __shared__ unsigned tile[64];
    const unsigned t = threadIdx.x;
    if (t < 2) init(&barriers[t], 32);
    __syncthreads();
    tile[t] = x[t]; //~ data-race
    barriers[t / 32].arrive_and_wait();
    y[t] = tile[t ^ 31]; //~ data-race, unwritten-read?
    //@ wrong, barrier_of_another_warp: y[t] = tile[t ^ 63];
}

// A barrier of two blocks, in global memory.
//@ right, 2 x 32, cooperative: raw 16, in 64, raw 64, out 64 = i ^ 32
extern "C" __global__ void barrier_of_blocks(char *memory, const unsigned *x, unsigned *tile, unsigned *y) {
    using Shared = cuda::barrier<cuda::thread_scope_device>;
    //@ wrong, barrier_of_blocks_block_scope: using Shared = cuda::barrier<cuda::thread_scope_block>;
    auto &barrier = *reinterpret_cast<Shared *>(memory);
    const unsigned i = blockIdx.x * 32 + threadIdx.x;
    if (i == 0) init(&barrier, 64);
    cooperative_groups::this_grid().sync();
    tile[i] = x[i]; //~ data-race
    barrier.arrive_and_wait(); //~ scoped-race
    y[i] = tile[i ^ 32]; //~ data-race
}

// Each thread copies a word asynchronously, and arrives when it is there.
//@ right, 2 x 64: in 128, out 128 = i ^ 63
extern "C" __global__ void barrier_copy(const unsigned *x, unsigned *y) {
    __shared__ Barrier barrier;
    __shared__ unsigned tile[64];
    const unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) init(&barrier, 64);
    __syncthreads();
    cuda::memcpy_async(tile + t, x + i, sizeof(unsigned), barrier); //~ data-race?, pending-copy?
    barrier.arrive_and_wait();
    //@ wrong, barrier_copy_not_awaited: (void)barrier.arrive();
    y[i] = tile[63 - t]; //~ data-race?, pending-copy?, unwritten-read?
}

// All threads copy together.
//@ right, 2 x 64: in 128, out 128 = i ^ 1
extern "C" __global__ void barrier_copy_by_all(const unsigned *x, unsigned *y) {
    __shared__ Barrier barrier;
    __shared__ alignas(16) unsigned tile[64];
    const unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) init(&barrier, 64);
    __syncthreads();
    cuda::memcpy_async(cooperative_groups::this_thread_block(), tile, x + blockIdx.x * 64, cuda::aligned_size_t<16>(sizeof tile), barrier);
    barrier.arrive_and_wait();
    y[i] = tile[t ^ 1];
}
