//! The macros of `cuda_std`: `#[kernel]` and `print!`.
//!
//! Use them through `cuda_std`, which re-exports them and whose items they name. They look at
//! syntax only; what a type means is decided by the traits of `cuda_std`.

mod kernel;
mod print;
mod signature;

use proc_macro::TokenStream;

/// Makes a function a kernel: a PTX entry on the device, a typed launcher on the host.
///
/// The function takes numbers and `#[repr(C)]` structures by value, slices `&[T]` to read, outputs
/// (`DisjointSlice<T>`, `DisjointSlice2<T>`, `DisjointSlice3<T>`, `PerBlock<T>`) to write, and
/// shared memory (`Shared<..>`), and returns nothing. Raw pointers need an `unsafe fn`.
///
/// On the host there is a function of the same name, visibility and documentation. It takes an
/// argument for each parameter but the shared memory, and returns a `Call` that a runtime launches.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// y = a x + y
/// #[kernel]
/// pub fn saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
///     let i = grid::<1>();
///     if let Some(y) = y.get_mut(i) {
///         *y += a * x[i];
///     }
/// }
///
/// # fn main() {
/// let x = vec![1.0_f32; 1000];
/// let mut y = vec![0.0_f32; 1000];
/// let call = saxpy(2.0, &x, &mut y);
/// assert_eq!(call.kernel().name, "saxpy");
/// # }
/// ```
///
/// The PTX entry has the name of the function, so two kernels of one crate need two names, even in
/// different modules.
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(arguments.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Prints from a kernel, without a line end; see `cuda_std::io`.
#[proc_macro]
pub fn print(input: TokenStream) -> TokenStream {
    print::expand(input.into(), false)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Prints a line from a kernel; see `cuda_std::io`.
#[proc_macro]
pub fn println(input: TokenStream) -> TokenStream {
    print::expand(input.into(), true)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
