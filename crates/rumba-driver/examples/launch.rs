//! Measures the cost of an empty kernel: launched and waited for, and launched in a row. `cargo run --release --example
//! launch`.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use rumba_driver as _;

unsafe extern "C" {
    fn cuInit(flags: c_uint) -> c_int;
    fn cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int) -> c_int;
    fn cuCtxSetCurrent(context: usize) -> c_int;
    fn cuCtxSynchronize() -> c_int;
    fn cuModuleLoadData(module: *mut usize, image: *const c_void) -> c_int;
    fn cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) -> c_int;
    fn cuLaunchKernel(
        function: usize,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: usize,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> c_int;
}

const PTX: &std::ffi::CStr =
    c".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing()\n{\n    ret;\n}\n";

/// Calls in a row that are timed together.
const CALLS: u32 = 1000;

fn main() {
    let (mut context, mut module, mut function) = (0, 0, 0);
    let succeed = |code: c_int| assert_eq!(code, 0);
    // SAFETY: the calls are declared as in cuda.h and get pointers to local variables.
    unsafe {
        succeed(cuInit(0));
        succeed(cuDevicePrimaryCtxRetain(&raw mut context, 0));
        succeed(cuCtxSetCurrent(context));
        succeed(cuModuleLoadData(&raw mut module, PTX.as_ptr().cast()));
        succeed(cuModuleGetFunction(&raw mut function, module, c"nothing".as_ptr()));
    }
    let launch = || {
        // SAFETY: the kernel takes no parameters.
        succeed(unsafe { cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, null_mut(), null_mut()) });
    };
    // SAFETY: a call without arguments.
    let wait = || succeed(unsafe { cuCtxSynchronize() });
    let mut best = [Duration::MAX; 2];
    for _ in 0..30 {
        let start = Instant::now();
        for _ in 0..CALLS {
            launch();
            wait();
        }
        best[0] = best[0].min(start.elapsed());
        let start = Instant::now();
        for _ in 0..CALLS {
            launch();
        }
        wait();
        best[1] = best[1].min(start.elapsed());
    }
    let [alone, in_a_row] = best.map(|time| time / CALLS);
    println!("launch and wait: {alone:?}, launches in a row: {in_a_row:?}");
}
