//! `vote`: what the lanes of a warp have in common.

use super::Instruction;
use super::notation::Matched;
use crate::lower::{Control, Draft, LowerError, Lowering};
use crate::op::{Handlers, Pc};
use crate::rendezvous;
use crate::types::ScalarType;
use crate::warp::{FULL, Warp, fill};

/// `vote`
pub(super) static VOTE: Instruction = Instruction {
    name: "vote",
    section: "9.7.13.9, 9.7.13.10",
    syntax: "
        vote.sync.mode.pred d, {!}a, membermask;
        vote.sync.ballot.b32 d, {!}a, membermask;
        vote.mode.pred d, {!}a;
        vote.ballot.b32 d, {!}a;
        vote.mode.sync.pred d, {!}a, membermask;
        vote.ballot.sync.b32 d, {!}a, membermask;
        .mode = { .all, .any, .uni };
    ",
    lower,
};

const ALL: u16 = 0;
const ANY: u16 = 1;
const UNIFORM: u16 = 2;
const BALLOT: u16 = 3;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let (a, negated) = l.predicate_source(1)?;
    let extra = match m.get("mode") {
        Some(".all") => ALL,
        Some(".any") => ANY,
        Some(_) => UNIFORM,
        None => BALLOT,
    };
    let dst = l.destination(
        0,
        if extra == BALLOT {
            ScalarType::B32
        } else {
            ScalarType::Pred
        },
    )?;
    let imm = if negated { u64::from(FULL) } else { 0 };
    let draft = Draft {
        dst,
        a,
        extra,
        imm,
        ..Draft::new(Handlers::same(without_members))
    };
    if l.operand_count() == 2 {
        l.emit(draft);
        return Ok(());
    }
    let b = l.source(2, ScalarType::U32)?;
    l.emit_control(
        Draft {
            b,
            handlers: Handlers::same(vote),
            ..draft
        },
        Control::Park,
    );
    Ok(())
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
