// nvcc: -arch=compute_75
// Integers: counting, reversing and funnelling bits, high products, division of every width, dot products of bytes, and
// sums of 128 bits with carries; and every atomic operation.

extern "C" __global__ void integers(const unsigned long long *in, unsigned long long *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n)
        return;
    unsigned long long a = in[2 * at], b = in[2 * at + 1];
    unsigned x = (unsigned)a, y = (unsigned)b;
    unsigned long long *results = out + 16 * at;
    results[0] = __popcll(a) + 100 * __clzll(b) + 10000 * __ffsll(a);
    results[1] = __brevll(a) ^ __brev(y);
    results[2] = __funnelshift_l(x, y, 13) | (unsigned long long)__funnelshift_rc(x, y, x & 63) << 32;
    results[3] = __umul64hi(a, b);
    results[4] = __mul64hi((long long)a, (long long)b);
    results[5] = b == 0 ? 0 : a / b;
    results[6] = b == 0 ? 0 : a % b;
    results[7] = y == 0 ? 0 : (long long)(int)x / (int)(y | 1);
    results[8] = (unsigned)__dp4a((int)x, (int)y, 7) | (unsigned long long)__dp4a(x, y, 9u) << 32;
    results[9] = __byte_perm(x, y, (unsigned)(a >> 32));
    results[10] = (unsigned)(short)x % 1000 + (unsigned char)y / 3;
    unsigned __int128 wide = (unsigned __int128)a * b + ((unsigned __int128)b << 64 | a);
    results[11] = (unsigned long long)wide;
    results[12] = (unsigned long long)(wide >> 64);
    results[13] = __sad((int)x, (int)y, 5u) + __usad(x, y, 6u);
    results[14] = (unsigned)__vadd4(x, y) ^ (unsigned)__vabsdiffu4(x, y);
    results[15] = (long long)(a << (b & 63)) >> (a & 63);
}

extern "C" __global__ void atomics(int *ints, unsigned *uints, unsigned long long *longs, float *floats, double *doubles)
{
    int value = threadIdx.x + blockIdx.x * blockDim.x;
    atomicAdd(&ints[0], value);
    atomicSub(&ints[1], value);
    atomicMin(&ints[2], value - 50);
    atomicMax(&ints[3], value);
    atomicAnd(&ints[4], ~(1 << value % 31));
    atomicOr(&ints[5], 1 << value % 31);
    atomicXor(&ints[6], value);
    atomicInc(&uints[0], 16);
    atomicDec(&uints[1], 9);
    atomicMax(&uints[2], (unsigned)-value);
    atomicAdd(&longs[0], 1ull << value % 40);
    atomicMax(&longs[1], (unsigned long long)value << 33);
    atomicMin((long long *)&longs[2], -(long long)value << 33);
    atomicXor(&longs[3], 0x100000001ull * value);
    atomicAdd(&floats[0], 0.5f);
    atomicAdd(&doubles[0], 0.25);
    atomicAdd_block(&ints[7 + blockIdx.x], 1);
    atomicAdd_system(&ints[15], 1);
    unsigned long long seen = doubles[1] == 0 ? 0 : 1, old;
    do {
        old = seen;
        double larger = fmax(__longlong_as_double(old), (double)value);
        seen = atomicCAS((unsigned long long *)&doubles[1], old, __double_as_longlong(larger));
    } while (seen != old);
    if (value == 5)
        ints[16] = atomicExch(&ints[17], 77);
}
