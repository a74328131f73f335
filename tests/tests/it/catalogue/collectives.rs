//! An example of each error of devices, and of processes, that work together, and of NVIDIA's libraries.

use rumba::error::LibraryError;
use rumba::nccl::NcclError;
use rumba::ranks::{RankError, TcpReason};
use std::time::Duration;

use super::samples::said;

/// An example of each variant: its name, and what the library says.
pub(super) fn collectives() -> impl Iterator<Item = (&'static str, String)> {
    let library = || "libnccl.so.2".to_owned();
    let devices = vec![
        (
            "NcclError::Missing",
            NcclError::Missing { library: library(), cause: "cannot open shared object file".into() },
        ),
        ("NcclError::NoFunction", NcclError::NoFunction { library: library(), function: "ncclCommInitAll".into() }),
        ("NcclError::TooOld", NcclError::TooOld { library: library(), version: (2, 4, 8) }),
        ("NcclError::Refused", NcclError::Refused { operation: "reduce", text: "invalid usage".into(), detail: None }),
        ("NcclError::Buffers", NcclError::Buffers { operation: "all_reduce", buffers: 3, devices: 4 }),
        ("NcclError::NoSuchRank", NcclError::NoSuchRank { rank: 4, count: 4 }),
        ("NcclError::NotAMember", NcclError::NotAMember { device: 3 }),
        ("NcclError::Twice", NcclError::Twice { device: 1 }),
        ("NcclError::NoDevices", NcclError::NoDevices),
    ];
    let (operation, after) = ("all_reduce", Duration::from_secs(300));
    let address = || "node03:29500".to_owned();
    let ranks = vec![
        (
            "RankError::Environment",
            RankError::Environment {
                variable: "WORLD_SIZE",
                value: Some("many".into()),
                wanted: "how many ranks there are".into(),
            },
        ),
        ("RankError::NoSuchRank", RankError::NoSuchRank { rank: 4, size: 4 }),
        ("RankError::TooManyRanks", RankError::TooManyRanks { size: 1_000_000, most: 1 << 16 }),
        (
            "RankError::Address",
            RankError::Address { address: address(), cause: "Address already in use (os error 98)".into() },
        ),
        (
            "RankError::Unreachable",
            RankError::Unreachable {
                rank: 2,
                address: address(),
                after,
                cause: "Connection refused (os error 111)".into(),
            },
        ),
        (
            "RankError::NoPeerMemory",
            RankError::NoPeerMemory {
                reason: "the driver of rank 0 makes no handle of its memory: CUDA_ERROR_NOT_SUPPORTED".into(),
            },
        ),
        ("RankError::Absent", RankError::Absent { ranks: vec![2, 3], size: 4, after }),
        ("RankError::Twice", RankError::Twice { rank: 1 }),
        ("RankError::Lost", RankError::Lost { rank: 2, operation }),
        ("RankError::Late", RankError::Late { rank: 2, operation, after }),
        (
            "RankError::Disagreement",
            RankError::Disagreement {
                rank: 2,
                theirs: "all_reduce (operation 7, 5 elements of type 7, argument 0)".into(),
                ours: "all_reduce (operation 7, 4 elements of type 7, argument 0)".into(),
            },
        ),
        ("RankError::NoNccl", RankError::NoNccl { reason: TcpReason::SharedGpu { first: 2, second: 3 }, cause: None }),
        ("RankError::Stalled", RankError::Stalled { operation, after }),
        (
            "RankError::Failed",
            RankError::Failed {
                rank: 2,
                operation,
                cause: "NCCL could not all_reduce: remote process exited or there was a network error".into(),
            },
        ),
    ];
    said(devices).chain(said(ranks))
}

/// An example of each error of NVIDIA's libraries.
pub(super) fn libraries() -> impl Iterator<Item = (&'static str, String)> {
    let library = "cuBLAS";
    let multiply = "multiply matrices (gemm)";
    said(vec![
        ("LibraryError::SoftwareDevice", LibraryError::SoftwareDevice { library, instead: "`rumba::linalg`" }),
        (
            "LibraryError::Missing",
            LibraryError::Missing {
                library,
                tried: ["libcublas.so.13", "libcublas.so.12", "libcublas.so.11"].map(str::to_owned).to_vec(),
                cause: "libcublas.so.13: cannot open shared object file: No such file or directory".into(),
                install: "install it (pip's nvidia-cublas or nvidia-cublas-cu12, NVIDIA's Debian package libcublas-13-0, conda's libcublas)",
                variable: "RUMBA_CUBLAS_LIBRARY",
            },
        ),
        (
            "LibraryError::NoFunction",
            LibraryError::NoFunction {
                library,
                file: "libcurand.so.10".into(),
                function: "cublasCreate_v2",
                variable: "RUMBA_CUBLAS_LIBRARY",
            },
        ),
        (
            "LibraryError::Refused",
            LibraryError::Refused { library, operation: multiply, status: "CUBLAS_STATUS_NOT_SUPPORTED (15)".into() },
        ),
        (
            "LibraryError::Shapes",
            LibraryError::Shapes {
                operation: "add vectors (axpy)",
                shapes: vec![vec![3], vec![4]],
                rule: "both vectors have one length",
            },
        ),
        (
            "LibraryError::Strides",
            LibraryError::Strides {
                operation: multiply,
                operand: "b",
                shape: vec![3, 3],
                strides: vec![10, 2],
                rule: "the elements of each row, or of each column, lie one after the other, and rows or columns do not overlap",
            },
        ),
        (
            "LibraryError::Alignment",
            LibraryError::Alignment {
                library: "cuFFT",
                operation: "compute a Fourier transform",
                address: 0x7f20_0000_0004,
                bytes: 8,
            },
        ),
        ("LibraryError::TooLong", LibraryError::TooLong { library, operation: multiply, number: 4_294_967_296 }),
    ])
}
