//! `ret`: the end of a function; of a kernel, the end of the thread.

use super::Instruction;
use super::notation::Matched;
use crate::lower::{LowerError, Lowering};

/// `ret`
pub(super) static RET: Instruction = Instruction {
    name: "ret",
    section: "9.7.12.6",
    syntax: "ret{.uni};",
    lower,
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.emit_return()
}
