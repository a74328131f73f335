//! Places where the lanes of a warp part by chance, in runs with a seed: before accesses to memory.

use crate::base::flow::BasicBlock;
use crate::load::cfg;
use crate::load::instrument::Rewriter;
use crate::lower::instruction::{Convergence, Memory, Occurrence};
use crate::lower::lowering::Function;
use crate::lower::virtual_op::{Control, Node, VirtualOp};
use crate::machine::op::opcode::{Guard, Opcode};
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// Lets the active lanes part by chance.
const SCATTER: Handlers = Handlers::same(scatter_lanes).with_opcode(Opcode::Scatter);

/// Lanes diverge at one of this number of points at which they may.
const RARITY: u64 = 4;

unsafe fn scatter_lanes(warp: &mut Warp, pc: Pc) -> Pc {
    if !warp.follows_chance() || warp.active.is_power_of_two() || warp.chance.below(RARITY) != 0 {
        return pc.next();
    }
    let ahead = warp.chance.next() as u32 & warp.active;
    if ahead == 0 || ahead == warp.active {
        return pc.next();
    }
    warp.part(pc.next(), ahead)
}

/// Whether an operation may want all lanes of a warp at once.
fn wants_all(convergence: Convergence, control: &Control) -> bool {
    match convergence {
        Convergence::Warp => true,
        Convergence::Members => false,
        Convergence::Lane => matches!(control, Control::Park | Control::Call(_) | Control::CallIndirect),
    }
}

/// Whether lanes that reach a block may run through it before lanes that have not reached it yet.
pub(crate) fn may_run_ahead(function: &Function<'_>, block: &BasicBlock) -> bool {
    let mut nodes = function.nodes[block.ops.clone()].iter();
    !function.occurrences.is_empty()
        && nodes.all(|node| match node {
            Node::Op { control, source, .. } => !wants_all(function.occurrence(*source).convergence, control),
            Node::Label(_) => true,
        })
}

/// Puts places where lanes may part before the accesses of a function to memory, where nothing follows in the same block
/// that wants all of them: they meet again at a mask that names them, or at the end of the block.
pub(crate) fn scatter(function: &mut Function<'_>) {
    let mut places = vec![false; function.nodes.len()];
    for block in &cfg::graph(function).blocks {
        let mut guarded = false;
        for index in block.ops.clone().rev() {
            let Node::Op { virtual_op, control, source, .. } = &function.nodes[index] else {
                continue;
            };
            let Occurrence { instruction, convergence } = function.occurrence(*source);
            if wants_all(convergence, control) {
                break;
            }
            match virtual_op.handlers.opcode.attributes().guard {
                Some(Guard::Ends) => guarded = true,
                Some(Guard::Begins) => guarded = false,
                None => {}
            }
            let first = index == 0
                || !matches!(&function.nodes[index - 1], Node::Op { source: before, .. } if before == source);
            places[index] = !guarded && first && instruction.memory == Memory::Accesses;
        }
    }
    let mut out = Rewriter::default();
    for (node, part) in std::mem::take(&mut function.nodes).into_iter().zip(places) {
        if let Node::Op { source, .. } = &node
            && part
        {
            out.insert(VirtualOp::new(SCATTER), *source);
        }
        out.keep(node);
    }
    function.nodes = out.finish();
}
