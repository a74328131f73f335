// nvcc: -arch=sm_80 -lineinfo -diag-suppress 20054
// cuda::atomic_ref and cuda::atomic: messages, locks, lists and counters, each with the order and the scope that it needs.
#include <cuda/atomic>

using cuda::std::memory_order_acq_rel;
using cuda::std::memory_order_acquire;
using cuda::std::memory_order_relaxed;
using cuda::std::memory_order_release;

using Block = cuda::atomic_ref<unsigned, cuda::thread_scope_block>;
using Device = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
using System = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;

// The first block hands a word to the others.
//@ right, 3 x 32: zero 2, out 3 = 7
extern "C" __global__ void message(unsigned *m, unsigned *y) {
    if (threadIdx.x != 0) return;
    Device flag(m[1]);
    //@ wrong, message_of_block_scope: Block flag(m[1]);
    if (blockIdx.x == 0) {
        m[0] = 7; //~ data-race, message_of_block_scope: data-race
        flag.store(1, memory_order_release); //~ message_of_block_scope: scoped-race
        //@ wrong, message_relaxed_store: flag.store(1, memory_order_relaxed);
    } else {
        while (flag.load(memory_order_acquire) == 0) {} //~ message_of_block_scope: scoped-race
        //@ wrong, message_relaxed_load: while (flag.load(memory_order_relaxed) == 0) {}
    }
    y[blockIdx.x] = m[0]; //~ data-race, message_of_block_scope: data-race
}

// The same with fences around relaxed accesses.
//@ right, 3 x 32: zero 2, out 3 = 7
extern "C" __global__ void message_fences(unsigned *m, unsigned *y) {
    if (threadIdx.x != 0) return;
    Device flag(m[1]);
    if (blockIdx.x == 0) {
        m[0] = 7; //~ data-race
        cuda::atomic_thread_fence(memory_order_release, cuda::thread_scope_device);
        //@ wrong, message_fence_of_block_scope: cuda::atomic_thread_fence(memory_order_release, cuda::thread_scope_block);
        //@ wrong, message_without_release_fence:
        flag.store(1, memory_order_relaxed);
    } else {
        while (flag.load(memory_order_relaxed) == 0) {}
        cuda::atomic_thread_fence(memory_order_acquire, cuda::thread_scope_device);
        //@ wrong, message_acquire_of_block_scope: cuda::atomic_thread_fence(memory_order_acquire, cuda::thread_scope_block);
        //@ wrong, message_without_acquire_fence:
    }
    y[blockIdx.x] = m[0]; //~ data-race
}

// The same in sequentially consistent order, and for the whole system.
//@ right, 3 x 32: zero 2, out 3 = 7
extern "C" __global__ void message_system(unsigned *m, unsigned *y) {
    if (threadIdx.x != 0) return;
    System flag(m[1]);
    if (blockIdx.x == 0) {
        m[0] = 7;
        flag.store(1);
    } else {
        while (flag.load() == 0) {}
    }
    y[blockIdx.x] = m[0];
}

// Between the warps of a block, block scope is enough.
//@ right, 1 x 96: zero 1, out 3 = 7
extern "C" __global__ void message_in_block(unsigned *m, unsigned *y) {
    __shared__ unsigned word;
    if (threadIdx.x == 0) word = 0;
    __syncthreads();
    if (threadIdx.x % 32 != 0) return;
    Block flag(word);
    if (threadIdx.x == 0) {
        *m = 7; //~ data-race
        flag.store(1, memory_order_release);
        //@ wrong, message_in_block_relaxed: flag.store(1, memory_order_relaxed);
    } else {
        while (flag.load(memory_order_acquire) == 0) {}
    }
    y[threadIdx.x / 32] = *m; //~ data-race
}

