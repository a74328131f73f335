// CUB's algorithms behind a C interface, for `cargo xtask bench --against cub`: a shared library that the program loads.
//
// Each function is CUB's two-step call as it is: without work memory it writes how many bytes it wants. Element types have
// the names of Rust's. What a function returns is CUDA's error, 0 for none.
#include <cub/cub.cuh>

#include <cstdint>

typedef uint8_t u8;
typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

#define API extern "C" __attribute__((visibility("default"))) int

// The time on the device between two calls, in milliseconds.
static cudaEvent_t began, ended;

API time_begin() {
    if (!began) cudaEventCreate(&began), cudaEventCreate(&ended);
    return cudaEventRecord(began);
}

API time_end(float *milliseconds) {
    cudaEventRecord(ended);
    cudaEventSynchronize(ended);
    return cudaEventElapsedTime(milliseconds, began, ended);
}

#define REDUCE(T)                                                                                               \
    API reduce_##T(void *work, size_t *bytes, const T *x, T *y, u64 n) {                                        \
        return cub::DeviceReduce::Sum(work, *bytes, x, y, n);                                                   \
    }

#define SCAN(T)                                                                                                 \
    API scan_##T(void *work, size_t *bytes, const T *x, T *y, u64 n) {                                          \
        return cub::DeviceScan::InclusiveSum(work, *bytes, x, y, n);                                            \
    }

// `a` and `b` take turns; the result is in `*in_b ? b : a`.
#define SORT(T)                                                                                                 \
    API sort_##T(void *work, size_t *bytes, T *a, T *b, u64 n, int *in_b) {                                     \
        cub::DoubleBuffer<T> keys(a, b);                                                                        \
        int error = cub::DeviceRadixSort::SortKeys(work, *bytes, keys, n, 0, 8 * sizeof(T));                    \
        *in_b = keys.selector;                                                                                  \
        return error;                                                                                           \
    }

#define SORT_PAIRS(K, V)                                                                                        \
    API sort_##K##_##V(void *work, size_t *bytes, K *a, K *b, V *c, V *d, u64 n, int *in_b) { \
        cub::DoubleBuffer<K> keys(a, b);                                                                        \
        cub::DoubleBuffer<V> values(c, d);                                                                      \
        int error = cub::DeviceRadixSort::SortPairs(work, *bytes, keys, values, n, 0, 8 * sizeof(K));           \
        *in_b = keys.selector;                                                                                  \
        return error;                                                                                           \
    }

// Bins of equal width from `low` to below `high`.
#define HISTOGRAM(T, LEVEL)                                                                                     \
    API histogram_##T(void *work, size_t *bytes, const T *x, u32 *counts, int bins, LEVEL low, LEVEL high, u64 n) { \
        return cub::DeviceHistogram::HistogramEven(work, *bytes, x, counts, bins + 1, low, high, (int)n);      \
    }

REDUCE(u32)
REDUCE(u64)
REDUCE(f32)
REDUCE(f64)
SCAN(u32)
SCAN(u64)
SCAN(f32)
SCAN(f64)
SORT(u32)
SORT(u64)
SORT(f32)
SORT_PAIRS(u32, u32)
SORT_PAIRS(u64, u64)
HISTOGRAM(u8, i32)
HISTOGRAM(u32, u32)
HISTOGRAM(f32, f32)
