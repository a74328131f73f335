// nvcc: -arch=compute_80 -lineinfo
// Jacobi steps: five points in the plane straight from memory and through a shared tile with a halo, and seven points in
// space with the column along z kept in registers.

#define TILE_X 16
#define TILE_Y 8

extern "C" __global__ void jacobi2d(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int at = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[at] = in[at];
        return;
    }
    out[at] = 0.2f * (in[at] + in[at - 1] + in[at + 1] + in[at - width] + in[at + width]);
}

extern "C" __global__ void jacobi2d_tiled(const float *in, float *out, int width, int height)
{
    __shared__ float tile[TILE_Y + 2][TILE_X + 2];
    int left = blockIdx.x * TILE_X - 1, top = blockIdx.y * TILE_Y - 1;
    int thread = threadIdx.y * TILE_X + threadIdx.x;
    for (int cell = thread; cell < (TILE_X + 2) * (TILE_Y + 2); cell += TILE_X * TILE_Y) {
        int x = min(max(left + cell % (TILE_X + 2), 0), width - 1);
        int y = min(max(top + cell / (TILE_X + 2), 0), height - 1);
        tile[cell / (TILE_X + 2)][cell % (TILE_X + 2)] = in[y * width + x];
    }
    __syncthreads();
    int x = left + 1 + threadIdx.x, y = top + 1 + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    float value = tile[ty][tx];
    if (x != 0 && y != 0 && x != width - 1 && y != height - 1)
        value = 0.2f * (value + tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]);
    out[y * width + x] = value;
}

extern "C" __global__ void heat3d(const double *__restrict__ in, double *__restrict__ out, int nx, int ny, int nz, double k)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (x >= nx - 1 || y >= ny - 1)
        return;
    int plane = nx * ny;
    int at = y * nx + x;
    double below = in[at], here = in[at + plane];
    for (int z = 1; z < nz - 1; z++) {
        at += plane;
        double above = in[at + plane];
        double around = in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + below + above;
        out[at] = here + k * (around - 6.0 * here);
        below = here;
        here = above;
    }
}
