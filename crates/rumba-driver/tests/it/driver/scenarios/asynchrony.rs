//! Work that runs in the order of streams while the host continues.

use super::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static MAY_GO_ON: AtomicBool = AtomicBool::new(false);

/// Keeps its stream busy until the test lets it continue, which may take minutes on a busy machine. If the test fails
/// before, the stream becomes free after this time.
extern "C" fn hold(_: *mut c_void) {
    for _ in 0..300_000 {
        if MAY_GO_ON.load(Ordering::SeqCst) {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn go_on() {
    MAY_GO_ON.store(true, Ordering::SeqCst);
}

/// A stream that is busy until [`go_on`].
fn held(flags: u32) -> usize {
    let mut stream = 0;
    MAY_GO_ON.store(false, Ordering::SeqCst);
    steps! {
        0 => cuStreamCreate(&mut stream, flags);
        0 => cuLaunchHostFunc(stream, Some(hold), null_mut());
    }
    stream
}

/// Page-locked memory of one word.
fn pinned(value: u32) -> *mut u32 {
    let mut address = 0;
    steps! { 0 => cuMemHostAlloc(&mut address, 4, 0); }
    let word = address as *mut u32;
    // SAFETY: the allocation has four bytes and is not used elsewhere yet.
    unsafe { word.write_volatile(value) };
    word
}

fn read(word: *mut u32) -> u32 {
    // SAFETY: the word is one of `pinned`; the device writes it before the test reads it, if at all.
    unsafe { word.read_volatile() }
}

pub fn asynchrony() {
    primary();
    let store = kernel(kernels(), c"store");
    let word = pinned(0);
    let target = word as u64;
    let mut parameters = [(&raw const target).cast::<c_void>()];
    let (mut event, mut other, mut early) = (0, 0, 0);
    steps! {
        0 => cuEventCreate(&mut event, 0);
        0 => cuEventCreate(&mut early, 0);
        0 => cuStreamCreate(&mut other, 1);
        // The first launch of a kernel may load it, which waits for all streams.
        0 => cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, other, parameters.as_mut_ptr(), null_mut());
        0 => cuStreamSynchronize(other);
    }
    // SAFETY: the kernel that writes the word has ended.
    unsafe { word.write_volatile(0) };
    let stream = held(1);
    steps! {
        0 => cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, stream, parameters.as_mut_ptr(), null_mut());
        0 => cuEventRecord(event, stream);
        600 => cuStreamQuery(stream);
        600 => cuEventQuery(event);
        600 => cuEventElapsedTime(&mut 0.0, event, event);
        0 => cuStreamQuery(other);
        // A stream that waits for an event waits for the work before the event.
        0 => cuEventRecord(early, other);
        0 => cuEventSynchronize(early);
        0 => cuStreamWaitEvent(other, event, 0);
        600 => cuStreamQuery(other);
    }
    assert_eq!(read(word), 0, "the kernel is behind a host function that has not ended");
    go_on();
    steps! {
        0 => cuStreamSynchronize(other);
        0 => cuEventQuery(event);
        0 => cuStreamQuery(stream);
    }
    assert_eq!(read(word), 7);
    let mut time = -1.0;
    steps! { 0 => cuEventElapsedTime(&mut time, early, event); }
    assert!(time > 0.0, "{time}: the later event is reached later");
    // A stream can wait for a word that another one writes.
    steps! {
        0 => cuStreamWaitValue32_v2(stream, target, 9, 1);
        600 => cuStreamQuery(stream);
        0 => cuStreamWriteValue32_v2(other, target, 9, 0);
        0 => cuStreamSynchronize(stream);
        1 => cuStreamWaitValue32_v2(stream, 16, 9, 1);
    }
    assert_eq!(read(word), 9);
}

pub fn kernels_side_by_side() {
    /// Waits for a word to become 7.
    const WAITING: &CStr = c".version 7.0\n.target sm_70\n.address_size 64\n\
        .visible .entry waiting(.param .u64 pointer){ .reg .b64 %p; .reg .b32 %v; .reg .pred %c;\n\
        ld.param.u64 %p, [pointer];\n\
        $again: ld.volatile.global.u32 %v, [%p]; setp.ne.u32 %c, %v, 7; @%c bra $again; ret; }\n";
    primary();
    let (mut module, mut first, mut second) = (0, 0, 0);
    let word = allocate(4);
    let mut parameters = [(&raw const word).cast::<c_void>()];
    steps! {
        0 => cuModuleLoadData(&mut module, WAITING.as_ptr().cast());
        0 => cuMemsetD32_v2(word, 0, 1);
        0 => cuStreamCreate(&mut first, 1);
        0 => cuStreamCreate(&mut second, 1);
    }
    let (waiting, store) = (kernel(module, c"waiting"), kernel(kernels(), c"store"));
    steps! {
        // The first launch of a kernel may load it, which waits for all streams.
        0 => cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, second, parameters.as_mut_ptr(), null_mut());
        0 => cuLaunchKernel(waiting, 1, 1, 1, 32, 1, 1, 0, first, parameters.as_mut_ptr(), null_mut());
        0 => cuStreamSynchronize(first);
        0 => cuMemsetD32_v2(word, 0, 1);
        0 => cuCtxSynchronize();
        0 => cuLaunchKernel(waiting, 1, 1, 1, 32, 1, 1, 0, first, parameters.as_mut_ptr(), null_mut());
        600 => cuStreamQuery(first);
        0 => cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, second, parameters.as_mut_ptr(), null_mut());
        0 => cuStreamSynchronize(first);
    }
}

