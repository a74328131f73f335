"""Numba's side of `cargo xtask bench --against numba`: ten million numbers incremented, as its own introductions do it.

Prints one line of JSON: medians in seconds. The program that runs it measures the same in Rumba.
"""

import json
import statistics
import sys
import time

import numpy as np

# numba-cuda 0.30 asks for a name that NumPy 2.5 does not have any more.
if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack

import numba
from numba import cuda


@cuda.jit
def increment(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += 1


def median(work, rounds):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main(n, rounds, launches):
    # Numba warns of what is measured here.
    numba.config.CUDA_WARN_ON_IMPLICIT_COPY = 0
    threads = 256
    blocks = (n + threads - 1) // threads
    configured = increment[blocks, threads]

    a = np.ones(n, dtype=np.float64)
    configured(a)
    host_arrays = median(lambda: configured(a), rounds)
    assert a[0] == a[-1] == 2 + rounds

    pinned = cuda.pinned_array(n, dtype=np.float64)
    pinned[:] = 1
    configured(pinned)
    host_pinned = median(lambda: configured(pinned), rounds)

    resident = cuda.to_device(a)

    def kernel():
        configured(resident)
        cuda.synchronize()

    kernel()
    kernel_and_wait = median(kernel, rounds)

    # Little work, so that the host is what is measured.
    small = cuda.to_device(np.ones(256))
    one = increment[1, threads]
    one(small)

    def many():
        for _ in range(launches):
            one(small)
        cuda.synchronize()

    launch = median(many, rounds) / launches
    result = {
        "numba": numba.__version__,
        "numba_cuda": getattr(sys.modules.get("numba_cuda"), "__version__", None),
        "host_arrays": host_arrays,
        "host_pinned": host_pinned,
        "kernel_and_wait": kernel_and_wait,
        "launch": launch,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
