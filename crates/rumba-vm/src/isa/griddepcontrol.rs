//! `griddepcontrol`: dependencies between grids. They run one after the other here, so it does nothing.

use super::availability::Availability;
use super::instruction::{Convergence, Form, Instruction};
use super::notation::Matched;
use crate::lower::{LowerError, Lowering};

/// `griddepcontrol`
pub(super) static GRIDDEPCONTROL: Instruction = Instruction {
    name: "griddepcontrol",
    section: "9.7.13.14",
    forms: &[Form {
        syntax: "griddepcontrol.action; .action = { .launch_dependents, .wait };",
        lower,
    }],
    availability: &[Availability::since((7, 8), 90)],
    convergence: Convergence::Warp,
    ..Instruction::NEW
};

fn lower(_: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    Ok(())
}
