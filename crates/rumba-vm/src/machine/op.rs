//! The decoded operation: what the machine executes.
//!
//! An operation names its operands by slot and its behaviour by a function pointer. It knows neither PTX nor source
//! positions; [`Op::source`] is an index into the tables of its program.

use std::ops::Deref;

use crate::base::ir::{Element, Form, LaneForm, Value, Writer};
use crate::base::lanes::LANES;
use crate::machine::warp::Warp;

/// Executes one operation for the active lanes of a warp and names the operation to run next.
///
/// # Safety
/// The caller passes an operation of the program that the warp was set up for, so that every slot that the operation
/// names lies in the warp's register file, and the handler that suits this processor (see [`Handlers::select`]).
pub type Handler = unsafe fn(&mut Warp, Pc) -> Pc;

/// The copies of a handler for different processors, and the kind of its operation.
#[derive(Clone, Copy)]
pub struct Handlers {
    /// Runs anywhere.
    pub baseline: Handler,
    /// Needs avx2, fma, f16c, bmi1, bmi2, lzcnt and popcnt.
    pub avx2: Handler,
    /// The kind of operation, which tells what a program for lanes in lockstep can do instead.
    pub kind: OpKind,
}

impl Handlers {
    /// A handler that does not gain from vector instructions.
    pub const fn same(handler: Handler) -> Self {
        Self { baseline: handler, avx2: handler, kind: OpKind::Opaque }
    }

    /// The same handlers with another kind.
    #[must_use]
    pub const fn with_kind(self, kind: OpKind) -> Self {
        Self { kind, ..self }
    }

    /// The same handlers for a function that is linear in its operands.
    #[must_use]
    pub const fn linear(self, linear: Linear) -> Self {
        match self.kind {
            OpKind::Lanes { bases, form, .. } => self.with_kind(OpKind::Lanes { bases, linear, form }),
            OpKind::Opaque
            | OpKind::Carrier { .. }
            | OpKind::Test { .. }
            | OpKind::Select
            | OpKind::Masks { .. }
            | OpKind::UniformBranch
            | OpKind::Barrier
            | OpKind::Shuffle { .. }
            | OpKind::Together { .. }
            | OpKind::Window { .. }
            | OpKind::Atomic { .. }
            | OpKind::Local { .. }
            | OpKind::Fence { .. }
            | OpKind::Load { .. }
            | OpKind::Store { .. }
            | OpKind::Check(_)
            | OpKind::GuardBegin
            | OpKind::GuardEnd
            | OpKind::Exit => self,
        }
    }

    /// The same handlers for an operation of these lanes together, with its native code, if it has some, and whether
    /// the result is uniform.
    #[must_use]
    pub const fn together(self, members: Members, form: Option<(TogetherForm, bool)>) -> Self {
        self.with_kind(OpKind::Together { members, form })
    }

    /// The copy for this processor.
    pub fn select(&self) -> Handler {
        if has_avx2() { self.avx2 } else { self.baseline }
    }
}

/// Whether this processor runs the `avx2` copies of the handlers.
#[cfg(target_arch = "x86_64")]
pub fn has_avx2() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("fma") && has!("f16c") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt")
}

/// Whether this processor runs the `avx2` copies of the handlers.
#[cfg(not(target_arch = "x86_64"))]
pub fn has_avx2() -> bool {
    false
}

/// One decoded operation: half a cache line.
///
/// `dst`, `a`, `b`, `c` and `d` are slots of the register file, or indices of predicates, as the handler knows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Op {
    /// The handler.
    pub handler: Handler,
    /// The destination.
    pub dst: u16,
    /// The first source.
    pub a: u16,
    /// The second source.
    pub b: u16,
    /// The third source.
    pub c: u16,
    /// A fourth source or a second destination.
    pub d: u16,
    /// A small number whose meaning the handler defines.
    pub extra: u16,
    /// Index of the PTX instruction that the operation came from.
    pub source: u32,
    /// A number whose meaning the handler defines.
    pub imm: u64,
}

const _: () = assert!(size_of::<Op>() == 32);

/// A position in a program.
///
/// The null position stops the machine's inner loop: the warp says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pc(*const Op);

