//! `griddepcontrol`: dependencies between grids. They run one after the other here, so it does nothing.

use super::Instruction;
use super::notation::Matched;
use crate::lower::{LowerError, Lowering};

/// `griddepcontrol`
pub(super) static GRIDDEPCONTROL: Instruction = Instruction {
    name: "griddepcontrol",
    section: "9.7.13.14",
    syntax: "griddepcontrol.action; .action = { .launch_dependents, .wait };",
    lower,
};

fn lower(_: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    Ok(())
}
