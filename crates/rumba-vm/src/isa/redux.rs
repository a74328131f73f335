//! `redux`: a reduction over the lanes of a warp.

use super::Instruction;
use super::float::{Extremum, extremum};
use super::notation::Matched;
use super::shape::conjure;
use crate::lower::{Control, Draft, LowerError, Lowering};
use crate::op::{Handlers, Pc};
use crate::rendezvous;
use crate::types::ScalarType;
use crate::warp::{LANES, Warp, fill, lanes_of};

/// `redux`
pub(super) static REDUX: Instruction = Instruction {
    name: "redux",
    section: "9.7.13.13",
    syntax: "
        redux.sync.op.type d, a, membermask;
        .op = { .add, .min, .max };
        .type = { .u32, .s32 };

        redux.sync.op.b32 d, a, membermask;
        .op = { .and, .or, .xor };

        redux.sync.op{.abs}{.NaN}.f32 d, a, membermask;
        .op = { .min, .max };
    ",
    lower,
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = ScalarType::B32;
    let dst = l.destination(0, ty)?;
    let a = l.source(1, ty)?;
    let b = l.source(2, ty)?;
    let signed = m.get("type") == Some(".s32");
    let handlers = match (m.form(), m.get("op"), signed) {
        (0, Some(".add"), _) => reduce(u32::wrapping_add),
        (0, Some(".min"), false) => reduce(Ord::min),
        (0, Some(".max"), false) => reduce(Ord::max),
        (0, Some(".min"), true) => reduce(|a, b| (a as i32).min(b as i32) as u32),
        (0, Some(".max"), true) => reduce(|a, b| (a as i32).max(b as i32) as u32),
        (1, Some(".and"), _) => reduce(|a, b| a & b),
        (1, Some(".or"), _) => reduce(|a, b| a | b),
        (1, Some(".xor"), _) => reduce(|a, b| a ^ b),
        (_, Some(".min"), _) if m.has(".NaN") => reduce(float::<false, true>),
        (_, Some(".min"), _) => reduce(float::<false, false>),
        _ if m.has(".NaN") => reduce(float::<true, true>),
        _ => reduce(float::<true, false>),
    };
    let imm = if m.has(".abs") {
        u64::from(u32::MAX >> 1)
    } else {
        u64::from(u32::MAX)
    };
    l.emit_control(
        Draft {
            dst,
            a,
            b,
            imm,
            ..Draft::new(handlers)
        },
        Control::Park,
    );
    Ok(())
}

#[inline(always)]
fn float<const MAX: bool, const NAN: bool>(a: u32, b: u32) -> u32 {
    extremum(Extremum { max: MAX, nan: NAN }, f32::from_bits(a), f32::from_bits(b)).to_bits()
}

fn reduce<F: Fn(u32, u32) -> u32 + Copy>(_: F) -> Handlers {
    Handlers::same(redux::<F>)
}

unsafe fn redux<F: Fn(u32, u32) -> u32 + Copy>(warp: &mut Warp, pc: Pc) -> Pc {
    let f = conjure::<F>();
    let body = |warp: &mut Warp, group: u32| {
        // SAFETY: the slots have 32 lanes.
        let values = unsafe { *warp.lanes::<[u32; LANES]>(pc.a) }.map(|value| value & pc.imm as u32);
        let result = lanes_of(group).map(|lane| values[lane]).reduce(f).unwrap_or(0);
        // SAFETY: as above.
        unsafe { fill(warp, pc.dst, group, result) };
    };
    // SAFETY: the operation was made by `lower`.
    unsafe { rendezvous::together(warp, pc, pc.b, body) }
}
