//! Masks of warp operations.

use cuda_std::kernel;
use cuda_std::sync::sync_warp;
use cuda_std::warp;

use crate::ui::device::tid;

const ALL: u32 = u32::MAX;
const LOW: u32 = 0xffff;

//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn caller_not_in_the_mask(y: *mut u32) {
    sync_warp(LOW); //~ mask-without-caller
    *y.add(tid()) = 1;
}

//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn caller_in_the_mask(y: *mut u32) {
    if tid() < 16 {
        sync_warp(LOW);
    }
    *y.add(tid()) = 1;
}

//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn shuffle_by_lanes_not_in_the_mask(y: *mut u32) {
    *y.add(tid()) = warp::shfl_sync(LOW, tid() as u32, 0, 32); //~ mask-without-caller
}

/// The mask names all lanes, and half of them are elsewhere until the kernel ends: lanes that have exited are not waited for.
/// So this and the like are right, and what the marks name is information.
//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn sync_warp_of_all_lanes_in_a_branch(y: *mut u32) {
    if tid() < 16 {
        *y.add(tid()) = 1;
        sync_warp(ALL); //~ exited-lanes
        *y.add(tid()) += 1;
    }
}

//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn sync_warp_of_half_of_the_lanes_in_a_branch(y: *mut u32) {
    if tid() < 16 {
        *y.add(tid()) = 1;
        sync_warp(LOW);
        *y.add(tid()) += 1;
    }
}

//@ right, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn shuffle_of_all_lanes_in_a_branch(x: *const u32, y: *mut u32) {
    let own = *x.add(tid());
    if tid() < 16 {
        *y.add(tid()) = warp::shfl_sync(ALL, own, tid() as u32 ^ 1, 32); //~ exited-lanes
    }
}

//@ right, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn shuffle_before_the_branch(x: *const u32, y: *mut u32) {
    let other = warp::shfl_sync(ALL, *x.add(tid()), tid() as u32 ^ 1, 32);
    if tid() < 16 {
        *y.add(tid()) = other;
    }
}

/// The lanes that come do not all name each other.
//@ wrong, 1 x 32: zero 32
#[kernel]
pub unsafe fn masks_of_different_lanes(y: *mut u32) {
    let mask = if tid() < 16 { LOW } else { ALL };
    *y.add(tid()) = warp::ballot_sync(mask, tid() % 2 == 0); //~ mask-mismatch
}

//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn masks_of_two_halves(y: *mut u32) {
    let mask = if tid() < 16 { LOW } else { !LOW };
    *y.add(tid()) = warp::ballot_sync(mask, tid() % 2 == 0);
}

/// It reads a lane that the mask leaves out.
//@ wrong, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn shuffle_from_beyond_the_mask(x: *const u32, y: *mut u32) {
    let own = *x.add(tid());
    if tid() < 16 {
        *y.add(tid()) = warp::shfl_sync(LOW, own, 16 + tid() as u32, 32); //~ shuffle-source
    }
}

//@ right, 1 x 32: in 32, zero 32
#[kernel]
pub unsafe fn shuffle_from_within_the_mask(x: *const u32, y: *mut u32) {
    let own = *x.add(tid());
    if tid() < 16 {
        *y.add(tid()) = warp::shfl_sync(LOW, own, 15 - tid() as u32, 16);
    }
}

/// A reduction over the warp by the lanes of the last, incomplete one.
//@ wrong, 1 x 48: in 48, zero 48
#[kernel]
pub unsafe fn reduction_in_an_incomplete_warp(x: *const u32, y: *mut u32) {
    let mut sum = *x.add(tid());
    let mut distance = 16;
    while distance > 0 {
        sum += warp::shfl_down_sync(ALL, sum, distance, 32); //~ shuffle-source? 1, synchronisation? 2
        distance /= 2;
    }
    *y.add(tid()) = sum;
}

//@ right, 1 x 64: in 64, zero 64
#[kernel]
pub unsafe fn reduction_in_complete_warps(x: *const u32, y: *mut u32) {
    let mut sum = *x.add(tid());
    let mut distance = 16;
    while distance > 0 {
        sum += warp::shfl_down_sync(ALL, sum, distance, 32);
        distance /= 2;
    }
    *y.add(tid()) = sum;
}

/// The lanes of a loop become fewer, and the mask does not.
//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn vote_in_a_divergent_loop(y: *mut u32) {
    let mut left = tid() as u32;
    loop {
        *y.add(tid()) += 1;
        if left == 0 {
            break;
        }
        left -= 1;
        let is_over = warp::all_sync(ALL, left == 40); //~ exited-lanes
        if is_over {
            break;
        }
    }
}

//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn vote_in_a_uniform_loop(y: *mut u32) {
    let mut left = tid() as u32;
    loop {
        *y.add(tid()) += 1;
        left = left.saturating_sub(1);
        if warp::all_sync(ALL, left == 0) {
            break;
        }
    }
}

/// The mask of lanes that were active a branch ago.
//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn active_mask_of_another_place(y: *mut u32) {
    let mask = warp::activemask();
    if tid() % 4 == 0 {
        *y.add(tid()) = warp::match_any_sync(mask, tid() as u32 % 8); //~ exited-lanes
    }
}

//@ right, 1 x 32: zero 32
#[kernel]
pub unsafe fn mask_by_ballot(y: *mut u32) {
    let mask = warp::ballot(tid() % 4 == 0);
    if tid() % 4 == 0 {
        *y.add(tid()) = warp::match_any_sync(mask, tid() as u32 % 8);
    }
}

/// The mask includes lanes that have returned.
//@ right, 1 x 32: in 32, zero 32, 20
#[kernel]
pub unsafe fn reduction_after_a_return(x: *const u32, y: *mut u32, n: u32) {
    if tid() >= n as usize {
        return;
    }
    *y.add(tid()) = warp::reduce_sum(*x.add(tid())); //~ exited-lanes
}

//@ right, 1 x 32: in 32, zero 32, 20
#[kernel]
pub unsafe fn reduction_with_neutral_values(x: *const u32, y: *mut u32, n: u32) {
    let own = if tid() < n as usize { *x.add(tid()) } else { 0 };
    let sum = warp::reduce_sum(own);
    if tid() < n as usize {
        *y.add(tid()) = sum;
    }
}
