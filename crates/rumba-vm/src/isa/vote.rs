//! `vote`: what the lanes of a warp have in common.

use crate::base::ir::{Element, Value, Writer};
use crate::base::lanes::FULL;
use crate::base::types::ScalarType;
use crate::exec::rendezvous;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::virtual_op::{Control, VirtualOp};
use crate::machine::op::opcode::Members;
use crate::machine::op::{Handlers, Op, Pc};
use crate::machine::warp::{Warp, fill};

/// `vote`
pub(super) static VOTE: Instruction = Instruction {
    name: "vote",
    section: "9.7.13.9, 9.7.13.10",
    forms: &[
        Form {
            syntax: "
                vote.sync.mode.pred  d, {!}a, membermask;
                vote.mode.sync.pred  d, {!}a, membermask;
                vote.mode.pred       d, {!}a;
                .mode = { .all, .any, .uni };
            ",
            lower: |l, m| {
                let mode = m.choose("mode", &[(".all", ALL), (".any", ANY), (".uni", UNIFORM)])?;
                lower(l, mode, ScalarType::Pred)
            },
        },
        Form {
            syntax: "
                vote.sync.ballot.b32  d, {!}a, membermask;
                vote.ballot.sync.b32  d, {!}a, membermask;
                vote.ballot.b32       d, {!}a;
            ",
            lower: |l, _| lower(l, BALLOT, ScalarType::B32),
        },
    ],
    availability: &[
        Availability::until((6, 4), 70).without(&[".sync"]),
        Availability::since((6, 0), 30).with(&[".sync"]),
    ],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

const ALL: u16 = 0;
const ANY: u16 = 1;
const UNIFORM: u16 = 2;
const BALLOT: u16 = 3;

fn lower(l: &mut Lowering<'_>, extra: u16, result: ScalarType) -> Result<(), LowerError> {
    let (a, negated) = l.predicate_source(1)?;
    let dst = l.destination(0, result)?;
    let imm = if negated { u64::from(FULL) } else { 0 };
    let virtual_op = VirtualOp {
        dst,
        a,
        extra,
        imm,
        ..VirtualOp::new(Handlers::same(without_members).together(Members::Active, Some((form, true))))
    };
    if l.operand_count() == 2 {
        l.emit(virtual_op);
        return Ok(());
    }
    let b = l.source(2, ScalarType::U32)?;
    l.emit_control(
        VirtualOp { b, handlers: Handlers::same(vote).together(Members::Operand(2), Some((form, true))), ..virtual_op },
        Control::Park,
    );
    Ok(())
}

/// Writes the native code.
fn form(w: &mut Writer, op: &Op, lanes: &Value, votes: Option<&Value>) -> (Value, Option<Value>) {
    let votes = votes.map_or_else(|| Value::integer(Element::I32, 0), Value::clone);
    let votes = if op.imm == 0 { votes } else { w.xor_with(&votes, op.imm) };
    let votes = w.and(&votes, lanes);
    let verdict = match op.extra {
        BALLOT => return (votes, None),
        ALL => w.compare("icmp eq", &votes, lanes),
        ANY => w.compare_with("icmp ne", &votes, 0),
        _ => {
            let (all, none) = (w.compare("icmp eq", &votes, lanes), w.compare_with("icmp eq", &votes, 0));
            w.or(&all, &none)
        }
    };
    (w.convert("sext", &verdict, Element::I32), None)
}

unsafe fn vote(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the operation was made by `lower`.
    unsafe { rendezvous::together(warp, pc, pc.b, |warp, group| count(warp, pc, group)) }
}

unsafe fn without_members(warp: &mut Warp, pc: Pc) -> Pc {
    let active = warp.active;
    // SAFETY: the operation was made by `lower`.
    unsafe { count(warp, pc, active) };
    pc.next()
}

#[inline(always)]
unsafe fn count(warp: &mut Warp, pc: Pc, group: u32) {
    // SAFETY: `a` is a predicate of the program.
    let votes = (unsafe { warp.predicate(pc.a) } ^ pc.imm as u32) & group;
    if pc.extra == BALLOT {
        // SAFETY: `dst` is a 32-bit slot.
        return unsafe { fill(warp, pc.dst, group, votes) };
    }
    let verdict = match pc.extra {
        ALL => votes == group,
        ANY => votes != 0,
        _ => votes == group || votes == 0,
    };
    // SAFETY: `dst` is a predicate of the program.
    unsafe { warp.set_predicate(pc.dst, if verdict { FULL } else { 0 }) };
}
