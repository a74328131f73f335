//! Why processes that work together could not meet, or go on.

use std::fmt;
use std::time::Duration;

/// Why a [`ProcessGroup`](crate::ranks::ProcessGroup) could not be joined or used.
///
/// An operation that failed has ended the group on all ranks: later ones fail with the same error.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RankError {
    /// A variable of the environment that says which rank this process is, or where ranks meet, is missing or wrong.
    #[error(
        "the environment does not say which rank this process is: {variable} {}\n\
         help: start the program with `torchrun`, `mpirun` or `srun`, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT",
        value.as_ref().map_or_else(|| format!("is not set; it is {wanted}"), |value| format!("is `{value}`, not {wanted}"))
    )]
    Environment {
        /// The variable.
        variable: &'static str,
        /// The value of the variable.
        value: Option<String>,
        /// The required value.
        wanted: String,
    },

    /// A rank that is not below the number of ranks.
    #[error("there is no rank {rank} in a group of {size}: ranks are counted from 0")]
    NoSuchRank {
        /// The rank.
        rank: usize,
        /// How many ranks there are.
        size: usize,
    },

    /// More ranks than a group can have.
    #[error("a group of {size} ranks was asked for, and a group has {most} at most: the number of ranks may be wrong")]
    TooManyRanks {
        /// How many ranks there would be.
        size: usize,
        /// How many a group can have.
        most: usize,
    },

    /// Rank 0 cannot listen where the others look for it.
    #[error(
        "rank 0 cannot listen on {address}: {cause}\n\
         help: MASTER_ADDR is the machine of rank 0, and MASTER_PORT a port that no other program has there"
    )]
    Address {
        /// Where.
        address: String,
        /// The system's error.
        cause: String,
    },

    /// Rank 0 was not found, or did not answer.
    #[error(
        "rank {rank} did not reach rank 0 at {address} within {after:?}: {cause}\n\
         help: rank 0 may not be running, or MASTER_ADDR and MASTER_PORT may name another machine or port"
    )]
    Unreachable {
        /// This rank.
        rank: usize,
        /// Where it looked.
        address: String,
        /// How long.
        after: Duration,
        /// The system's last error.
        cause: String,
    },

    /// Some ranks never came.
    #[error(
        "of {size} ranks, {} did not come within {after:?}\n\
         help: look for their processes' own messages; RUMBA_RANK_TIMEOUT is how many seconds are waited",
        list(ranks)
    )]
    Absent {
        /// The ranks that did not join.
        ranks: Vec<usize>,
        /// How many there should be.
        size: usize,
        /// How long the others waited.
        after: Duration,
    },

    /// Two processes say that they are the same rank.
    #[error("another process is rank {rank} already\nhelp: each process has a RANK of its own")]
    Twice {
        /// The rank.
        rank: usize,
    },

    /// A rank's process ended, or its machine closed the connection, while others waited for it.
    #[error(
        "rank {rank} is lost: its process ended during {operation}\nhelp: look for its own message; start again from the last checkpoint"
    )]
    Lost {
        /// The rank.
        rank: usize,
        /// The operation of the other ranks.
        operation: &'static str,
    },

    /// A rank did not come to an operation in time.
    #[error(
        "rank {rank} is late: it did not come to {operation} within {after:?}\n\
         help: it may hang, or have more work than the others; RUMBA_RANK_TIMEOUT is how many seconds are waited"
    )]
    Late {
        /// The rank.
        rank: usize,
        /// The operation of the other ranks.
        operation: &'static str,
        /// How long they waited.
        after: Duration,
    },

    /// Two ranks came to different operations.
    #[error(
        "rank {rank} came to {theirs} while rank 0 came to {ours}\n\
         help: all ranks do the same operations, in the same order, with the same types and lengths"
    )]
    Disagreement {
        /// The rank.
        rank: usize,
        /// Its operation.
        theirs: String,
        /// The operation of rank 0.
        ours: String,
    },

    /// NCCL was asked for, and not all ranks can use it.
    #[error(
        "NCCL was asked for, but {reason}{}\n\
         help: each rank needs a GPU of its own and the same NCCL; without RUMBA_RANK_TRANSPORT ranks take what all of them have",
        cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default()
    )]
    NoNccl {
        /// Why not.
        reason: TcpReason,
        /// The cause, as far as this rank knows.
        cause: Option<String>,
    },

    /// The ranks cannot have symmetric memory.
    #[error(
        "kernels of these ranks cannot access each other's memory: {reason}\n\
         help: all ranks need GPUs of one machine that reach each other; the devices of one process have symmetric memory by \
         `SymmetricBuffer::all`, software devices too"
    )]
    NoPeerMemory {
        /// Why not.
        reason: String,
    },

    /// All ranks came to an operation, and it did not end.
    #[error(
        "{operation} did not end within {after:?}, though all ranks came to it\n\
         help: a device or the network between the machines may hang, or earlier work on a device takes longer; NCCL_DEBUG=INFO makes \
         NCCL say more, RUMBA_RANK_TIMEOUT is how many seconds are waited"
    )]
    Stalled {
        /// The operation of the ranks.
        operation: &'static str,
        /// How long.
        after: Duration,
    },

    /// A rank could not do its part of an operation.
    #[error("rank {rank} failed during {operation}: {cause}")]
    Failed {
        /// The rank.
        rank: usize,
        /// The operation of all ranks.
        operation: &'static str,
        /// The error of NCCL or the driver at the rank.
        cause: String,
    },
}

/// Why ranks exchange data through the host and rank 0 and not by NCCL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TcpReason {
    /// A rank asks for it.
    Chosen {
        /// The first such rank.
        rank: usize,
    },

    /// A rank is on the software device, or has no device at all.
    NoGpu {
        /// The first such rank.
        rank: usize,
    },

    /// NCCL does not load on a rank, or is older than 2.14.
    NoLibrary {
        /// The first such rank.
        rank: usize,
    },

    /// Ranks have different versions of NCCL.
    Versions {
        /// The first rank with another version than rank 0.
        rank: usize,
    },

    /// Two ranks use one GPU, which NCCL refuses.
    SharedGpu {
        /// A rank.
        first: usize,
        /// Another one with the same GPU.
        second: usize,
    },
}

impl fmt::Display for TcpReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TcpReason::Chosen { rank } => write!(f, "rank {rank} asks for TCP"),
            TcpReason::NoGpu { rank } => write!(f, "rank {rank} has no NVIDIA GPU"),
            TcpReason::NoLibrary { rank } => write!(f, "NCCL 2.14 or newer does not load on rank {rank}"),
            TcpReason::Versions { rank } => write!(f, "rank {rank} has another version of NCCL than rank 0"),
            TcpReason::SharedGpu { first, second } => write!(f, "ranks {first} and {second} share a GPU"),
        }
    }
}

/// Formats ranks for a sentence.
fn list(ranks: &[usize]) -> String {
    let numbers: Vec<String> = ranks.iter().map(ToString::to_string).collect();
    match &numbers[..] {
        [one] => format!("rank {one}"),
        _ => format!("ranks {}", numbers.join(", ")),
    }
}
