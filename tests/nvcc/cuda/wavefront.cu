// nvcc: -arch=compute_75 -lineinfo
// Dynamic programming: the cheapest path down a grid with several rows per launch, the alignment of two sequences along
// anti-diagonals of tiles, and the heat of a chip with several steps per launch.

#define BLOCK 64
#define ROWS 4

extern "C" __global__ void pathfinder(const int *wall, const int *from, int *to, int columns, int first, int rows)
{
    __shared__ int previous[BLOCK], next[BLOCK];
    int width = BLOCK - 2 * ROWS;
    int column = (int)blockIdx.x * width + (int)threadIdx.x - ROWS;
    int clamped = min(max(column, 0), columns - 1);
    previous[threadIdx.x] = from[clamped];
    __syncthreads();
    bool valid = true;
    for (int i = 0; i < rows; i++) {
        valid = threadIdx.x > i && threadIdx.x < BLOCK - 1 - i;
        if (valid) {
            int left = column > 0 ? previous[threadIdx.x - 1] : INT_MAX;
            int right = column < columns - 1 ? previous[threadIdx.x + 1] : INT_MAX;
            next[threadIdx.x] = wall[(first + i) * columns + clamped] + min(previous[threadIdx.x], min(left, right));
        }
        __syncthreads();
        if (valid)
            previous[threadIdx.x] = next[threadIdx.x];
        __syncthreads();
    }
    if (threadIdx.x >= ROWS && threadIdx.x < BLOCK - ROWS && column >= 0 && column < columns)
        to[column] = previous[threadIdx.x];
}

#define TILE 16

extern "C" __global__ void needle(const signed char *a, const signed char *b, int *score, int size, int diagonal, int penalty)
{
    __shared__ int tile[TILE + 1][TILE + 1];
    int tiles = size / TILE;
    int tx = max(diagonal - tiles + 1, 0) + blockIdx.x, ty = diagonal - tx;
    int stride = size + 1, thread = threadIdx.x;
    int *corner = score + ty * TILE * stride + tx * TILE;
    tile[0][thread + 1] = corner[thread + 1];
    tile[thread + 1][0] = corner[(thread + 1) * stride];
    if (thread == 0)
        tile[0][0] = corner[0];
    __syncwarp(0xffff);
    for (int step = 0; step < 2 * TILE - 1; step++) {
        int x = step - thread + 1, y = thread + 1;
        if (x >= 1 && x <= TILE) {
            int match = a[ty * TILE + y - 1] == b[tx * TILE + x - 1] ? 5 : -3;
            tile[y][x] = max(tile[y - 1][x - 1] + match, max(tile[y - 1][x], tile[y][x - 1]) - penalty);
        }
        __syncwarp(0xffff);
    }
    for (int y = 1; y <= TILE; y++)
        corner[y * stride + thread + 1] = tile[y][thread + 1];
}

extern "C" __global__ void hotspot(const float *power, const float *in, float *out, int width, int height, int steps)
{
    __shared__ float heat[2][16][16], source[16][16];
    int inner = 16 - 2 * steps;
    int x = (int)blockIdx.x * inner + (int)threadIdx.x - steps, y = (int)blockIdx.y * inner + (int)threadIdx.y - steps;
    int cx = min(max(x, 0), width - 1), cy = min(max(y, 0), height - 1);
    int tx = threadIdx.x, ty = threadIdx.y, from = 0;
    heat[0][ty][tx] = in[cy * width + cx];
    source[ty][tx] = power[cy * width + cx];
    bool inside = x >= 0 && x < width && y >= 0 && y < height;
    __syncthreads();
    int west = x <= 0 ? tx : tx - 1, east = x >= width - 1 ? tx : tx + 1;
    int north = y <= 0 ? ty : ty - 1, south = y >= height - 1 ? ty : ty + 1;
    for (int i = 1; i <= steps; i++) {
        if (inside && tx >= i && tx < 16 - i && ty >= i && ty < 16 - i) {
            float here = heat[from][ty][tx];
            float flow = heat[from][ty][west] + heat[from][ty][east] + heat[from][north][tx] + heat[from][south][tx];
            heat[1 - from][ty][tx] = here + 0.1f * (source[ty][tx] + flow - 4.0f * here);
        }
        __syncthreads();
        from = 1 - from;
    }
    if (inside && tx >= steps && tx < 16 - steps && ty >= steps && ty < 16 - steps)
        out[y * width + x] = heat[from][ty][tx];
}
