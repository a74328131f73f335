// nvcc: -arch=compute_75
// Sparse rows times a vector, a thread and a warp per row; and the breadth-first search of a graph in the same layout.

extern "C" __global__ void spmv_thread(const int *starts, const int *columns, const double *values, const double *x, double *y,
                                       int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    double sum = 0;
    for (int at = starts[row]; at < starts[row + 1]; at++)
        sum += values[at] * x[columns[at]];
    y[row] = sum;
}

extern "C" __global__ void spmv_warp(const int *starts, const int *columns, const double *values, const double *x, double *y,
                                     int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (row >= rows)
        return;
    double sum = 0;
    for (int at = starts[row] + lane; at < starts[row + 1]; at += 32)
        sum = fma(values[at], __ldg(&x[columns[at]]), sum);
    for (int distance = 16; distance > 0; distance >>= 1)
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    if (lane == 0)
        y[row] = sum;
}

extern "C" __global__ void bfs_step(const int *starts, const int *targets, int *levels, const int *frontier, int count,
                                    int *next, int *next_count, int level)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count)
        return;
    int node = frontier[at];
    for (int edge = starts[node]; edge < starts[node + 1]; edge++) {
        int target = targets[edge];
        if (atomicCAS(&levels[target], -1, level) == -1)
            next[atomicAdd(next_count, 1)] = target;
    }
}
