//! Operations for checks and counts: put between a program's own operations when the module is loaded, and absent if no
//! check or count needs them.
//!
//! The operations are described in [`crate::load::instrument::arithmetic`], [`crate::load::instrument::registers`],
//! [`crate::load::instrument::profile`] and [`crate::exec::schedule`].

pub(crate) mod arithmetic;
pub(crate) mod arrays;
pub(crate) mod pending;
pub(crate) mod products;
pub(crate) mod profile;
pub(crate) mod registers;
pub(crate) mod scatter;
pub(crate) mod updates;

use rumba_checks::Check;

use crate::exec::memory::Space;
use crate::mem::arena::BLOCK_STRIDE;

use crate::base::lanes::LANES;
use crate::base::report::AccessKind;
use crate::exec::control;
use crate::lower::fixed::ProgramBuilder;
use crate::lower::lowering::Function;
use crate::lower::virtual_op::{Node, VReg, VirtualOp};
use crate::machine::cluster::Cluster;
use crate::machine::context::Context;
use crate::machine::op::opcode::Guard;
use crate::machine::op::{Handlers, Op};
use crate::machine::warp::Warp;

/// Puts a check's operations into a function.
type Put = for<'m> fn(&mut Function<'m>, &mut ProgramBuilder<'m>);

/// The checks that put operations into programs, in this order.
const CHECKS: &[(Check, Put)] = &[
    (Check::Arith, |function, pool| arithmetic::keep_real(function, pool)),
    (Check::Init, registers::track),
    (Check::Mem, |function, pool| {
        // Launches without monitoring must not pay for it.
        let checks = pool.instruments.checks;
        if checks.contains(Check::Init) || checks.contains(Check::Race) {
            arrays::bound(function, pool);
        }
    }),
    (Check::Race, |function, _| pending::watch(function)),
    (Check::Race, |function, pool| updates::find(function, pool)),
    (Check::Sync, |function, pool| products::watch(function, pool)),
];

/// Puts the operations of all requested checks into a function.
pub(crate) fn function<'m>(function: &mut Function<'m>, pool: &mut ProgramBuilder<'m>) {
    let wanted = pool.instruments;
    for (check, put) in CHECKS {
        if wanted.checks.contains(*check) {
            put(function, pool);
        }
    }
    if wanted.scatter {
        scatter::scatter(function);
    }
    if wanted.profile {
        profile::count(function);
    }
}

/// Rewrites the operations of a function, with others inserted between them.
#[derive(Default)]
pub(crate) struct Rewriter {
    nodes: Vec<Node>,
    /// Where the guard begins that the last operation is in.
    guard: Option<usize>,
    /// Where the operation is with extra operands, and whether the next node has these.
    head: usize,
    is_extra: bool,
}

impl Rewriter {
    /// Announces the next kept operation. No operation comes between an operation and its extra operands, so
    /// insertions before these go before the operation.
    pub(crate) fn expect(&mut self, node: &Node) {
        self.is_extra = matches!(
            node,
            Node::Op { virtual_op, .. } if virtual_op.handlers.opcode.attributes().extra_operands.is_some()
        );
    }

    /// Adds an operation that belongs to the instruction `source`.
    pub(crate) fn insert(&mut self, virtual_op: VirtualOp, source: u32) {
        if let Some(begin) = self.guard
            && let Node::Op { virtual_op, .. } = &mut self.nodes[begin]
        {
            // The distance that lanes jump for which the guard is false.
            virtual_op.imm += 1;
        }
        let node = Node::Op {
            virtual_op,
            control: crate::lower::virtual_op::Control::Next,
            source,
            conditional: self.guard.is_some(),
        };
        if self.is_extra {
            self.nodes.insert(self.head, node);
            self.head += 1;
        } else {
            self.nodes.push(node);
        }
    }

    /// Keeps an original operation.
    pub(crate) fn keep(&mut self, node: Node) {
        if let Node::Op { virtual_op, .. } = &node {
            match virtual_op.handlers.opcode.attributes().guard {
                Some(Guard::Begins) => self.guard = Some(self.nodes.len()),
                Some(Guard::Ends) => self.guard = None,
                None => {}
            }
        }
        if !self.is_extra {
            self.head = self.nodes.len();
        }
        self.nodes.push(node);
    }

    /// Whether the next operation is one for the lanes of a guard.
    pub(crate) fn is_guarded(&self) -> bool {
        self.guard.is_some()
    }

    /// Begins a guard: the following operations are for the lanes outside of `predicate`.
    pub(crate) fn begin_guard(&mut self, predicate: VReg, source: u32) {
        let guard = VirtualOp { a: predicate, extra: 1, imm: 1, ..VirtualOp::new(control::GUARD_BEGIN) };
        self.insert(guard, source);
        self.guard = Some(self.nodes.len() - 1);
    }

    /// Ends the guard.
    pub(crate) fn end_guard(&mut self, source: u32) {
        self.guard = None;
        self.insert(VirtualOp::new(control::GUARD_END), source);
    }

    /// Drops an original operation.
    pub(crate) fn skip(&mut self) {
        if let Some(begin) = self.guard
            && let Node::Op { virtual_op, .. } = &mut self.nodes[begin]
        {
            virtual_op.imm -= 1;
        }
    }

    /// All of them.
    pub(crate) fn finish(self) -> Vec<Node> {
        self.nodes
    }
}

/// The access of a load or store, for an operation before it.
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
    pub(crate) fn before(virtual_op: &VirtualOp, handlers: Handlers) -> Option<VirtualOp> {
        let (kind, bytes) = virtual_op.handlers.opcode.attributes().access?;
        let mut probe = Self::of_bytes(virtual_op, bytes, handlers);
        if kind == AccessKind::Write {
            probe.extra |= STORES;
        }
        Some(probe)
    }

    /// [`Probe::before`] for the first bytes of any load or store.
    pub(crate) fn of_bytes(virtual_op: &VirtualOp, bytes: u8, handlers: Handlers) -> VirtualOp {
        VirtualOp {
            a: virtual_op.a,
            imm: virtual_op.imm,
            extra: virtual_op.extra & 0xff | u16::from(bytes) << 8,
            ..VirtualOp::new(handlers)
        }
    }

    /// Decodes the access from an operation that [`Probe::before`] made.
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
            Space::Generic if window.contains(address) => Some((address - window.start) % BLOCK_STRIDE as u64),
            _ => None,
        }
    }
}
