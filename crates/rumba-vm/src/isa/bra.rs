//! `bra`: a branch, taken by the lanes whose guard is true.

use rumba_ptx::ast::OperandKind;

use crate::exec::control;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::scope::Binding;
use crate::lower::virtual_op::{Control, LabelId, VirtualOp};

/// `bra`
pub(super) static BRA: Instruction = Instruction {
    name: "bra",
    section: "9.7.12.3",
    forms: &[Form { syntax: "bra{.uni} target;", lower }],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

/// The label that a name stands for.
pub(crate) fn label<'m>(l: &mut Lowering<'m>, name: &'m str) -> Result<LabelId, LowerError> {
    match l.lookup(name) {
        Some(Binding::Label(label)) => Ok(label),
        Some(_) => Err(LowerError::new(format!("`{name}` is not a label"))),
        None => Err(LowerError::new(format!("the label `{name}` is not defined"))),
    }
}

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let operand = l.operand(0)?;
    let OperandKind::Name(name) = operand.kind else {
        return Err(LowerError::new("a label is needed here").at(operand.span));
    };
    let target = label(l, name).map_err(|error| error.at(operand.span))?;
    match l.take_guard() {
        None => l.emit_control(VirtualOp::new(control::JUMP), Control::Jump(target)),
        Some((predicate, negated)) => {
            let branch = VirtualOp {
                a: predicate,
                extra: u16::from(negated),
                ..VirtualOp::new(if m.has(".uni") { control::UNIFORM_BRANCH } else { control::BRANCH })
            };
            l.emit_control(branch, Control::Branch(target));
        }
    }
    Ok(())
}
