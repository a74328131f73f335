//! `exit`: the end of the thread, wherever it is.

use crate::exec::control;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{Control, VirtualOp};

/// `exit`
pub(super) static EXIT: Instruction =
    Instruction { name: "exit", section: "9.7.12.7", forms: &[Form { syntax: "exit;", lower }], ..Instruction::NEW };

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.emit_control(VirtualOp::new(control::EXIT), Control::End);
    Ok(())
}
