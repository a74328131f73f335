//! Memory of asynchronous copies under way: no thread may access the destination of a copy, or write to its source,
//! until the thread of the copy has waited for it.
//!
//! [`crate::check::race`] has the order of threads after this wait. This module puts an operation before each load and
//! store, which checks the copies of the block; only functions that begin copies, and only launches that look for
//! races, have it.

use crate::base::lanes::lanes_of;
use crate::exec::memory::Space;
use crate::load::instrument::{Probe, Rewriter};
use crate::lower::lowering::Function;
use crate::lower::virtual_op::Node;
use crate::machine::op::opcode::{CheckForm, Opcode};
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;
use rumba_checks::FindingKind;

/// A [`Probe`].
const LOOK: Handlers = Handlers::same(look).with_opcode(Opcode::Check(CheckForm::Copies));

/// Lets loads and stores of a function look at copies, if it begins some.
pub(crate) fn watch(function: &mut Function<'_>) {
    if !function.begins_copies {
        return;
    }
    let mut out = Rewriter::default();
    for node in std::mem::take(&mut function.nodes) {
        if let Node::Op { virtual_op, source, .. } = &node
            && let Some(probe) = Probe::before(virtual_op, LOOK)
        {
            out.insert(probe, *source);
        }
        out.keep(node);
    }
    function.nodes = out.finish();
}

unsafe fn look(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the block outlives its warps' turns and is not read elsewhere meanwhile.
    let flights = unsafe { &(*warp.block).flights };
    if flights.count == 0 {
        return pc.next();
    }
    let Probe { space, bytes, stores } = Probe::of(&pc);
    let base = match space {
        Space::Shared => warp.shared_base,
        Space::Generic | Space::Global => 0,
        Space::Const | Space::Param | Space::Local => return pc.next(),
    };
    // SAFETY: the operation is a probe of the warp's program.
    let addresses = unsafe { Probe::addresses(warp, &pc) };
    for lane in lanes_of(warp.active) {
        let start = base.wrapping_add(addresses[lane]);
        let accessed = start..start.saturating_add(bytes);
        let Some(flight) = flights.met_by(&accessed, stores) else { continue };
        let what = if stores { "write" } else { "read" };
        let actor = warp.actor(pc.source, 1 << lane, what);
        warp.note(FindingKind::PendingCopy, actor, Some(flight.actor), || {
            let (end, bytes) = flight.end_met_by(&accessed);
            format!("the {end} of a copy of {bytes} bytes that was not waited for")
        });
    }
    pc.next()
}
