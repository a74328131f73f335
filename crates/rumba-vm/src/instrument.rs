//! Operations that a program has only for checks and counts: put between its own when the module is loaded, and not there
//! at all if nobody asked.
//!
//! What such an operation does is told where it belongs: [`crate::check::arithmetic`], [`crate::check::registers`],
//! [`crate::profile`], [`crate::schedule`].

use crate::arena::SHARED_STRIDE;
use crate::check::memory::Space;
use crate::check::{arithmetic, arrays, pending, registers};
use crate::cluster::Cluster;
use crate::form::Form;
use crate::launch::Context;
use crate::lower::{Draft, Function, Node, Place};
use crate::op::{Handlers, Op};
use crate::program::Pool;
use crate::warp::{LANES, Warp};
use crate::{control, profile, schedule};

/// What is put into programs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Instruments {
    /// Tests of divisors and amounts of shifts.
    pub(crate) arithmetic: bool,
    /// Which registers hold something.
    pub(crate) registers: bool,
    /// Whether accesses stay in the array that their address is made of.
    pub(crate) arrays: bool,
    /// Whether memory is touched of copies under way.
    pub(crate) copies: bool,
    /// What instructions do, in numbers.
    pub(crate) profile: bool,
    /// Places where the lanes of a warp part by chance.
    pub(crate) scatter: bool,
}

impl Instruments {
    /// Whether they want to know which instructions operations belong to.
    pub(crate) fn want_instructions(self) -> bool {
        self.arithmetic || self.registers || self.arrays || self.copies || self.scatter
    }
}

/// Puts into a function what is wanted there.
pub(crate) fn function<'m>(function: &mut Function<'m>, pool: &mut Pool<'m>) {
    let wanted = pool.instruments;
    if wanted.arithmetic {
        arithmetic::keep_real(function, pool);
    }
    if wanted.registers {
        registers::track(function, pool);
    }
    if wanted.arrays {
        arrays::bound(function, pool);
    }
    if wanted.copies {
        pending::watch(function);
    }
    if wanted.scatter {
        schedule::scatter(function);
    }
    if wanted.profile {
        profile::count(function);
    }
}

/// Writes the operations of a function anew, with others between them.
#[derive(Default)]
pub(crate) struct Rewriter {
    nodes: Vec<Node>,
    /// Where the guard begins that the last operation is in.
    guard: Option<usize>,
}

impl Rewriter {
    /// Adds an operation that belongs to the instruction `source`.
    pub(crate) fn insert(&mut self, draft: Draft, source: u32) {
        if let Some(begin) = self.guard
            && let Node::Op { draft, .. } = &mut self.nodes[begin]
        {
            // The distance that lanes jump for which the guard is false.
            draft.imm += 1;
        }
        self.nodes.push(Node::Op {
            draft,
            control: crate::lower::Control::Next,
            source,
            conditional: self.guard.is_some(),
        });
    }

    /// Adds an operation that was there before.
    pub(crate) fn keep(&mut self, node: Node) {
        if let Node::Op { draft, .. } = &node {
            match draft.handlers.form {
                Form::GuardBegin => self.guard = Some(self.nodes.len()),
                Form::GuardEnd => self.guard = None,
                Form::Opaque | Form::Lanes { .. } | Form::Test { .. } | Form::Load { .. } | Form::Store { .. } => {}
            }
        }
        self.nodes.push(node);
    }

    /// Whether the next operation is one for the lanes of a guard.
    pub(crate) fn is_guarded(&self) -> bool {
        self.guard.is_some()
    }

    /// Begins a guard: what follows is for the lanes that are not in `predicate`.
    pub(crate) fn begin_guard(&mut self, predicate: Place, source: u32) {
        let guard = Draft {
            a: predicate,
            extra: 1,
            imm: 1,
            ..Draft::new(control::GUARD_BEGIN)
        };
        self.insert(guard, source);
        self.guard = Some(self.nodes.len() - 1);
    }

    /// Ends the guard.
    pub(crate) fn end_guard(&mut self, source: u32) {
        self.guard = None;
        self.insert(Draft::new(control::GUARD_END), source);
    }

    /// Leaves an operation out that was there before.
    pub(crate) fn skip(&mut self) {
        if let Some(begin) = self.guard
            && let Node::Op { draft, .. } = &mut self.nodes[begin]
        {
            draft.imm -= 1;
        }
    }

    /// All of them.
    pub(crate) fn finish(self) -> Vec<Node> {
        self.nodes
    }
}

/// What a load or store is about to do, for an operation before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe {
    pub(crate) space: Space,
    /// Of each lane.
    pub(crate) bytes: u64,
    pub(crate) stores: bool,
}

/// In the `extra` of a probe, above the space and, in the upper byte, the bytes.
const STORES: u16 = 1 << 15;

impl Probe {
    /// The operation before a load or store; `b` to `d` are free. None: it is neither.
    pub(crate) fn before(draft: &Draft, handlers: Handlers) -> Option<Draft> {
        let (bytes, stores) = match draft.handlers.form {
            Form::Load { bytes, .. } => (bytes, 0),
            Form::Store { bytes, .. } => (bytes, STORES),
            _ => return None,
        };
        let mut probe = Self::of_bytes(draft, bytes, handlers);
        probe.extra |= stores;
        Some(probe)
    }

    /// The same of the first bytes of any load or store.
    pub(crate) fn of_bytes(draft: &Draft, bytes: u8, handlers: Handlers) -> Draft {
        Draft {
            a: draft.a,
            imm: draft.imm,
            extra: draft.extra & 0xff | u16::from(bytes) << 8,
            ..Draft::new(handlers)
        }
    }

    /// What the operation that [`Probe::before`] made was made for.
    pub(crate) fn of(op: &Op) -> Self {
        Self {
            space: Space::from_bits(op.extra),
            bytes: u64::from((op.extra & !STORES) >> 8),
            stores: op.extra & STORES != 0,
        }
    }

    /// The addresses of a warp's lanes, as the program gives them.
    ///
    /// # Safety
    /// The operation is one of the warp's program, and [`Probe::before`] made it.
    pub(crate) unsafe fn addresses(warp: &Warp, op: &Op) -> [u64; LANES] {
        // SAFETY: addresses have 64 bits, and the slot 32 lanes.
        unsafe { *warp.lanes::<[u64; LANES]>(op.a) }.map(|address| address.wrapping_add(op.imm))
    }

    /// Where in its block's shared memory such an address is, if it is there.
    pub(crate) fn shared_offset(self, context: &Context<'_>, address: u64) -> Option<u64> {
        let window = context.arena.shared;
        match self.space {
            Space::Shared => Some(Cluster::split(address, 0).1),
            Space::Generic if window.contains(address) => Some((address - window.start) % SHARED_STRIDE as u64),
            _ => None,
        }
    }
}
