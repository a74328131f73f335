//! `fence`: orders the memory accesses of a thread before and after it.

use std::sync::atomic::{Ordering, compiler_fence, fence};

use super::Instruction;
use super::notation::Matched;
use crate::lower::{Draft, LowerError, Lowering};
use crate::op::{Handlers, Pc};
use crate::warp::Warp;

/// `fence`
pub(super) static FENCE: Instruction = Instruction {
    name: "fence",
    section: "9.7.13.4",
    syntax: "
        fence{.sem}.scope;
        fence.acquire.sync_restrict::shared::cluster.cluster;
        fence.release.sync_restrict::shared::cta.cluster;
        fence.op_restrict.release.cluster;
        fence.proxy.proxykind;
        fence.proxy.async.space;
        fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
        fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;
        fence.proxy.tensormap::generic.sem.scope;
        fence.proxy.tensormap::generic.sem.scope [a], size;
        .sem = { .sc, .acq_rel, .acquire, .release };
        .scope = { .cta, .cluster, .gpu, .sys };
        .op_restrict = { .mbarrier_init };
        .proxykind = { .alias, .async };
        .space = { .global, .shared{::cta, ::cluster} };
    ",
    lower,
};

/// Orders everything, for everybody.
const FULL: Handlers = Handlers::same(full);
/// Orders all but a store before a load.
const LIGHT: Handlers = Handlers::same(light);
/// Orders within a block, which runs on one thread.
const BLOCK: Handlers = Handlers::same(block);

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    emit(
        l,
        matches!(m.get("sem"), Some(".sc")),
        matches!(m.get("scope"), Some(".cta")),
    );
    Ok(())
}

/// Emits a fence.
pub(crate) fn emit(l: &mut Lowering<'_>, sequential: bool, within_block: bool) {
    l.emit(Draft::new(match (within_block, sequential) {
        (true, _) => BLOCK,
        (false, true) => FULL,
        (false, false) => LIGHT,
    }));
}

unsafe fn full(_: &mut Warp, pc: Pc) -> Pc {
    fence(Ordering::SeqCst);
    pc.next()
}

unsafe fn light(_: &mut Warp, pc: Pc) -> Pc {
    fence(Ordering::AcqRel);
    pc.next()
}

unsafe fn block(_: &mut Warp, pc: Pc) -> Pc {
    compiler_fence(Ordering::AcqRel);
    pc.next()
}
