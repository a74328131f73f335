//! `exit`: the end of the thread, wherever it is.

use super::instruction::{Form, Instruction};
use super::notation::Matched;
use crate::control;
use crate::lower::{Control, Draft, LowerError, Lowering};

/// `exit`
pub(super) static EXIT: Instruction = Instruction {
    name: "exit",
    section: "9.7.12.7",
    forms: &[Form { syntax: "exit;", lower }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.emit_control(Draft::new(control::EXIT), Control::End);
    Ok(())
}
