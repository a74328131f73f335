// nvcc: -arch=sm_80 -lineinfo -diag-suppress 20054
// CUB's collectives of a block. Their shared memory is used again only behind a barrier.
#include <cub/block/block_shuffle.cuh>
#include <cub/cub.cuh>

constexpr unsigned THREADS = 64;

// Two reductions in the same memory.
//@ right, 2 x 64: in 128, out 2 = 4096 * i + 2016, out 2 = 64 * i + 63
extern "C" __global__ void block_reduce(const unsigned *x, unsigned *sums, unsigned *maxima) {
    using Reduce = cub::BlockReduce<unsigned, THREADS>;
    __shared__ Reduce::TempStorage memory;
    const unsigned t = threadIdx.x, v = x[blockIdx.x * THREADS + t];
    const unsigned sum = Reduce(memory).Sum(v); //~ data-race
    __syncthreads();
    //@ wrong, block_reduce_memory_used_again:
    const unsigned most = Reduce(memory).Reduce(v, cuda::maximum<>{}); //~ data-race
    if (t == 0) {
        sums[blockIdx.x] = sum;
        maxima[blockIdx.x] = most;
    }
}

// The other algorithms of a reduction.
//@ right, 1 x 64: in 128, out 2 = 8128
extern "C" __global__ void block_reduce_raking(const unsigned *x, unsigned *y) {
    using Raking = cub::BlockReduce<unsigned, THREADS, cub::BLOCK_REDUCE_RAKING>;
    using Commutative = cub::BlockReduce<unsigned, THREADS, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>;
    __shared__ Raking::TempStorage raking;
    __shared__ Commutative::TempStorage commutative;
    unsigned v[2] = {x[2 * threadIdx.x], x[2 * threadIdx.x + 1]};
    const unsigned a = Raking(raking).Sum(v), b = Commutative(commutative).Sum(v);
    if (threadIdx.x == 0) {
        y[0] = a;
        y[1] = b;
    }
}

// A scan by warps, which knows the sum as well.
//@ right, 2 x 64: in 128, out 128 = i % 64 * (i % 64 - 1) / 2 + i / 64 * 64 * (i % 64) + i / 64 * 4096 + 2016
extern "C" __global__ void block_scan(const unsigned *x, unsigned *y) {
    using Scan = cub::BlockScan<unsigned, THREADS, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ Scan::TempStorage memory;
    const unsigned i = blockIdx.x * THREADS + threadIdx.x;
    unsigned before, sum;
    Scan(memory).ExclusiveSum(x[i], before, sum);
    y[i] = before + sum;
}

// A scan by raking, and two by warps in the same memory.
//@ right, 1 x 64: in 64, out 64 = i * (i + 1) / 2 + i * (i - 1) / 2
extern "C" __global__ void block_scan_raking(const unsigned *x, unsigned *y) {
    using Raking = cub::BlockScan<unsigned, THREADS, cub::BLOCK_SCAN_RAKING>;
    using Scan = cub::BlockScan<unsigned, THREADS, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ Raking::TempStorage raking;
    __shared__ Scan::TempStorage memory;
    unsigned sum, most, sum_of_most;
    Raking(raking).InclusiveSum(x[threadIdx.x], sum);
    Scan(memory).InclusiveScan(x[threadIdx.x], most, cuda::maximum<>{}); //~ data-race
    __syncthreads();
    //@ wrong, block_scan_memory_used_again:
    Scan(memory).ExclusiveSum(most, sum_of_most); //~ data-race
    y[threadIdx.x] = sum + sum_of_most;
}

// What a scan of many tiles carries from one to the next.
struct Carry {
    unsigned sum;
    __device__ unsigned operator()(unsigned tile) {
        const unsigned before = sum;
        sum += tile;
        return before;
    }
};

// A scan of four tiles.
//@ right, 1 x 64: in 256, out 256 = i * (i + 1) / 2
extern "C" __global__ void block_scan_tiles(const unsigned *x, unsigned *y) {
    using Scan = cub::BlockScan<unsigned, THREADS, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ Scan::TempStorage memory;
    Carry carry{0};
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < 256; i += THREADS) {
        unsigned sum;
        Scan(memory).InclusiveSum(x[i], sum, carry);
        __syncthreads();
        y[i] = sum;
    }
}

