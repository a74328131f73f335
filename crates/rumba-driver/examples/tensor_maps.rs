//! Prints the words of tensor maps that differ in one argument each, to compare devices:
//! `RUMBA_DEVICE=soft cargo run -p rumba-driver --example tensor_maps`, and the same with `gpu`. A test compares them with what
//! an H200 printed.

#[path = "../tests/it/driver/abi.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod abi;
#[path = "../tests/it/driver/tensor_maps.rs"]
mod tensor_maps;

use abi::{cuCtxSetCurrent, cuDevicePrimaryCtxRetain, cuInit};
use rumba_driver as _;

fn main() {
    let mut context = 0;
    // SAFETY: as cuda.h declares them; the context is a local variable.
    let codes = unsafe { [cuInit(0), cuDevicePrimaryCtxRetain(&raw mut context, 0), cuCtxSetCurrent(context)] };
    assert_eq!(codes, [0; 3], "a context");
    print!("{}", tensor_maps::words());
}
