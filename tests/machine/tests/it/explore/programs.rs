//! Small programs whose threads synchronise, right and wrong, with what their exploration comes to.
//!
//! Each thread is a lane of a warp of its own. Lines in capitals are abbreviations, which [`expand`] writes out.

/// The expected outcome of exploring a program.
#[derive(Debug, Clone, Copy)]
pub(super) enum Expected {
    /// The exploration has this number of orders and no finding.
    Right(u64),
    /// This is found; and whether it is found in the orders of 20 seeds.
    Wrong(&'static [&'static str], Seeds),
}

/// Whether the orders of 20 seeds show a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seeds {
    Find,
    Miss,
}

/// A program.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    /// Threads of a block, of which each has a warp, and blocks of a cluster: the grid is one cluster, unless it is 0; then it is two
    /// blocks.
    pub(super) warps: u32,
    pub(super) cluster: u32,
    /// For how many arrivals each mbarrier is.
    pub(super) mbarriers: &'static [u32],
    /// What each thread does; of several blocks the threads follow one another.
    pub(super) threads: &'static [&'static str],
    pub(super) expected: Expected,
}

use Expected::{Right, Wrong};
use Seeds::{Find, Miss};

const DEADLOCK: &[&str] = &["Deadlock"];
const RACE: &[&str] = &["DataRace"];
const TRAP: &[&str] = &["Trap"];
const MISUSE: &[&str] = &["Synchronisation"];
const PENDING: &[&str] = &["PendingCopy"];

const fn row(
    name: &'static str,
    mbarriers: &'static [u32],
    threads: &'static [&'static str],
    expected: Expected,
) -> Row {
    Row { name, warps: threads.len() as u32, cluster: 1, mbarriers, threads, expected }
}

