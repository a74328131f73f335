//! Streams, events, limits.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

static CALLED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(step: *mut c_void) {
    CALLED.fetch_add(step as usize, Ordering::SeqCst);
}

extern "C" fn count_callback(_stream: usize, status: c_int, step: *mut c_void) {
    assert_eq!(status, 0);
    CALLED.fetch_add(step as usize, Ordering::SeqCst);
}

pub fn streams() {
    let context = primary();
    let (mut stream, mut other, mut number, mut flags, mut handle, mut graph) = (0, 0, 9, 9, 0, 0);
    steps! {
        0 => cuStreamCreate(&mut other, 1);
        1 => cuStreamCreate(null_mut(), 0);
        1 => cuStreamCreate(&mut stream, 8);
        0 => cuStreamGetFlags(other, &mut flags);
        0 => cuStreamCreateWithPriority(&mut stream, 0, -100);
        0 => cuStreamGetPriority(stream, &mut number);
    }
    assert_eq!((number, flags), (-5, 1), "a priority is clamped");
    steps! {
        0 => cuStreamGetFlags(stream, &mut flags);
        0 => cuStreamGetPriority(NONE, &mut number);
        1 => cuStreamGetFlags(stream, null_mut());
        0 => cuStreamGetCtx(stream, &mut handle);
        0 => cuStreamQuery(stream);
        0 => cuStreamSynchronize(stream);
        400 => cuStreamWaitEvent(stream, NONE, 0);
        400 => cuStreamDestroy_v2(NONE);
        0 => cuStreamSynchronize(1);
        0 => cuStreamSynchronize(2);
        400 => cuStreamDestroy_v2(1);
    }
    assert_eq!((flags, number, handle), (0, 0, context));
    steps! {
        1 => cuLaunchHostFunc(NONE, None, null_mut());
        0 => cuLaunchHostFunc(stream, Some(count), std::ptr::without_provenance_mut(1));
        0 => cuStreamSynchronize(stream);
        1 => cuStreamAddCallback(stream, None, null_mut(), 0);
        0 => cuStreamAddCallback(stream, Some(count_callback), std::ptr::without_provenance_mut(10), 0);
        0 => cuStreamSynchronize(stream);
        1 => cuStreamAttachMemAsync(stream, 16, 0, 1);
        0 => cuStreamIsCapturing(stream, &mut number);
        0 => cuStreamDestroy_v2(stream);
        0 => cuStreamDestroy_v2(other);
        0 => cuGraphCreate(&mut graph, 0);
        0 => cuGraphDestroy(graph);
    }
    assert_eq!((CALLED.load(Ordering::SeqCst), number), (11, 0));
}

pub fn events() {
    primary();
    let (mut stream, mut event, mut end, mut untimed, mut time) = (0, 0, 0, 0, 9.0);
    steps! {
        0 => cuStreamCreate(&mut stream, 0);
        1 => cuEventCreate(null_mut(), 0);
        1 => cuEventCreate(&mut event, 0xff);
        1 => cuEventCreate(&mut event, 4);
        0 => cuEventCreate(&mut event, 0);
        0 => cuEventCreate(&mut end, 0);
        0 => cuEventQuery(event);
        0 => cuEventSynchronize(event);
        400 => cuEventElapsedTime(&mut time, event, end);
        0 => cuStreamWaitEvent(stream, event, 0);
        1 => cuStreamWaitEvent(stream, event, 9);
        0 => cuEventRecord(event, stream);
        400 => cuEventElapsedTime(&mut time, event, end);
        0 => cuEventRecord(end, stream);
        0 => cuEventSynchronize(end);
        400 => cuEventElapsedTime(null_mut(), event, end);
        0 => cuEventElapsedTime(&mut time, end, event);
    }
    assert!(time < 0.0, "{time}");
    steps! { 0 => cuEventElapsedTime(&mut time, event, end); }
    assert!(time > 0.0, "{time}");
    steps! { 0 => cuEventElapsedTime(&mut time, event, event); }
    assert_eq!(time, 0.0);
    steps! {
        0 => cuEventCreate(&mut untimed, 2);
        0 => cuEventRecord(untimed, NONE);
        0 => cuEventSynchronize(untimed);
        400 => cuEventElapsedTime(&mut time, event, untimed);
        400 => cuEventRecord(NONE, NONE);
        400 => cuEventQuery(NONE);
        400 => cuEventSynchronize(NONE);
        400 => cuEventElapsedTime(&mut time, NONE, NONE);
        0 => cuEventDestroy_v2(untimed);
        0 => cuEventDestroy_v2(event);
        0 => cuEventDestroy_v2(end);
        0 => cuStreamDestroy_v2(stream);
    }
}

pub fn limits() {
    primary();
    let (mut value, mut number, mut least, mut greatest) = (0, 9, 9, 9);
    steps! {
        1 => cuCtxGetLimit(&mut value, 99);
        1 => cuCtxGetLimit(null_mut(), 0);
        215 => cuCtxGetLimit(&mut value, 3);
        0 => cuCtxSetLimit(0, 1000);
        0 => cuCtxGetLimit(&mut value, 0);
        1 => cuCtxSetLimit(0, 1 << 30);
        1 => cuCtxSetLimit(99, 1);
        215 => cuCtxSetLimit(3, 2);
        0 => cuCtxSetLimit(1, 1 << 21);
        0 => cuCtxSetLimit(2, 16 << 20);
    }
    assert_eq!(value, 1008, "stacks come in steps of 16 bytes");
    steps! {
        0 => cuCtxGetLimit(&mut value, 2);
        0 => cuCtxSetCacheConfig(2);
        0 => cuCtxGetCacheConfig(&mut number);
        1 => cuCtxSetCacheConfig(9);
        0 => cuCtxSetSharedMemConfig(2);
        0 => cuCtxGetSharedMemConfig(&mut greatest);
        1 => cuCtxSetSharedMemConfig(9);
    }
    assert_eq!((value, number, greatest), (16 << 20, 2, 1), "banks are 4 bytes wide");
    steps! {
        0 => cuCtxGetStreamPriorityRange(null_mut(), null_mut());
        0 => cuCtxGetStreamPriorityRange(&mut least, &mut greatest);
    }
    assert_eq!((least, greatest), (0, -5));
}
