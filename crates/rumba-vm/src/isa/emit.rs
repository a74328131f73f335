//! Helpers for lowering in instruction files: operands by position, and dispatch on types.

use crate::arith::Rounding;
use crate::arith::float::Mode;
use crate::base::types::ScalarType;
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{VReg, VirtualOp};
use crate::machine::op::Handlers;

/// Emits an operation whose destination is operand 0 and whose sources are the operands after it.
pub fn lanes(
    l: &mut Lowering<'_>,
    handlers: Handlers,
    extra: u16,
    dst: ScalarType,
    sources: &[ScalarType],
) -> Result<(), LowerError> {
    let mut places = [VReg::None; 4];
    for (index, ty) in sources.iter().enumerate() {
        places[index] = l.source(index + 1, *ty)?;
    }
    let dst = l.destination(0, dst)?;
    emit(l, handlers, extra, dst, places);
    Ok(())
}

/// Emits an operation with these places.
pub fn emit(l: &mut Lowering<'_>, handlers: Handlers, extra: u16, dst: VReg, [a, b, c, d]: [VReg; 4]) {
    l.emit(VirtualOp { dst, a, b, c, d, extra, ..VirtualOp::new(handlers) });
}

/// The error for a combination that a form's notation allows by itself but the instruction does not have.
pub fn no_such(what: impl std::fmt::Display) -> LowerError {
    LowerError::new(format!("the instruction does not exist for {what}"))
}

/// The rounding that a modifier names; to nearest if there is none.
///
/// Accepts `.rn`, `.rz`, `.rm`, `.rp` and the integer roundings `.rni`, `.rzi`, `.rmi`, `.rpi`.
pub fn rounding(modifier: Option<&str>) -> Rounding {
    match modifier {
        Some(".rz" | ".rzi") => Rounding::Zero,
        Some(".rm" | ".rmi") => Rounding::Down,
        Some(".rp" | ".rpi") => Rounding::Up,
        _ => Rounding::Nearest,
    }
}

/// The mode that the modifiers of an instruction ask for: placeholder `rnd`, literals `.ftz`, `.sat`, `.relu`.
pub fn mode(matched: &Matched<'_>) -> Mode {
    let bit = |literal, bit| if matched.has(literal) { bit } else { 0 };
    Mode(
        rounding(matched.get("rnd")) as u16
            | bit(".ftz", Mode::FTZ)
            | bit(".sat", Mode::SAT)
            | bit(".relu", Mode::RELU),
    )
}

/// The Rust type of a scalar type's values.
macro_rules! lane_type {
    (B8) => {
        u8
    };
    (U8) => {
        u8
    };
    (S8) => {
        i8
    };
    (B16) => {
        u16
    };
    (U16) => {
        u16
    };
    (S16) => {
        i16
    };
    (B32) => {
        u32
    };
    (U32) => {
        u32
    };
    (S32) => {
        i32
    };
    (B64) => {
        u64
    };
    (U64) => {
        u64
    };
    (S64) => {
        i64
    };
    (F16) => {
        $crate::exec::lane::F16
    };
    (Bf16) => {
        $crate::exec::lane::Bf16
    };
    (F32) => {
        f32
    };
    (F64) => {
        f64
    };
}
pub(crate) use lane_type;

/// An expression for each of several scalar types: `by_type!(ty, T: U32 S32 => expression about T)`.
///
/// Returns an error from the surrounding function for any other type.
macro_rules! by_type {
    ($ty:expr, $T:ident: $($name:ident)* => $body:expr) => {
        match $ty {
            $($crate::base::types::ScalarType::$name => {
                type $T = $crate::isa::emit::lane_type!($name);
                $body
            })*
            other => return Err($crate::isa::emit::no_such(other)),
        }
    };
}
pub(crate) use by_type;
