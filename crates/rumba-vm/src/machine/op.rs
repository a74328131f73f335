//! The decoded operation: what the machine executes.
//!
//! An operation names its operands by slot and its behaviour by a function pointer. It knows neither PTX nor source
//! positions; [`Op::source`] is an index into the tables of its program.

pub(crate) mod opcode;

use std::ops::Deref;

use crate::machine::op::opcode::{Members, Opcode, TogetherForm};
use crate::machine::warp::Warp;

/// Executes one operation for the active lanes of a warp and names the operation to run next.
///
/// # Safety
/// The caller passes an operation of the program that the warp was set up for, so that every slot that the operation
/// names lies in the warp's register file, and the handler that suits this processor (see [`Handlers::select`]).
pub type Handler = unsafe fn(&mut Warp, Pc) -> Pc;

/// The copies of a handler for different processors, and the opcode of its operation.
#[derive(Clone, Copy)]
pub struct Handlers {
    /// Runs anywhere.
    pub baseline: Handler,
    /// Needs avx2, fma, f16c, bmi1, bmi2, lzcnt and popcnt.
    pub avx2: Handler,
    /// The meaning of the operation.
    pub opcode: Opcode,
}

impl Handlers {
    /// A handler that does not gain from vector instructions.
    pub const fn same(handler: Handler) -> Self {
        Self { baseline: handler, avx2: handler, opcode: Opcode::Opaque }
    }

    /// The same handlers with another opcode.
    #[must_use]
    pub const fn with_opcode(self, opcode: Opcode) -> Self {
        Self { opcode, ..self }
    }

    /// The same handlers for an operation of these lanes together, with its native code, if it has some, and whether
    /// the result is uniform.
    #[must_use]
    pub const fn together(self, members: Members, form: Option<(TogetherForm, bool)>) -> Self {
        self.with_opcode(Opcode::Together { members, form })
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
