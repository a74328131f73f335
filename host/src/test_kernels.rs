//! Two kernels with their PTX written by hand, for examples and tests that need no kernel toolchain.
//!
//! The launchers are what `#[kernel]` would make of these functions:
//!
//! ```text
//! fn scale(factor: f32, values: DisjointSlice<f32>)          values[i] *= factor
//! fn saxpy(a: f32, x: &[f32], y: DisjointSlice<f32>)          y[i] += a * x[i]
//! ```

use cuda_std::DisjointSlice;
use cuda_std::launch::{Argument, Call, Kernel, Parameter, Role};

/// The kernels.
pub const PTX: &str = include_str!("test_kernels.ptx");

/// `values[i] *= factor`
pub fn scale<'a>(factor: f32, values: impl Argument<'a, DisjointSlice<f32>>) -> Call<'a> {
    static KERNEL: Kernel = Kernel::new(
        "scale",
        module_path!(),
        file!(),
        line!(),
        &[
            Parameter::new("factor", "f32", Role::Value),
            Parameter::new("values", "DisjointSlice<f32>", Role::PerThread { rank: 1, elements: 1 }),
        ],
    );
    // SAFETY: both parameters are bound below, in order.
    let mut call = unsafe { Call::new(&KERNEL) };
    call.arguments_mut().push_value(factor);
    values.bind(call.arguments_mut());
    call
}

/// `y[i] += a * x[i]`
pub fn saxpy<'a>(a: f32, x: impl Argument<'a, [f32]>, y: impl Argument<'a, DisjointSlice<f32>>) -> Call<'a> {
    static KERNEL: Kernel = Kernel::new(
        "saxpy",
        module_path!(),
        file!(),
        line!(),
        &[
            Parameter::new("a", "f32", Role::Value),
            Parameter::new("x", "&[f32]", Role::Input),
            Parameter::new("y", "DisjointSlice<f32>", Role::PerThread { rank: 1, elements: 1 }),
        ],
    );
    // SAFETY: all parameters are bound below, in order.
    let mut call = unsafe { Call::new(&KERNEL) };
    call.arguments_mut().push_value(a);
    x.bind(call.arguments_mut());
    y.bind(call.arguments_mut());
    call
}
