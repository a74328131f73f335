//! Arrays in shared memory: an access through the address of one may not leave it, also where the next one begins.
//!
//! Which array an address is made of is found in the code: where it is moved, offset or chosen from two of the same array.
//! An operation before each such load and store compares. Addresses whose origin is not clear, atomic operations and
//! dynamic shared memory have the bounds of the block's shared memory only. Programs with one array and
//! nothing else have no such operations, because its bounds are those.

use std::collections::HashMap;

use crate::base::lanes::lanes_of;
use crate::base::report::{Access, AccessKind};
use crate::load::instrument::{Probe, Rewriter};
use crate::lower::fixed::ProgramBuilder;
use crate::lower::instruction::{Chooses, Instruction};
use crate::lower::lowering::Function;
use crate::lower::virtual_op::{FIXED, Node, VReg, VirtualOp};
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::opcode::{CheckForm, Opcode};
use crate::machine::op::{Handlers, Pc};
use crate::machine::program::{Class, Fixed};
use crate::machine::warp::Warp;

/// The origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// No address of an array.
    None,
    /// The address of this one, by its place among the pool's variables.
    Array(usize),
    /// Several of these.
    Unclear,
}

impl Origin {
    /// The origin of a value that may be either of two.
    fn or(self, other: Self) -> Self {
        if self == other { self } else { Self::Unclear }
    }

    /// The origin of a value computed from both of two.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (origin, Self::None) | (Self::None, origin) => origin,
            _ => Self::Unclear,
        }
    }
}

/// The known origins of a function's slots.
struct Origins<'a> {
    arrays: &'a [(String, u64, u64)],
    fixed: &'a [(Class, Fixed)],
    known: HashMap<VReg, Origin>,
}

impl Origins<'_> {
    /// The array whose address a constant is.
    fn named(&self, place: VReg) -> Option<usize> {
        let VReg::Slot(slot) = place else { return None };
        if slot & FIXED == 0 {
            return None;
        }
        let Fixed::Array(offset) = self.fixed[(slot & !FIXED) as usize].1 else {
            return None;
        };
        self.arrays.iter().position(|(_, start, _)| *start == offset)
    }

    /// The origin of an operation's result, if it is known yet.
    fn made(&self, virtual_op: &VirtualOp, instruction: &Instruction) -> Option<Origin> {
        if !instruction.carries.has_address() {
            return Some(Origin::None);
        }
        let mut made: Option<Origin> = None;
        for (index, place) in virtual_op.places().into_iter().enumerate() {
            let VReg::Slot(slot) = place else { continue };
            if virtual_op.defines >> index & 1 != 0 {
                continue;
            }
            let origin = if slot & FIXED != 0 {
                self.named(place).map_or(Origin::None, Origin::Array)
            } else {
                *self.known.get(&place)?
            };
            made = Some(match made {
                None => origin,
                Some(other) if instruction.chooses == Chooses::ByPredicate => other.or(origin),
                Some(other) => other.and(origin),
            });
        }
        Some(made.unwrap_or(Origin::None))
    }

    /// Goes through a function until nothing new is found.
    fn find(&mut self, function: &Function<'_>) {
        loop {
            let mut changed = false;
            for node in &function.nodes {
                let Node::Op { virtual_op, source, .. } = node else {
                    continue;
                };
                let instruction = function.occurrence(*source).instruction;
                let Some(made) = self.made(virtual_op, instruction) else {
                    continue;
                };
                for (index, place) in virtual_op.places().into_iter().enumerate() {
                    if virtual_op.defines >> index & 1 == 0 || !matches!(place, VReg::Slot(_)) {
                        continue;
                    }
                    let before = self.known.get(&place).copied();
                    let after = before.map_or(made, |before| before.or(made));
                    changed |= before != Some(after);
                    self.known.insert(place, after);
                }
            }
            if !changed {
                return;
            }
        }
    }
}

/// A [`Probe`] that compares offsets in shared memory with those from `b` to `d`.
const LOOK: Handlers = Handlers::same(look).with_opcode(Opcode::Check(CheckForm::Bounds));

/// Lets loads and stores of a function look at the bounds of the array that they are in.
pub(crate) fn bound<'m>(function: &mut Function<'m>, pool: &mut ProgramBuilder<'m>) {
    let is_dynamic = |(_, value): &(Class, Fixed)| *value == Fixed::DynamicShared;
    if pool.shared_variables.len() + usize::from(pool.fixed.iter().any(is_dynamic)) < 2 {
        return;
    }
    let mut origins = Origins { arrays: &pool.shared_variables, fixed: &pool.fixed, known: HashMap::new() };
    origins.find(function);
    let array_of = |virtual_op: &VirtualOp| match origins.known.get(&virtual_op.a) {
        Some(Origin::Array(array)) => Some(*array),
        Some(_) => None,
        None => origins.named(virtual_op.a),
    };
    let arrays: Vec<Option<usize>> = function
        .nodes
        .iter()
        .map(|node| match node {
            Node::Op { virtual_op, .. } => {
                virtual_op.handlers.opcode.attributes().access.and_then(|_| array_of(virtual_op))
            }
            Node::Label(_) => None,
        })
        .collect();
    let mut out = Rewriter::default();
    for (node, array) in std::mem::take(&mut function.nodes).into_iter().zip(arrays) {
        if let Node::Op { virtual_op, source, .. } = &node
            && let Some(array) = array
            && let Some(probe) = Probe::before(virtual_op, LOOK)
        {
            let (start, length) = (pool.shared_variables[array].1, pool.shared_variables[array].2);
            let mut constant = |value: u64| pool.fixed(Class::W64, Fixed::Constant(value.into()));
            let probe = VirtualOp { b: constant(start), d: constant(start + length), ..probe };
            out.insert(probe, *source);
        }
        out.keep(node);
    }
    function.nodes = out.finish();
}

unsafe fn look(warp: &mut Warp, pc: Pc) -> Pc {
    let probe @ Probe { space, bytes, stores } = Probe::of(&pc);
    // SAFETY: the operation is a probe of the warp's program; both constants have 64 bits.
    let (addresses, start, end) =
        unsafe { (Probe::addresses(warp, &pc), *warp.lanes::<u64>(pc.b), *warp.lanes::<u64>(pc.d)) };
    for lane in lanes_of(warp.active) {
        let address = addresses[lane];
        let Some(offset) = probe.shared_offset(warp.context(), address) else {
            continue;
        };
        if offset >= start && offset.saturating_add(bytes) <= end {
            continue;
        }
        let variables = &warp.context().program.debug.shared_variables;
        let name = variables.iter().find(|(_, from, _)| *from == start);
        let name = name.map_or("?", |(name, ..)| name);
        let place = if offset < start {
            format!("it begins {} bytes before the start of `{name}`, of whose address it is made", start - offset)
        } else {
            let past = offset.saturating_add(bytes) - end;
            format!("it ends {past} bytes after the end of `{name}`, of whose address it is made")
        };
        let access = Access {
            kind: if stores { AccessKind::Write } else { AccessKind::Read },
            bytes: bytes as u32,
            space: space.name(),
        };
        return warp.raise(RawFault::access(FaultKind::IllegalAddress, pc.source, lane, address, access, place));
    }
    pc.next()
}
