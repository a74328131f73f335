//! The opcodes of decoded operations, and their attributes.
//!
//! An opcode says what an operation means, as far as that can be used without calling the operation's handler: native
//! code, its analyses, and the passes that put checks into a program.

use crate::arith::{Form, LaneForm};
use crate::base::ir::{Element, Value, Writer};
use crate::base::lanes::LANES;
use crate::base::report::AccessKind;
use crate::machine::op::Op;

/// The meaning of a decoded operation, as far as passes and native code know it. The handler of the operation is the
/// interpreter's code for it.
#[derive(Debug, Clone, Copy)]
pub enum Opcode {
    /// Only the handler knows the meaning: it reads and writes whole slots.
    Opaque,
    /// Does nothing: its operands are further operands of the last operation before it with another opcode, as those
    /// of Lua's `OP_EXTRAARG`.
    ExtraOperands {
        /// Whether the operands may be undefined.
        optional: bool,
    },
    /// `dst` is a function of the sources, lane by lane.
    Lanes {
        /// Writes the native code.
        form: LaneForm,
    },
    /// The predicate `dst` is a function of the sources, lane by lane.
    Test {
        /// Writes the native code, without the negation by bit 0 of `extra`.
        form: LaneForm,
    },
    /// `dst` is `a` in the lanes of the predicate `c`, and `b` in the others.
    Select,
    /// The predicate `dst` is a function of the predicates `a` and `b`, on whole masks.
    Masks {
        /// Writes the native code.
        form: Form,
    },
    /// Loads from the address in `a`.
    Load {
        /// Bytes of a lane.
        bytes: u8,
        /// The elements that these are.
        count: u8,
        /// Whether the address is one in the block's shared memory.
        shared: bool,
    },
    /// Stores to the address in `a`.
    Store {
        /// Bytes of a lane.
        bytes: u8,
        /// The elements that these are.
        count: u8,
        /// Whether the address is one in the block's shared memory.
        shared: bool,
    },
    /// A branch of an instruction with `.uni`, which promises that all lanes take the same path.
    UniformBranch,
    /// Lets lanes wait for other warps.
    Barrier,
    /// `dst` is `a` as another lane has it, and the predicate `c` whether that lane is one of the segment, if all lanes do it
    /// together: if `d` is all ones.
    Shuffle(ShuffleForm),
    /// An operation of lanes together, such as a vote: computes `dst`, and `c` if it is written. `a` is the source.
    Together {
        /// The lanes that take part. If some of them are not active, the others wait.
        members: Members,
        /// Writes the native code, unless it calls the handler; and whether the result is uniform.
        form: Option<(TogetherForm, bool)>,
    },
    /// `dst` is the address in `a`, of the block's shared memory or of the thread's stack, as an address of another kind: a generic
    /// one, or, if `back`, that within the memory.
    Window {
        /// The memory is the thread's stack.
        local: bool,
        /// From a generic address.
        back: bool,
    },
    /// `dst` is what lies at the address in `a`, which is replaced by a function of it, of `b` and of `c`: lane after lane.
    Atomic {
        /// Whether the address is one in the block's shared memory.
        shared: bool,
        /// Whether `dst` is wanted.
        keeps: bool,
        /// Writes the native code.
        form: AtomicForm,
    },
    /// Loads from, or stores to, the thread's own stack, at the offset in `a`.
    Local {
        /// Bytes of a lane.
        bytes: u8,
        /// The elements that these are.
        count: u8,
        /// Whether they are stored.
        stores: bool,
    },
    /// Orders what follows a load behind it, or what precedes a store before it.
    Fence {
        /// The former, by a thread that may be waiting for others.
        polls: bool,
    },
    /// An operation of a check.
    Check(CheckForm),
    /// Restricts the active lanes to those of predicate `a`, negated if `extra` is not 0, for `imm` operations.
    GuardBegin,
    /// Ends what [`Opcode::GuardBegin`] began.
    GuardEnd,
    /// Lets lanes diverge by chance, in blocks that are interpreted because of a seed; does nothing in native code.
    Scatter,
    /// Ends the active lanes.
    Exit {
        /// Where the kernel returns.
        returns: bool,
    },
}

/// The attributes of an opcode, from which passes over operations read. What a pass asks of an opcode is a column here;
/// only native code and its analyses match on the opcode itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attributes {
    /// Native code has code of its own for the operation, or needs none; otherwise it calls the handler.
    pub(crate) is_compiled: bool,
    /// `dst` is a function of the sources, lane by lane.
    pub(crate) is_per_lane: bool,
    /// The operation loads from or stores to memory that other threads may access: so many bytes of a lane.
    pub(crate) access: Option<(AccessKind, u8)>,
    /// The operation is atomic.
    pub(crate) atomic: Option<Atomic>,
    /// The operation begins or ends what only some lanes do.
    pub(crate) guard: Option<Guard>,
    /// The operands belong to the operation before, and may be undefined if this is true.
    pub(crate) extra_operands: Option<bool>,
    /// Lanes wait for other warps.
    pub(crate) is_barrier: bool,
    /// The active lanes end.
    pub(crate) is_exit: bool,
}

/// An atomic operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Atomic {
    /// The value before is wanted.
    pub(crate) keeps: bool,
    /// It is an `atomicrmw` of LLVM. A compare-and-swap is none.
    pub(crate) is_update: bool,
}

