//! `brx.idx`: a branch to one of a list of labels.

use rumba_ptx::ast::OperandKind;

use crate::base::types::ScalarType;
use crate::exec::control;
use crate::isa::bra::label;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::scope::Binding;
use crate::lower::virtual_op::{Control, VirtualOp};

/// `brx`
pub(super) static BRX: Instruction = Instruction {
    name: "brx",
    section: "9.7.12.4",
    forms: &[Form { syntax: "brx.idx!{.uni} index, tlist;", lower }],
    availability: &[Availability::since((6, 0), 30)],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let index = l.source(0, ScalarType::U32)?;
    let operand = l.operand(1)?;
    let list = match operand.kind {
        OperandKind::Name(name) => match l.lookup(name) {
            Some(Binding::Targets(list)) if list.span.start < operand.span.start => list,
            _ => return Err(LowerError::new(format!("`{name}` is not a list of .branchtargets")).at(operand.span)),
        },
        _ => return Err(LowerError::new("a list of .branchtargets is needed here").at(operand.span)),
    };
    let mut labels = Vec::with_capacity(list.names.len());
    for name in &list.names {
        labels.push(label(l, name.name).map_err(|error| error.at(name.span))?);
    }
    l.emit_control(
        VirtualOp { a: index, extra: u16::from(m.has(".uni")), ..VirtualOp::new(control::TABLE) },
        Control::Table(labels),
    );
    Ok(())
}
