//! Measures the cost of an exported call beyond that of the function that it jumps to.
//!
//! `cargo run --release -p rumba-driver --example jump`: the same call by its symbol and by the address that
//! `cuGetProcAddress` gives, in turns, the best of several rounds.

use std::ffi::{c_char, c_int, c_void};
use std::hint::black_box;
use std::time::Instant;

use rumba_driver as _;

type GetVersion = unsafe extern "C" fn(*mut c_int) -> c_int;

unsafe extern "C" {
    fn cuDriverGetVersion(version: *mut c_int) -> c_int;
    fn cuGetProcAddress(symbol: *const c_char, function: *mut *mut c_void, version: c_int, flags: u64) -> c_int;
}

const CALLS: u32 = 2_000_000;

/// Nanoseconds per call.
fn time(call: GetVersion) -> f64 {
    let mut version = 0;
    let start = Instant::now();
    for _ in 0..CALLS {
        // SAFETY: `call` is cuDriverGetVersion in either form.
        unsafe { black_box(call)(&raw mut version) };
    }
    start.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

fn main() {
    let mut address = std::ptr::null_mut();
    let name = c"cuDriverGetVersion";
    // SAFETY: as cuda.h declares it.
    let code = unsafe { cuGetProcAddress(name.as_ptr(), &raw mut address, 11_030, 0) };
    assert_eq!(code, 0, "cuGetProcAddress");
    // SAFETY: the driver gave this address for that call.
    let direct: GetVersion = unsafe { std::mem::transmute(address) };
    let mut best = [f64::INFINITY; 2];
    for _ in 0..20 {
        best[0] = best[0].min(time(cuDriverGetVersion));
        best[1] = best[1].min(time(direct));
    }
    let [symbol, direct] = best;
    println!("device: {:?}", rumba_driver::device_kind());
    println!("by symbol {symbol:.2} ns, by address {direct:.2} ns, the jump costs {:.2} ns", symbol - direct);
}
