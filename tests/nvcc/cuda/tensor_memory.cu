// nvcc: -arch=compute_100a -std=c++17
// PTX version: 8.7
// Products in tensor memory: every kind, factors in shared and in tensor memory, queues of stages, block scales, clusters.

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

static __device__ uint32_t allocate(uint32_t *place, uint32_t columns)
{
    if (threadIdx.x < 32) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(place)), "r"(columns)
                     : "memory");
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
    }
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    return *(volatile uint32_t *)place;
}

static __device__ void release(uint32_t address, uint32_t columns)
{
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
}

static __device__ void commit(uint64_t *barrier)
{
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_address(barrier))
                 : "memory");
}

static __device__ void wait_product(uint64_t *barrier, uint32_t parity)
{
    barrier_wait(barrier, parity);
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

// Swizzles: 0 none, 2 of rows of 128 bytes, 4 of 64 bytes.
static __device__ uint64_t descriptor(const void *start, uint32_t stride, uint32_t leading = 16, uint64_t swizzle = 2)
{
    return (uint64_t)(shared_address(start) >> 4 & 0x3fff) | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 |
           (uint64_t)1 << 46 | swizzle << 61;
}

// Types of sums (0: f16, 1: f32, 2: s32) and of factors.
static __device__ constexpr uint32_t instruction(int m, int n, int sum, int a, int b, int transpose_a = 0, int transpose_b = 0)
{
    return sum << 4 | a << 7 | b << 10 | transpose_a << 15 | transpose_b << 16 | n >> 3 << 17 | m >> 4 << 24;
}

static __device__ constexpr uint32_t scaled_instruction(int m, int n, int type, int scale, int byte)
{
    return byte << 4 | type << 7 | type << 10 | n >> 3 << 17 | scale << 23 | m >> 4 << 24 | (uint32_t)byte << 29;
}

#define PRODUCT(name, kind)                                                                                              \
    static __device__ void name(uint32_t d, uint64_t a, uint64_t b, uint32_t what, uint32_t adds)                         \
    {                                                                                                                    \
        asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %4, 0;\n"                                                       \
                     "tcgen05.mma.cta_group::1.kind::" kind " [%0], %1, %2, %3, p;\n }" ::"r"(d), "l"(a), "l"(b),         \
                     "r"(what), "r"(adds) : "memory");                                                                   \
    }
PRODUCT(product_f16, "f16")
PRODUCT(product_tf32, "tf32")
PRODUCT(product_f8, "f8f6f4")
PRODUCT(product_i8, "i8")

// The first factor in tensor memory.
static __device__ void product_tensor(uint32_t d, uint32_t a, uint64_t b, uint32_t what, uint32_t adds)
{
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %4, 0;\n"
                 "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;\n }" ::"r"(d), "r"(a), "l"(b), "r"(what), "r"(adds)
                 : "memory");
}

#define LIST16 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define OUT16(r)                                                                                                          \
    "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]), "=r"(r[8]), "=r"(r[9]), \
        "=r"(r[10]), "=r"(r[11]), "=r"(r[12]), "=r"(r[13]), "=r"(r[14]), "=r"(r[15])
#define IN16(r)                                                                                                           \
    "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]), "r"(r[6]), "r"(r[7]), "r"(r[8]), "r"(r[9]),           \
        "r"(r[10]), "r"(r[11]), "r"(r[12]), "r"(r[13]), "r"(r[14]), "r"(r[15])
#define LOAD(name, shape)                                                                                                 \
    static __device__ void name(uint32_t (&r)[16], uint32_t address)                                                      \
    {                                                                                                                    \
        asm volatile("tcgen05.ld.sync.aligned." shape ".b32 " LIST16 ", [%16];\n"                                         \
                     "tcgen05.wait::ld.sync.aligned;" : OUT16(r) : "r"(address) : "memory");                              \
    }