/// Two blocks of one thread each, in a cluster or not.
const fn blocks(name: &'static str, cluster: u32, threads: &'static [&'static str], expected: Expected) -> Row {
    Row { name, warps: 1, cluster, mbarriers: &[], threads, expected }
}

/// The programs. Words of data are `PUT` and `GET` in shared memory, `WRITE` and `READ` in global memory.
pub(super) const PROGRAMS: &[Row] = &[
    // Phases of mbarriers.
    row("one_stage", &[1], &["PUT 0\nARRIVE 0", "WAIT 0 0\nGET 0"], Right(1)),
    row(
        "one_stage_wrong_parity",
        &[1],
        &["PUT 0\nARRIVE 0", "WAIT 0 1\nGET 0"],
        Wrong(&["DataRace", "Deadlock"], Find),
    ),
    row("one_stage_no_wait", &[1], &["PUT 0\nARRIVE 0", "GET 0"], Wrong(RACE, Find)),
    row("two_producers", &[2], &["PUT 0\nARRIVE 0", "PUT 4\nARRIVE 0", "WAIT 0 0\nGET 0\nGET 4"], Right(1)),
    row(
        "two_producers_counted_as_one",
        &[1],
        &["PUT 0\nARRIVE 0", "PUT 4\nARRIVE 0", "WAIT 0 0\nGET 0\nGET 4"],
        Wrong(&["DataRace", "Deadlock"], Find),
    ),
    row("three_producers_two_arrive", &[3], &["ARRIVE 0", "ARRIVE 0", "WAIT 0 0"], Wrong(DEADLOCK, Find)),
    row(
        "full_and_empty",
        &[1, 1],
        &["PUT 0\nARRIVE 0\nWAIT 1 0\nPUT 0\nARRIVE 0", "WAIT 0 0\nGET 0\nARRIVE 1\nWAIT 0 1\nGET 0"],
        Right(1),
    ),
    row(
        "full_and_empty_too_early",
        &[1, 1],
        &["PUT 0\nARRIVE 0\nWAIT 1 1\nPUT 0\nARRIVE 0", "WAIT 0 0\nGET 0\nARRIVE 1\nWAIT 0 1\nGET 0"],
        Wrong(&["DataRace", "Deadlock"], Find),
    ),
    row(
        "ring_of_two_stages",
        &[1, 1, 1, 1],
        &[
            "PUT 0\nARRIVE 0\nPUT 4\nARRIVE 1\nWAIT 2 0\nPUT 0\nARRIVE 0\nWAIT 3 0\nPUT 4\nARRIVE 1",
            "WAIT 0 0\nGET 0\nARRIVE 2\nWAIT 1 0\nGET 4\nARRIVE 3\nWAIT 0 1\nGET 0\nWAIT 1 1\nGET 4",
        ],
        Right(1),
    ),
    row(
        "ring_of_two_stages_frees_the_other",
        &[1, 1, 1, 1],
        &[
            "PUT 0\nARRIVE 0\nPUT 4\nARRIVE 1\nWAIT 2 0\nPUT 0\nARRIVE 0\nWAIT 3 0\nPUT 4\nARRIVE 1",
            "WAIT 0 0\nGET 0\nARRIVE 3\nWAIT 1 0\nGET 4\nARRIVE 2\nWAIT 0 1\nGET 0\nWAIT 1 1\nGET 4",
        ],
        Right(1),
    ),
    row(
        "ring_of_two_stages_parity_not_flipped",
        &[1, 1, 1, 1],
        &[
            "PUT 0\nARRIVE 0\nPUT 4\nARRIVE 1\nWAIT 2 0\nPUT 0\nARRIVE 0\nWAIT 3 0\nPUT 4\nARRIVE 1",
            "WAIT 0 0\nGET 0\nARRIVE 2\nWAIT 1 0\nGET 4\nARRIVE 3\nWAIT 0 0\nGET 0\nWAIT 1 0\nGET 4",
        ],
        Wrong(&["DataRace", "Deadlock"], Find),
    ),
    row(
        "ring_of_three_stages",
        &[1, 1, 1, 1, 1, 1],
        &[
            "PUT 0\nARRIVE 0\nPUT 4\nARRIVE 1\nPUT 8\nARRIVE 2\nWAIT 3 0\nPUT 0\nARRIVE 0",
            "WAIT 0 0\nGET 0\nARRIVE 3\nWAIT 1 0\nGET 4\nARRIVE 4\nWAIT 2 0\nGET 8\nARRIVE 5\nWAIT 0 1\nGET 0",
        ],
        Right(1),
    ),
    row(
        "two_consumers",
        &[1, 2],
        &[
            "PUT 0\nARRIVE 0\nWAIT 1 0\nPUT 0\nARRIVE 0",
            "WAIT 0 0\nGET 0\nARRIVE 1\nWAIT 0 1\nGET 0",
            "WAIT 0 0\nGET 0\nARRIVE 1\nWAIT 0 1\nGET 0",
        ],
        Right(1),
    ),
    row(
        "two_consumers_one_frees",
        &[1, 1],
        &[
            "PUT 0\nARRIVE 0\nWAIT 1 0\nPUT 0\nARRIVE 0",
            "WAIT 0 0\nGET 0\nARRIVE 1\nWAIT 0 1\nGET 0",
            "WAIT 0 0\nGET 0\nARRIVE 1\nWAIT 0 1\nGET 0",
        ],
        Wrong(&["DataRace", "Deadlock"], Find),
    ),
    row(
        "all_arrive_and_wait_twice",
        &[3],
        &[
            "ARRIVE 0\nWAIT 0 0\nARRIVE 0\nWAIT 0 1",
            "ARRIVE 0\nWAIT 0 0\nARRIVE 0\nWAIT 0 1",
            "ARRIVE 0\nWAIT 0 0\nARRIVE 0\nWAIT 0 1",
        ],
        Right(1),
    ),
    row(
        "looks_once_and_stays_out",
        &[1],
        &["PUT 0\nARRIVE 0", "LOOK 0 0\n@%p9 ld.shared.u32 %r20, [%r42+128];"],
        Right(2),
    ),
    row(
        "looks_once_and_goes_on",
        &[1],
        &["PUT 0\nARRIVE 0", "LOOK 0 0\n@!%p9 ld.shared.u32 %r20, [%r42+128];"],
        Wrong(RACE, Find),
    ),
    row(
        "waits_three_times_and_stays_out",
        &[1],
        &[
            "PUT 0\nARRIVE 0",
            "mov.u32 %r22, 0;\nTRY: LOOK 0 0\n@%p9 bra GOT;\nadd.u32 %r22, %r22, 1;\nsetp.lt.u32 %p8, %r22, 3;\n@%p8 bra TRY;\nbra OUT;\nGOT: GET 0\nOUT:",
        ],
        Right(4),
    ),
    row(
        "waits_three_times_and_goes_on",
        &[1],
        &[
            "PUT 0\nARRIVE 0",
            "mov.u32 %r22, 0;\nTRY: LOOK 0 0\n@%p9 bra GOT;\nadd.u32 %r22, %r22, 1;\nsetp.lt.u32 %p8, %r22, 3;\n@%p8 bra TRY;\nGOT: GET 0",
        ],
        Wrong(RACE, Find),
    ),
    row("phase_missed", &[1], &["ARRIVE 0\nARRIVE 0", "WAIT 0 0"], Wrong(DEADLOCK, Find)),
    row("arrives_for_two", &[2], &["ARRIVE 0", "ARRIVEN 0 2", "WAIT 0 0"], Wrong(MISUSE, Find)),
    row("arrives_for_two_of_three", &[3], &["ARRIVE 0", "ARRIVEN 0 2", "WAIT 0 0"], Right(1)),
    row(
        "ends_under_a_waiter",
        &[1],
        &["ARRIVE 0", "WAIT 0 0\nmbarrier.inval.shared.b64 [%r42];", "WAIT 0 0"],
        Wrong(MISUSE, Find),
    ),
    row(
        "ends_behind_all_waiters",
        &[1, 2],
        &["ARRIVE 0\nWAIT 1 0\nmbarrier.inval.shared.b64 [%r42];", "WAIT 0 0\nARRIVE 1", "WAIT 0 0\nARRIVE 1"],
        Right(1),
    ),
    // Copies.
    row("copy", &[1, 1], &["EXPECT 0 16\nCOPY 0 0\nWAIT 0 0\nGET 0"], Right(1)),
    row(
        "copy_of_too_few_bytes",
        &[1],
        &["EXPECT 0 32\nCOPY 0 0\nWAIT 0 0\nGET 0"],
        Wrong(&["Deadlock", "TransactionBytes"], Find),
    ),
    row(
        "copy_looked_at_once",
        &[1],
        &["EXPECT 0 16\nCOPY 0 0\nLOOK 0 0\n@!%p9 ld.shared.u32 %r20, [%r42+128];"],
        Wrong(PENDING, Miss),
    ),
    row(
        "copy_looked_at_once_and_left",
        &[1],
        &["EXPECT 0 16\nCOPY 0 0\nLOOK 0 0\n@%p9 ld.shared.u32 %r20, [%r42+128];\nWAIT 0 0"],
        Right(2),
    ),
    row(
        "copies_in_two_buffers",
        &[1, 1, 1],
        &[
            "EXPECT 0 16\nCOPY 0 0\nEXPECT 1 16\nCOPY 1 16\nWAIT 2 0\nEXPECT 0 16\nCOPY 0 0",
            "WAIT 0 0\nGET 0\nARRIVE 2\nWAIT 1 0\nGET 16\nWAIT 0 1\nGET 0",
        ],
        Right(1),
    ),
    row(
        "copies_in_two_buffers_not_freed",
        &[1, 1, 1],
        &[
            "EXPECT 0 16\nCOPY 0 0\nEXPECT 1 16\nCOPY 1 16\nWAIT 0 0\nEXPECT 0 16\nCOPY 0 0",
            "WAIT 0 0\nGET 0\nARRIVE 2\nWAIT 1 0\nGET 16\nWAIT 0 1\nGET 0",
        ],
        Wrong(&["Deadlock", "EarlyRefill"], Find),
    ),
    row("copy_and_arrival_of_the_next_phase", &[1], &["EXPECT 0 16\nCOPY 0 0\nARRIVE 0"], Wrong(MISUSE, Find)),
    row(
        "copy_that_two_wait_for",
        &[2],
        &["EXPECT 0 16\nCOPY 0 0\nWAIT 0 0\nGET 0", "ARRIVE 0\nWAIT 0 0\nGET 4"],
        Right(1),
    ),
    // Barriers for a number of threads.
    row("pair", &[], &["PUT 0\nBAR 1 64", "BAR 1 64\nGET 0"], Right(1)),
    row("pair_by_arrival", &[], &["PUT 0\nSIGNAL 1 64", "BAR 1 64\nGET 0"], Right(1)),
    row("pair_counted_for_three", &[], &["BAR 1 96", "BAR 1 96", "PUT 0"], Wrong(DEADLOCK, Find)),
    row("three_at_a_pair", &[], &["BAR 1 64", "BAR 1 64", "BAR 1 64"], Wrong(DEADLOCK, Find)),
    row(
        "two_pairs_of_one_barrier",
        &[],
        &["PUT 0\nBAR 1 64", "BAR 1 64\nGET 0", "BAR 1 64", "BAR 1 64"],
        Wrong(RACE, Find),
    ),
    row("two_pairs", &[], &["PUT 0\nBAR 1 64", "BAR 1 64\nGET 0", "BAR 2 64", "BAR 2 64"], Right(1)),
    row("pairs_in_another_order", &[], &["BAR 1 64\nBAR 2 64", "BAR 2 64\nBAR 1 64"], Wrong(DEADLOCK, Find)),
    row(
        "ping_pong",
        &[],
        &["SIGNAL 1 64\nBAR 2 64\nPUT 0\nSIGNAL 1 64", "BAR 1 64\nPUT 0\nSIGNAL 2 64\nBAR 1 64\nGET 0"],
        Right(1),
    ),
    row(
        "ping_without_pong",
        &[],
        &["SIGNAL 1 64\nPUT 0\nSIGNAL 1 64", "BAR 1 64\nPUT 0\nBAR 1 64\nGET 0"],
        Wrong(&["DataRace", "Deadlock", "RepeatedArrival"], Find),
    ),
    row("counts_differ", &[], &["BAR 1 64", "BAR 1 32", "BAR 1 64"], Wrong(MISUSE, Find)),
    row(
        "last_to_come_skips",
        &[],
        &[
            "@%p28 atom.global.add.u32 %r30, [%rd1], 1;\nshfl.sync.idx.b32 %r30, %r30, 0, 31, -1;\nsetp.eq.u32 %p9, %r30, 2;\n@%p9 bra S0;\nBAR 1 64\nS0:",
            "@%p28 atom.global.add.u32 %r30, [%rd1], 1;\nshfl.sync.idx.b32 %r30, %r30, 0, 31, -1;\nsetp.eq.u32 %p9, %r30, 2;\n@%p9 bra S1;\nBAR 1 64\nS1:",
            "@%p28 atom.global.add.u32 %r30, [%rd1], 1;\nshfl.sync.idx.b32 %r30, %r30, 0, 31, -1;\nsetp.eq.u32 %p9, %r30, 2;\n@%p9 bra S2;\nBAR 1 64\nS2:",
        ],
        Right(6),
    ),
    // Flags.
    row("flag", &[], &["WRITE 4\nSET 0 1", "AWAIT 0 1\nREAD 4"], Right(1)),
    row("flag_without_release", &[], &["WRITE 4\nSETRELAXED 0 1", "AWAIT 0 1\nREAD 4"], Wrong(RACE, Find)),
    row("flag_without_acquire", &[], &["WRITE 4\nSET 0 1", "AWAITRELAXED 0 1\nREAD 4"], Wrong(RACE, Find)),
    row("flag_before_the_data", &[], &["SET 0 1\nWRITE 4", "AWAIT 0 1\nREAD 4"], Wrong(RACE, Find)),
    row("flags_in_a_chain", &[], &["WRITE 8\nSET 0 1", "AWAIT 0 1\nSET 4 1", "AWAIT 4 1\nREAD 8"], Right(1)),
    row("flags_in_a_circle", &[], &["AWAIT 0 1\nSET 4 1", "AWAIT 4 1\nSET 0 1"], Wrong(DEADLOCK, Find)),
    row("handshake", &[], &["WRITE 8\nSET 0 1\nAWAIT 4 1\nWRITE 8", "AWAIT 0 1\nREAD 8\nSET 4 1"], Right(1)),
    row(
        "snapshot_of_two_flags",
        &[],
        &["SETRELAXED 0 1\nSETRELAXED 4 1", "LOAD 0 20\nLOAD 4 21\nTRAPIF 20 1 21 0"],
        Wrong(TRAP, Miss),
    ),
    row(
        "snapshot_in_the_other_order",
        &[],
        &["SETRELAXED 0 1\nSETRELAXED 4 1", "LOAD 4 20\nLOAD 0 21\nTRAPIF 20 1 21 0"],
        Right(3),
    ),
    row(
        "snapshot_that_another_repeats",
        &[],
        &[
            "SETRELAXED 0 1\nSETRELAXED 4 1",
            "LOAD 0 20\nLOAD 4 21\nsub.u32 %r22, %r20, %r21;\nst.relaxed.gpu.global.u32 [%rd1+8], %r22;",
            "LOAD 8 20\nLOAD 4 21\nTRAPIF 20 1 21 0",
        ],
        Wrong(TRAP, Miss),
    ),
    // Counters and locks.
    row("counters", &[], &["ADD 0", "ADD 0", "ADD 0"], Right(6)),
    row("sums", &[], &["SUM 0", "SUM 0", "SUM 0", "SUM 0"], Right(1)),
    row("counter_in_two_steps", &[], &["STEP 0", "STEP 0", "AWAIT 0 2"], Wrong(&["Deadlock", "LostUpdate"], Miss)),
    row("counter_in_one_step", &[], &["SUM 0", "SUM 0", "AWAIT 0 2"], Right(1)),
    row("something_in_between", &[], &["ADD 0\nADD 0", "ADD 0\nTRAPIF 30 1 30 1"], Wrong(TRAP, Miss)),
    row("lock", &[], &["LOCK 0\nWRITE 8\nUNLOCK 0", "LOCK 0\nWRITE 8\nUNLOCK 0"], Right(2)),
    row(
        "lock_of_three",
        &[],
        &["LOCK 0\nWRITE 8\nUNLOCK 0", "LOCK 0\nWRITE 8\nUNLOCK 0", "LOCK 0\nWRITE 8\nUNLOCK 0"],
        Right(6),
    ),
    row("lock_not_released", &[], &["LOCK 0\nWRITE 8\nUNLOCK 0", "LOCK 0\nWRITE 8"], Wrong(DEADLOCK, Find)),
    row("locks_in_order", &[], &["LOCK 0\nLOCK 4\nUNLOCK 4\nUNLOCK 0", "LOCK 0\nLOCK 4\nUNLOCK 4\nUNLOCK 0"], Right(2)),
    row(
        "locks_in_another_order",
        &[],
        &["LOCK 0\nLOCK 4\nUNLOCK 4\nUNLOCK 0", "LOCK 4\nLOCK 0\nUNLOCK 0\nUNLOCK 4"],
        Wrong(DEADLOCK, Find),
    ),
    row(
        "three_who_dine",
        &[],
        &[
            "LOCK 0\nLOCK 4\nUNLOCK 4\nUNLOCK 0",
            "LOCK 4\nLOCK 8\nUNLOCK 8\nUNLOCK 4",
            "LOCK 8\nLOCK 0\nUNLOCK 0\nUNLOCK 8",
        ],
        Wrong(DEADLOCK, Find),
    ),
    row(
        "three_who_dine_in_order",
        &[],
        &[
            "LOCK 0\nLOCK 4\nUNLOCK 4\nUNLOCK 0",
            "LOCK 4\nLOCK 8\nUNLOCK 8\nUNLOCK 4",
            "LOCK 0\nLOCK 8\nUNLOCK 8\nUNLOCK 0",
        ],
        Right(6),
    ),
    row(
        "lock_in_two_steps",
        &[],
        &["TRYLOCK 0\n@%p9 st.global.u32 [%rd1+8], %r50;", "TRYLOCK 0\n@%p9 st.global.u32 [%rd1+8], %r50;"],
        Wrong(RACE, Miss),
    ),
    row("tickets", &[], &["TICKET 0 4\nWRITE 8\nSUM 4", "TICKET 0 4\nWRITE 8\nSUM 4"], Wrong(RACE, Find)),
    row("tickets_released", &[], &["TICKET 0 4\nWRITE 8\nSERVE 4", "TICKET 0 4\nWRITE 8\nSERVE 4"], Right(2)),
    row(
        "tickets_taken_in_two_steps",
        &[],
        &["TICKET2 0 4\nWRITE 8\nSERVE 4", "TICKET2 0 4\nWRITE 8\nSERVE 4"],
        Wrong(&["DataRace", "LostUpdate"], Miss),
    ),
    row(
        "tickets_served_too_early",
        &[],
        &["TICKET 0 4\nSERVE 4\nWRITE 8", "TICKET 0 4\nSERVE 4\nWRITE 8"],
        Wrong(RACE, Find),
    ),
    row(
        "lost_wakeup",
        &[1],
        &[
            "LOAD 0 20\nsetp.eq.u32 %p9, %r20, 0;\n@%p9 st.relaxed.gpu.global.u32 [%rd1+4], 1;\n@!%p9 bra AWAKE;\nWAIT 0 0\nAWAKE:",
            "SETRELAXED 0 1\nLOAD 4 20\nsetp.eq.u32 %p9, %r20, 1;\n@%p9 mbarrier.arrive.shared.b64 _, [%r42];",
        ],
        Wrong(DEADLOCK, Miss),
    ),
    row(
        "wakeup",
        &[1],
        &[
            "SETRELAXED 4 1\nLOAD 0 20\nsetp.eq.u32 %p9, %r20, 0;\n@!%p9 bra AWAKE;\nWAIT 0 0\nAWAKE:",
            "SETRELAXED 0 1\nLOAD 4 20\nsetp.eq.u32 %p9, %r20, 1;\n@%p9 mbarrier.arrive.shared.b64 _, [%r42];",
        ],
        Right(3),
    ),
    row(
        "last_one_out_in_two_steps",
        &[1],
        &[
            "STEP 0\nsetp.eq.u32 %p9, %r30, 1;\n@%p9 mbarrier.arrive.shared.b64 _, [%r42];",
            "STEP 0\nsetp.eq.u32 %p9, %r30, 1;\n@%p9 mbarrier.arrive.shared.b64 _, [%r42];",
            "WAIT 0 0",
        ],
        Wrong(&["Deadlock", "LostUpdate"], Miss),
    ),
    row(
        "last_one_out",
        &[1],
        &[
            "ADD 0\nsetp.eq.u32 %p9, %r30, 1;\n@%p9 mbarrier.arrive.shared.b64 _, [%r42];",
            "ADD 0\nsetp.eq.u32 %p9, %r30, 1;\n@%p9 mbarrier.arrive.shared.b64 _, [%r42];",
            "WAIT 0 0",
        ],
        Right(2),
    ),
    row(
        "first_one_leaves_it_to_the_last",
        &[1],
        &["ADD 0\nsetp.eq.u32 %p9, %r30, 1;\n@%p9 mbarrier.arrive.shared.b64 _, [%r42];", "ADD 0", "WAIT 0 0"],
        Wrong(DEADLOCK, Find),
    ),
    row(
        "barrier_of_a_counter",
        &[],
        &["WRITE 8\nADD 0\nAWAIT 0 2\nREAD 12", "WRITE 12\nADD 0\nAWAIT 0 2\nREAD 8"],
        Right(2),
    ),
    row(
        "barrier_of_a_counter_that_is_reset",
        &[],
        &[
            "ADD 0\nsetp.eq.u32 %p9, %r30, 1;\n@%p9 st.release.gpu.global.u32 [%rd1+4], 1;\n@%p9 st.release.gpu.global.u32 [%rd1], 0;\nAWAIT 4 1\nADD 0\nAWAIT 0 2",
            "ADD 0\nsetp.eq.u32 %p9, %r30, 1;\n@%p9 st.release.gpu.global.u32 [%rd1+4], 1;\n@%p9 st.release.gpu.global.u32 [%rd1], 0;\nAWAIT 4 1\nADD 0\nAWAIT 0 2",
        ],
        Wrong(DEADLOCK, Miss),
    ),
    row(
        "barrier_of_a_counter_that_is_reset_first",
        &[],
        &[
            "ADD 0\nsetp.eq.u32 %p9, %r30, 1;\n@%p9 st.release.gpu.global.u32 [%rd1], 0;\n@%p9 st.release.gpu.global.u32 [%rd1+4], 1;\nAWAIT 4 1\nADD 0\nAWAIT 0 2",
            "ADD 0\nsetp.eq.u32 %p9, %r30, 1;\n@%p9 st.release.gpu.global.u32 [%rd1], 0;\n@%p9 st.release.gpu.global.u32 [%rd1+4], 1;\nAWAIT 4 1\nADD 0\nAWAIT 0 2",
        ],
        Right(4),
    ),
    row(
        "flag_cleared_behind_the_next",
        &[],
        &["SET 0 1\nAWAIT 4 1\nSET 0 1", "AWAIT 0 1\nSET 4 1\nSET 0 0\nAWAIT 0 1"],
        Wrong(DEADLOCK, Miss),
    ),
    row(
        "flag_cleared_before_the_answer",
        &[],
        &["SET 0 1\nAWAIT 4 1\nSET 0 1", "AWAIT 0 1\nSET 0 0\nSET 4 1\nAWAIT 0 1"],
        Right(1),
    ),
    // Blocks.
    blocks(
        "last_block",
        0,
        &[
            "WRITE 8\nADD 0\nsetp.eq.u32 %p9, %r30, 1;\n@%p9 ld.global.u32 %r20, [%rd1+12];",
            "WRITE 12\nADD 0\nsetp.eq.u32 %p9, %r30, 1;\n@%p9 ld.global.u32 %r20, [%rd1+8];",
        ],
        Right(2),
    ),
    blocks(
        "last_block_without_order",
        0,
        &[
            "WRITE 8\nADDRELAXED 0\nsetp.eq.u32 %p9, %r30, 1;\n@%p9 ld.global.u32 %r20, [%rd1+12];",
            "WRITE 12\nADDRELAXED 0\nsetp.eq.u32 %p9, %r30, 1;\n@%p9 ld.global.u32 %r20, [%rd1+8];",
        ],
        Wrong(RACE, Find),
    ),
    blocks(
        "first_block_reads",
        0,
        &[
            "WRITE 8\nADD 0\nsetp.eq.u32 %p9, %r30, 0;\n@%p9 ld.global.u32 %r20, [%rd1+12];",
            "WRITE 12\nADD 0\nsetp.eq.u32 %p9, %r30, 0;\n@%p9 ld.global.u32 %r20, [%rd1+8];",
        ],
        Wrong(RACE, Find),
    ),
    blocks("cluster", 2, &["PUT 0\nCLUSTER\nCLUSTER", "CLUSTER\nREMOTE 0\nCLUSTER"], Right(1)),
    blocks("cluster_without_a_barrier", 2, &["PUT 0\nCLUSTER", "REMOTE 0\nCLUSTER"], Wrong(RACE, Find)),
    blocks(
        "cluster_barrier_on_one_path",
        2,
        &["ADD 0\nsetp.eq.u32 %p9, %r30, 0;\n@%p9 bra SKIP0;\nCLUSTER\nSKIP0: AWAIT 4 1", "CLUSTER\nSET 4 1"],
        Wrong(DEADLOCK, Find),
    ),
];

/// Writes the abbreviations of a thread's code out; `unique` tells its labels from those of others.
pub(super) fn expand(code: &str, unique: usize) -> String {
    let mut out = String::new();
    for (number, line) in code.lines().enumerate() {
        let (label, rest) = match line.split_once(": ") {
            Some((label, rest)) => (Some(label), rest),
            None => (None, line),
        };
        if let Some(label) = label {
            out += &format!("{label}:\n");
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        let a = |index: usize| words[index].parse::<u32>().unwrap();
        let l = format!("L{unique}x{number}");
        let text = match words.first().copied().unwrap_or_default() {
            "PUT" => format!("@%p28 st.shared.u32 [%r42+{}], %r50;", 128 + a(1)),
            "GET" => format!("@%p28 ld.shared.u32 %r20, [%r42+{}];", 128 + a(1)),
            "WRITE" => format!("st.global.u32 [%rd1+{}], %r50;", a(1)),
            "READ" => format!("ld.global.u32 %r20, [%rd1+{}];", a(1)),
            "ARRIVE" => format!("mbarrier.arrive.shared.b64 _, [%r42+{}];", 8 * a(1)),
            "ARRIVEN" => format!("mbarrier.arrive.shared.b64 _, [%r42+{}], {};", 8 * a(1), a(2)),
            "EXPECT" => format!("mbarrier.arrive.expect_tx.shared.b64 _, [%r42+{}], {};", 8 * a(1), a(2)),
            "WAIT" => {
                format!("{l}: mbarrier.try_wait.parity.shared.b64 %p8, [%r42+{}], {};\n@!%p8 bra {l};", 8 * a(1), a(2))
            }
            "LOOK" => format!("mbarrier.test_wait.parity.shared.b64 %p9, [%r42+{}], {};", 8 * a(1), a(2)),
            "COPY" => format!(
                "add.u32 %r43, %r42, {};\nadd.u64 %rd30, %rd1, 128;\nadd.u32 %r44, %r42, {};\ncvt.u64.u32 %rd31, %r43;\ncvt.u64.u32 %rd32, %r44;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd31], [%rd30], 16, [%rd32];",
                128 + a(2),
                8 * a(1)
            ),
            "BAR" => format!("bar.sync {}, {};", a(1), a(2)),
            "SIGNAL" => format!("bar.arrive {}, {};", a(1), a(2)),
            "SET" => format!("st.release.gpu.global.u32 [%rd1+{}], {};", a(1), a(2)),
            "SETRELAXED" => format!("st.relaxed.gpu.global.u32 [%rd1+{}], {};", a(1), a(2)),
            "LOAD" => format!("ld.relaxed.gpu.global.u32 %r{}, [%rd1+{}];", a(2), a(1)),
            "AWAIT" | "AWAITRELAXED" => format!(
                "{l}: ld.{}.gpu.global.u32 %r20, [%rd1+{}];\nsetp.ne.u32 %p8, %r20, {};\n@%p8 bra {l};",
                if words[0] == "AWAIT" { "acquire" } else { "relaxed" },
                a(1),
                a(2)
            ),
            "TRAPIF" => format!(
                "setp.eq.u32 %p8, %r{}, {};\nsetp.eq.and.u32 %p8, %r{}, {}, %p8;\n@%p8 trap;",
                a(1),
                a(2),
                a(3),
                a(4)
            ),
            "ADD" => format!("atom.acq_rel.gpu.global.add.u32 %r30, [%rd1+{}], 1;", a(1)),
            "ADDRELAXED" => format!("atom.relaxed.gpu.global.add.u32 %r30, [%rd1+{}], 1;", a(1)),
            "SUM" => format!("red.relaxed.gpu.global.add.u32 [%rd1+{}], 1;", a(1)),
            "SERVE" => format!("red.release.gpu.global.add.u32 [%rd1+{}], 1;", a(1)),
            "STEP" => format!(
                "ld.relaxed.gpu.global.u32 %r30, [%rd1+{0}];\nadd.u32 %r31, %r30, 1;\nst.relaxed.gpu.global.u32 [%rd1+{0}], %r31;",
                a(1)
            ),
            "LOCK" => format!(
                "{l}: atom.acquire.gpu.global.cas.b32 %r30, [%rd1+{}], 0, 1;\nsetp.ne.u32 %p8, %r30, 0;\n@%p8 bra {l};",
                a(1)
            ),
            "UNLOCK" => format!("st.release.gpu.global.u32 [%rd1+{}], 0;", a(1)),
            "TRYLOCK" => format!(
                "ld.acquire.gpu.global.u32 %r30, [%rd1+{0}];\nsetp.eq.u32 %p9, %r30, 0;\n@%p9 st.relaxed.gpu.global.u32 [%rd1+{0}], 1;",
                a(1)
            ),
            "TICKET" | "TICKET2" => {
                let take = if words[0] == "TICKET" {
                    format!("atom.relaxed.gpu.global.add.u32 %r30, [%rd1+{}], 1;", a(1))
                } else {
                    expand(&format!("STEP {}", a(1)), unique * 100 + number)
                };
                format!(
                    "{take}\n{l}: ld.acquire.gpu.global.u32 %r32, [%rd1+{}];\nsetp.lt.u32 %p8, %r32, %r30;\n@%p8 bra {l};",
                    a(2)
                )
            }
            "CLUSTER" => "barrier.cluster.arrive;\nbarrier.cluster.wait;".to_owned(),
            "REMOTE" => format!(
                "add.u32 %r43, %r42, {};\nmapa.shared::cluster.u32 %r44, %r43, 0;\nld.shared::cluster.u32 %r20, [%r44];",
                128 + a(1)
            ),
            _ => rest.to_owned(),
        };
        out += &text;
        out += "\n";
    }
    out
}
