// nvcc: -arch=sm_80 -lineinfo -diag-suppress 20054
// CUB's collectives of a warp or a part of one, and the parts of its algorithms of a whole device.
#include <cooperative_groups.h>
#include <cub/cub.cuh>

// Reductions of warps and of parts of them.
//@ right, 1 x 64: in 64, out 2 = 1024 * i + 496, out 8 = 64 * i + 28
extern "C" __global__ void warp_reduce(const unsigned *x, unsigned *wholes, unsigned *parts) {
    using Whole = cub::WarpReduce<unsigned>;
    using Part = cub::WarpReduce<unsigned, 8>;
    __shared__ Whole::TempStorage whole[2];
    __shared__ Part::TempStorage part[8];
    const unsigned t = threadIdx.x;
    const unsigned a = Whole(whole[t / 32]).Sum(x[t]), b = Part(part[t / 8]).Sum(x[t]);
    if (t % 32 == 0) wholes[t / 32] = a;
    if (t % 8 == 0) parts[t / 8] = b;
}

// A number of lanes that is no power of two: the reduction goes through shared memory.
//@ right, 1 x 64: in 64, out 2 = 768 * i + 276
extern "C" __global__ void warp_reduce_of_24(const unsigned *x, unsigned *y) {
    using Reduce = cub::WarpReduce<unsigned, 24>;
    __shared__ Reduce::TempStorage memory[2];
    const unsigned w = threadIdx.x / 32, t = threadIdx.x % 32;
    if (t >= 24) return;
    const unsigned sum = Reduce(memory[w]).Sum(x[32 * w + t]);
    if (t == 0) y[w] = sum;
}

// Sums of segments that begin where a flag says.
//@ right, 1 x 32: in 32, out 32 = (i % 4 == 0) * (4 * i + 6)
extern "C" __global__ void warp_reduce_segments(const unsigned *x, unsigned *y) {
    using Reduce = cub::WarpReduce<unsigned>;
    __shared__ Reduce::TempStorage memory;
    const unsigned t = threadIdx.x, sum = Reduce(memory).HeadSegmentedSum(x[t], t % 4 == 0);
    y[t] = t % 4 == 0 ? sum : 0;
}

// Scans of half a warp.
//@ right, 1 x 64: in 64, out 64 = i % 16 * (i % 16 + 1) / 2 + i / 16 * 16 * (i % 16 + 1)
extern "C" __global__ void warp_scan(const unsigned *x, unsigned *y) {
    using Scan = cub::WarpScan<unsigned, 16>;
    __shared__ Scan::TempStorage memory[4];
    const unsigned t = threadIdx.x;
    unsigned sum;
    Scan(memory[t / 16]).InclusiveSum(x[t], sum);
    y[t] = sum;
}

// An exchange within a warp, twice in the same memory.
//@ right, 1 x 64: in 256, out 256 = i / 128 * 128 + i % 4 * 32 + i % 128 / 4
extern "C" __global__ void warp_exchange(const unsigned *x, unsigned *y) {
    using Exchange = cub::WarpExchange<unsigned, 4, 32>;
    __shared__ Exchange::TempStorage memory[2];
    const unsigned w = threadIdx.x / 32, t = threadIdx.x % 32;
    Exchange exchange(memory[w]);
    //@ wrong, warp_exchange_in_memory_of_another: Exchange exchange(memory[0]);
    unsigned v[4];
    for (unsigned i = 0; i < 4; i++) v[i] = x[128 * w + 4 * t + i];
    exchange.BlockedToStriped(v, v); //~ data-race
    __syncwarp();
    //@ wrong, warp_exchange_memory_used_again:
    exchange.BlockedToStriped(v, v); //~ data-race
    for (unsigned i = 0; i < 4; i++) y[128 * w + 32 * i + t] = v[i];
}

// Loads and stores of a warp through its shared memory.
//@ right, 1 x 64: in 256, out 256 = i + (i ^ 128)
extern "C" __global__ void warp_load_store(const unsigned *x, unsigned *y) {
    using Load = cub::WarpLoad<unsigned, 4, cub::WARP_LOAD_TRANSPOSE>;
    using Store = cub::WarpStore<unsigned, 4, cub::WARP_STORE_TRANSPOSE>;
    __shared__ union {
        Load::TempStorage load;
        Store::TempStorage store;
    } memory[2];
    const unsigned w = threadIdx.x / 32;
    unsigned u[4], v[4];
    Load(memory[w].load).Load(x + 128 * w, u); //~ data-race
    __syncwarp();
    //@ wrong, warp_load_memory_used_again:
    Load(memory[w].load).Load(x + 128 * (w ^ 1), v); //~ data-race
    __syncwarp();
    for (unsigned i = 0; i < 4; i++) v[i] += u[i];
    Store(memory[w].store).Store(y + 128 * w, v);
}

struct Less {
    __device__ bool operator()(unsigned a, unsigned b) const { return a < b; }
};

// Sorts of 64 keys in each warp.
//@ right, 1 x 64: in 128, out 128 = i
extern "C" __global__ void warp_merge_sort(const unsigned *x, unsigned *y) {
    using Sort = cub::WarpMergeSort<unsigned, 2>;
    __shared__ Sort::TempStorage memory[2];
    const unsigned w = threadIdx.x / 32, t = threadIdx.x % 32;
    unsigned keys[2];
    for (unsigned i = 0; i < 2; i++) keys[i] = 64 * w + x[2 * t + i] * 37 % 64;
    Sort(memory[w]).Sort(keys, Less());
    for (unsigned i = 0; i < 2; i++) y[64 * w + 2 * t + i] = keys[i];
}

// CUB's scan of a whole device: each tile looks back at what those before it have made known.
//@ right, 3 x 64, cooperative: raw 400, in 192, out 192 = i * (i + 1) / 2
extern "C" __global__ void device_scan(void *memory, const unsigned *x, unsigned *y) {
    using Tiles = cub::ScanTileState<unsigned>;
    using Prefix = cub::TilePrefixCallbackOp<unsigned, cuda::std::plus<>, Tiles>;
    using Scan = cub::BlockScan<unsigned, 64>;
    __shared__ Prefix::TempStorage prefix_memory;
    __shared__ Scan::TempStorage scan_memory;
    Tiles tiles;
    tiles.Init(3, memory, 1600);
    tiles.InitializeStatus(3);
    cooperative_groups::this_grid().sync();
    const unsigned i = blockIdx.x * 64 + threadIdx.x;
    unsigned sum;
    if (blockIdx.x == 0) {
        unsigned all;
        Scan(scan_memory).InclusiveScan(x[i], sum, cuda::std::plus<>{}, all);
        if (threadIdx.x == 0) tiles.SetInclusive(0, all);
    } else {
        Prefix prefix(tiles, prefix_memory, cuda::std::plus<>{});
        Scan(scan_memory).InclusiveScan(x[i], sum, cuda::std::plus<>{}, prefix);
    }
    y[i] = sum;
}
