//! `ret`: the end of a function; of a kernel, the end of the thread.

use super::instruction::{Form, Instruction};
use super::notation::Matched;
use crate::lower::{LowerError, Lowering};

/// `ret`
pub(super) static RET: Instruction = Instruction {
    name: "ret",
    section: "9.7.12.6",
    forms: &[Form {
        syntax: "ret{.uni};",
        lower,
    }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.emit_return()
}
