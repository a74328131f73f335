// nvcc: -arch=sm_90 -lineinfo -diag-suppress 20054,550
// PTX version: 8.6
// What sm_90 has: clusters with distributed shared memory, and bulk copies that a barrier counts in bytes.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

using Barrier = cuda::barrier<cuda::thread_scope_block>;

// Two blocks of a cluster exchange, and stay until the other has read.
//@ right, 4 x 32: in 128, out 128 = i ^ 63
extern "C" __cluster_dims__(2) __global__ void cluster_exchange(const unsigned *x, unsigned *y) {
    __shared__ unsigned tile[32];
    const unsigned t = threadIdx.x, i = blockIdx.x * 32 + t;
    auto cluster = cg::this_cluster();
    tile[t] = x[i]; //~ data-race
    cluster.sync();
    //@ wrong, cluster_exchange_block_only: __syncthreads();
    y[i] = cluster.map_shared_rank(tile, cluster.block_rank() ^ 1)[31 - t]; //~ data-race, unwritten-read?
    cluster.sync();
}

// The cluster's barrier in two halves.
//@ right, 4 x 32: in 128, out 128 = 2 * i + (i ^ 32)
extern "C" __cluster_dims__(2) __global__ void cluster_halves(const unsigned *x, unsigned *y) {
    __shared__ unsigned tile[32];
    const unsigned t = threadIdx.x, i = blockIdx.x * 32 + t;
    auto cluster = cg::this_cluster();
    tile[t] = x[i];
    auto token = cluster.barrier_arrive();
    const unsigned own = 2 * x[i];
    cluster.barrier_wait(std::move(token));
    y[i] = own + cluster.map_shared_rank(tile, cluster.block_rank() ^ 1)[t];
    cluster.sync();
}

// A histogram that is spread over the blocks of a cluster.
//@ right, 4 x 32: in 128, zero 8 = 16
extern "C" __cluster_dims__(4) __global__ void cluster_histogram(const unsigned *x, unsigned *y) {
    __shared__ unsigned bins[2];
    const unsigned t = threadIdx.x;
    auto cluster = cg::this_cluster();
    if (t < 2) bins[t] = 0; //~ data-race
    cluster.sync();
    //@ wrong, cluster_histogram_not_yet_cleared:
    const unsigned v = x[blockIdx.x * 32 + t] % 8;
    atomicAdd(cluster.map_shared_rank(bins, v / 2) + v % 2, 1); //~ data-race, unwritten-read?
    cluster.sync();
    if (t < 2) y[cluster.block_rank() * 2 + t] = bins[t];
}

// A bulk copy; the barrier's phase ends with its last byte.
//@ right, 2 x 64: in 128, out 128 = i ^ 63
extern "C" __global__ void bulk_copy(const unsigned *x, unsigned *y) {
    __shared__ alignas(16) unsigned tile[64];
    __shared__ Barrier barrier;
    const unsigned t = threadIdx.x;
    if (t == 0) {
        init(&barrier, 64);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    Barrier::arrival_token token;
    if (t == 0) {
        cuda::device::memcpy_async_tx(tile, x + blockIdx.x * 64, cuda::aligned_size_t<16>(sizeof tile), barrier); //~ pending-copy, abandoned-operation
        token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof tile);
    } else {
        token = barrier.arrive();
    }
    barrier.wait(std::move(token));
    //@ wrong, bulk_copy_not_awaited: __syncthreads();
    y[blockIdx.x * 64 + t] = tile[63 - t]; //~ pending-copy
}

// A bulk copy back to global memory: what threads have written is made visible to it first.
//@ right, 1 x 64: in 64, out 64 = 2 * (i ^ 1)
extern "C" __global__ void bulk_store(const unsigned *x, unsigned *y) {
    __shared__ alignas(16) unsigned tile[64];
    const unsigned t = threadIdx.x;
    tile[t] = 2 * x[t ^ 1]; //~ data-race?, pending-copy?
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    //@ wrong, bulk_store_without_barrier:
    if (t == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y, tile, sizeof tile); //~ data-race?, pending-copy?, unwritten-read?
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// All threads of a group ask for a copy, which is a bulk copy here.
//@ right, 2 x 64: in 128, out 128 = i ^ 32
extern "C" __global__ void bulk_copy_by_all(const unsigned *x, unsigned *y) {
    __shared__ alignas(16) unsigned tile[64];
    __shared__ Barrier barrier;
    const unsigned t = threadIdx.x;
    if (t == 0) init(&barrier, 64);
    __syncthreads();
    cuda::memcpy_async(cg::this_thread_block(), tile, x + blockIdx.x * 64, cuda::aligned_size_t<16>(sizeof tile), barrier);
    barrier.arrive_and_wait();
    y[blockIdx.x * 64 + t] = tile[t ^ 32];
}
