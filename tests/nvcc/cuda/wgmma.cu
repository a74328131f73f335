// nvcc: -arch=compute_90a -std=c++17
// PTX version: 8.0
// Products of warp groups: a producer and two consumers with a queue of stages, factors in registers, small types.

#include <cstdint>

struct alignas(64) TensorMap { uint64_t words[16]; };

static __device__ uint32_t shared_address(const void *pointer) { return (uint32_t)__cvta_generic_to_shared(pointer); }

static __device__ void barrier_init(uint64_t *barrier, uint32_t count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

static __device__ void barrier_expect(uint64_t *barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

static __device__ void barrier_arrive(uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
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

// Swizzled rows (1: of 128 bytes, 2: of 64); the distance between groups of eight rows, and for a transposed matrix between its
// columns of 64 elements.
static __device__ uint64_t descriptor(const void *start, uint32_t stride, uint32_t leading = 16, uint64_t swizzle = 1)
{
    return (uint64_t)(shared_address(start) >> 4 & 0x3fff) | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 |
           swizzle << 62;
}

static __device__ void group_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
static __device__ void group_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int left> static __device__ void group_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory"); }

#define SUMS                                                                                                             \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, " \
    "%25, %26, %27, %28, %29, %30, %31}"
#define OUTPUTS(kind, d)                                                                                                  \
    "+" kind(d[0]), "+" kind(d[1]), "+" kind(d[2]), "+" kind(d[3]), "+" kind(d[4]), "+" kind(d[5]), "+" kind(d[6]),         \
        "+" kind(d[7]), "+" kind(d[8]), "+" kind(d[9]), "+" kind(d[10]), "+" kind(d[11]), "+" kind(d[12]), "+" kind(d[13]), \
        "+" kind(d[14]), "+" kind(d[15]), "+" kind(d[16]), "+" kind(d[17]), "+" kind(d[18]), "+" kind(d[19]),              \
        "+" kind(d[20]), "+" kind(d[21]), "+" kind(d[22]), "+" kind(d[23]), "+" kind(d[24]), "+" kind(d[25]),              \
        "+" kind(d[26]), "+" kind(d[27]), "+" kind(d[28]), "+" kind(d[29]), "+" kind(d[30]), "+" kind(d[31])

static __device__ void product_bf16(float (&d)[32], uint64_t a, uint64_t b, int adds)
{
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " SUMS ", %32, %33, p, 1, 1, 0, 0;\n }"
                 : OUTPUTS("f", d) : "l"(a), "l"(b), "r"(adds));
}

// The first factor in registers; the second one transposed.
static __device__ void product_registers(float (&d)[32], const uint32_t (&a)[4], uint64_t b, int adds)
{
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " SUMS ", {%32, %33, %34, %35}, %36, p, 1, 1, 1;\n }"
                 : OUTPUTS("f", d) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

static __device__ void product_f16(float (&d)[32], uint64_t a, uint64_t b, int adds)
{
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " SUMS ", %32, %33, p, 1, 1, 0, 0;\n }"
                 : OUTPUTS("f", d) : "l"(a), "l"(b), "r"(adds));
}

static __device__ void product_tf32(float (&d)[32], uint64_t a, uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 " SUMS ", %32, %33, 1, 1, 1;"
                 : OUTPUTS("f", d) : "l"(a), "l"(b));
}

static __device__ void product_f8(float (&d)[32], uint64_t a, uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 " SUMS ", %32, %33, 1, 1, 1;"
                 : OUTPUTS("f", d) : "l"(a), "l"(b));
}

static __device__ void product_s8(int (&d)[32], uint64_t a, uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 " SUMS ", %32, %33, 1;"
                 : OUTPUTS("r", d) : "l"(a), "l"(b));
}

// Calls `put` with row, column and number of each sum of a thread.
template <class T, class F> static __device__ void each_sum(const T (&d)[32], F put)
{
    int thread = threadIdx.x % 128, row = thread / 32 * 16 + thread % 32 / 4;
#pragma unroll
    for (int index = 0; index < 32; index++)
        put(row + index % 4 / 2 * 8, index / 4 * 8 + thread % 4 * 2 + index % 2, d[index]);
}

