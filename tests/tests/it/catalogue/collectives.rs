//! An example of each error of devices, and of processes, that work together.

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