/// The ends of the operations that only some lanes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    Begins,
    Ends,
}

impl Opcode {
    /// The opcode of a function of lanes.
    pub(crate) const fn of_lanes(form: LaneForm) -> Self {
        Self::Lanes { form }
    }

    /// The opcode of a load or a store of `count` elements: of the threads' stacks, of the block's shared memory, or of any.
    pub(crate) const fn access(stores: bool, bytes: u64, count: usize, is_local: bool, shared: bool) -> Self {
        let (bytes, count) = ((count as u64 * bytes) as u8, count as u8);
        match (is_local, stores) {
            (true, stores) => Self::Local { bytes, count, stores },
            (false, false) => Self::Load { bytes, count, shared },
            (false, true) => Self::Store { bytes, count, shared },
        }
    }

    /// Whether `dst` is `a`, or its low bits, given the operation's `extra`.
    pub(crate) fn is_copy(&self, extra: u16) -> bool {
        matches!(self, Self::Lanes { form } if form.is_copy(extra))
    }

    /// The table of attributes.
    pub(crate) const fn attributes(&self) -> Attributes {
        const NONE: Attributes = Attributes {
            is_compiled: true,
            is_per_lane: false,
            access: None,
            atomic: None,
            guard: None,
            extra_operands: None,
            is_barrier: false,
            is_exit: false,
        };
        match self {
            Self::Opaque => Attributes { is_compiled: false, ..NONE },
            Self::ExtraOperands { optional } => Attributes { extra_operands: Some(*optional), ..NONE },
            Self::Lanes { form } | Self::Test { form } => {
                Attributes { is_compiled: form.form.is_some(), is_per_lane: true, ..NONE }
            }
            Self::Together { form, .. } => Attributes { is_compiled: form.is_some(), ..NONE },
            Self::Load { bytes, .. } => Attributes { access: Some((AccessKind::Read, *bytes)), ..NONE },
            Self::Store { bytes, .. } => Attributes { access: Some((AccessKind::Write, *bytes)), ..NONE },
            Self::Atomic { keeps, form, .. } => {
                Attributes { atomic: Some(Atomic { keeps: *keeps, is_update: form.instruction.is_some() }), ..NONE }
            }
            Self::Barrier => Attributes { is_barrier: true, ..NONE },
            Self::GuardBegin => Attributes { guard: Some(Guard::Begins), ..NONE },
            Self::GuardEnd => Attributes { guard: Some(Guard::Ends), ..NONE },
            Self::Exit { .. } => Attributes { is_exit: true, ..NONE },
            Self::Select
            | Self::Masks { .. }
            | Self::UniformBranch
            | Self::Shuffle(_)
            | Self::Window { .. }
            | Self::Local { .. }
            | Self::Fence { .. }
            | Self::Scatter
            | Self::Check(_) => NONE,
        }
    }
}

/// The lanes that a shuffle reads.
#[derive(Debug, Clone, Copy)]
pub struct ShuffleForm {
    /// The lanes that are read and the predicate, given `extra` and the value that `b` has in all lanes.
    pub lanes: fn(u16, u32) -> ([usize; LANES], u32),
    /// The lane that a lane reads if that is one of its segment, given `extra`, the lane's own number and `b`.
    pub source: Form,
    /// Whether that lane is one of the segment, given the same.
    pub is_inside: Form,
}

/// What an operation of a check does for lanes that pass the check: native code calls the handler for others only.
///
/// A shadow is the predicate of the lanes in which a register is defined, as in MemorySanitizer.
#[derive(Debug, Clone, Copy)]
pub enum CheckForm {
    /// The shadow `dst` is a function of the predicates `a`, `b` and `c`. Of undefined lanes the handler carries the
    /// origin along.
    Shadow(ShadowForm),
    /// The shadow `dst` is that of the memory that a [`Probe`](crate::load::instrument::Probe) accesses.
    ShadowOfMemory,
    /// All active lanes are in the shadow at this position: 1 for `a`.
    Defined(usize),
    /// The memory that a probe accesses lies between the constants `b` and `d` in shared memory.
    Bounds,
    /// No copy of the block is under way.
    Copies,
}

/// Writes a shadow, given the predicates.
pub type ShadowForm = fn(&mut Writer, &[Value]) -> Value;

/// The lanes that take part in an operation of lanes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Members {
    /// The active lanes.
    Active,
    /// The lanes of the mask in the operand at this position: 1 for `a`.
    Operand(usize),
    /// All lanes of the warp.
    Warp,
}

/// Writes native code for an operation of lanes together, given the operation, the mask of these lanes and the source:
/// returns `dst`, and `c` if the operation writes it. Predicates are masks.
pub type TogetherForm = fn(&mut Writer, &Op, &Value, Option<&Value>) -> (Value, Option<Value>);

/// How an atomic operation is written, on integers of the element's width.
#[derive(Debug, Clone, Copy)]
pub struct AtomicForm {
    /// The element.
    pub element: Element,
    /// The name of the operation in `atomicrmw`, if LLVM has the operation.
    pub instruction: Option<&'static str>,
    /// How several operands combine into one before the update: the name of LLVM's reduction, and its neutral
    /// element.
    pub reduction: Option<(&'static str, u64)>,
    /// The new value, given the old value and the operands.
    pub update: Form,
}