LOAD(load_rows, "32x32b.x16")
LOAD(load_pairs, "32x32b.x16.pack::16b")
LOAD(load_quads, "16x256b.x4")
LOAD(load_halves, "16x128b.x8")

static __device__ void store_rows(uint32_t address, const uint32_t (&r)[16])
{
    asm volatile("tcgen05.st.sync.aligned.32x32b.x16.b32 [%16], " LIST16 ";" ::IN16(r), "r"(address) : "memory");
}

// The warp's lanes of tensor memory.
static __device__ uint32_t own(uint32_t address) { return address + (threadIdx.x / 32 % 4 << 21); }

// A product of 128 rows and 128 columns: one warp loads stages of a depth of 32, another one multiplies, four write the sums.
extern "C" __global__ void __launch_bounds__(256, 1)
pipelined(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *out, int columns, int depth)
{
    constexpr int STAGES = 2;
    __shared__ alignas(1024) uint16_t tile_a[STAGES][128 * 32];
    __shared__ alignas(1024) uint16_t tile_b[STAGES][128 * 32];
    __shared__ alignas(8) uint64_t full[STAGES], empty[STAGES], done;
    __shared__ uint32_t place;
    int steps = depth / 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++) {
            barrier_init(&full[stage], 1);
            barrier_init(&empty[stage], 1);
        }
        barrier_init(&done, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    uint32_t sums = allocate(&place, 128);
    if (threadIdx.x == 0) {
        for (int step = 0; step < steps; step++) {
            int stage = step % STAGES, round = step / STAGES;
            if (round > 0)
                barrier_wait(&empty[stage], (round - 1) & 1);
            barrier_expect(&full[stage], sizeof(tile_a[0]) + sizeof(tile_b[0]));
            load_2d(tile_a[stage], &a, &full[stage], step * 32, blockIdx.y * 128);
            load_2d(tile_b[stage], &b, &full[stage], step * 32, blockIdx.x * 128);
        }
    } else if (threadIdx.x == 32) {
        for (int step = 0; step < steps; step++) {
            int stage = step % STAGES;
            wait_product(&full[stage], step / STAGES & 1);
            for (int part = 0; part < 2; part++)
                product_f16(sums, descriptor(tile_a[stage] + 16 * part, 512, 16, 4), descriptor(tile_b[stage] + 16 * part, 512, 16, 4),
                            instruction(128, 128, 1, 1, 1), step + part > 0);
            commit(&empty[stage]);
        }
        commit(&done);
    } else if (warp >= 4) {
        wait_product(&done, 0);
        int row = blockIdx.y * 128 + threadIdx.x - 128;
        for (int from = 0; from < 128; from += 16) {
            uint32_t values[16];
            load_rows(values, own(sums) + from);
            for (int index = 0; index < 16; index++)
                out[row * columns + blockIdx.x * 128 + from + index] = __uint_as_float(values[index]);
        }
    }
    release(sums, 128);
}

