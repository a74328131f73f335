// nvcc: -arch=sm_80,sm_90 -lineinfo -diag-suppress 20054
// Asynchronous copies into shared memory: cuda::pipeline of libcu++, cooperative groups, and the primitives below both.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

template <int STAGES> using State = cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES>;

// A pipeline of a thread's own: each reads what it has copied itself, two copies ahead.
//@ right, 1 x 64: in 256, out 64 = 4 * i + 384
extern "C" __global__ void pipeline_of_a_thread(const unsigned *x, unsigned *y) {
    __shared__ unsigned tile[2][64];
    const unsigned t = threadIdx.x;
    auto pipeline = cuda::make_pipeline();
    unsigned sum = 0;
#pragma unroll 1
    for (unsigned round = 0, next = 0; round < 4; round++) {
        for (; next < 4 && next < round + 2; next++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(&tile[next % 2][t], x + 64 * next + t, sizeof(unsigned), pipeline); //~ pending-copy
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        //@ wrong, pipeline_of_a_thread_never_waits:
        sum += tile[round % 2][t]; //~ pending-copy
        pipeline.consumer_release();
    }
    y[t] = sum;
}

// Threads read what others have copied: a barrier says that all have waited, another that all have read.
//@ right, 1 x 64: in 256, out 64 = 4 * (i ^ 63) + 384
extern "C" __global__ void pipeline_of_threads(const unsigned *x, unsigned *y) {
    __shared__ unsigned tile[2][64];
    const unsigned t = threadIdx.x;
    auto pipeline = cuda::make_pipeline();
    unsigned sum = 0;
#pragma unroll 1
    for (unsigned round = 0, next = 0; round < 4; round++) {
        for (; next < round + 2; next++) {
            pipeline.producer_acquire();
            if (next < 4) cuda::memcpy_async(&tile[next % 2][t], x + 64 * next + t, sizeof(unsigned), pipeline); //~ data-race?, pending-copy?
            pipeline.producer_commit();
        }
        cuda::pipeline_consumer_wait_prior<1>(pipeline);
        //@ wrong, pipeline_of_threads_waits_for_less: cuda::pipeline_consumer_wait_prior<2>(pipeline);
        __syncthreads();
        //@ wrong, pipeline_of_threads_first_barrier:
        sum += tile[round % 2][63 - t]; //~ data-race?, pending-copy?, unwritten-read?
        __syncthreads();
        //@ wrong, pipeline_of_threads_second_barrier:
        pipeline.consumer_release();
    }
    y[t] = sum; //~ unwritten-read?
}

// A pipeline of the block, in which every thread produces and consumes.
//@ right, 1 x 64: in 256, out 64 = 4 * (i ^ 63) + 384
extern "C" __global__ void pipeline_of_a_block(const unsigned *x, unsigned *y) {
    __shared__ alignas(16) unsigned tile[2][64];
    __shared__ State<2> state;
    const unsigned t = threadIdx.x;
    auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    unsigned sum = 0;
#pragma unroll 1
    for (unsigned round = 0, next = 0; round < 4; round++) {
        for (; next < 4 && next < round + 2; next++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, tile[next % 2], x + 64 * next, sizeof tile[0], pipeline); //~ data-race?, pending-copy?
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        //@ wrong, pipeline_of_a_block_never_waits:
        sum += tile[round % 2][63 - t]; //~ data-race?, pending-copy?, unwritten-read?
        pipeline.consumer_release();
    }
    y[t] = sum; //~ unwritten-read?
}

// One warp copies, the other reads.
//@ right, 1 x 64: in 128, out 32 = 4 * (i ^ 1) + 192
extern "C" __global__ void pipeline_of_roles(const unsigned *x, unsigned *y) {
    __shared__ unsigned tile[2][32];
    __shared__ State<2> state;
    const unsigned t = threadIdx.x % 32;
    const bool produces = threadIdx.x < 32;
    auto pipeline = cuda::make_pipeline(cg::this_thread_block(), &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    unsigned sum = 0;
#pragma unroll 1
    for (unsigned round = 0; round < 4; round++) {
        if (produces) {
            pipeline.producer_acquire();
            cuda::memcpy_async(&tile[round % 2][t], x + 32 * round + t, sizeof(unsigned), pipeline); //~ data-race?, pending-copy?, pipeline_of_roles_released_first: data-race
            pipeline.producer_commit();
        } else {
            pipeline.consumer_wait();
            //@ wrong, pipeline_of_roles_read_too_early: if (round < 3) pipeline.consumer_wait();
            sum += tile[round % 2][t ^ 1]; //~ data-race?, pending-copy?
            pipeline.consumer_release(); //~ pipeline_of_roles_released_first: data-race
            //@ wrong, pipeline_of_roles_released_first: pipeline.consumer_release(); sum += tile[round % 2][t ^ 1];
        }
    }
    if (!produces) y[t] = sum;
}

// A pipeline for each warp, with four stages.
//@ right, 1 x 64: in 512, out 64 = 8 * (i ^ 31) + 1792
extern "C" __global__ void pipeline_of_a_warp(const unsigned *x, unsigned *y) {
    __shared__ unsigned tile[2][4][32];
    __shared__ State<4> states[2];
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const unsigned w = warp.meta_group_rank(), t = warp.thread_rank();
    auto pipeline = cuda::make_pipeline(warp, &states[w]);
    unsigned sum = 0;
#pragma unroll 1
    for (unsigned round = 0, next = 0; round < 8; round++) {
        for (; next < 8 && next < round + 4; next++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(warp, tile[w][next % 4], x + 64 * next + 32 * w, sizeof(unsigned) * 32, pipeline); //~ data-race?, pending-copy?
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        //@ wrong, pipeline_of_a_warp_never_waits:
        sum += tile[w][round % 4][31 - t]; //~ data-race?, pending-copy?, unwritten-read?
        pipeline.consumer_release();
    }
    y[threadIdx.x] = sum;
}

// Cooperative groups' copy.
//@ right, 2 x 64: in 128, out 128 = i ^ 63
extern "C" __global__ void group_copy(const unsigned *x, unsigned *y) {
    __shared__ alignas(16) unsigned tile[64];
    const unsigned t = threadIdx.x;
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile, x + blockIdx.x * 64, sizeof tile); //~ pending-copy
    cg::wait(block);
    //@ wrong, group_copy_without_wait: block.sync();
    y[blockIdx.x * 64 + t] = tile[63 - t]; //~ pending-copy
}

// Two copies at once: the first is awaited alone.
//@ right, 1 x 64: in 128, out 128 = i ^ 1
extern "C" __global__ void group_copy_prior(const unsigned *x, unsigned *y) {
    __shared__ unsigned tile[2][64];
    const unsigned t = threadIdx.x;
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const unsigned w = warp.meta_group_rank() * 32;
    // nvcc gives this line to the second copy as well.
    cg::memcpy_async(warp, tile[0] + w, x + w, 32 * sizeof(unsigned)); //~ pending-copy
    cg::memcpy_async(warp, tile[1] + w, x + 64 + w, 32 * sizeof(unsigned));
    cg::wait_prior<1>(warp);
    y[t] = tile[0][t ^ 1];
    cg::wait_prior<0>(warp);
    //@ wrong, group_copy_second_not_awaited: cg::wait_prior<1>(warp);
    y[64 + t] = tile[1][t ^ 1]; //~ pending-copy
}

// The primitives, with copies that fill a part with zeros.
//@ right, 1 x 64: in 128, out 64 = (i ^ 63) + 32 - i / 32 * 32
extern "C" __global__ void primitives(const unsigned *x, unsigned *y) {
    __shared__ alignas(16) unsigned tile[2][64];
    const unsigned t = threadIdx.x;
    if (t < 16) __pipeline_memcpy_async(&tile[0][4 * t], x + 4 * t, 16);
    __pipeline_commit();
    __pipeline_memcpy_async(&tile[1][t], x + 32, sizeof(unsigned), t < 32 ? sizeof(unsigned) : 0); //~ pending-copy
    __pipeline_commit();
    __pipeline_wait_prior(0);
    //@ wrong, primitives_wait_for_less: __pipeline_wait_prior(1);
    __syncthreads();
    y[t] = tile[0][63 - t] + tile[1][63 - t]; //~ pending-copy
}

// The copies arrive at a barrier.
//@ right, 1 x 64: in 64, out 64 = i ^ 63
extern "C" __global__ void primitives_arrive(const unsigned *x, unsigned *y) {
    __shared__ unsigned tile[64];
    __shared__ __mbarrier_t barrier;
    const unsigned t = threadIdx.x;
    if (t == 0) __mbarrier_init(&barrier, 64);
    __syncthreads();
    __pipeline_memcpy_async(&tile[t], x + t, sizeof(unsigned)); //~ pending-copy
    __pipeline_arrive_on(&barrier);
    //@ wrong, primitives_arrive_without_copies:
    auto token = __mbarrier_arrive(&barrier);
    while (!__mbarrier_test_wait(&barrier, token)) {}
    y[t] = tile[63 - t]; //~ pending-copy
}
