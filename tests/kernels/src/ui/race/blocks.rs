//! Races between blocks: what one writes and another reads while both run.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use cuda_std::atomic::Device;
use cuda_std::kernel;
use cuda_std::sync::{block_fence, device_fence, fence, sync_threads};
use cuda_std::thread;

use crate::ui::device::{atomic, bid, gid, tid};

//@ wrong, 2 x 1: zero 1, zero 1, out 1
#[kernel]
pub unsafe fn flag_without_fence(flag: *mut u32, data: *mut u32, y: *mut u32) {
    if bid() == 0 {
        *data = 5; //~ data-race
        atomic(flag).device().store(1, Relaxed);
    } else {
        while atomic(flag).device().load(Relaxed) == 0 {}
        *y = *data; //~ data-race
    }
}

//@ right, 2 x 1: zero 1, zero 1, out 1
#[kernel]
pub unsafe fn flag_with_release_and_acquire(flag: *mut u32, data: *mut u32, y: *mut u32) {
    if bid() == 0 {
        *data = 5;
        atomic(flag).device().store(1, Release);
    } else {
        while atomic(flag).device().load(Acquire) == 0 {}
        *y = *data;
    }
}

//@ right, 2 x 1: zero 1, zero 1, out 1
#[kernel]
pub unsafe fn flag_with_fences(flag: *mut u32, data: *mut u32, y: *mut u32) {
    if bid() == 0 {
        *data = 5;
        fence::<Device>(AcqRel);
        atomic(flag).device().store(1, Relaxed);
    } else {
        while atomic(flag).device().load(Relaxed) == 0 {}
        fence::<Device>(AcqRel);
        *y = *data;
    }
}

/// CUDA's `__threadfence()` and a volatile flag.
//@ right, 2 x 1: zero 1, zero 1, out 1
#[kernel]
pub unsafe fn volatile_flag_with_fences(flag: *mut u32, data: *mut u32, y: *mut u32) {
    if bid() == 0 {
        *data = 5;
        device_fence();
        flag.write_volatile(1);
    } else {
        while flag.read_volatile() == 0 {}
        device_fence();
        *y = *data;
    }
}

//@ wrong, 2 x 1: zero 1, zero 1, out 1
#[kernel]
pub unsafe fn volatile_flag_without_fences(flag: *mut u32, data: *mut u32, y: *mut u32) {
    if bid() == 0 {
        *data = 5; //~ data-race
        flag.write_volatile(1);
    } else {
        while flag.read_volatile() == 0 {}
        *y = *data; //~ data-race
    }
}

/// The fence reaches the writer's own block only.
//@ wrong, 2 x 1: zero 1, zero 1, out 1
#[kernel]
pub unsafe fn flag_with_fence_of_block_scope(flag: *mut u32, data: *mut u32, y: *mut u32) {
    if bid() == 0 {
        *data = 5; //~ data-race
        block_fence();
        flag.write_volatile(1);
    } else {
        while flag.read_volatile() == 0 {}
        device_fence();
        *y = *data; //~ data-race
    }
}

/// The reader's fence reaches its own block only.
//@ wrong, 2 x 1: zero 1, zero 1, out 1
#[kernel]
pub unsafe fn flag_with_acquire_fence_of_block_scope(flag: *mut u32, data: *mut u32, y: *mut u32) {
    if bid() == 0 {
        *data = 5; //~ data-race
        device_fence();
        atomic(flag).device().store(1, Relaxed);
    } else {
        while atomic(flag).device().load(Relaxed) == 0 {}
        block_fence();
        *y = *data; //~ data-race
    }
}

//@ wrong, 2 x 1: zero 1, zero 1, out 1
#[kernel]
pub unsafe fn flag_acquired_with_block_scope(flag: *mut u32, data: *mut u32, y: *mut u32) {
    if bid() == 0 {
        *data = 5; //~ data-race
        atomic(flag).device().store(1, Release); //~ scoped-race?
    } else {
        while atomic(flag).block().load(Acquire) == 0 {} //~ scoped-race?
        *y = *data; //~ data-race
    }
}

