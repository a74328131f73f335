//! `lg2`: logarithm to the base 2, rounded from `f64` here.

use super::Instruction;
use super::emit;
use super::float::{Mode, by_mode};
use super::notation::Matched;
use super::shape;
use crate::lower::{LowerError, Lowering};
use crate::types::ScalarType;

/// `lg2`
pub(super) static LG2: Instruction = Instruction {
    name: "lg2",
    section: "9.7.3.20",
    syntax: "
        lg2.approx{.ftz}.f32  d, a;
    ",
    lower,
};

use super::math;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = Mode::of(m);
    let function = by_mode!(
        mode,
        M => shape::unary(|a: f32| M.output(math::lg2(M.input(a)))),
        return Err(emit::no_such("a directed rounding"))
    );
    emit::lanes(l, function, 0, ScalarType::F32, &[ScalarType::F32])
}
