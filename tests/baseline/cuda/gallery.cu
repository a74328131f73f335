// nvcc: -O3 -std=c++17 -arch=compute_90
// All baselines as one module.
#include "black_scholes.cu"
#include "elementwise.cu"
#include "laplace.cu"
#include "matmul.cu"
#include "matmul_mma.cu"
#include "nbody.cu"
#include "radix_sort.cu"
#include "reduce.cu"
#include "scan.cu"
#include "softmax.cu"
#include "transpose.cu"
