//! The operations that only lockstep programs have: exits from the program, and operations that write out lanes.
//!
//! `b` and `c` are the number of the exit. Targets are relative as in [`crate::exec::control`].

use crate::base::lanes::{FULL, GROUP, GROUPS};
use crate::exec::lane::Raw;
use crate::machine::op::Pc;
use crate::machine::warp::Warp;

#[inline(always)]
fn exit(pc: Pc) -> u32 {
    u32::from(pc.b) | u32::from(pc.c) << 16
}

#[inline(always)]
fn relative(pc: Pc, distance: u32) -> Pc {
    Pc::new(pc.as_ptr().wrapping_offset(distance as i32 as isize))
}

/// `if a (negated if extra) goto imm`; leaves if only some lanes go there.
pub(crate) unsafe fn branch(warp: &mut Warp, pc: Pc) -> Pc {
    let flip = if pc.extra != 0 { FULL } else { 0 };
    // SAFETY: the caller promises that the operation's predicate is good.
    let taken = unsafe { warp.predicate(pc.a) ^ flip };
    if taken == FULL {
        warp.enter(pc.d, relative(pc, pc.imm as u32))
    } else if taken == 0 {
        warp.enter(pc.d, relative(pc, (pc.imm >> 32) as u32))
    } else {
        warp.leave_lockstep(exit(pc))
    }
}

/// Goes on if `a` (negated if extra) is true, to `imm` if it is false; leaves if it is both.
pub(crate) unsafe fn guard(warp: &mut Warp, pc: Pc) -> Pc {
    let flip = if pc.extra != 0 { FULL } else { 0 };
    // SAFETY: the caller promises that the operation's predicate is good.
    let chosen = unsafe { warp.predicate(pc.a) ^ flip };
    if chosen == FULL {
        pc.next()
    } else if chosen == 0 {
        relative(pc, pc.imm as u32)
    } else {
        warp.leave_lockstep(exit(pc))
    }
}

/// Leaves.
pub(crate) unsafe fn leave(warp: &mut Warp, pc: Pc) -> Pc {
    warp.leave_lockstep(exit(pc))
}

/// Leaves if the value of 32 bits in `a` with stride `imm` wraps within a group; signed if `extra` is not 0.
pub(crate) unsafe fn check(warp: &mut Warp, pc: Pc) -> Pc {
    let way = pc.imm.cast_signed().wrapping_mul(GROUP as i64 - 1);
    // SAFETY: the slot has its bases.
    let bases = unsafe { warp.bases::<[u32; GROUPS]>(pc.a).read_unaligned() };
    let mut good = true;
    for base in bases {
        good &= if pc.extra != 0 {
            i32::try_from(i64::from(base.cast_signed()) + way).is_ok()
        } else {
            u32::try_from(i64::from(base) + way).is_ok()
        };
    }
    if good { pc.next() } else { warp.leave_lockstep(exit(pc)) }
}

/// Writes out the lanes of `dst`, a value with stride `imm`.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
pub(crate) unsafe fn expand<R: Raw>(warp: &mut Warp, pc: Pc) -> Pc {
    let stride = pc.imm.cast_signed();
    // SAFETY: the slot has its bases and 32 lanes.
    unsafe {
        let bases = warp.bases::<[R; GROUPS]>(pc.dst).read_unaligned();
        for (group, base) in bases.into_iter().enumerate() {
            *warp.lanes::<[R; GROUP]>(pc.dst).add(group) = std::array::from_fn(|lane| base.affine_lane(stride, lane));
        }
    }
    pc.next()
}
