//! `ret`: the end of a function; of a kernel, the end of the thread.

use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `ret`
pub(super) static RET: Instruction = Instruction {
    name: "ret",
    section: "9.7.12.6",
    forms: &[Form { syntax: "ret{.uni};", lower }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.emit_return()
}
