//! numba-cuda: NVIDIA's Numba, on the bindings of `cuda-bindings`, which asks for every function by
//! `cuGetProcAddress`. Its CUDA tests, unmodified.
//!
//! nvJitLink is left out: it would link to machine code, which the software device does not run. Without it numba-cuda
//! links through the driver.

use super::python::{self, Client};

const PACKAGES: &[&str] = &[
    "numba-cuda==0.30.4",
    "numba==0.68.1",
    "numpy==2.4.6",
    "cuda-bindings==13.5.0",
    "cuda-core==1.2.2",
    "cuda-pathfinder==1.9.0",
    "nvidia-cuda-cccl==13.3.4.3.1",
    "nvidia-cuda-nvrtc==13.4.92",
    "nvidia-cuda-runtime==13.4.92",
    "nvidia-nvvm==13.4.92",
    // Packages that its tests import.
    "cffi==2.1.1",
    "filecheck==1.0.6",
    "ml_dtypes==0.5.4",
    "psutil==7.2.2",
    "pytest==9.2.0",
];

const TESTS: &str = "numba.cuda.tests";

pub(super) const CLIENT: Client = Client {
    name: "numba-cuda",
    packages: PACKAGES,
    tests: TESTS,
    prepare: |python| {
        python.env_remove("CUDA_HOME").env_remove("CUDA_PATH");
    },
    group: |test| python::folder_of(test, TESTS),
    slice: &[
        "numba.cuda.tests.cudadrv.test_cuda_memory.TestCudaMemory.test_pinned_memory",
        "numba.cuda.tests.cudadrv.test_events.TestCudaEvent.test_event_elapsed",
        "numba.cuda.tests.cudapy.test_atomics.TestCudaAtomics.test_atomic_cas_1dim",
        "numba.cuda.tests.cudapy.test_recursion.TestSelfRecursion.test_global_explicit_sig",
        "numba.cuda.tests.cudapy.test_reduction.TestReduction.test_sum_reduce",
        "numba.cuda.tests.cudapy.test_warp_ops.TestCudaWarpOperations.test_shfl_sync_types",
    ],
};
