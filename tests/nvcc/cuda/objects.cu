// nvcc: -arch=compute_80 -std=c++17
// Code that the compiler cannot see through: virtual calls on objects built on the device, tables of function pointers,
// recursion, and a visitor as a template.

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual float scaled(float by) const { return by * area(); }
};

struct Circle : Shape {
    float radius;
    __device__ Circle(float r) : radius(r) {}
    __device__ float area() const override { return 3.14159274f * radius * radius; }
};

struct Box : Shape {
    float width, height;
    __device__ Box(float w, float h) : width(w), height(h) {}
    __device__ float area() const override { return width * height; }
    __device__ float scaled(float by) const override { return by * by * area(); }
};

extern "C" __global__ void construct(Shape **shapes, unsigned long long *storage, const float *sizes, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n)
        return;
    void *place = storage + 4 * at;
    if (at % 3 == 0)
        shapes[at] = new (place) Circle(sizes[at]);
    else
        shapes[at] = new (place) Box(sizes[at], 2.0f);
}

extern "C" __global__ void measure(Shape *const *shapes, float *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        out[at] = shapes[at]->area() + shapes[at]->scaled(3.0f);
}

typedef int (*Operation)(int, int);

__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ __noinline__ int power(int a, int b) { return b <= 0 ? 1 : a * power(a, b - 1); }

__device__ Operation table[] = {plus, minus, times, power};

extern "C" __global__ void indirect(const int *which, const int *a, const int *b, int *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        out[at] = table[which[at]](a[at], b[at]);
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

__device__ __noinline__ void hanoi(int discs, int from, int to, int *moves)
{
    if (discs == 0)
        return;
    hanoi(discs - 1, from, 3 - from - to, moves);
    moves[from * 3 + to]++;
    hanoi(discs - 1, 3 - from - to, to, moves);
}

extern "C" __global__ void recursive(unsigned *results, int *moves)
{
    results[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x % 7);
    int own[9] = {};
    hanoi(threadIdx.x % 6, 0, 2, own);
    for (int i = 0; i < 9; i++)
        moves[threadIdx.x * 9 + i] = own[i];
}

__device__ __noinline__ int quick(int x, int kind)
{
    switch (kind) {
    case 0: return x + 1;
    case 1: return x * x;
    case 2: return -x;
    case 3: return x >> 3;
    case 4: return __popc(x);
    case 5: return x ^ 0x5a5a;
    case 6: return x % 17;
    case 9: return x / 5;
    default: return kind;
    }
}

extern "C" __global__ void switches(const int *in, int *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        out[at] = quick(in[at], at % 11);
}