impl Pc {
    /// Leaves the inner loop.
    pub const STOP: Pc = Pc(std::ptr::null());

    /// The position of an operation.
    pub fn new(op: *const Op) -> Self {
        Self(op)
    }

    /// Whether the inner loop ends here.
    #[inline(always)]
    pub fn is_stop(self) -> bool {
        self.0.is_null()
    }

    /// The following operation.
    #[inline(always)]
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// The operation `count` further on.
    #[inline(always)]
    #[must_use]
    pub fn skip(self, count: usize) -> Self {
        Self(self.0.wrapping_add(count))
    }

    /// The address of the operation.
    #[inline(always)]
    pub fn as_ptr(self) -> *const Op {
        self.0
    }
}

impl Deref for Pc {
    type Target = Op;

    #[inline(always)]
    fn deref(&self) -> &Op {
        debug_assert!(!self.is_stop());
        // SAFETY: positions are made from operations of a live program only; handlers never look at STOP.
        unsafe { &*self.0 }
    }
}

/// The kind of an operation: the alternatives to its work on 32 lanes, if all lanes are active.
#[derive(Debug, Clone, Copy)]
pub enum OpKind {
    /// Nothing: it reads and writes whole slots.
    Opaque,
    /// Nothing: its operands belong to the last operation that is none of these. Nothing comes between them.
    Carrier {
        /// Whether the operands may be undefined.
        optional: bool,
    },
    /// `dst` is a function of the sources, lane by lane.
    Lanes {
        /// Computes the bases of `dst` from the bases of the sources.
        bases: Handler,
        /// When the result is affine.
        linear: Linear,
        /// Writes the native code.
        form: LaneForm,
    },
    /// The predicate `dst` is a function of the sources, lane by lane.
    Test {
        /// Reads the sources `a` and `b` by their bases; the two halves of `imm` are their strides.
        bases: Handler,
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
        /// Loads lanes where each group has one address.
        uniform: Handler,
        /// Where each group has one address, loads bases; for operations with one destination.
        bases: Option<Handler>,
        /// Where a lane's bytes lie behind those of the lane before it.
        contiguous: Handler,
    },
    /// Stores to the address in `a`.
    Store {
        /// Bytes of a lane.
        bytes: u8,
        /// The elements that these are.
        count: u8,
        /// Whether the address is one in the block's shared memory.
        shared: bool,
        /// Where each group has one address.
        uniform: Handler,
        /// Where a lane's bytes lie behind those of the lane before it.
        contiguous: Handler,
    },
    /// A branch of an instruction with `.uni`, which promises that all lanes take the same path.
    UniformBranch,
    /// Lets lanes wait for other warps.
    Barrier,
    /// `dst` is `a` as another lane has it, and the predicate `c` whether that lane is one of the segment, if all lanes do it
    /// together: if `d` is all ones.
    Shuffle {
        /// The lanes that are read and the predicate, given `extra` and the value that `b` has in all lanes.
        lanes: fn(u16, u32) -> ([usize; LANES], u32),
        /// Writes the native code if `b` is no constant: the lane that each lane reads, and whether it is in the
        /// segment, given `extra`, the lanes' own numbers and `b`.
        form: fn(&mut Writer, u16, &Value, &Value) -> (Value, Value),
    },
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
    /// Ends what [`OpKind::GuardBegin`] began.
    GuardEnd,
    /// Ends the active lanes.
    Exit,
}

impl OpKind {
    /// Whether native code has a form of the operation, or none is needed; otherwise it calls the handler.
    pub(crate) fn has_form(&self) -> bool {
        match self {
            Self::Opaque => false,
            Self::Lanes { form, .. } | Self::Test { form, .. } => form.form.is_some(),
            Self::Together { form, .. } => form.is_some(),
            Self::Carrier { .. }
            | Self::Select
            | Self::Masks { .. }
            | Self::Load { .. }
            | Self::Store { .. }
            | Self::UniformBranch
            | Self::Barrier
            | Self::Shuffle { .. }
            | Self::Window { .. }
            | Self::Atomic { .. }
            | Self::Local { .. }
            | Self::Fence { .. }
            | Self::Check(_)
            | Self::GuardBegin
            | Self::GuardEnd
            | Self::Exit => true,
        }
    }
}

