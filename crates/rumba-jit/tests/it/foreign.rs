//! Objects for AArch64: linked and run there, by an emulator too, and refused elsewhere.
//!
//! `objects/aarch64.o` is made of `objects/functions.ll` by
//! `opt -passes='default<O2>' | llc -mtriple=aarch64-unknown-linux-gnu -relocation-model=pic -filetype=obj`.

use super::Code;
use rumba_jit::LinkError;

const OBJECT: &[u8] = include_bytes!("objects/aarch64.o");

#[cfg(not(target_arch = "aarch64"))]
#[test]
fn they_are_refused() {
    assert!(matches!(Code::load(OBJECT), Err(LinkError::Processor)));
}

#[cfg(target_arch = "aarch64")]
#[test]
fn they_are_linked() {
    check(&Code::load(OBJECT).unwrap_or_else(|error: LinkError| panic!("{error}")));
}

/// The same text, compiled where the tests run.
#[test]
fn the_same_functions_here() {
    let Some(code) = super::code(include_str!("objects/functions.ll")) else {
        return;
    };
    check(&code.unwrap());
}

fn check(code: &Code) {
    let choose = function!(code, "choose", extern "C" fn(i32) -> i32);
    assert_eq!([0, 1, 2, 3, 4, 5].map(|case| choose(case)), [33, 15 ^ 77, 7, 991, 3, -1]);
    assert_eq!(function!(code, "deref", extern "C" fn() -> i32)(), 7);
    assert_eq!(function!(code, "byte", extern "C" fn(i64) -> u8)(3), b'd');
    let mut numbers = [2.0_f32; 8];
    function!(code, "scale", extern "C" fn(*mut f32))(numbers.as_mut_ptr());
    assert!((0..8).all(|lane| numbers[lane] == 2.0 * lane as f32));
    assert_eq!(function!(code, "remainder", extern "C" fn(f64, f64) -> f64)(7.5, 2.0), 1.5);
    assert!(function!(code, "is_held", extern "C" fn() -> bool)());
}
