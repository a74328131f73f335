//! `exit`: the end of the thread, wherever it is.

use super::Instruction;
use super::notation::Matched;
use crate::control;
use crate::lower::{Control, Draft, LowerError, Lowering};

/// `exit`
pub(super) static EXIT: Instruction = Instruction {
    name: "exit",
    section: "9.7.12.7",
    syntax: "exit;",
    lower,
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.emit_control(Draft::new(control::EXIT), Control::End);
    Ok(())
}