/// What an operation of a check does for lanes that pass the check: native code calls the handler for others only.
///
/// A shadow is the predicate of the lanes in which a register is defined, as in MemorySanitizer.
#[derive(Debug, Clone, Copy)]
pub enum CheckForm {
    /// The shadow `dst` is a function of the predicates `a`, `b` and `c`. Of undefined lanes the handler carries the
    /// origin along.
    Shadow(Form),
    /// The shadow `dst` is that of the memory that a [`Probe`](crate::load::instrument::Probe) accesses.
    ShadowOfMemory,
    /// All active lanes are in the shadow at this position: 1 for `a`.
    Defined(usize),
    /// The memory that a probe accesses lies between the constants `b` and `d` in shared memory.
    Bounds,
    /// No copy of the block is under way.
    Copies,
}

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

/// How a function's result depends on the strides of its operands, in the arithmetic of its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linear {
    /// The result is affine only if all operands have the stride 0.
    No,
    /// `a`, cut to the width of the result.
    Copy,
    /// `a`, zero-extended from 32 bits if they wrap nowhere within a group.
    ZeroExtended,
    /// `a`, sign-extended from 32 bits if they wrap nowhere within a group.
    SignExtended,
    /// `a + b`
    Sum,
    /// `a - b`
    Difference,
    /// `a * b`
    Product,
    /// `a * b`, of zero-extended operands of 32 bits.
    WideProduct,
    /// `a * b`, of sign-extended operands of 32 bits.
    SignedWideProduct,
    /// `a * b + c`
    ProductSum,
    /// `a * b + c`, where `a` and `b` are zero-extended from 32 bits.
    WideProductSum,
    /// `a * b + c`, where `a` and `b` are sign-extended from 32 bits.
    SignedWideProductSum,
    /// `a << b`
    Shift,
    /// `a | b`: a sum where no bit is set in both.
    Union,
}

impl Linear {
    /// The linearity for operands of `bits` bits: values that are narrower than their lanes wrap elsewhere.
    #[must_use]
    pub const fn of_bits(self, bits: u32) -> Self {
        if bits < 32 { Self::No } else { self }
    }

    /// The stride of the result of operands with these strides, if it has one, and the operands (bit 0 for `a`, bit 1 for `b`)
    /// whose numbers of 32 bits must not wrap within a group. `constant` returns the value of `a` (0) or `b` (1) if it
    /// is constant.
    pub(crate) fn stride(self, [a, b, c]: [i64; 3], constant: impl Fn(usize) -> Option<u64>) -> Option<(i64, u8)> {
        let product = |value: fn(u64) -> i64| match (a, b) {
            (0, 0) => Some(0),
            (_, 0) => Some(a.wrapping_mul(value(constant(1)?))),
            (0, _) => Some(b.wrapping_mul(value(constant(0)?))),
            _ => None,
        };
        let unsigned = |bits: u64| i64::from(bits as u32);
        let signed = |bits: u64| i64::from(bits as i32);
        let factors = u8::from(a != 0) | u8::from(b != 0) << 1;
        Some(match self {
            Self::No | Self::Union => return None,
            Self::Copy => (a, 0),
            Self::ZeroExtended | Self::SignExtended => (a, factors & 1),
            Self::Sum => (a.wrapping_add(b), 0),
            Self::Difference => (a.wrapping_sub(b), 0),
            Self::Product => (product(u64::cast_signed)?, 0),
            Self::WideProduct => (product(unsigned)?, factors),
            Self::SignedWideProduct => (product(signed)?, factors),
            Self::ProductSum => (product(u64::cast_signed)?.wrapping_add(c), 0),
            Self::WideProductSum => (product(unsigned)?.wrapping_add(c), factors),
            Self::SignedWideProductSum => (product(signed)?.wrapping_add(c), factors),
            Self::Shift if b == 0 => (a.checked_shl(u32::try_from(constant(1)?).ok()?)?, 0),
            Self::Shift => return None,
        })
    }
}
