//! `stackrestore`: makes the thread's stack end where it ended at a `stacksave`.

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

/// `stackrestore`
pub(super) static STACKRESTORE: Instruction = Instruction {
    name: "stackrestore",
    section: "9.7.14.2",
    forms: &[Form { syntax: "stackrestore.type a; .type = { .u32, .u64 };", lower }],
    availability: &[Availability::since((7, 3), 52)],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let saved = l.source(0, ty)?;
    let pointer = l.pool.fixed(Class::W64, Fixed::StackPointer);
    let handlers = match ty {
        ScalarType::U32 => shape::lanes(function!(|saved: u32| -> u64 { saved.cast() })),
        _ => copy(Class::W64),
    };
    l.emit(VirtualOp::unary(handlers, pointer, saved));
    Ok(())
}
