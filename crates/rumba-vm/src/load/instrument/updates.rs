//! Finds the atomic stores of a function whose values are computed from atomic loads, for [`crate::check::updates`].
//!
//! Values are followed through registers, and not through memory, predicates and calls.

use std::collections::{BTreeMap, HashMap};

use crate::base::flow::holding;
use crate::base::report::AccessKind;
use crate::check::order::Order;
use crate::check::updates::Origin;
use crate::load::cfg::{self, Graph};
use crate::lower::fixed::ProgramBuilder;
use crate::lower::instruction::Memory;
use crate::lower::lowering::Function;
use crate::lower::virtual_op::{Node, VReg, VirtualOp};
use crate::machine::op::opcode::Atomic;

/// The loads that a value is computed from, and whether only idempotent operations lie between.
type Origins = BTreeMap<u32, bool>;

/// The kind of an operation's memory access, as far as updates are concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// A strong load, or an atomic operation whose result is wanted.
    Loads,
    /// A strong store.
    Stores,
    /// Another access.
    Other,
    None,
}

impl Access {
    fn of(virtual_op: &VirtualOp, memory: Memory) -> Self {
        let is_strong = |kind| Order::from_bits(virtual_op.extra, kind).is_strong();
        match virtual_op.handlers.opcode.attributes().atomic {
            Some(Atomic { keeps: true, .. }) => Self::Loads,
            _ if virtual_op.moves != 0 && virtual_op.defines == 0 && is_strong(AccessKind::Write) => Self::Stores,
            _ if virtual_op.moves != 0 && virtual_op.defines != 0 && is_strong(AccessKind::Read) => Self::Loads,
            _ if virtual_op.moves != 0 || memory != Memory::None => Self::Other,
            _ => Self::None,
        }
    }
}

/// Adds the updates of a function to those of the program.
pub(crate) fn find<'m>(function: &Function<'m>, pool: &mut ProgramBuilder<'m>) {
    let operations = || {
        function.nodes.iter().enumerate().filter_map(|(index, node)| match node {
            Node::Op { virtual_op, source, .. } => {
                let instruction = function.occurrence(*source).instruction;
                Some((index, virtual_op, *source, instruction, Access::of(virtual_op, instruction.memory)))
            }
            Node::Label(_) => None,
        })
    };
    for (_, virtual_op, source, ..) in operations() {
        // A compare-and-swap is no `atomicrmw` of LLVM.
        if virtual_op.handlers.opcode.attributes().atomic.is_some_and(|atomic| atomic.is_update) {
            pool.updates.writers.insert(source);
        }
    }
    let has = |wanted| operations().any(|(.., access)| access == wanted);
    if !has(Access::Loads) || !has(Access::Stores) {
        return;
    }
    let mut known: HashMap<VReg, Origins> = HashMap::new();
    let mut changed = true;
    while changed {
        changed = false;
        for (_, virtual_op, source, instruction, access) in operations() {
            let made = match access {
                Access::Loads => Origins::from([(source, true)]),
                Access::Stores | Access::Other => continue,
                Access::None => {
                    let is_copy = || virtual_op.handlers.opcode.is_copy(virtual_op.extra);
                    let is_idempotent = instruction.is_idempotent || is_copy();
                    let mut made = Origins::new();
                    for place in places(virtual_op, false) {
                        for (load, was) in known.get(&place).into_iter().flatten() {
                            *made.entry(*load).or_insert(true) &= *was && is_idempotent;
                        }
                    }
                    made
                }
            };
            if made.is_empty() {
                continue;
            }
            for place in places(virtual_op, true) {
                let before = known.entry(place).or_default();
                for (load, is_idempotent) in &made {
                    let entry = before.entry(*load).or_insert_with(|| {
                        changed = true;
                        true
                    });
                    changed |= *entry && !is_idempotent;
                    *entry &= is_idempotent;
                }
            }
        }
    }
    let mut graph = None;
    for (_, virtual_op, source, ..) in operations().filter(|(.., access)| *access == Access::Stores) {
        let values = [virtual_op.dst, virtual_op.b, virtual_op.c, virtual_op.d];
        let origins = values.iter().filter_map(|value| known.get(value)).flatten();
        for (load, is_idempotent) in origins {
            let of_store = pool.updates.stores.entry(source).or_default();
            of_store.push(Origin { load: *load, is_idempotent: *is_idempotent });
            // A function may be called in a loop.
            let graph = graph.get_or_insert_with(|| cfg::graph(function));
            let nodes = operations().filter(|(_, _, source, ..)| source == load).map(|(index, ..)| index);
            let repeats = !function.is_entry || nodes.into_iter().any(|node| is_in_loop(graph, node));
            pool.updates.loads.insert(*load, repeats);
        }
    }
}

/// The slots that an operation reads, or writes.
fn places(virtual_op: &VirtualOp, written: bool) -> impl Iterator<Item = VReg> + use<> {
    let defines = virtual_op.defines;
    let places = virtual_op.places().into_iter().enumerate();
    places
        .filter(move |(index, place)| {
            (defines >> index & 1 != 0) == written && matches!(place, VReg::Slot(_)) && !place.is_fixed()
        })
        .map(|(_, place)| place)
}

/// Whether control may come to a node again.
fn is_in_loop(graph: &Graph, node: usize) -> bool {
    let start = holding(&graph.blocks, node);
    let mut seen = vec![false; graph.blocks.len()];
    let mut work = graph.blocks[start].successors.clone();
    while let Some(block) = work.pop() {
        if block == start {
            return true;
        }
        if block < seen.len() && !std::mem::replace(&mut seen[block], true) {
            work.extend(&graph.blocks[block].successors);
        }
    }
    false
}
