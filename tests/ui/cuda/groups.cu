// nvcc: -arch=sm_80,sm_90 -lineinfo -diag-suppress 20054
// Cooperative groups: tiles of every size, groups of the lanes that came, blocks and grids; exchanges, reductions, scans.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

// Each tile exchanges through shared memory, and synchronises by itself.
template <unsigned SIZE> __device__ unsigned exchange(unsigned *tile, unsigned v) {
    auto group = cg::tiled_partition<SIZE>(cg::this_thread_block());
    const unsigned t = threadIdx.x;
    tile[t] = v;
    group.sync();
    v = tile[t ^ (SIZE - 1)];
    group.sync();
    return v;
}

// Tiles of all sizes within a warp, one after the other.
//@ right, 2 x 64: in 128, out 128 = i ^ 1 ^ 3 ^ 7 ^ 15 ^ 31
extern "C" __global__ void tiles(const unsigned *x, unsigned *y) {
    __shared__ unsigned tile[64];
    const unsigned i = blockIdx.x * 64 + threadIdx.x;
    unsigned v = exchange<1>(tile, x[i]);
    v = exchange<2>(tile, v);
    v = exchange<4>(tile, v);
    v = exchange<8>(tile, v);
    v = exchange<16>(tile, v);
    v = exchange<32>(tile, v);
    y[i] = v;
}

// A tile of sixteen lanes.
//@ right, 2 x 64: in 128, out 128 = (i ^ 15) + (i ^ 3)
extern "C" __global__ void tile_exchange(const unsigned *x, unsigned *y) {
    __shared__ unsigned tile[64];
    const unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    auto group = cg::tiled_partition<16>(cg::this_thread_block());
    //@ wrong, tile_exchange_smaller: auto group = cg::tiled_partition<8>(cg::this_thread_block());
    tile[t] = x[i]; //~ data-race
    group.sync();
    //@ wrong, tile_exchange_without_sync:
    y[i] = tile[t ^ 15] + group.shfl_xor(x[i], 3); //~ data-race, unwritten-read?
}

// Shuffles, votes and matches of tiles.
//@ right, 1 x 64: in 64, out 64 = i / 8 * 8 + (i + 1) % 8 + 8 + (i % 8 == 5) * 100 + (i / 8 == 0) * 1000
extern "C" __global__ void tile_votes(const unsigned *x, unsigned *y) {
    auto group = cg::tiled_partition<8>(cg::this_thread_block());
    const unsigned v = x[threadIdx.x], rank = group.thread_rank();
    unsigned sum = group.shfl(v, (rank + 1) % 8);
    sum += __popc(group.match_any(v / 8));
    if (group.ballot(v % 8 == 5) == 1u << rank) sum += 100;
    if (group.any(v == 7)) sum += 1000;
    y[threadIdx.x] = sum;
}

// Reductions of tiles of every size.
//@ right, 1 x 64: in 64, out 64 = i / 2 * 4 + 1 + i / 4 * 4 + 3 + i / 8 * 8 + (i / 16 * 16 | 15) + i / 32 * 1024 + 496
extern "C" __global__ void tile_reductions(const unsigned *x, unsigned *y) {
    auto block = cg::this_thread_block();
    const unsigned v = x[threadIdx.x];
    y[threadIdx.x] = cg::reduce(cg::tiled_partition<2>(block), v, cg::plus<unsigned>())
        + cg::reduce(cg::tiled_partition<4>(block), v, cg::greater<unsigned>())
        + cg::reduce(cg::tiled_partition<8>(block), v, cg::less<unsigned>())
        + cg::reduce(cg::tiled_partition<16>(block), v, cg::bit_or<unsigned>())
        + cg::reduce(cg::tiled_partition<32>(block), v, [](unsigned a, unsigned b) { return a + b; });
}

// Scans of tiles.
//@ right, 1 x 64: in 64, out 64 = i % 16 * (i % 16 + 1) / 2 + i % 8
extern "C" __global__ void tile_scans(const unsigned *x, unsigned *y) {
    auto block = cg::this_thread_block();
    const unsigned v = x[threadIdx.x];
    y[threadIdx.x] = cg::inclusive_scan(cg::tiled_partition<16>(block), v % 16, cg::plus<unsigned>())
        + cg::exclusive_scan(cg::tiled_partition<8>(block), 1u, cg::plus<unsigned>());
}

// A tile of two warps, whose barrier and shuffles go through shared memory.
//@ right, 1 x 128: in 128, out 128 = (i ^ 63) + i / 64 * 4096 + 2016
extern "C" __global__ void tile_of_two_warps(const unsigned *x, unsigned *y) {
    __shared__ cg::block_tile_memory<128> memory;
    __shared__ unsigned tile[128];
    const unsigned t = threadIdx.x;
    auto group = cg::tiled_partition<64>(cg::this_thread_block(memory));
    tile[t] = x[t]; //~ data-race
    group.sync();
    //@ wrong, tile_of_two_warps_not_synchronised:
    const unsigned v = tile[t ^ 63]; //~ data-race, unwritten-read?
    y[t] = v + cg::reduce(group, x[t], cg::plus<unsigned>()); //~ data-race? 2, unwritten-read?
}

