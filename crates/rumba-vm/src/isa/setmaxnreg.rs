//! `setmaxnreg`: a hint about registers. It does nothing here.

use super::availability::Availability;
use super::instruction::{Form, Instruction};
use super::notation::Matched;
use crate::lower::{LowerError, Lowering};

/// `setmaxnreg`
pub(super) static SETMAXNREG: Instruction = Instruction {
    name: "setmaxnreg",
    section: "9.7.19.6",
    forms: &[Form {
        syntax: "setmaxnreg.action!.sync.aligned.u32 n; .action = { .inc, .dec };",
        lower,
    }],
    availability: &[Availability::specific((8, 0), 90)],
    ..Instruction::NEW
};

fn lower(_: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    Ok(())
}
