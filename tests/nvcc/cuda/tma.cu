// nvcc: -arch=compute_90a -std=c++17
// PTX version: 8.3
// Tensor copies: boxes with swizzles, multicast to a cluster, reductions, columns of pixels, maps changed by the kernel.

#include <cstdint>

struct alignas(64) TensorMap { uint64_t words[16]; };

static __device__ uint32_t shared_address(const void *pointer) { return (uint32_t)__cvta_generic_to_shared(pointer); }

static __device__ void barrier_init(uint64_t *barrier, uint32_t count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

static __device__ void barrier_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
}

static __device__ void barrier_expect(uint64_t *barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

static __device__ void barrier_wait(uint64_t *barrier, uint32_t parity)
{
    asm volatile("{\n .reg .pred p;\n"
                 "WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@!p bra WAIT;\n }" ::"r"(shared_address(barrier)), "r"(parity) : "memory");
}

static __device__ void load_2d(void *to, const TensorMap *map, uint64_t *barrier, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(shared_address(to)), "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y) : "memory");
}

static __device__ void store_2d(const TensorMap *map, const void *from, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
                 "r"(shared_address(from)), "r"(x), "r"(y) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// Transposes a matrix of floats by tiles of 32 by 32, which are read from rows of 128 swizzled bytes.
extern "C" __global__ void __launch_bounds__(256)
transpose(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap out)
{
    __shared__ alignas(1024) float tile[32 * 32];
    __shared__ alignas(1024) float turned[32 * 32];
    __shared__ alignas(8) uint64_t barrier;
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
    if (threadIdx.x == 0) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&in) : "memory");
        barrier_init(&barrier, 1);
        barrier_fence();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        barrier_expect(&barrier, sizeof(tile));
        load_2d(tile, &in, &barrier, x, y);
    }
    barrier_wait(&barrier, 0);
    for (int index = threadIdx.x; index < 32 * 32; index += 256) {
        int row = index / 32, column = index % 32;
        // Chunks of four floats lie at their number, xored with that of the row.
        turned[column * 32 + row] = tile[row * 32 + ((column / 4) ^ (row % 8)) * 4 + column % 4];
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0)
        store_2d(&out, turned, y, x);
}

// Each of four blocks of a cluster loads a quarter of a tile for all; each sums its own columns.
extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(64)
shared_tile(const __grid_constant__ TensorMap in, float *out)
{
    __shared__ alignas(1024) float tile[64 * 64];
    __shared__ alignas(8) uint64_t barrier;
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        barrier_fence();
        barrier_expect(&barrier, sizeof(tile));
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        uint16_t all = 15;
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                     " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared_address(&tile[rank * 16 * 64])),
                     "l"(&in), "r"(shared_address(&barrier)), "r"(0), "r"((blockIdx.x / 4) * 64 + rank * 16), "h"(all)
                     : "memory");
    }
    barrier_wait(&barrier, 0);
    float sum = 0;
    for (int row = rank; row < 64; row += 4)
        sum += tile[row * 64 + threadIdx.x];
    out[blockIdx.x * 64 + threadIdx.x] = sum;
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// Every block adds its own tile to one of the result, which ends before the tile does.
extern "C" __global__ void __launch_bounds__(64) accumulate(const __grid_constant__ TensorMap out)
{
    __shared__ alignas(128) float tile[16 * 32];
    for (int index = threadIdx.x; index < 16 * 32; index += 64)
        tile[index] = index + blockIdx.x;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&out),
                     "r"(shared_address(tile)), "r"((int)(blockIdx.x % 2) * 32), "r"(5) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

// A convolution of 3 by 3 with a margin of one: columns of 32 pixels of 8 channels for each place of the filter.
extern "C" __global__ void __launch_bounds__(32)
convolve(const __grid_constant__ TensorMap images, const float *filter, float *out, int width, int height, int pixels)
{
    __shared__ alignas(1024) float column[9][32 * 8];
    __shared__ alignas(8) uint64_t barrier;
    int first = blockIdx.x * 32;
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        barrier_fence();
        barrier_expect(&barrier, sizeof(column));
        int x = first % width - 1, y = first / width % height - 1, n = first / (width * height);
        for (int place = 0; place < 9; place++) {
            uint16_t right = place % 3, down = place / 3;
            asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
                         " [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(shared_address(column[place])),
                         "l"(&images), "r"(shared_address(&barrier)), "r"(0), "r"(x), "r"(y), "r"(n), "h"(right), "h"(down)
                         : "memory");
        }
    }
    __syncwarp();
    barrier_wait(&barrier, 0);
    float sum = 0;
    for (int place = 0; place < 9; place++)
        for (int channel = 0; channel < 8; channel++)
            sum += column[place][threadIdx.x * 8 + channel] * filter[place * 8 + channel];
    if (first + threadIdx.x < pixels)
        out[first + threadIdx.x] = sum;
}

// Sums rows of matrices of several sizes: the map is changed for each, as grouped products do.
extern "C" __global__ void __launch_bounds__(32)
grouped(const __grid_constant__ TensorMap like, TensorMap *maps, float *const *matrices, const int *rows, const int *columns,
        float *out)
{
    __shared__ alignas(128) TensorMap image;
    __shared__ alignas(128) float tile[8 * 32];
    __shared__ alignas(8) uint64_t barrier;
    int group = blockIdx.x;
    TensorMap *map = &maps[group];
    if (threadIdx.x < 16)
        image.words[threadIdx.x] = like.words[threadIdx.x];
    __syncwarp();
    uint32_t at = shared_address(&image);
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        barrier_fence();
        asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(at), "l"(matrices[group]));
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(at), "r"(columns[group]));
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(at), "r"(rows[group]));
        asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(at),
                     "l"((uint64_t)columns[group] * 4));
    }
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;"
                 ::"l"(map), "r"(at) : "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
    uint32_t phase = 0;
    float sum = 0;
    for (int row = 0; row < rows[group]; row += 8)
        for (int column = 0; column < columns[group]; column += 32) {
            if (threadIdx.x == 0) {
                barrier_expect(&barrier, sizeof(tile));
                load_2d(tile, map, &barrier, column, row);
            }
            barrier_wait(&barrier, phase);
            phase ^= 1;
            for (int line = 0; line < 8; line++)
                sum += tile[line * 32 + threadIdx.x];
            __syncwarp();
        }
    out[group * 32 + threadIdx.x] = sum;
}