/// Block scope is enough for the warps of one block.
//@ right, 1 x 64: zero 1, zero 1, out 1
#[kernel]
pub unsafe fn flag_with_fences_of_block_scope_in_a_block(flag: *mut u32, data: *mut u32, y: *mut u32) {
    if tid() == 0 {
        *data = 5;
        block_fence();
        atomic(flag).device().store(1, Relaxed);
    } else if tid() == 32 {
        while atomic(flag).device().load(Relaxed) == 0 {}
        block_fence();
        *y = *data;
    }
}

/// The flag is information only: PTX takes volatile accesses for atomic ones.
//@ right, 2 x 1: zero 1
#[kernel]
pub unsafe fn volatile_accesses_of_two_blocks(x: *mut u32) {
    for _ in 0..3 {
        let _ = x.read_volatile(); //~ volatile-race
        x.write_volatile(bid() as u32); //~ volatile-race
    }
}

//@ wrong, 2 x 1: zero 1, zero 1, out 1
#[kernel]
pub unsafe fn flag_released_and_not_acquired(flag: *mut u32, data: *mut u32, y: *mut u32) {
    if bid() == 0 {
        *data = 5; //~ data-race
        atomic(flag).device().store(1, Release);
    } else {
        while atomic(flag).device().load(Relaxed) == 0 {}
        *y = *data; //~ data-race
    }
}

/// Each block hands its sum on to the next; the flag is read without an order.
//@ wrong, 4 x 1: in 4, zero 4, zero 4
#[kernel]
pub unsafe fn look_back_without_acquire(x: *const u32, flags: *mut u32, sums: *mut u32) {
    let i = bid();
    let mut sum = *x.add(i);
    if i > 0 {
        while atomic(flags.add(i - 1)).device().load(Relaxed) == 0 {}
        sum += *sums.add(i - 1); //~ data-race
    }
    *sums.add(i) = sum; //~ data-race
    atomic(flags.add(i)).device().store(1, Release);
}

//@ right, 4 x 1: in 4, zero 4, zero 4
#[kernel]
pub unsafe fn look_back_with_acquire(x: *const u32, flags: *mut u32, sums: *mut u32) {
    let i = bid();
    let mut sum = *x.add(i);
    if i > 0 {
        while atomic(flags.add(i - 1)).device().load(Acquire) == 0 {}
        sum += *sums.add(i - 1);
    }
    *sums.add(i) = sum;
    atomic(flags.add(i)).device().store(1, Release);
}

/// State and sum are one word, which needs no order.
//@ right, 4 x 1: in 4, zero 4
#[kernel]
pub unsafe fn look_back_in_one_word(x: *const u32, words: *mut u32) {
    let i = bid();
    let mut sum = *x.add(i);
    if i > 0 {
        sum += loop {
            let word = atomic(words.add(i - 1)).load();
            if word > 0 {
                break word - 1;
            }
        };
    }
    atomic(words.add(i)).store(sum + 1);
}

//@ wrong, 4 x 32: in 128, zero 4, zero 1, out 1
#[kernel]
pub unsafe fn last_block_without_fence(x: *const u32, sums: *mut u32, count: *mut u32, y: *mut u32) {
    if tid() == 0 {
        *sums.add(bid()) = *x.add(gid()); //~ data-race
        if atomic(count).fetch_add(1) == thread::grid_dim_x() - 1 {
            let mut sum = 0;
            for block in 0..4 {
                sum += *sums.add(block); //~ data-race
            }
            *y = sum;
        }
    }
}

//@ right, 4 x 32: in 128, zero 4, zero 1, zero 1
#[kernel]
pub unsafe fn last_block_with_fence(x: *const u32, sums: *mut u32, count: *mut u32, y: *mut u32) {
    if tid() == 0 {
        *sums.add(bid()) = *x.add(gid());
        device_fence();
        if atomic(count).fetch_add(1) == thread::grid_dim_x() - 1 {
            device_fence();
            let mut sum = 0;
            for block in 0..4 {
                sum += *sums.add(block);
            }
            *y = sum;
        }
    }
}

/// A block's last element needs the next block's first one, which that block changes.
//@ wrong, 2 x 64: in 129
#[kernel]
pub unsafe fn shift_in_place(x: *mut u32) {
    let next = *x.add(gid() + 1); //~ data-race
    sync_threads();
    *x.add(gid()) = next; //~ data-race
}

//@ right, 2 x 64: in 129, out 128
#[kernel]
pub unsafe fn shift_to_another_place(x: *const u32, y: *mut u32) {
    *y.add(gid()) = *x.add(gid() + 1);
}