// The waiting is libcu++'s.
//@ right, 3 x 32: zero 2, out 3 = 7
extern "C" __global__ void message_notify(unsigned *m, unsigned *y) {
    if (threadIdx.x != 0) return;
    auto &flag = reinterpret_cast<cuda::atomic<unsigned, cuda::thread_scope_device> &>(m[1]);
    if (blockIdx.x == 0) {
        m[0] = 7; //~ data-race
        flag.store(1, memory_order_release);
        flag.notify_all();
    } else {
        flag.wait(0, memory_order_acquire);
        //@ wrong, message_notify_relaxed: flag.wait(0, memory_order_relaxed);
    }
    y[blockIdx.x] = m[0]; //~ data-race
}

// A pointer to what is handed over.
//@ right, 2 x 32: zero 2, raw 4, out 4 = 3 * i
extern "C" __global__ void message_pointer(unsigned **m, unsigned *data, unsigned *y) {
    if (threadIdx.x != 0) return;
    cuda::atomic_ref<unsigned *, cuda::thread_scope_device> pointer(*m);
    if (blockIdx.x == 0) {
        for (unsigned i = 0; i < 4; i++) data[i] = 3 * i; //~ data-race
        pointer.store(data, memory_order_release);
        //@ wrong, message_pointer_relaxed: pointer.store(data, memory_order_relaxed);
    } else {
        unsigned *p;
        while ((p = pointer.load(memory_order_acquire)) == nullptr) {}
        for (unsigned i = 0; i < 4; i++) y[i] = p[i]; //~ data-race
    }
}

// A flag of one byte, and one of two.
//@ right, 3 x 32: zero 2, out 2 = 7
extern "C" __global__ void message_narrow(unsigned *m, unsigned *y) {
    if (threadIdx.x != 0) return;
    auto bytes = reinterpret_cast<unsigned char *>(m + 1);
    cuda::atomic_ref<unsigned char, cuda::thread_scope_device> byte(bytes[0]);
    cuda::atomic_ref<unsigned short, cuda::thread_scope_device> half(*reinterpret_cast<unsigned short *>(bytes + 2));
    if (blockIdx.x == 0) {
        m[0] = 7;
        byte.store(1, memory_order_release);
    } else if (blockIdx.x == 1) {
        while (byte.load(memory_order_acquire) == 0) {}
        y[0] = m[0];
        half.store(3, memory_order_release);
    } else {
        while (half.load(memory_order_acquire) != 3) {}
        y[1] = y[0];
    }
}

// Each block adds to what the one before it hands on.
//@ right, 4 x 32: zero 5 = i * (i + 1) / 2, zero 1
extern "C" __global__ void message_chain(unsigned *sums, unsigned *m) {
    if (threadIdx.x != 0) return;
    Device turn(*m);
    while (turn.load(memory_order_acquire) != blockIdx.x) {}
    sums[blockIdx.x + 1] = sums[blockIdx.x] + blockIdx.x + 1; //~ data-race
    turn.fetch_add(1, memory_order_release);
    //@ wrong, message_chain_relaxed: turn.fetch_add(1, memory_order_relaxed);
}

// A lock by comparing and exchanging.
//@ right, 2 x 64: zero 2 = 4 * i
extern "C" __global__ void lock_compare_exchange(unsigned *m) {
    if (threadIdx.x % 32 != 0) return;
    Device lock(m[0]);
    unsigned expected = 0;
    while (!lock.compare_exchange_weak(expected, 1, memory_order_acquire, memory_order_relaxed)) expected = 0;
    //@ wrong, lock_taken_relaxed: while (!lock.compare_exchange_weak(expected, 1, memory_order_relaxed)) expected = 0;
    m[1] += 1; //~ data-race
    lock.store(0, memory_order_release);
    //@ wrong, lock_given_back_relaxed: lock.store(0, memory_order_relaxed);
}

// A lock in shared memory, by exchanging.
//@ right, 2 x 128: zero 2 = 4
extern "C" __global__ void lock_exchange(unsigned *y) {
    __shared__ unsigned word;
    if (threadIdx.x == 0) word = 0;
    __syncthreads();
    if (threadIdx.x % 32 != 0) return;
    Block lock(word);
    while (lock.exchange(1, memory_order_acquire) != 0) {}
    //@ wrong, lock_exchange_relaxed: while (lock.exchange(1, memory_order_relaxed) != 0) {}
    y[blockIdx.x] += 1; //~ data-race
    lock.store(0, memory_order_release);
}

