// nvcc: -arch=compute_90
// The game of life, 64 cells in a word: neighbours are added bit by bit; and the mean of a window with a queue in local
// memory.

__device__ void add(unsigned long long &ones, unsigned long long &twos, unsigned long long &fours, unsigned long long bit)
{
    unsigned long long carry = ones & bit;
    ones ^= bit;
    fours |= twos & carry;
    twos ^= carry;
}

extern "C" __global__ void life(const unsigned long long *in, unsigned long long *out, int words, int rows)
{
    int word = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (word >= words)
        return;
    unsigned long long ones = 0, twos = 0, fours = 0, own = 0;
    for (int dy = -1; dy <= 1; dy++) {
        const unsigned long long *line = in + (row + dy + rows) % rows * words;
        unsigned long long middle = line[word], left = line[(word + words - 1) % words], right = line[(word + 1) % words];
        add(ones, twos, fours, middle << 1 | left >> 63);
        add(ones, twos, fours, middle >> 1 | right << 63);
        if (dy == 0)
            own = middle;
        else
            add(ones, twos, fours, middle);
    }
    out[row * words + word] = ~fours & twos & (ones | own);
}

extern "C" __global__ void median_filter(const float *in, float *out, int n, int window)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n)
        return;
    float values[15];
    for (int i = 0; i < window; i++) {
        float value = in[min(max(at + i - window / 2, 0), n - 1)];
        int place = i;
        while (place > 0 && values[place - 1] > value) {
            values[place] = values[place - 1];
            place--;
        }
        values[place] = value;
    }
    out[at] = values[window / 2];
}
