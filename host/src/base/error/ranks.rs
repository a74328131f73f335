//! Why processes that work together could not meet, or go on.

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
        /// What it is set to.
        value: Option<String>,
        /// What it should be.
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

    /// Rank 0 cannot listen where the others look for it.
    #[error(
        "rank 0 cannot listen on {address}: {cause}\n\
         help: MASTER_ADDR is the machine of rank 0, and MASTER_PORT a port that no other program has there"
    )]
    Address {
        /// Where.
        address: String,
        /// What the system said.
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
        /// What the system said last.
        cause: String,
    },

    /// Some ranks never came.
    #[error(
        "of {size} ranks, {} did not come within {after:?}\n\
         help: look for their processes' own messages; RUMBA_RANK_TIMEOUT is how many seconds are waited",
        list(ranks)
    )]
    Absent {
        /// Those that did not.
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
        /// What the others were doing.
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
        /// What the others were doing.
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
        /// That of rank 0.
        ours: String,
    },
}

/// Some ranks, as a sentence has them.
fn list(ranks: &[usize]) -> String {
    let numbers: Vec<String> = ranks.iter().map(ToString::to_string).collect();
    match &numbers[..] {
        [one] => format!("rank {one}"),
        _ => format!("ranks {}", numbers.join(", ")),
    }
}
