//! `fence`: orders the memory accesses of a thread before and after it.

use std::sync::atomic::{Ordering, compiler_fence, fence};

use crate::base::report::AccessKind;
use crate::check::order::{Order, Scope};
use crate::check::proxy::Proxy;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// `fence`
pub(super) static FENCE: Instruction = Instruction {
    name: "fence",
    section: "9.7.13.4",
    forms: &[Form {
        syntax: "
            fence{.sem}.scope;
            fence.acquire.sync_restrict::shared::cluster.cluster;
            fence.release.sync_restrict::shared::cta.cluster;
            fence.op_restrict.release.cluster;
            fence.proxy!.proxykind;
            fence.proxy!.async.space;
            fence.proxy!.async::generic.acquire.sync_restrict::shared::cluster.cluster;
            fence.proxy!.async::generic.release.sync_restrict::shared::cta.cluster;
            fence.proxy!.tensormap::generic.sem.scope;
            fence.proxy!.tensormap::generic.sem.scope [a], size;
            .sem = { .sc, .acq_rel, .acquire, .release };
            .scope = { .cta, .cluster, .gpu, .sys };
            .op_restrict = { .mbarrier_init };
            .proxykind = { .alias, .async };
            .space = { .global, .shared{::cta, ::cluster} };
        ",
        lower,
    }],
    availability: &[Availability::since((6, 0), 70), Availability::since((7, 8), 90).with(&[".cluster"])],
    ..Instruction::NEW
};

/// In an operation's `extra`, beside the order: it is sequentially consistent.
const SEQUENTIAL: u16 = 1 << 15;

/// Orders everything, for all threads.
const FULL: Handlers = Handlers::same(full);
/// Orders all but a store before a load.
const LIGHT: Handlers = Handlers::same(light);
/// Orders within a block, which runs on one thread.
const BLOCK: Handlers = Handlers::same(block);

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let order = Order::of_fence(m.get("sem"), m.get("scope"));
    emit(l, matches!(m.get("sem"), Some(".sc")), order);
    if m.has(".tensormap::generic") {
        if m.get("sem") == Some(".acquire") {
            emit_proxy(l, Some(Proxy::MapReleased), Proxy::MapAcquired);
        } else {
            emit_proxy(l, None, Proxy::MapReleased);
        }
    } else if m.has(".async") || m.get("proxykind") == Some(".async") {
        if m.get("space") != Some(".global") {
            emit_proxy(l, None, Proxy::Shared);
        }
        if matches!(m.get("space"), None | Some(".global")) {
            emit_proxy(l, None, Proxy::Global);
        }
    }
    Ok(())
}

/// Emits an operation that reports a fence between proxies to the checks.
pub(crate) fn emit_proxy(l: &mut Lowering<'_>, from: Option<Proxy>, to: Proxy) {
    let bits = |proxy: Option<Proxy>| proxy.map_or(0, |proxy| proxy as u64);
    l.pool.uses_proxies = true;
    l.emit(VirtualOp { imm: bits(from) << 32 | bits(Some(to)), ..VirtualOp::new(Handlers::same(proxy_fence)) });
}

unsafe fn proxy_fence(warp: &mut Warp, pc: Pc) -> Pc {
    let proxy = |bits: u64| Proxy::ALL.into_iter().find(|proxy| *proxy as u64 == bits & 0xffff_ffff);
    if let Some(to) = proxy(pc.imm) {
        warp.observe_proxy_fence(proxy(pc.imm >> 32), to);
    }
    pc.next()
}

/// Emits a fence.
pub(crate) fn emit(l: &mut Lowering<'_>, sequential: bool, order: Order) {
    let handlers = match (order.scope == Scope::Block, sequential) {
        (true, _) => BLOCK,
        (false, true) => FULL,
        (false, false) => LIGHT,
    };
    l.emit(VirtualOp { extra: order.bits() | if sequential { SEQUENTIAL } else { 0 }, ..VirtualOp::new(handlers) });
}

/// Tells the checks.
fn observe(warp: &Warp, pc: Pc) {
    let order = Order::from_bits(pc.extra, AccessKind::Atomic);
    warp.observe_fence(order, pc.extra & SEQUENTIAL != 0);
}

unsafe fn full(warp: &mut Warp, pc: Pc) -> Pc {
    observe(warp, pc);
    fence(Ordering::SeqCst);
    pc.next()
}

unsafe fn light(warp: &mut Warp, pc: Pc) -> Pc {
    observe(warp, pc);
    fence(Ordering::AcqRel);
    pc.next()
}

unsafe fn block(warp: &mut Warp, pc: Pc) -> Pc {
    observe(warp, pc);
    compiler_fence(Ordering::AcqRel);
    pc.next()
}