// Products of bf16: a warp group loads stages of a depth of 32, two others multiply 64 rows each.
extern "C" __global__ void __launch_bounds__(384, 1)
pipelined_product(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, const __grid_constant__ TensorMap c,
                  int depth)
{
    constexpr int STAGES = 2;
    __shared__ alignas(1024) uint16_t tile_a[STAGES][2][64 * 32];
    __shared__ alignas(1024) uint16_t tile_b[STAGES][64 * 32];
    __shared__ alignas(1024) uint16_t result[2][64 * 64];
    __shared__ alignas(8) uint64_t full[STAGES], empty[STAGES];
    int steps = depth / 32, group = threadIdx.x / 128;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++) {
            barrier_init(&full[stage], 1);
            barrier_init(&empty[stage], 2);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            for (int step = 0; step < steps; step++) {
                int stage = step % STAGES, round = step / STAGES;
                if (round > 0)
                    barrier_wait(&empty[stage], (round - 1) & 1);
                barrier_expect(&full[stage], sizeof(tile_a[0]) + sizeof(tile_b[0]));
                load_2d(tile_a[stage][0], &a, &full[stage], step * 32, blockIdx.y * 128);
                load_2d(tile_a[stage][1], &a, &full[stage], step * 32, blockIdx.y * 128 + 64);
                load_2d(tile_b[stage], &b, &full[stage], step * 32, blockIdx.x * 64);
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float d[32];
        for (int step = 0; step < steps; step++) {
            int stage = step % STAGES;
            barrier_wait(&full[stage], step / STAGES & 1);
            group_fence();
            const char *rows = (const char *)tile_a[stage][group - 1];
            const char *columns = (const char *)tile_b[stage];
            for (int part = 0; part < 2; part++)
                product_bf16(d, descriptor(rows + 32 * part, 512, 16, 2), descriptor(columns + 32 * part, 512, 16, 2),
                             step + part > 0);
            group_commit();
            group_wait<0>();
            if (threadIdx.x % 128 == 0)
                barrier_arrive(&empty[stage]);
        }
        // The sums go through shared memory, of which each group takes what it has read itself, to a tensor of bf16.
        asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory");
        uint16_t *tile = result[group - 1];
        int thread = threadIdx.x % 128, lane = thread % 32, row = thread / 32 * 16 + lane % 16;
        for (int part = 0; part < 4; part++) {
            uint32_t pair[4];
            for (int index = 0; index < 4; index++)
                asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair[index]) : "f"(d[part * 8 + 2 * index + 1]), "f"(d[part * 8 + 2 * index]));
            uint32_t chunk = part * 2 + lane / 16;
            uint32_t to = shared_address(tile) + row * 128 + (chunk ^ row % 8) * 16;
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(pair[0]),
                         "r"(pair[1]), "r"(pair[2]), "r"(pair[3]) : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory");
        if (thread == 0) {
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&c),
                         "r"(shared_address(tile)), "r"((int)blockIdx.x * 64), "r"((int)(blockIdx.y * 128 + (group - 1) * 64))
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        }
    }
}

// Two products in a row without a softmax between: q and k are 64 by 64, the first product stays in registers as halves, and
// v is multiplied as it lies, row by row.
extern "C" __global__ void __launch_bounds__(128)
chained(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k, const __grid_constant__ TensorMap v, float *out,
        int keys)
{
    __shared__ alignas(1024) uint16_t tiles[3][64 * 64];
    __shared__ alignas(8) uint64_t barrier;
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    float result[32];
    for (int key = 0; key < keys; key += 64) {
        if (threadIdx.x == 0) {
            barrier_expect(&barrier, sizeof(tiles));
            load_2d(tiles[0], &q, &barrier, 0, blockIdx.x * 64);
            load_2d(tiles[1], &k, &barrier, 0, key);
            load_2d(tiles[2], &v, &barrier, 0, key);
        }
        barrier_wait(&barrier, key / 64 & 1);
        float scores[32];
        group_fence();
        for (int part = 0; part < 4; part++)
            product_f16(scores, descriptor((char *)tiles[0] + 32 * part, 1024), descriptor((char *)tiles[1] + 32 * part, 1024), part);
        group_commit();
        group_wait<0>();
        uint32_t halves[4][4];
        for (int part = 0; part < 4; part++)
            for (int index = 0; index < 4; index++)
                asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(halves[part][index])
                    : "f"(scores[part * 8 + 2 * index + 1] * 0.125f), "f"(scores[part * 8 + 2 * index] * 0.125f));
        group_fence();
        for (int part = 0; part < 4; part++)
            product_registers(result, halves[part], descriptor((char *)tiles[2] + 2048 * part, 1024, 8192), key + part);
        group_commit();
        group_wait<0>();
        __syncthreads();
    }
    each_sum(result, [&](int row, int column, float sum) { out[(blockIdx.x * 64 + row) * 64 + column] = sum; });
}

// A product of rows of 128 bytes in one step, of other types.
template <class T, class F> static __device__ void single(const TensorMap *a, const TensorMap *b, T *out, F product)
{
    __shared__ alignas(1024) char tiles[2][64 * 128];
    __shared__ alignas(8) uint64_t barrier;
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        barrier_expect(&barrier, sizeof(tiles));
        load_2d(tiles[0], a, &barrier, 0, 0);
        load_2d(tiles[1], b, &barrier, 0, 0);
    }
    __syncthreads();
    barrier_wait(&barrier, 0);
    T sums[32];
    for (int index = 0; index < 32; index++)
        sums[index] = threadIdx.x;
    group_fence();
    for (int part = 0; part < 4; part++)
        product(sums, descriptor(tiles[0] + 32 * part, 1024), descriptor(tiles[1] + 32 * part, 1024));
    group_commit();
    group_wait<0>();
    each_sum(sums, [&](int row, int column, T sum) { out[row * 64 + column] = sum; });
}

extern "C" __global__ void __launch_bounds__(128)
single_tf32(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *out)
{
    single(&a, &b, out, [](float (&d)[32], uint64_t a, uint64_t b) { product_tf32(d, a, b); });
}

extern "C" __global__ void __launch_bounds__(128)
single_f8(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *out)
{
    single(&a, &b, out, [](float (&d)[32], uint64_t a, uint64_t b) { product_f8(d, a, b); });
}

extern "C" __global__ void __launch_bounds__(128)
single_s8(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, int *out)
{
    single(&a, &b, out, [](int (&d)[32], uint64_t a, uint64_t b) { product_s8(d, a, b); });
}