// An atomic_flag as the lock.
//@ right, 1 x 128: zero 1 = 4
extern "C" __global__ void lock_flag(unsigned *y) {
    __shared__ cuda::std::atomic_flag lock;
    if (threadIdx.x == 0) new (&lock) cuda::std::atomic_flag();
    __syncthreads();
    if (threadIdx.x % 32 != 0) return;
    while (lock.test_and_set(memory_order_acquire)) {}
    *y += 1; //~ data-race
    lock.clear(memory_order_release);
    //@ wrong, lock_flag_relaxed: lock.clear(memory_order_relaxed);
}

// Tickets: numbers are drawn in any order, only whose turn it is orders anything.
//@ right, 2 x 64: zero 3 = 4
extern "C" __global__ void lock_ticket(unsigned *m) {
    if (threadIdx.x % 32 != 0) return;
    Device next(m[0]), turn(m[1]);
    const unsigned mine = next.fetch_add(1, memory_order_relaxed);
    while (turn.load(memory_order_acquire) != mine) {}
    //@ wrong, lock_ticket_relaxed: while (turn.load(memory_order_relaxed) != mine) {}
    m[2] += 1; //~ data-race
    turn.store(mine + 1, memory_order_release);
}

// Counters need no order, only the barrier behind them.
//@ right, 2 x 64: in 128, zero 8 = 16
extern "C" __global__ void histogram(const unsigned *x, unsigned *y) {
    __shared__ unsigned bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    Block(bins[x[blockIdx.x * 64 + threadIdx.x] % 8]).fetch_add(1, memory_order_relaxed); //~ data-race, histogram_without_atomics: data-race
    //@ wrong, histogram_without_atomics: bins[x[blockIdx.x * 64 + threadIdx.x] % 8] += 1;
    __syncthreads();
    //@ wrong, histogram_without_barrier:
    if (threadIdx.x < 8) Device(y[threadIdx.x]).fetch_add(bins[threadIdx.x], memory_order_relaxed); //~ data-race
}

// Every other operation of an atomic.
//@ right, 2 x 64: in 128, in 5 = (i == 0) * 127 + (i == 2) * 127 + (i == 4) * 4
extern "C" __global__ void operations(const unsigned *x, unsigned *y) {
    const unsigned v = x[blockIdx.x * 64 + threadIdx.x];
    Device(y[0]).fetch_max(v, memory_order_relaxed);
    Device(y[1]).fetch_min(v, memory_order_relaxed);
    Device(y[2]).fetch_or(v, memory_order_relaxed);
    Device(y[3]).fetch_and(v, memory_order_relaxed);
    Device(y[4]).fetch_xor(v, memory_order_relaxed);
}

// Sums of eight bytes and of floating-point numbers.
//@ right, 2 x 64: in 128, zero 2 = 8128, zero 1 = 0x45fe0000
extern "C" __global__ void operations_wide(const unsigned *x, unsigned long long *y, float *z) {
    const unsigned v = x[blockIdx.x * 64 + threadIdx.x];
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>(*y).fetch_add(0x100000001ull * v, memory_order_relaxed);
    cuda::atomic_ref<float, cuda::thread_scope_device>(*z).fetch_add(static_cast<float>(v), memory_order_relaxed);
}

// The last block to be done adds up what all have left.
//@ right, 4 x 32: in 128, zero 128, zero 1, out 32 = 4 * i + 192
extern "C" __global__ void last_block(const unsigned *x, unsigned *parts, unsigned *count, unsigned *y) {
    __shared__ bool last;
    const unsigned t = threadIdx.x;
    parts[blockIdx.x * 32 + t] = x[blockIdx.x * 32 + t]; //~ data-race
    __syncthreads();
    if (t == 0) last = Device(*count).fetch_add(1, memory_order_acq_rel) == 3;
    //@ wrong, last_block_relaxed: if (t == 0) last = Device(*count).fetch_add(1, memory_order_relaxed) == 3;
    //@ wrong, last_block_release_only: if (t == 0) last = Device(*count).fetch_add(1, memory_order_release) == 3;
    __syncthreads();
    if (!last) return;
    unsigned sum = 0;
    for (unsigned i = 0; i < 4; i++) sum += parts[i * 32 + t]; //~ data-race
    y[t] = sum;
}

