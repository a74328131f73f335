//! Operations that the lanes of a mask execute together: the rendezvous of votes, shuffles and `bar.warp.sync`.
//!
//! Lanes that come early wait for the others of their mask; lanes that have exited are not waited for. A lane that is not in
//! the mask that it gives, which the manual leaves undefined, waits for none and takes part where it is, as on a GPU. What
//! the lanes do together is the instruction's business.

use crate::machine::op::Pc;
use crate::machine::warp::{Wait, Warp, same};

/// The active lanes that gave the same members as the first of `rest`, and these members. Lanes that are no members of
/// their own mask are among the former.
///
/// # Safety
/// `members` is a 32-bit slot of the warp's program.
unsafe fn group(warp: &Warp, pc: Pc, members: u16, rest: u32) -> (u32, u32) {
    let masks = warp.lanes::<u32>(members);
    let lane = rest.trailing_zeros() as usize;
    // SAFETY: the slot has 32 lanes.
    let mask = unsafe { *masks.add(lane) };
    // SAFETY: as above.
    let group = unsafe { same::<u32>(warp, members, rest) };
    let strangers = group & !mask;
    if strangers != 0 {
        warp.check_mask_without_caller(pc.source, strangers, mask);
    }
    (group, mask)
}

/// Whether all active lanes give the mask of all lanes that have not exited, and all of those are here.
#[inline(always)]
unsafe fn complete(warp: &Warp, members: u16) -> bool {
    // SAFETY: the caller promises that the slot has 32 lanes.
    let masks = unsafe { &*warp.lanes::<[u32; 32]>(members) };
    let mut differing = 0;
    for mask in masks {
        differing |= mask ^ masks[0];
    }
    differing == 0 && masks[0] & warp.live == warp.active && warp.active & !masks[0] == 0
}

/// Lets the groups of lanes that are complete execute `body`, which is given the group, and go on; the others wait.
///
/// # Safety
/// `members` is a 32-bit slot of the warp's program.
#[inline(always)]
pub(crate) unsafe fn together(warp: &mut Warp, pc: Pc, members: u16, body: impl Fn(&mut Warp, u32)) -> Pc {
    // SAFETY: as the caller promises.
    if unsafe { complete(warp, members) } {
        let active = warp.active;
        // SAFETY: the slot has 32 lanes.
        let mask = unsafe { *warp.lanes::<u32>(members) };
        if mask != active {
            warp.check_exited_lanes(pc.source, active, mask);
        }
        body(warp, active);
        return pc.next();
    }
    // SAFETY: as the caller promises.
    unsafe { apart(warp, pc, members, &body) }
}

#[cold]
unsafe fn apart(warp: &mut Warp, pc: Pc, members: u16, body: &dyn Fn(&mut Warp, u32)) -> Pc {
    let active = warp.active;
    let mut rest = active;
    let mut done = 0;
    while rest != 0 {
        // SAFETY: as the caller promises.
        let (group, mask) = unsafe { group(warp, pc, members, rest) };
        rest &= !group;
        if mask != group {
            warp.check_mask_mismatch(pc.source, group, mask, active);
        }
        if mask & warp.live & !group == 0 {
            warp.check_exited_lanes(pc.source, group, mask);
            warp.active = group;
            body(warp, group);
            warp.active = active;
            done |= group;
            continue;
        }
        if group & mask != 0 {
            warp.put(pc, group & mask, Wait::Lanes { members: mask });
        }
        let strangers = group & !mask;
        if strangers != 0 {
            warp.active = strangers;
            body(warp, strangers);
            warp.active = active;
            done |= strangers;
        }
    }
    if done == active {
        return pc.next();
    }
    warp.active = done;
    warp.release_lanes();
    if done == 0 { warp.pick() } else { warp.reschedule(pc.next()) }
}

/// Lets the active lanes wait for the other members of their masks at any operation of this kind.
///
/// # Safety
/// `members` is a 32-bit slot of the warp's program.
pub(crate) unsafe fn anywhere(warp: &mut Warp, pc: Pc, members: u16) -> Pc {
    // SAFETY: as the caller promises.
    if unsafe { complete(warp, members) } {
        // SAFETY: the slot has 32 lanes.
        let mask = unsafe { *warp.lanes::<u32>(members) };
        if mask != warp.active {
            warp.check_exited_lanes(pc.source, warp.active, mask);
        }
        warp.observe_warp_sync(warp.active);
        return pc.next();
    }
    let active = warp.active;
    let mut rest = active;
    while rest != 0 {
        // SAFETY: as the caller promises.
        let (group, mask) = unsafe { group(warp, pc, members, rest) };
        rest &= !group;
        if mask != group {
            warp.check_mask_mismatch(pc.source, group, mask, active);
        }
        for (lanes, wait) in [(group & mask, Wait::AnyLanes { members: mask }), (group & !mask, Wait::Ready)] {
            if lanes != 0 {
                warp.put(pc.next(), lanes, wait);
            }
        }
    }
    warp.release_lanes();
    warp.pick()
}
