//! The registers and literals that fit an operand (manual, sections 9.4 and 4.5), by the rules of NVIDIA's assembler.
//!
//! This module compares kinds and widths; instructions know the purpose of their operands.

use rumba_ptx::ast::Literal;

use crate::base::types::ScalarType;
use crate::lower::error::LowerError;

/// The meaning of a type's bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Anything of this width.
    Bits,
    Integer,
    /// A type of floating point numbers, or of several numbers side by side, which only fits itself.
    Exact(ScalarType),
    Predicate,
}

impl Kind {
    fn of(ty: ScalarType) -> Self {
        match ty {
            ScalarType::B8 | ScalarType::B16 | ScalarType::B32 | ScalarType::B64 | ScalarType::B128 => Self::Bits,
            ScalarType::U8
            | ScalarType::U16
            | ScalarType::U32
            | ScalarType::U64
            | ScalarType::S8
            | ScalarType::S16
            | ScalarType::S32
            | ScalarType::S64 => Self::Integer,
            ScalarType::Pred => Self::Predicate,
            other => Self::Exact(other),
        }
    }
}

/// Whether a register of type `declared` can hold an address.
pub(crate) fn address(name: &str, declared: ScalarType) -> Result<(), LowerError> {
    if matches!(Kind::of(declared), Kind::Bits | Kind::Integer) && matches!(declared.bits(), 32 | 64) {
        return Ok(());
    }
    Err(LowerError::new(format!(
        "`{name}` is declared as {declared}; an address is in an integer register of 32 or 64 bits"
    )))
}

/// Whether a number can be added to a register of type `declared`.
pub(crate) fn integer(name: &str, declared: ScalarType) -> Result<(), LowerError> {
    if matches!(Kind::of(declared), Kind::Bits | Kind::Integer) && matches!(declared.bits(), 16 | 32 | 64) {
        return Ok(());
    }
    Err(LowerError::new(format!(
        "`{name}` is declared as {declared}; a number is added to integer registers of 16, 32 and 64 bits"
    )))
}

/// Whether a register of type `declared` suits an operand of type `ty`; if `wide`, it may have more bits.
pub(crate) fn register(name: &str, declared: ScalarType, ty: ScalarType, wide: bool) -> Result<(), LowerError> {
    let (own, wanted) = (Kind::of(declared), Kind::of(ty));
    // Registers declared as two halves pass for 32 bits wherever no single float is meant.
    let own = match (declared, wanted) {
        (ScalarType::F16x2, Kind::Integer | Kind::Exact(ScalarType::U16x2 | ScalarType::S16x2)) => Kind::Bits,
        _ => own,
    };
    let kinds = match (own, wanted) {
        (Kind::Predicate, _) | (_, Kind::Predicate) => own == wanted,
        (Kind::Bits, _) | (_, Kind::Bits) => true,
        _ => own == wanted,
    };
    let widths = if wide { declared.bits() >= ty.bits() } else { declared.bits() == ty.bits() };
    // Instructions on 8 bits keep their values in 16-bit registers.
    if kinds && (widths || (ty.bits() == 8 && declared.bits() >= 8)) {
        return Ok(());
    }
    Err(LowerError::new(format!("`{name}` is declared as {declared}, which does not fit an operand of type {ty}")))
}

/// The bits of a literal as operand of type `ty`.
pub(crate) fn literal(literal: Literal, ty: ScalarType) -> Result<u128, LowerError> {
    match (literal, Kind::of(ty)) {
        (Literal::Integer { .. }, Kind::Exact(_)) => {
            Err(LowerError::new(format!("an integer is not an operand of type {ty}"))
                .with_help("write it as a floating point number: 1.0, 0f3F800000, 0d3FF0000000000000"))
        }
        (_, Kind::Exact(ScalarType::F16x2 | ScalarType::Bf16x2 | ScalarType::U16x2 | ScalarType::S16x2))
        | (Literal::F32(_) | Literal::F64(_), Kind::Integer | Kind::Predicate) => {
            Err(LowerError::new(format!("a floating point number is not an operand of type {ty}")))
        }
        _ => literal_bits(literal, ty),
    }
}

/// The bits of a literal as a value of type `ty`; integers become floating point numbers where those are wanted.
pub(crate) fn literal_bits(literal: Literal, ty: ScalarType) -> Result<u128, LowerError> {
    match (literal, ty) {
        (Literal::Integer { value, .. }, ScalarType::B128) => Ok(value.cast_signed() as i128 as u128),
        (Literal::Integer { value, .. }, ScalarType::F32) => Ok(u128::from((value.cast_signed() as f32).to_bits())),
        (Literal::Integer { value, .. }, ScalarType::F64) => Ok(u128::from((value.cast_signed() as f64).to_bits())),
        (Literal::Integer { value, .. }, _) => Ok(u128::from(value)),
        (Literal::F32(bits), ScalarType::F64) => Ok(u128::from(f64::from(f32::from_bits(bits)).to_bits())),
        (Literal::F64(bits), ScalarType::F32) => Ok(u128::from((f64::from_bits(bits) as f32).to_bits())),
        (Literal::F32(bits), _) if ty.bits() == 32 => Ok(u128::from(bits)),
        (Literal::F64(bits), _) if ty.bits() == 64 => Ok(u128::from(bits)),
        (Literal::F32(_) | Literal::F64(_), _) => {
            Err(LowerError::new(format!("a floating point number is not an operand of type {ty}")))
        }
    }
}
