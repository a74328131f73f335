// nvcc: -arch=compute_80 -std=c++17
// Memory that kernels allocate for themselves: linked lists, and arrays of each thread's own size.

struct Node
{
    int value;
    Node *next;
};

extern "C" __global__ void lists(const int *lengths, long long *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Node *head = nullptr;
    for (int k = 0; k < lengths[i]; k++) {
        Node *node = (Node *)malloc(sizeof(Node));
        if (!node)
            break;
        node->value = i * k + 1;
        node->next = head;
        head = node;
    }
    long long sum = 0;
    while (head) {
        sum = 3 * sum + head->value;
        Node *next = head->next;
        free(head);
        head = next;
    }
    sums[i] = sum;
}

// A block's scratch memory, allocated by its first thread and used by all.
extern "C" __global__ void reversed(const unsigned *in, unsigned *out, int length)
{
    __shared__ unsigned *scratch;
    int first = blockIdx.x * length;
    if (threadIdx.x == 0)
        scratch = new unsigned[length];
    __syncthreads();
    for (int i = threadIdx.x; i < length; i += blockDim.x)
        scratch[length - 1 - i] = in[first + i];
    __syncthreads();
    for (int i = threadIdx.x; i < length; i += blockDim.x)
        out[first + i] = scratch[i] ^ i;
    __syncthreads();
    if (threadIdx.x == 0)
        delete[] scratch;
}
