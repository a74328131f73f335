//! `call`: a call of a function, by name or through a pointer.

use crate::lower::error::LowerError;
use crate::lower::instruction::{Convergence, Form, Instruction, Names, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `call`
pub(super) static CALL: Instruction = Instruction {
    name: "call",
    section: "9.7.12.5",
    forms: &[Form { syntax: "call{.uni} results{, function}{, arguments}{, targets};", lower }],
    names: Names::Callee,
    convergence: Convergence::Warp,
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.emit_call()
}
