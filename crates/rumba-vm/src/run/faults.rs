//! The faults of a launch, with what is known of the place: kernel, block, thread, source lines, and the threads that still run.

use crate::machine::context::Context;
use crate::machine::fault::{Fault, FaultKind, LiveThreads, RawFault};
use crate::run::block::Block;
use crate::run::worker::Worker;

/// The deadlock of a block whose threads all wait in vain or, if `of_grid`, of the whole grid.
pub(crate) fn deadlock(context: &Context<'_>, worker: &Worker, resident: usize, of_grid: bool) -> Fault {
    let block = &worker.known(resident).block;
    let members = worker.members(resident);
    let live = members.iter().flat_map(|member| worker.known(*member).block.live(context));
    let mut live: Vec<_> = live.collect();
    if members.len() > 1 {
        live = LiveThreads::summary(live);
    }
    let whole = match members.len() {
        _ if of_grid => "grid",
        1 => "block",
        _ => "cluster",
    };
    let (warp, raw) = block.deadlock(whole);
    describe(context, block, warp, raw, live)
}

/// The fault of a thread of a block.
pub(crate) fn describe(
    context: &Context<'_>,
    block: &Block,
    warp: u32,
    raw: RawFault,
    live: Vec<LiveThreads>,
) -> Fault {
    let debug = &context.program.debug;
    let (ptx, ptx_line) = debug.ptx(raw.source);
    // An assertion says itself where it stands; the instruction that reports it may be far from there.
    let locations = match raw.location {
        Some(location) => vec![location],
        None => debug.locations(raw.source),
    };
    Fault {
        kind: raw.kind,
        kernel: context.program.name.clone(),
        block: block.coordinates,
        thread: context.thread(warp, raw.lane as u32),
        locations,
        ptx,
        ptx_line,
        address: raw.address,
        access: raw.access,
        place: raw.place,
        message: raw.message,
        live,
        seed: context.seed,
    }
}

/// The fault of a launch that was stopped.
pub(super) fn stopped(context: &Context<'_>, message: String, live: Vec<LiveThreads>) -> Fault {
    let first = live.first();
    Fault {
        kind: FaultKind::Timeout,
        kernel: context.program.name.clone(),
        block: first.map_or([0; 3], |first| first.block),
        thread: first.map_or([0; 3], |first| first.thread),
        locations: first.and_then(|first| first.location.clone()).into_iter().collect(),
        ptx: first.map_or_else(String::new, |first| first.ptx.clone()),
        ptx_line: first.map_or(0, |first| first.ptx_line),
        address: None,
        access: None,
        place: None,
        message,
        live,
        seed: context.seed,
    }
}

/// The fault of a cluster for which there is no memory.
pub(super) fn refused(context: &Context<'_>, cluster: [u32; 3], error: &std::io::Error) -> Fault {
    Fault {
        kind: FaultKind::StackOverflow,
        kernel: context.program.name.clone(),
        block: context.place(cluster, 0).block,
        thread: [0; 3],
        locations: Vec::new(),
        ptx: String::new(),
        ptx_line: 0,
        address: None,
        access: None,
        place: None,
        message: format!("the system refused memory for the block's shared memory and stacks: {error}"),
        live: Vec::new(),
        seed: context.seed,
    }
}
