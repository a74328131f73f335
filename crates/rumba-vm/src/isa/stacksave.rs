//! `stacksave`: where the thread's stack ends.

use super::Instruction;
use super::memory::copy;
use super::notation::Matched;
use crate::lower::{Draft, LowerError, Lowering};
use crate::program::{Class, Fixed};
use crate::types::ScalarType;

/// `stacksave`
pub(super) static STACKSAVE: Instruction = Instruction {
    name: "stacksave",
    section: "9.7.14.1",
    syntax: "stacksave.u64 d;",
    lower,
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    let pointer = l.pool.fixed(Class::W64, Fixed::StackPointer);
    let dst = l.destination(0, ScalarType::U64)?;
    l.function.has_alloca = true;
    l.emit(Draft::unary(copy(Class::W64), dst, pointer));
    Ok(())
}
