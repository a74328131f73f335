//! `match`: which lanes of a warp have the same value.

use crate::base::ir::{Element, Value, Writer};
use crate::base::lanes::{FULL, LANES, lanes_of};
use crate::base::types::ScalarType;
use crate::exec::rendezvous;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{Control, DST_AND_C, VReg, VirtualOp};
use crate::machine::op::opcode::{Members, TogetherForm};
use crate::machine::op::{Handler, Handlers, Op, Pc};
use crate::machine::warp::{Warp, fill};

/// `match`
pub(super) static MATCH: Instruction = Instruction {
    name: "match",
    section: "9.7.13.11",
    forms: &[
        Form {
            syntax: "
                match.any.sync.type  d, a, membermask;
                .type = { .b32, .b64 };
            ",
            lower: |l, m| lower(l, m, [any::<u32>, any::<u64>], (form_of_any, false)),
        },
        Form {
            syntax: "
                match.all.sync.type  d[|p], a, membermask;
                .type = { .b32, .b64 };
            ",
            lower: |l, m| lower(l, m, [all::<u32>, all::<u64>], (form_of_all, true)),
        },
    ],
    availability: &[Availability::since((6, 0), 70)],
    optional_result: true,
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn lower(
    l: &mut Lowering<'_>,
    m: &Matched<'_>,
    [of_32, of_64]: [Handler; 2],
    form: (TogetherForm, bool),
) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let a = l.source(1, ty)?;
    let b = l.source(2, ScalarType::U32)?;
    let (dst, predicate) = l.destination_pair(0, ScalarType::B32)?;
    let dst = if dst == VReg::None { l.scratch(ScalarType::B32) } else { dst };
    let c = if predicate == VReg::None { l.scratch(ScalarType::Pred) } else { predicate };
    let handler = if ty.bits() == 32 { of_32 } else { of_64 };
    let handlers = Handlers::same(handler).together(Members::Operand(2), Some(form));
    l.emit_control(VirtualOp { dst, a, b, c, defines: DST_AND_C, ..VirtualOp::new(handlers) }, Control::Park);
    Ok(())
}

/// Native code for `match.all`, with all lanes of the mask active.
fn form_of_all(w: &mut Writer, _: &Op, lanes: &Value, a: Option<&Value>) -> (Value, Option<Value>) {
    let equal = match a {
        Some(a) if a.is_vector() => {
            let first = w.lane(a, 0);
            let differing = w.compare("icmp ne", a, &first);
            let differing = w.mask_of(&differing);
            w.compare_with("icmp eq", &differing, 0)
        }
        Some(_) | None => Value::integer(Element::I1, 1),
    };
    let mask = w.convert("sext", &equal, Element::I32);
    (w.and(&mask, lanes), Some(mask))
}

/// Native code for `match.any`, with all lanes of the mask active.
fn form_of_any(w: &mut Writer, _: &Op, lanes: &Value, a: Option<&Value>) -> (Value, Option<Value>) {
    let Some(a) = a.filter(|a| a.is_vector()) else {
        return (lanes.clone(), None);
    };
    let mut result = Value::named("poison", Element::I32, true);
    for lane in 0..LANES {
        let one = w.lane(a, lane);
        let same = w.compare("icmp eq", a, &one);
        let same = w.mask_of(&same);
        result = w.with_lane(&result, &same, lane);
    }
    (result, None)
}

unsafe fn any<T: Copy + PartialEq>(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp, group: u32| {
        // SAFETY: the slots have 32 lanes.
        let values = unsafe { *warp.lanes::<[T; LANES]>(pc.a) };
        let to = warp.lanes::<u32>(pc.dst);
        let mut rest = group;
        while rest != 0 {
            let one = values[rest.trailing_zeros() as usize];
            let equal = (0..LANES).fold(0, |mask, lane| mask | u32::from(values[lane] == one) << lane);
            let same = rest & equal;
            for lane in lanes_of(same) {
                // SAFETY: as above.
                unsafe { *to.add(lane) = same };
            }
            rest &= !same;
        }
    };
    // SAFETY: the operation was made by `lower`.
    unsafe { rendezvous::together(warp, pc, pc.b, body) }
}

unsafe fn all<T: Copy + PartialEq>(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp, group: u32| {
        // SAFETY: the slots have 32 lanes.
        let values = unsafe { *warp.lanes::<[T; LANES]>(pc.a) };
        let first = values[group.trailing_zeros() as usize];
        let equal = lanes_of(group).all(|lane| values[lane] == first);
        // SAFETY: as above; `c` is a predicate of the program.
        unsafe {
            fill(warp, pc.dst, group, if equal { group } else { 0 });
            warp.set_predicate(pc.c, if equal { FULL } else { 0 });
        }
    };
    // SAFETY: the operation was made by `lower`.
    unsafe { rendezvous::together(warp, pc, pc.b, body) }
}