// Two products in a row: the first one's sums become halves in tensor memory, and the first factor of the second one; v is
// multiplied as it lies, row by row.
extern "C" __global__ void __launch_bounds__(128)
chained(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k, const __grid_constant__ TensorMap v, float *out,
        int keys)
{
    __shared__ alignas(1024) uint16_t tile_q[128 * 64], tile_k[64 * 64], tile_v[64 * 64];
    __shared__ alignas(8) uint64_t loaded, multiplied;
    __shared__ uint32_t place;
    if (threadIdx.x == 0) {
        barrier_init(&loaded, 1);
        barrier_init(&multiplied, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    uint32_t memory = allocate(&place, 256), scores = memory, weights = memory + 64, result = memory + 128;
    for (int step = 0; step < keys / 64; step++) {
        if (threadIdx.x == 0) {
            barrier_expect(&loaded, sizeof(tile_q) + sizeof(tile_k) + sizeof(tile_v));
            load_2d(tile_q, &q, &loaded, 0, blockIdx.x * 128);
            load_2d(tile_k, &k, &loaded, 0, step * 64);
            load_2d(tile_v, &v, &loaded, 0, step * 64);
            wait_product(&loaded, step & 1);
            for (int part = 0; part < 4; part++)
                product_f16(scores, descriptor(tile_q + 16 * part, 1024), descriptor(tile_k + 16 * part, 1024),
                            instruction(128, 64, 1, 0, 0), part > 0);
            commit(&multiplied);
        }
        wait_product(&multiplied, 0);
        for (int half = 0; half < 2; half++) {
            uint32_t low[16], high[16], pairs[16];
            load_rows(low, own(scores) + 32 * half);
            load_rows(high, own(scores) + 32 * half + 16);
            for (int index = 0; index < 16; index++) {
                uint32_t *values = index < 8 ? low + 2 * index : high + 2 * index - 16;
                asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pairs[index])
                    : "f"(__uint_as_float(values[1]) * 0.125f), "f"(__uint_as_float(values[0]) * 0.125f));
            }
            store_rows(own(weights) + 16 * half, pairs);
        }
        asm volatile("tcgen05.wait::st.sync.aligned;\n tcgen05.fence::before_thread_sync;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
            for (int part = 0; part < 4; part++)
                product_tensor(result, weights + 8 * part, descriptor(tile_v + 16 * 64 * part, 1024, 8192),
                               instruction(128, 64, 1, 0, 0, 0, 1), step + part > 0);
            commit(&multiplied);
        }
        wait_product(&multiplied, 1);
        __syncthreads();
    }
    for (int from = 0; from < 64; from += 16) {
        uint32_t values[16];
        load_rows(values, own(result) + from);
        for (int index = 0; index < 16; index++)
            out[(blockIdx.x * 128 + threadIdx.x) * 64 + from + index] = __uint_as_float(values[index]);
    }
    release(memory, 256);
}

