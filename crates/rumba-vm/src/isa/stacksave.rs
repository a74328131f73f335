//! `stacksave`: where the thread's stack ends.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::memory::copy;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::program::{Class, Fixed};

/// `stacksave`
pub(super) static STACKSAVE: Instruction = Instruction {
    name: "stacksave",
    section: "9.7.14.1",
    forms: &[Form { syntax: "stacksave.type d; .type = { .u32, .u64 };", lower }],
    availability: &[Availability::since((7, 3), 52)],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let pointer = l.pool.fixed(Class::W64, Fixed::StackPointer);
    let ty = m.ty("type")?;
    let dst = l.destination(0, ty)?;
    l.function.has_alloca = true;
    let handlers = match ty {
        ScalarType::U32 => shape::lanes(function!(|pointer: u64| -> u32 { pointer.cast() })),
        _ => copy(Class::W64),
    };
    l.emit(VirtualOp::unary(handlers, dst, pointer));
    Ok(())
}
