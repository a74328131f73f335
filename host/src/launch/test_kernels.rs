//! Two kernels with their PTX written by hand, for examples and tests that need no kernel toolchain.
//!
//! The launchers are what `#[kernel]` would make of these functions:
//!
//! ```text
//! fn scale(factor: f32, values: DisjointSlice<f32>)          values[i] *= factor
//! fn saxpy(a: f32, x: &[f32], y: DisjointSlice<f32>)          y[i] += a * x[i]
//! ```

use cuda_std::DisjointSlice;
use cuda_std::launch::{Argument, Call, Kernel, Parameter};

/// The kernels.
pub const PTX: &str = include_str!("test_kernels.ptx");

/// `values[i] *= factor`
pub fn scale<'a>(factor: f32, values: impl Argument<'a, DisjointSlice<'a, f32>>) -> Call<'a> {
    static KERNEL: Kernel = Kernel::new(
        "scale",
        module_path!(),
        file!(),
        line!(),
        &[
            Parameter::bound::<f32>("factor", "f32"),
            Parameter::bound::<DisjointSlice<f32>>("values", "DisjointSlice<f32>"),
        ],
    );
    // SAFETY: both parameters are bound below, in order.
    let mut call = unsafe { Call::new(&KERNEL) };
    // SAFETY: as above.
    let arguments = unsafe { call.arguments_mut() };
    arguments.push_value(factor);
    values.bind(arguments);
    call
}

/// `y[i] += a * x[i]`
pub fn saxpy<'a>(a: f32, x: impl Argument<'a, [f32]>, y: impl Argument<'a, DisjointSlice<'a, f32>>) -> Call<'a> {
    static KERNEL: Kernel = Kernel::new(
        "saxpy",
        module_path!(),
        file!(),
        line!(),
        &[
            Parameter::bound::<f32>("a", "f32"),
            Parameter::bound::<[f32]>("x", "&[f32]"),
            Parameter::bound::<DisjointSlice<f32>>("y", "DisjointSlice<f32>"),
        ],
    );
    // SAFETY: all parameters are bound below, in order.
    let mut call = unsafe { Call::new(&KERNEL) };
    // SAFETY: as above.
    let arguments = unsafe { call.arguments_mut() };
    arguments.push_value(a);
    x.bind(arguments);
    y.bind(arguments);
    call
}

/// Makes the software device of this process the one in `libcuda.so` beside the library that `RUMBA_SOFT_LIBRARY` names, which other
/// libraries of the process find too. For the first statement of a program.
#[cfg(feature = "cudarc")]
pub fn share_the_driver() {
    let Some(library) = shared_driver() else { return };
    // SAFETY: the program has one thread yet.
    unsafe { std::env::set_var("RUMBA_SOFT_LIBRARY", library) };
}

/// The file for [`share_the_driver`], where tests run from cargo.
#[cfg(feature = "cudarc")]
pub fn shared_driver() -> Option<std::path::PathBuf> {
    let device = std::path::PathBuf::from(std::env::var_os("RUMBA_SOFT_LIBRARY")?);
    let library = device.with_file_name("libcuda.so");
    assert!(library.is_file(), "{} is missing: `cargo build --release -p rumba-libcuda`", library.display());
    Some(library)
}

#[cfg(test)]
mod tests {
    use rumba_ptx::foot;

    /// `UPDATE_EXPECT=1` writes it.
    #[test]
    fn the_text_ends_as_the_builder_would_end_it() {
        let (x, mut y) = ([0.0], [0.0]);
        let scale = super::scale(1.0, &mut y).kernel();
        let saxpy = super::saxpy(1.0, &x, &mut y).kernel();
        let described = [scale, saxpy].map(|kernel| (kernel.name, kernel.describe()));
        let mut expected = foot::without(super::PTX).to_owned();
        foot::seal(&mut expected, described.iter().map(|(name, text)| (*name, text.as_str())));
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/launch/test_kernels.ptx");
            std::fs::write(file, expected).expect("the file is ours");
        } else {
            assert_eq!(super::PTX, expected);
        }
    }
}
