// nvcc: -arch=sm_80 -lineinfo -diag-suppress 20054
// cuda::latch and the semaphores of libcu++.
#include <cooperative_groups.h>
#include <cuda/latch>
#include <cuda/semaphore>

using Latch = cuda::latch<cuda::thread_scope_block>;
using Mutex = cuda::binary_semaphore<cuda::thread_scope_block>;
using Counting = cuda::counting_semaphore<cuda::thread_scope_block, 4>;

// All threads count down, and wait for each other.
//@ right, 1 x 64: in 64, out 64 = i ^ 63
extern "C" __global__ void latch_exchange(const unsigned *x, unsigned *y) {
    __shared__ alignas(Latch) char memory[sizeof(Latch)];
    auto &latch = *reinterpret_cast<Latch *>(memory);
    __shared__ unsigned tile[64];
    const unsigned t = threadIdx.x;
    if (t == 0) new (&latch) Latch(64);
    __syncthreads();
    tile[t] = x[t]; //~ data-race
    latch.arrive_and_wait();
    //@ wrong, latch_counts_down_only: latch.count_down();
    y[t] = tile[63 - t]; //~ data-race, unwritten-read?
}

// One thread waits for what the others have done.
//@ right, 1 x 64: in 64, out 1 = 2016
extern "C" __global__ void latch_one_waits(const unsigned *x, unsigned *y) {
    __shared__ alignas(Latch) char memory[sizeof(Latch)];
    auto &latch = *reinterpret_cast<Latch *>(memory);
    __shared__ unsigned tile[64];
    const unsigned t = threadIdx.x;
    if (t == 0) new (&latch) Latch(64);
    __syncthreads();
    tile[t] = x[t]; //~ data-race
    latch.count_down();
    if (t != 0) return;
    latch.wait();
    //@ wrong, latch_without_wait:
    unsigned sum = 0;
    for (unsigned i = 0; i < 64; i++) sum += tile[i]; //~ data-race, unwritten-read?
    *y = sum; //~ unwritten-read?
}

// Asked again and again, instead of waited for.
//@ right, 1 x 64: in 64, out 32 = i + 32
extern "C" __global__ void latch_try_wait(const unsigned *x, unsigned *y) {
    __shared__ alignas(Latch) char memory[sizeof(Latch)];
    auto &latch = *reinterpret_cast<Latch *>(memory);
    __shared__ unsigned tile[32];
    const unsigned t = threadIdx.x % 32;
    if (threadIdx.x == 0) new (&latch) Latch(32);
    __syncthreads();
    if (threadIdx.x >= 32) {
        tile[t] = x[threadIdx.x]; //~ data-race
        latch.count_down();
    } else {
        while (!latch.try_wait()) {}
        //@ wrong, sometimes, latch_try_wait_once: (void)latch.try_wait();
        y[t] = tile[t]; //~ data-race, unwritten-read?
    }
}

// A binary semaphore as a lock.
//@ right, 2 x 128: zero 2 = 4
extern "C" __global__ void semaphore_lock(unsigned *y) {
    __shared__ alignas(Mutex) char memory[sizeof(Mutex)];
    auto &mutex = *reinterpret_cast<Mutex *>(memory);
    if (threadIdx.x == 0) new (&mutex) Mutex(1);
    __syncthreads();
    if (threadIdx.x % 32 != 0) return;
    mutex.acquire();
    //@ wrong, semaphore_lock_not_acquired:
    y[blockIdx.x] += 1; //~ data-race
    mutex.release();
}

// The same by trying.
//@ right, 1 x 128: zero 1 = 4
extern "C" __global__ void semaphore_try(unsigned *y) {
    __shared__ alignas(Mutex) char memory[sizeof(Mutex)];
    auto &mutex = *reinterpret_cast<Mutex *>(memory);
    if (threadIdx.x == 0) new (&mutex) Mutex(1);
    __syncthreads();
    if (threadIdx.x % 32 != 0) return;
    while (!mutex.try_acquire()) {}
    *y += 1;
    mutex.release();
}

// A ring of four slots between one that fills and one that empties it.
//@ right, 1 x 64: in 16, out 16 = i
extern "C" __global__ void semaphore_ring(const unsigned *x, unsigned *y) {
    __shared__ alignas(Counting) char memory[2][sizeof(Counting)];
    auto &free = *reinterpret_cast<Counting *>(memory[0]), &full = *reinterpret_cast<Counting *>(memory[1]);
    __shared__ unsigned ring[4];
    if (threadIdx.x == 0) {
        new (&free) Counting(4);
        new (&full) Counting(0);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < 16; i++) {
            free.acquire();
            ring[i % 4] = x[i]; //~ data-race?
            full.release();
        }
    } else if (threadIdx.x == 32) {
        for (unsigned i = 0; i < 16; i++) {
            full.acquire();
            //@ wrong, semaphore_ring_read_too_early:
            y[i] = ring[i % 4]; //~ data-race?, unwritten-read?
            free.release();
        }
    }
}

// One block signals the other.
//@ right, 2 x 32, cooperative: raw 8, zero 1, out 1 = 7
extern "C" __global__ void semaphore_of_blocks(char *memory, unsigned *data, unsigned *y) {
    constexpr auto scope = cuda::thread_scope_device;
    //@ wrong, semaphore_of_block_scope: constexpr auto scope = cuda::thread_scope_block;
    using Signal = cuda::counting_semaphore<scope, 8>;
    auto &signal = *reinterpret_cast<Signal *>(memory);
    if (threadIdx.x == 0 && blockIdx.x == 0) new (&signal) Signal(0);
    cooperative_groups::this_grid().sync();
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *data = 7; //~ data-race
        signal.release(); //~ scoped-race
    } else {
        signal.acquire(); //~ scoped-race
        *y = *data; //~ data-race
    }
}
