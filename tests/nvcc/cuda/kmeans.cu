// nvcc: -arch=compute_80
// Clusters of points: nearest centre of each, sums per cluster in shared memory, new centres.

struct Centre {
    float x, y, z;
    int members;
};

extern "C" __global__ void assign(const float3 *points, int n, const Centre *centres, int k, unsigned char *cluster,
                                  unsigned long long *changed)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    bool moved = false;
    if (at < n) {
        float3 point = points[at];
        float best = INFINITY;
        int nearest = 0;
        for (int c = 0; c < k; c++) {
            float dx = __fsub_rn(point.x, centres[c].x), dy = __fsub_rn(point.y, centres[c].y),
                  dz = __fsub_rn(point.z, centres[c].z);
            float distance = __fadd_rn(__fadd_rn(__fmul_rn(dx, dx), __fmul_rn(dy, dy)), __fmul_rn(dz, dz));
            if (distance < best) {
                best = distance;
                nearest = c;
            }
        }
        moved = cluster[at] != nearest;
        cluster[at] = nearest;
    }
    int count = __syncthreads_count(moved);
    if (threadIdx.x == 0 && count != 0)
        atomicAdd(changed, (unsigned long long)count);
}

extern "C" __global__ void accumulate(const float3 *points, const unsigned char *cluster, int n, Centre *sums, int k)
{
    extern __shared__ Centre own[];
    for (int c = threadIdx.x; c < k; c += blockDim.x)
        own[c] = Centre{0, 0, 0, 0};
    __syncthreads();
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < n; at += gridDim.x * blockDim.x) {
        Centre *centre = &own[cluster[at]];
        atomicAdd(&centre->x, points[at].x);
        atomicAdd(&centre->y, points[at].y);
        atomicAdd(&centre->z, points[at].z);
        atomicAdd(&centre->members, 1);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < k; c += blockDim.x) {
        atomicAdd(&sums[c].x, own[c].x);
        atomicAdd(&sums[c].y, own[c].y);
        atomicAdd(&sums[c].z, own[c].z);
        atomicAdd(&sums[c].members, own[c].members);
    }
}

extern "C" __global__ void divide(Centre *centres, int k)
{
    int c = threadIdx.x;
    if (c < k && centres[c].members != 0) {
        centres[c].x /= centres[c].members;
        centres[c].y /= centres[c].members;
        centres[c].z /= centres[c].members;
    }
}