// A product of 128 or 64 rows and 64 columns, whose rows have 128 bytes; `put` writes the sums from the tensor memory.
template <int ROWS, class P, class W>
static __device__ void single(const TensorMap *a, const TensorMap *b, P product, W put)
{
    __shared__ alignas(1024) char tile_a[ROWS * 128], tile_b[64 * 128];
    __shared__ alignas(8) uint64_t loaded, multiplied;
    __shared__ uint32_t place;
    if (threadIdx.x == 0) {
        barrier_init(&loaded, 1);
        barrier_init(&multiplied, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        barrier_expect(&loaded, sizeof(tile_a) + sizeof(tile_b));
        load_2d(tile_a, a, &loaded, 0, 0);
        load_2d(tile_b, b, &loaded, 0, 0);
    }
    uint32_t sums = allocate(&place, 64);
    if (threadIdx.x == 0) {
        wait_product(&loaded, 0);
        for (int part = 0; part < 4; part++)
            product(sums, descriptor(tile_a + 32 * part, 1024), descriptor(tile_b + 32 * part, 1024), part > 0);
        commit(&multiplied);
    }
    wait_product(&multiplied, 0);
    put(sums);
    release(sums, 64);
}

template <class T> static __device__ void put_rows(T *out, uint32_t sums)
{
    for (int from = 0; from < 64; from += 16) {
        uint32_t values[16];
        load_rows(values, own(sums) + from);
        for (int index = 0; index < 16; index++)
            ((uint32_t *)out)[threadIdx.x * 64 + from + index] = values[index];
    }
}

extern "C" __global__ void __launch_bounds__(128)
single_tf32(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *out)
{
    single<128>(&a, &b, [](uint32_t d, uint64_t a, uint64_t b, int adds) {
        product_tf32(d, a, b, instruction(128, 64, 1, 2, 2), adds);
    }, [&](uint32_t sums) { put_rows(out, sums); });
}

extern "C" __global__ void __launch_bounds__(128)
single_f8(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *out)
{
    single<128>(&a, &b, [](uint32_t d, uint64_t a, uint64_t b, int adds) {
        product_f8(d, a, b, instruction(128, 64, 1, 0, 0), adds);
    }, [&](uint32_t sums) { put_rows(out, sums); });
}

extern "C" __global__ void __launch_bounds__(128)
single_s8(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, int *out)
{
    single<128>(&a, &b, [](uint32_t d, uint64_t a, uint64_t b, int adds) {
        product_i8(d, a, b, instruction(128, 64, 2, 1, 1), adds);
    }, [&](uint32_t sums) { put_rows(out, sums); });
}

// Sums of sixteen bits, of which a load packs two.
extern "C" __global__ void __launch_bounds__(128)
single_f16(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, uint32_t *out)
{
    single<128>(&a, &b, [](uint32_t d, uint64_t a, uint64_t b, int adds) {
        product_f16(d, a, b, instruction(128, 64, 0, 0, 0), adds);
    }, [&](uint32_t sums) {
        for (int from = 0; from < 64; from += 32) {
            uint32_t values[16];
            load_pairs(values, own(sums) + from);
            for (int index = 0; index < 16; index++)
                out[threadIdx.x * 32 + from / 2 + index] = values[index];
        }
    });
}

// 64 rows: sixteen in the lanes of each warp. Half of the columns are loaded by one shape and half by another one.
extern "C" __global__ void __launch_bounds__(128)
single_64(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, uint32_t *out)
{
    single<64>(&a, &b, [](uint32_t d, uint64_t a, uint64_t b, int adds) {
        product_f16(d, a, b, instruction(64, 64, 1, 0, 0), adds);
    }, [&](uint32_t sums) {
        uint32_t values[16];
        int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
        load_quads(values, own(sums));
        for (int index = 0; index < 16; index++)
            out[(row + index / 2 % 2 * 8) * 64 + index / 4 * 8 + lane % 4 * 2 + index % 2] = values[index];
        load_halves(values, own(sums) + 32);
        for (int index = 0; index < 16; index++)
            out[(row + index % 2 * 8) * 64 + 32 + index / 2 * 4 + lane % 4] = values[index];
    });
}

// Options: the sums are divided by four, some lanes are not written, and the second factor is negated.
extern "C" __global__ void __launch_bounds__(128)
options(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *out)
{
    single<128>(&a, &b, [](uint32_t d, uint64_t a, uint64_t b, int adds) {
        uint32_t what = instruction(128, 64, 1, 0, 0) | 1 << 14;
        if (!adds)
            product_f16(d, a, b, what, 0);
        else
            asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %4, 0;\n"
                         "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, {%5, %6, %6, %6}, p, 2;\n }" ::"r"(d), "l"(a),
                         "l"(b), "r"(what), "r"(adds), "r"(0xff), "r"(0) : "memory");
    }, [&](uint32_t sums) { put_rows(out, sums); });
}

static __device__ void product_mxf8(uint32_t d, uint64_t a, uint64_t b, uint32_t what, uint32_t of_a, uint32_t of_b, uint32_t adds)
{
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %6, 0;\n"
                 "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%0], %1, %2, %3, [%4], [%5], p;\n }"
                 ::"r"(d), "l"(a), "l"(b), "r"(what), "r"(of_a), "r"(of_b), "r"(adds) : "memory");
}

static __device__ void product_nvf4(uint32_t d, uint64_t a, uint64_t b, uint32_t what, uint32_t of_a, uint32_t of_b)
{
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %3, %3;\n"
                 "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%0], %1, %2, %3, [%4], [%5], p;\n }"
                 ::"r"(d), "l"(a), "l"(b), "r"(what), "r"(of_a), "r"(of_b) : "memory");
}

// Scale factors, four bytes for each row: to shared memory, 32 rows of sixteen bytes, and from there to all lanes.
static __device__ void put_scales(uint8_t *scales, const uint8_t *from, int rows)
{
    for (int row = threadIdx.x; row < rows; row += blockDim.x)
        for (int byte = 0; byte < 4; byte++)
            scales[row % 32 * 16 + row / 32 * 4 + byte] = from[row * 4 + byte];
    for (int index = threadIdx.x; rows < 128 && index < 32 * 8; index += blockDim.x)
        scales[index / 8 * 16 + 8 + index % 8] = 0;
}