// A sort of keys.
//@ right, 1 x 64: in 128, out 128 = i
extern "C" __global__ void block_radix_sort(const unsigned *x, unsigned *y) {
    using Sort = cub::BlockRadixSort<unsigned, THREADS, 2>;
    __shared__ Sort::TempStorage memory;
    unsigned keys[2];
    for (unsigned i = 0; i < 2; i++) keys[i] = x[2 * threadIdx.x + i] * 37 % 128;
    Sort(memory).Sort(keys, 0, 7);
    for (unsigned i = 0; i < 2; i++) y[2 * threadIdx.x + i] = keys[i];
}

// A sort of pairs, the largest first, whose memory is then another exchange's.
//@ right, 1 x 64: in 64, out 64 = 45 * i % 64
extern "C" __global__ void block_radix_sort_pairs(const unsigned *x, unsigned *y) {
    using Sort = cub::BlockRadixSort<unsigned, THREADS, 1, unsigned>;
    __shared__ union {
        Sort::TempStorage sort;
        unsigned tile[THREADS];
    } memory;
    const unsigned t = threadIdx.x;
    unsigned key[1] = {x[t] * 37 % 64}, value[1] = {x[t]};
    Sort(memory.sort).SortDescending(key, value, 0, 6); //~ data-race
    __syncthreads();
    //@ wrong, block_radix_sort_memory_used_again:
    memory.tile[63 - t] = value[0]; //~ data-race
    __syncthreads();
    y[t] = memory.tile[t];
}

struct Less {
    __device__ bool operator()(unsigned a, unsigned b) const { return a < b; }
};

// A sort by merging.
//@ right, 1 x 64: in 128, out 128 = i
extern "C" __global__ void block_merge_sort(const unsigned *x, unsigned *y) {
    using Sort = cub::BlockMergeSort<unsigned, THREADS, 2>;
    __shared__ Sort::TempStorage memory;
    unsigned keys[2];
    for (unsigned i = 0; i < 2; i++) keys[i] = x[2 * threadIdx.x + i] * 37 % 128;
    Sort(memory).Sort(keys, Less());
    for (unsigned i = 0; i < 2; i++) y[2 * threadIdx.x + i] = keys[i];
}

// Counts in shared memory, by atomics.
//@ right, 1 x 64: in 64, out 8 = 8
extern "C" __global__ void block_histogram(const unsigned *x, unsigned *y) {
    using Histogram = cub::BlockHistogram<unsigned char, THREADS, 1, 8, cub::BLOCK_HISTO_ATOMIC>;
    __shared__ Histogram::TempStorage memory;
    __shared__ unsigned bins[8];
    unsigned char v[1] = {static_cast<unsigned char>(x[threadIdx.x] % 8)};
    Histogram(memory).Histogram(v, bins); //~ data-race
    __syncthreads();
    //@ wrong, block_histogram_read_too_early:
    if (threadIdx.x < 8) y[threadIdx.x] = bins[threadIdx.x]; //~ data-race
}

// The same by sorting.
//@ right, 1 x 64: in 64, out 8 = 8
extern "C" __global__ void block_histogram_sort(const unsigned *x, unsigned *y) {
    using Histogram = cub::BlockHistogram<unsigned char, THREADS, 1, 8, cub::BLOCK_HISTO_SORT>;
    __shared__ Histogram::TempStorage memory;
    __shared__ unsigned bins[8];
    unsigned char v[1] = {static_cast<unsigned char>(x[threadIdx.x] * 5 % 8)};
    Histogram(memory).Histogram(v, bins);
    __syncthreads();
    if (threadIdx.x < 8) y[threadIdx.x] = bins[threadIdx.x];
}

