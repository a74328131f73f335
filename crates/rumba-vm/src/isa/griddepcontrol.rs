//! `griddepcontrol`: dependencies between grids. The machine runs grids one after the other, so the instruction does
//! nothing.

use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Convergence, Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `griddepcontrol`
pub(super) static GRIDDEPCONTROL: Instruction = Instruction {
    name: "griddepcontrol",
    section: "9.7.13.14",
    forms: &[Form { syntax: "griddepcontrol.action; .action = { .launch_dependents, .wait };", lower }],
    availability: &[Availability::since((7, 8), 90)],
    convergence: Convergence::Warp,
    ..Instruction::NEW
};

fn lower(_: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    Ok(())
}