static __device__ void copy_scales(uint32_t to, const uint8_t *scales)
{
    asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(descriptor(scales, 128, 16, 0)) : "memory");
}

// Block-scaled numbers of eight bits, rows of 128 bytes, a factor for each 32.
extern "C" __global__ void __launch_bounds__(128)
scaled_f8(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, const uint8_t *of_a, const uint8_t *of_b,
          float *out)
{
    __shared__ alignas(1024) char tile_a[128 * 128], tile_b[64 * 128];
    __shared__ alignas(128) uint8_t scales_a[512], scales_b[512];
    __shared__ alignas(8) uint64_t loaded, multiplied;
    __shared__ uint32_t place;
    if (threadIdx.x == 0) {
        barrier_init(&loaded, 1);
        barrier_init(&multiplied, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        barrier_expect(&loaded, sizeof(tile_a) + sizeof(tile_b));
        load_2d(tile_a, &a, &loaded, 0, 0);
        load_2d(tile_b, &b, &loaded, 0, 0);
    }
    put_scales(scales_a, of_a, 128);
    put_scales(scales_b, of_b, 64);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    uint32_t sums = allocate(&place, 128);
    if (threadIdx.x == 0) {
        copy_scales(sums + 64, scales_a);
        copy_scales(sums + 68, scales_b);
        wait_product(&loaded, 0);
        product_mxf8(sums, descriptor(tile_a, 1024), descriptor(tile_b, 1024), scaled_instruction(128, 64, 0, 1, 0), sums + 64, sums + 68, 0);
        product_mxf8(sums, descriptor(tile_a + 32, 1024), descriptor(tile_b + 32, 1024), scaled_instruction(128, 64, 0, 1, 1), sums + 64, sums + 68, 1);
        product_mxf8(sums, descriptor(tile_a + 64, 1024), descriptor(tile_b + 64, 1024), scaled_instruction(128, 64, 0, 1, 2), sums + 64, sums + 68, 1);
        product_mxf8(sums, descriptor(tile_a + 96, 1024), descriptor(tile_b + 96, 1024), scaled_instruction(128, 64, 0, 1, 3), sums + 64, sums + 68, 1);
        commit(&multiplied);
    }
    wait_product(&multiplied, 0);
    put_rows(out, sums);
    release(sums, 128);
}

// Numbers of four bits, 64 in each row, a factor for each 16.
extern "C" __global__ void __launch_bounds__(128)
scaled_f4(const uint4 *a, const uint4 *b, const uint8_t *of_a, const uint8_t *of_b, float *out)
{
    __shared__ alignas(128) uint4 tile_a[256], tile_b[128];
    __shared__ alignas(128) uint8_t scales_a[512], scales_b[512];
    __shared__ alignas(8) uint64_t multiplied;
    __shared__ uint32_t place;
    if (threadIdx.x == 0) {
        barrier_init(&multiplied, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    // Without a swizzle: eight rows of sixteen bytes, then the other half of these rows.
    for (int index = threadIdx.x; index < 256; index += blockDim.x)
        tile_a[index / 16 * 16 + index % 2 * 8 + index / 2 % 8] = a[index];
    for (int index = threadIdx.x; index < 128; index += blockDim.x)
        tile_b[index / 16 * 16 + index % 2 * 8 + index / 2 % 8] = b[index];
    put_scales(scales_a, of_a, 128);
    put_scales(scales_b, of_b, 64);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    uint32_t sums = allocate(&place, 128);
    if (threadIdx.x == 0) {
        copy_scales(sums + 64, scales_a);
        copy_scales(sums + 68, scales_b);
        product_nvf4(sums, descriptor(tile_a, 256, 128, 0), descriptor(tile_b, 256, 128, 0), scaled_instruction(128, 64, 1, 0, 0), sums + 64,
                     sums + 68);
        commit(&multiplied);
    }
    wait_product(&multiplied, 0);
    put_rows(out, sums);
    release(sums, 128);
}

// Two blocks of a cluster, each of which tells both when its product is over; each then writes the other's row count, and its sums.
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128)
told(const uint4 *a, const uint4 *b, float *out)
{
    __shared__ alignas(128) uint4 tile_a[256], tile_b[128];
    __shared__ alignas(8) uint64_t multiplied;
    __shared__ uint32_t place;
    if (threadIdx.x == 0) {
        barrier_init(&multiplied, 2);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    for (int index = threadIdx.x; index < 256; index += blockDim.x)
        tile_a[index / 16 * 16 + index % 2 * 8 + index / 2 % 8] = a[blockIdx.x * 256 + index];
    for (int index = threadIdx.x; index < 128; index += blockDim.x)
        tile_b[index / 16 * 16 + index % 2 * 8 + index / 2 % 8] = b[index];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    uint32_t sums = allocate(&place, 64);
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        product_f16(sums, descriptor(tile_a, 256, 128, 0), descriptor(tile_b, 256, 128, 0), instruction(128, 64, 1, 0, 0), 0);
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;"
                     ::"r"(shared_address(&multiplied)), "h"((uint16_t)3) : "memory");
    }
    wait_product(&multiplied, 0);
    put_rows(out + blockIdx.x * 128 * 64, sums);
    release(sums, 64);
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

// A pair of blocks, each of which has half of the rows of a, and half of the columns of b and of the instruction's work.
template <int ROWS> static __device__ void of_pair(const uint4 *a, const uint4 *b, float *out)
{
    __shared__ alignas(128) uint4 tile_a[ROWS * 2], tile_b[64];
    __shared__ alignas(8) uint64_t multiplied;
    __shared__ uint32_t place;
    uint32_t rank = blockIdx.x % 2;
    if (threadIdx.x == 0) {
        barrier_init(&multiplied, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    for (int index = threadIdx.x; index < ROWS * 2; index += blockDim.x)
        tile_a[index / 16 * 16 + index % 2 * 8 + index / 2 % 8] = a[rank * ROWS * 2 + index];
    for (int index = threadIdx.x; index < 64; index += blockDim.x)
        tile_b[index / 16 * 16 + index % 2 * 8 + index / 2 % 8] = b[rank * 64 + index];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    if (threadIdx.x < 32) {
        asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(&place)), "r"(64)
                     : "memory");
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::: "memory");
    }
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    uint32_t sums = *(volatile uint32_t *)&place;
    if (threadIdx.x == 0 && rank == 0) {
        asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %3, %3;\n"
                     "tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p;\n }" ::"r"(sums), "l"(descriptor(tile_a, 256, 128, 0)),
                     "l"(descriptor(tile_b, 256, 128, 0)), "r"(instruction(ROWS * 2, 64, 1, 0, 0)) : "memory");
        asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;"
                     ::"r"(shared_address(&multiplied)), "h"((uint16_t)3) : "memory");
    }
    wait_product(&multiplied, 0);
    // Of 64 rows, the upper half of the lanes has the other half of the columns.
    int row = rank * ROWS + threadIdx.x % ROWS, first = threadIdx.x / ROWS * 32;
    for (int from = 0; from < ROWS / 2; from += 16) {
        uint32_t values[16];
        load_rows(values, own(sums) + from);
        for (int index = 0; index < 16; index++)
            out[row * 64 + first + from + index] = __uint_as_float(values[index]);
    }
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(sums), "r"(64) : "memory");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128)
pair_256(const uint4 *a, const uint4 *b, float *out)
{
    of_pair<128>(a, b, out);
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128)
pair_128(const uint4 *a, const uint4 *b, float *out)
{
    of_pair<64>(a, b, out);
}
