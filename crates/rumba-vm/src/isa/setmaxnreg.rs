//! `setmaxnreg`: a hint about registers. It does nothing here.

use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

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
