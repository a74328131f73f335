//! Operations that a program has only for checks and counts: put between its own when the module is loaded, and not there
//! at all if nobody asked.
//!
//! What such an operation does is told where it belongs: [`crate::check::arithmetic`], [`crate::check::registers`],
//! [`crate::profile`], [`crate::schedule`].

use crate::check::{arithmetic, arrays, pending, registers};
use crate::form::Form;
use crate::lower::{Draft, Function, Node};
use crate::program::Pool;
use crate::{profile, schedule};

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
    /// Whether they want to know what instructions are called.
    pub(crate) fn want_names(self) -> bool {
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
