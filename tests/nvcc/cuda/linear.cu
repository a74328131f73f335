// nvcc: -arch=compute_75
// Factorisations in place: steps of LU without pivots over a grid, and Cholesky's within one block; and all shortest
// paths of a dense graph.

extern "C" __global__ void lu_column(double *a, int n, int k)
{
    int row = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n)
        a[row * n + k] /= a[k * n + k];
}

extern "C" __global__ void lu_update(double *a, int n, int k)
{
    int column = k + 1 + blockIdx.x * blockDim.x + threadIdx.x, row = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n)
        a[row * n + column] -= a[row * n + k] * a[k * n + column];
}

extern "C" __global__ void cholesky(float *a, int n)
{
    __shared__ float diagonal;
    for (int k = 0; k < n; k++) {
        if (threadIdx.x == 0)
            diagonal = a[k * n + k] = sqrtf(a[k * n + k]);
        __syncthreads();
        for (int row = k + 1 + threadIdx.x; row < n; row += blockDim.x)
            a[row * n + k] = a[row * n + k] / diagonal;
        __syncthreads();
        for (int row = k + 1 + threadIdx.x; row < n; row += blockDim.x)
            for (int column = k + 1; column <= row; column++)
                a[row * n + column] -= a[row * n + k] * a[column * n + k];
        __syncthreads();
    }
    for (int at = threadIdx.x; at < n * n; at += blockDim.x)
        if (at % n > at / n)
            a[at] = 0;
}

extern "C" __global__ void floyd_warshall(int *distances, int n, int via)
{
    int to = blockIdx.x * blockDim.x + threadIdx.x, from = blockIdx.y;
    if (to >= n)
        return;
    int first = distances[from * n + via], second = distances[via * n + to];
    if (first < INT_MAX && second < INT_MAX)
        atomicMin(&distances[from * n + to], first + second);
}
