//! `setmaxnreg`: a hint about registers. It does nothing here.

use super::Instruction;
use super::notation::Matched;
use crate::lower::{LowerError, Lowering};

/// `setmaxnreg`
pub(super) static SETMAXNREG: Instruction = Instruction {
    name: "setmaxnreg",
    section: "9.7.19.6",
    syntax: "setmaxnreg.action!.sync.aligned.u32 n; .action = { .inc, .dec };",
    lower,
};

fn lower(_: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    Ok(())
}