// A stack: the thread that takes it sees every element that was pushed, since each push continues the one before.
//@ right, 3 x 32: zero 1, raw 128, out 64 = i + 1
extern "C" __global__ void stack(unsigned *m, unsigned *nodes, unsigned *y) {
    Device top(*m);
    if (blockIdx.x != 0) {
        const unsigned self = (blockIdx.x - 1) * 32 + threadIdx.x;
        nodes[2 * self] = self + 1; //~ data-race 1
        unsigned below = top.load(memory_order_relaxed);
        do nodes[2 * self + 1] = below; //~ data-race 2
        while (!top.compare_exchange_weak(below, self + 1, memory_order_release, memory_order_relaxed));
        //@ wrong, stack_pushed_relaxed: while (!top.compare_exchange_weak(below, self + 1, memory_order_relaxed));
    } else if (threadIdx.x == 0) {
        for (unsigned taken = 0; taken < 64;) {
            unsigned node = top.exchange(0, memory_order_acquire);
            //@ wrong, stack_taken_relaxed: unsigned node = top.exchange(0, memory_order_relaxed);
            for (; node != 0; node = nodes[2 * node - 1], taken++) { //~ data-race 2
                y[node - 1] = nodes[2 * node - 2]; //~ data-race 1
            }
        }
    }
}

// Work is drawn; who draws what is chance, what comes out is not.
//@ right, 2 x 64: zero 1, in 256, out 256 = 2 * i
extern "C" __global__ void drawn_work(unsigned *next, const unsigned *x, unsigned *y) {
    for (unsigned i; (i = Device(*next).fetch_add(1, memory_order_relaxed)) < 256;) y[i] = 2 * x[i];
}

// The first to come prepares what all use.
//@ right, 2 x 64: zero 2, out 128 = 7
extern "C" __global__ void once(unsigned *m, unsigned *y) {
    Device state(m[1]);
    unsigned expected = 0;
    if (state.compare_exchange_strong(expected, 1, memory_order_acquire)) {
        m[0] = 7; //~ data-race
        state.store(2, memory_order_release);
    } else {
        while (state.load(memory_order_acquire) != 2) {}
        //@ wrong, sometimes, once_relaxed: while (state.load(memory_order_relaxed) != 2) {}
    }
    y[blockIdx.x * 64 + threadIdx.x] = m[0]; //~ data-race
}

__device__ cuda::atomic<unsigned, cuda::thread_scope_device> sum_of_all{0};

// An atomic object in global memory.
//@ right, 2 x 64: in 128, out 1 = 8128
extern "C" __global__ void atomic_object(const unsigned *x, unsigned *y) {
    __shared__ cuda::atomic<unsigned, cuda::thread_scope_block> sum;
    if (threadIdx.x == 0) new (&sum) cuda::atomic<unsigned, cuda::thread_scope_block>(0);
    __syncthreads();
    sum += x[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0 && (sum_of_all += sum) == 8128) *y = sum_of_all;
}

// A lock of before libcu++.
//@ right, 2 x 64: zero 2 = 4 * i
extern "C" __global__ void lock_of_old(unsigned *m) {
    if (threadIdx.x % 32 != 0) return;
    while (atomicCAS(m, 0, 1) != 0) {}
    __threadfence();
    //@ wrong, lock_of_old_taken_without_fence:
    m[1] += 1; //~ data-race
    __threadfence();
    //@ wrong, lock_of_old_block_fence: __threadfence_block();
    atomicExch(m, 0);
}
