//! `call`: a call of a function, by name or through a pointer.

use super::Instruction;
use super::notation::Matched;
use crate::lower::{LowerError, Lowering};

/// `call`
pub(super) static CALL: Instruction = Instruction {
    name: "call",
    section: "9.7.12.5",
    syntax: "call{.uni} results{, function}{, arguments}{, targets};",
    lower,
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.emit_call()
}
