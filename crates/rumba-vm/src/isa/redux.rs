//! `redux`: a reduction over the lanes of a warp.

use crate::arith::float::{Extremum, extremum};
use crate::arith::native;
use crate::base::ir::{Element, Value};
use crate::base::lanes::{LANES, lanes_of};
use crate::base::types::ScalarType;
use crate::exec::rendezvous;
use crate::exec::shape::conjure;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{Control, VirtualOp};
use crate::machine::op::opcode::{Members, TogetherForm};
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::{Warp, fill};

/// The native code: a reduction of LLVM, of all lanes.
macro_rules! form {
    ($reduction:literal) => {
        Some((
            |w, _, _, a| {
                let a = a.map_or_else(|| Value::integer(Element::I32, 0), Value::clone);
                (w.reduced($reduction, &a), None)
            },
            true,
        ))
    };
}

/// `redux`
pub(super) static REDUX: Instruction = Instruction {
    name: "redux",
    section: "9.7.13.13",
    forms: &[
        Form {
            syntax: "
                redux.sync.op.type  d, a, membermask;
                .op = { .add, .min, .max };
                .type = { .u32, .s32 };
            ",
            lower: |l, m| {
                let signed = m.get("type") == Some(".s32");
                let (min, max) = if signed {
                    let min = reduce(|a, b| (a as i32).min(b as i32) as u32, form!("smin"));
                    (min, reduce(|a, b| (a as i32).max(b as i32) as u32, form!("smax")))
                } else {
                    (reduce(Ord::min, form!("umin")), reduce(Ord::max, form!("umax")))
                };
                let add = reduce(u32::wrapping_add, form!("add"));
                lower(l, m, m.choose("op", &[(".add", add), (".min", min), (".max", max)])?)
            },
        },
        Form {
            syntax: "
                redux.sync.op.b32  d, a, membermask;
                .op = { .and, .or, .xor };
            ",
            lower: |l, m| {
                let and = reduce(|a, b| a & b, form!("and"));
                let or = reduce(|a, b| a | b, form!("or"));
                let xor = reduce(|a, b| a ^ b, form!("xor"));
                lower(l, m, m.choose("op", &[(".and", and), (".or", or), (".xor", xor)])?)
            },
        },
        Form {
            syntax: "
                redux.sync.op{.abs}{.NaN}.f32  d, a, membermask;
                .op = { .min, .max };
            ",
            lower: |l, m| {
                let (min, max) = if m.has(".NaN") {
                    (reduce(float::<false, true>, None), reduce(float::<true, true>, None))
                } else {
                    (reduce(float::<false, false>, None), reduce(float::<true, false>, None))
                };
                lower(l, m, m.choose("op", &[(".min", min), (".max", max)])?)
            },
        },
    ],
    availability: &[Availability::since((7, 0), 80), Availability::specific((8, 6), 100).with(&[".f32"])],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>, handlers: Handlers) -> Result<(), LowerError> {
    let ty = ScalarType::B32;
    let dst = l.destination(0, ty)?;
    let a = l.source(1, ty)?;
    let b = l.source(2, ty)?;
    let imm = if m.has(".abs") { u64::from(u32::MAX >> 1) } else { u64::from(u32::MAX) };
    l.emit_control(VirtualOp { dst, a, b, imm, ..VirtualOp::new(handlers) }, Control::Park);
    Ok(())
}

#[inline(always)]
fn float<const MAX: bool, const NAN: bool>(a: u32, b: u32) -> u32 {
    extremum(Extremum { max: MAX, nan: NAN }, native(f32::from_bits(a)), native(f32::from_bits(b))).0.to_bits()
}

fn reduce<F: Fn(u32, u32) -> u32 + Copy>(_: F, form: Option<(TogetherForm, bool)>) -> Handlers {
    Handlers::same(redux::<F>).together(Members::Operand(2), form)
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