/// With one block a barrier is enough.
//@ right, 1 x 64: in 65
#[kernel]
pub unsafe fn shift_in_place_in_one_block(x: *mut u32) {
    let next = *x.add(gid() + 1);
    sync_threads();
    *x.add(gid()) = next;
}

//@ wrong, 2 x 32: out 65
#[kernel]
pub unsafe fn outputs_overlap(y: *mut u32) {
    let i = gid();
    *y.add(i) = i as u32; //~ data-race
    *y.add(i + 1) = 7; //~ data-race
}

//@ right, 2 x 32: out 128
#[kernel]
pub unsafe fn outputs_interleave(y: *mut u32) {
    let i = gid();
    *y.add(2 * i) = i as u32;
    *y.add(2 * i + 1) = 7;
}

//@ wrong, 2 x 32: out 32
#[kernel]
pub unsafe fn blocks_write_the_same_elements(y: *mut u32) {
    *y.add(tid()) = gid() as u32; //~ data-race
}

/// All blocks meet at a counter, whose readers do not take in what was written before.
//@ wrong, cooperative, 4 x 1: in 4, zero 1, zero 4, out 4
#[kernel]
pub unsafe fn grid_barrier_without_fences(x: *const u32, count: *mut u32, sums: *mut u32, y: *mut u32) {
    *sums.add(bid()) = *x.add(bid()); //~ data-race
    atomic(count).fetch_add(1);
    while atomic(count).load() < thread::grid_dim_x() {}
    *y.add(bid()) = *sums.add(3 - bid()); //~ data-race
}

//@ right, cooperative, 4 x 1: in 4, zero 1, zero 4, out 4
#[kernel]
pub unsafe fn grid_barrier_with_fences(x: *const u32, count: *mut u32, sums: *mut u32, y: *mut u32) {
    *sums.add(bid()) = *x.add(bid());
    device_fence();
    atomic(count).fetch_add(1);
    while atomic(count).load() < thread::grid_dim_x() {}
    device_fence();
    *y.add(bid()) = *sums.add(3 - bid());
}

/// The place is handed out before it is filled.
//@ wrong, 2 x 1: zero 1, zero 2, out 1
#[kernel]
pub unsafe fn queue_counts_before_it_writes(count: *mut u32, items: *mut u32, y: *mut u32) {
    if bid() == 0 {
        let place = atomic(count).device().fetch_add(1, Release);
        *items.add(place as usize) = 9; //~ data-race
    } else {
        while atomic(count).device().load(Acquire) == 0 {}
        *y = *items; //~ data-race
    }
}

//@ right, 2 x 1: zero 1, zero 2, out 1
#[kernel]
pub unsafe fn queue_writes_before_it_counts(count: *mut u32, items: *mut u32, y: *mut u32) {
    if bid() == 0 {
        *items = 9;
        atomic(count).device().fetch_add(1, Release);
    } else {
        while atomic(count).device().load(Acquire) == 0 {}
        *y = *items;
    }
}

/// The first thread publishes what its block has written; the barrier orders the others before it.
//@ right, 2 x 64: zero 1, zero 64, out 64
#[kernel]
pub unsafe fn one_thread_publishes_for_its_block(flag: *mut u32, data: *mut u32, y: *mut u32) {
    if bid() == 0 {
        *data.add(tid()) = tid() as u32;
        sync_threads();
        if tid() == 0 {
            atomic(flag).device().store(1, Release);
        }
    } else {
        if tid() == 0 {
            while atomic(flag).device().load(Acquire) == 0 {}
        }
        sync_threads();
        *y.add(tid()) = *data.add(63 - tid());
    }
}

//@ wrong, 2 x 64: zero 1, zero 64, out 64
#[kernel]
pub unsafe fn one_thread_publishes_without_barrier(flag: *mut u32, data: *mut u32, y: *mut u32) {
    if bid() == 0 {
        *data.add(tid()) = tid() as u32; //~ data-race
        if tid() == 0 {
            atomic(flag).device().store(1, Release);
        }
    } else {
        if tid() == 0 {
            while atomic(flag).device().load(Acquire) == 0 {}
        }
        sync_threads();
        *y.add(tid()) = *data.add(63 - tid()); //~ data-race
    }
}
