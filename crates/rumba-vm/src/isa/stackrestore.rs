//! `stackrestore`: makes the thread's stack end where it ended at a `stacksave`.

use super::Instruction;
use super::memory::copy;
use super::notation::Matched;
use crate::lower::{Draft, LowerError, Lowering};
use crate::program::{Class, Fixed};
use crate::types::ScalarType;

/// `stackrestore`
pub(super) static STACKRESTORE: Instruction = Instruction {
    name: "stackrestore",
    section: "9.7.14.2",
    syntax: "stackrestore.u64 a;",
    lower,
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    let saved = l.source(0, ScalarType::U64)?;
    let pointer = l.pool.fixed(Class::W64, Fixed::StackPointer);
    l.emit(Draft::unary(copy(Class::W64), pointer, saved));
    Ok(())
}