// From rows to columns and back.
//@ right, 2 x 64: in 512, out 512 = i ^ 255
extern "C" __global__ void block_exchange(const unsigned *x, unsigned *y) {
    using Exchange = cub::BlockExchange<unsigned, THREADS, 4>;
    __shared__ Exchange::TempStorage memory;
    const unsigned t = threadIdx.x, from = blockIdx.x * 4 * THREADS;
    unsigned v[4], rank[4];
    for (unsigned i = 0; i < 4; i++) v[i] = x[from + i * THREADS + t];
    Exchange(memory).StripedToBlocked(v, v); //~ data-race
    __syncthreads();
    //@ wrong, block_exchange_memory_used_again:
    for (unsigned i = 0; i < 4; i++) rank[i] = 255 - (4 * t + i);
    Exchange(memory).ScatterToStriped(v, v, rank); //~ data-race
    for (unsigned i = 0; i < 4; i++) y[from + i * THREADS + t] = v[i];
}

// Loads and a store that go through the same shared memory.
//@ right, 2 x 64: in 512, out 512 = i + (i ^ 256)
extern "C" __global__ void block_load_store(const unsigned *x, unsigned *y) {
    using Load = cub::BlockLoad<unsigned, THREADS, 4, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<unsigned, THREADS, 4, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    __shared__ union {
        Load::TempStorage load;
        Store::TempStorage store;
    } memory;
    unsigned v[4], w[4];
    Load(memory.load).Load(x + blockIdx.x * 4 * THREADS, v); //~ data-race
    __syncthreads();
    //@ wrong, block_load_memory_used_again:
    Load(memory.load).Load(x + (blockIdx.x ^ 1) * 4 * THREADS, w); //~ data-race
    __syncthreads();
    for (unsigned i = 0; i < 4; i++) v[i] += w[i];
    Store(memory.store).Store(y + blockIdx.x * 4 * THREADS, v);
}

// Where neighbours differ, and by how much.
//@ right, 1 x 64: in 64, out 64 = (i % 4 == 0) * 258 + (i % 4 == 3) - (i == 0) * 256
extern "C" __global__ void block_neighbours(const unsigned *x, unsigned *y) {
    using Flags = cub::BlockDiscontinuity<unsigned, THREADS>;
    using Difference = cub::BlockAdjacentDifference<unsigned, THREADS>;
    __shared__ Flags::TempStorage flags;
    __shared__ Difference::TempStorage difference;
    unsigned v[1] = {x[threadIdx.x] / 4}, head[1], tail[1], step[1];
    Flags(flags).FlagHeadsAndTails(head, tail, v, cuda::std::not_equal_to<>{});
    Difference(difference).SubtractLeft(v, step, cuda::std::minus<>{});
    if (threadIdx.x == 0) step[0] = 0;
    y[threadIdx.x] = 2 * head[0] + tail[0] + 256 * step[0];
}

// Elements of the thread some places away.
//@ right, 1 x 64: in 64, out 64 = (i + 5) % 64 + 100 * (i + 1) - (i == 63) * 100
extern "C" __global__ void block_shuffle(const unsigned *x, unsigned *y) {
    using Shuffle = cub::BlockShuffle<unsigned, THREADS>;
    __shared__ Shuffle::TempStorage memory;
    const unsigned t = threadIdx.x;
    unsigned rotated, next = x[t];
    Shuffle(memory).Rotate(x[t], rotated, 5); //~ data-race
    __syncthreads();
    //@ wrong, block_shuffle_memory_used_again:
    Shuffle(memory).Offset(x[t], next, 1); //~ data-race
    y[t] = rotated + 100 * next;
}

// Runs of equal elements, written out.
//@ right, 1 x 64: in 64, out 128 = i / 2
extern "C" __global__ void block_run_lengths(const unsigned *x, unsigned *y) {
    using Runs = cub::BlockRunLengthDecode<unsigned, THREADS, 1, 2>;
    __shared__ Runs::TempStorage memory;
    unsigned value[1] = {x[threadIdx.x]}, length[1] = {2}, total, decoded[2];
    Runs runs(memory, value, length, total);
    runs.RunLengthDecode(decoded, 0);
    for (unsigned i = 0; i < 2; i++) y[2 * threadIdx.x + i] = decoded[i];
}
