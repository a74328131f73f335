//! `stackrestore`: makes the thread's stack end where it ended at a `stacksave`.

use super::availability::Availability;
use super::instruction::{Form, Instruction};
use super::memory::copy;
use super::notation::Matched;
use super::shape;
use crate::lower::{Draft, LowerError, Lowering};
use crate::program::{Class, Fixed};
use crate::types::ScalarType;

/// `stackrestore`
pub(super) static STACKRESTORE: Instruction = Instruction {
    name: "stackrestore",
    section: "9.7.14.2",
    forms: &[Form {
        syntax: "stackrestore.type a; .type = { .u32, .u64 };",
        lower,
    }],
    availability: &[Availability::since((7, 3), 52)],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let saved = l.source(0, ty)?;
    let pointer = l.pool.fixed(Class::W64, Fixed::StackPointer);
    let handlers = match ty {
        ScalarType::U32 => shape::unary(|saved: u32| u64::from(saved)),
        _ => copy(Class::W64),
    };
    l.emit(Draft::unary(handlers, pointer, saved));
    Ok(())
}