// A tile as large as the block: its shuffle takes the value of one lane for all. (`cg::reduce` of such a tile hands what one lane
// has acquired on to others by `__shfl_sync`, which orders no memory, and they read what other warps wrote: a race.)
//@ right, 1 x 128: in 128, out 128 = i + 100
extern "C" __global__ void tile_of_four_warps(const unsigned *x, unsigned *y) {
    __shared__ cg::block_tile_memory<128> memory;
    auto group = cg::tiled_partition<128>(cg::this_thread_block(memory));
    const unsigned v = x[threadIdx.x];
    y[threadIdx.x] = v + group.shfl(v, 100);
}

// A size that is known at run time only.
//@ right, 1 x 64: in 64, out 64 = i ^ 3, 4
extern "C" __global__ void tile_of_any_size(const unsigned *x, unsigned *y, unsigned size) {
    __shared__ unsigned tile[64];
    const unsigned t = threadIdx.x;
    auto group = cg::tiled_partition(cg::this_thread_block(), size);
    tile[t] = x[t];
    group.sync();
    y[t] = tile[t / size * size + size - 1 - group.thread_rank()];
}

// Those lanes that come draw places together: one adds for all.
//@ right, 2 x 64: in 128, zero 128, zero 1 = 64
extern "C" __global__ void coalesced(const unsigned *x, unsigned *seen, unsigned *count) {
    const unsigned v = x[blockIdx.x * 64 + threadIdx.x];
    if (v % 2 == 0) return;
    auto group = cg::coalesced_threads();
    unsigned first;
    if (group.thread_rank() == 0) first = atomicAdd(count, group.size());
    seen[group.shfl(first, 0) + group.thread_rank()] = v;
}

// Groups of lanes with the same value, and of those for which a condition holds.
//@ right, 1 x 64: in 64, zero 4 = 18
extern "C" __global__ void labelled(const unsigned *x, unsigned *y) {
    const unsigned v = x[threadIdx.x];
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto same = cg::labeled_partition(warp, v % 4);
    const unsigned sum = cg::reduce(same, 1u, cg::plus<unsigned>());
    if (same.thread_rank() == 0) atomicAdd(y + v % 4, sum);
    auto low = cg::binary_partition(warp, v % 32 < 16);
    if (low.thread_rank() == low.num_threads() - 1 && v % 32 < 16) atomicAdd(y + v % 4, 1);
    if (low.thread_rank() < 3 && v % 32 >= 16) atomicAdd(y + low.thread_rank(), 1);
}

// The block's barrier in two halves.
//@ right, 2 x 64: in 128, out 128 = 3 * i + (i ^ 63)
extern "C" __global__ void block_halves(const unsigned *x, unsigned *y) {
    __shared__ unsigned tile[64];
    auto block = cg::this_thread_block();
    const unsigned t = block.thread_rank(), i = block.group_index().x * 64 + t;
    tile[t] = x[i]; //~ data-race
    auto token = block.barrier_arrive();
    const unsigned own = 3 * x[i];
    block.barrier_wait(std::move(token));
    //@ wrong, block_halves_never_waits: (void)token;
    y[i] = own + tile[63 - t]; //~ data-race, unwritten-read?
}

// All blocks exchange.
//@ right, 3 x 32, cooperative: in 96, zero 96, out 96 = 95 - i
extern "C" __global__ void grid_exchange(const unsigned *x, unsigned *tile, unsigned *y) {
    auto grid = cg::this_grid();
    const unsigned i = grid.thread_rank();
    tile[i] = x[i]; //~ data-race
    grid.sync();
    //@ wrong, grid_exchange_block_only: cg::this_thread_block().sync();
    //@ wrong, grid_exchange_without_sync:
    y[i] = tile[95 - i]; //~ data-race
}

// The grid's barrier in two halves, in rounds.
//@ right, 2 x 32, cooperative: in 64, zero 128, out 64 = 6 * (i ^ 32)
extern "C" __global__ void grid_halves(const unsigned *x, unsigned *tile, unsigned *y) {
    auto grid = cg::this_grid();
    const unsigned i = grid.thread_rank();
    unsigned sum = 0;
    for (unsigned round = 0; round < 3; round++) {
        tile[round % 2 * 64 + i] = (round + 1) * x[i]; //~ data-race
        auto token = grid.barrier_arrive();
        grid.barrier_wait(std::move(token));
        //@ wrong, grid_halves_never_waits: (void)token;
        sum += tile[round % 2 * 64 + (i ^ 32)]; //~ data-race
    }
    y[i] = sum;
}

// One thread of each warp does what one has to do.
//@ right, 1 x 64: zero 2 = 1
extern "C" __global__ void elected(unsigned *y) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    cg::invoke_one(warp, [&] { y[warp.meta_group_rank()] += 1; });
}

// Places for as many elements as each lane has.
//@ right, 2 x 32: in 64, zero 1 = 96, zero 96 = 1
extern "C" __global__ void placed(const unsigned *x, unsigned *count, unsigned *y) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const unsigned wanted = x[blockIdx.x * 32 + threadIdx.x] % 4;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> total(*count);
    const unsigned first = cg::exclusive_scan_update(warp, total, wanted, cg::plus<unsigned>());
    for (unsigned i = 0; i < wanted; i++) y[first + i] = 1;
}