pub fn default_streams() {
    primary();
    let (mut plain, mut free) = (0, 0);
    let stream = held(0);
    steps! {
        0 => cuStreamCreate(&mut plain, 0);
        0 => cuStreamCreate(&mut free, 1);
        // The default stream waits for blocking streams, and they for it.
        0 => cuLaunchHostFunc(NONE, Some(hold), null_mut());
        600 => cuStreamQuery(NONE);
        0 => cuLaunchHostFunc(plain, Some(hold), null_mut());
        600 => cuStreamQuery(plain);
        0 => cuStreamQuery(free);
        0 => cuLaunchHostFunc(free, Some(hold), null_mut());
    }
    go_on();
    steps! {
        0 => cuStreamSynchronize(plain);
        0 => cuStreamQuery(NONE);
        0 => cuStreamQuery(stream);
        0 => cuCtxSynchronize();
        0 => cuStreamQuery(free);
    }
}

pub fn pageable_copies() {
    primary();
    let device = allocate(4);
    let (mut value, mut back) = (5_u32, 0_u32);
    let stream = held(1);
    // Memory that is not page-locked is read before the call returns.
    steps! { 0 => cuMemcpyHtoDAsync_v2(device, (&raw const value).cast(), 4, stream); }
    // SAFETY: a variable of this function; the write must not be moved before the call.
    unsafe { (&raw mut value).write_volatile(6) };
    let word = pinned(0);
    steps! {
        0 => cuMemcpyDtoHAsync_v2(word.cast(), device, 4, stream);
        600 => cuStreamQuery(stream);
    }
    assert_eq!(read(word), 0);
    go_on();
    // And it is written before the call returns.
    steps! { 0 => cuMemcpyDtoHAsync_v2((&raw mut back).cast(), device, 4, stream); }
    assert_eq!((read(word), back), (5, 5));
}

pub fn unfinished_work() {
    primary();
    let store = kernel(kernels(), c"store");
    let pointer = allocate(4);
    let mut parameters = [(&raw const pointer).cast::<c_void>()];
    let stream = held(0);
    steps! { 0 => cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, stream, parameters.as_mut_ptr(), null_mut()); }
    go_on();
    // Freeing waits for the work that may use the memory; a stream may go before its work is done.
    steps! {
        0 => cuStreamDestroy_v2(stream);
        0 => cuMemFree_v2(pointer);
        0 => cuCtxSynchronize();
    }
    let mut context = 0;
    steps! { 0 => cuCtxCreate_v2(&mut context, 0, 0); }
    let stream = held(0);
    steps! { 0 => cuLaunchHostFunc(stream, Some(hold), null_mut()); }
    go_on();
    steps! { 0 => cuCtxDestroy_v2(context); }
}
