//! `stacksave`: where the thread's stack ends.

use super::availability::Availability;
use super::instruction::{Form, Instruction};
use super::memory::copy;
use super::notation::Matched;
use super::shape;
use crate::lower::{Draft, LowerError, Lowering};
use crate::program::{Class, Fixed};
use crate::types::ScalarType;

/// `stacksave`
pub(super) static STACKSAVE: Instruction = Instruction {
    name: "stacksave",
    section: "9.7.14.1",
    forms: &[Form {
        syntax: "stacksave.type d; .type = { .u32, .u64 };",
        lower,
    }],
    availability: &[Availability::since((7, 3), 52)],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let pointer = l.pool.fixed(Class::W64, Fixed::StackPointer);
    let ty = m.ty("type")?;
    let dst = l.destination(0, ty)?;
    l.function.has_alloca = true;
    let handlers = match ty {
        ScalarType::U32 => shape::unary(|pointer: u64| pointer as u32),
        _ => copy(Class::W64),
    };
    l.emit(Draft::unary(handlers, dst, pointer));
    Ok(())
}
