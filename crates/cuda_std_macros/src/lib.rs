//! The macros of `cuda_std`: `#[kernel]`, `#[vectorize]`, `print!`, and attributes that kernel crates of Rust-CUDA use.
//!
//! Use them through `cuda_std`, which re-exports them and whose items they name. They look at
//! syntax only; what a type means is decided by the traits of `cuda_std`.

mod arguments;
mod guvectorize;
mod kernel;
mod kernels;
mod placement;
mod print;
mod reduction;
mod signature;
mod symbols;
mod vectorize;

use proc_macro::TokenStream;

/// Makes a function a kernel: a PTX entry on the device, a typed launcher on the host.
///
/// The function takes numbers and `#[repr(C)]` structures by value, slices `&[T]` to read, outputs
/// (`DisjointSlice<T>`, `Disjoint<T, PerThread<2>>`, `Disjoint<T, PerBlock>`, ..) to write, and
/// shared memory (`Shared<..>`), and returns nothing. An `unsafe fn` also takes raw pointers,
/// references, and any `Copy` type by value; its launcher is `unsafe` as well.
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
/// different modules: `#[kernel(name = "scale_rows")]` gives the entry another one.
///
/// Such a name must not be a function's of the device's runtime (`vprintf`, `malloc`, `memcpy`, names with `__` in front).
///
/// # What both sides agree on
///
/// Each side has its own compilation, which sees its own `cfg`s, features and `debug_assertions`. So the PTX says what each
/// parameter is: its role, size and alignment of its elements, its PTX parameters, the size of shared memory, and what the
/// kernel states. When a kernel is first launched, a runtime compares this with the launcher and refuses what differs. What a
/// kernel is passed lives as long as the launch, whatever its type is called: it cannot be kept in a static.
///
/// # What a kernel states about its launches
///
/// The compiler uses it, the launcher refuses launches that do not keep to it, and the driver sees it
/// in the PTX. Values are constant expressions of any integer type.
///
/// | argument | each launch has | becomes |
/// |---|---|---|
/// | `block = 256`, `block = (16, 16)` | blocks of exactly this shape | `.reqntid`; PTX 2.1 |
/// | `max_threads = 256` | blocks of at most as many threads | `.maxntid`; PTX 1.3 |
/// | `min_blocks = 2` | registers for at least as many blocks on a multiprocessor, of that size | `.minnctapersm`; PTX 2.0, sm_20 |
/// | `max_registers = 64` | at most as many registers for a thread | `.maxnreg`; PTX 1.3 |
/// | `cluster = 2`, `cluster = (2, 2)` | a grid of whole clusters of this shape | `.reqnctapercluster`; PTX 7.8, sm_90 |
/// | `dynamic_shared = 4096` | at least as many bytes of dynamic shared memory for a block | |
/// | `cooperative` | all blocks at the same time | |
/// | `dependent` | perhaps begun before the kernel ahead in its stream has ended, which its threads wait for first: see `cuda_std::sync::launch_dependents` | `griddepcontrol.wait`; PTX 7.8, sm_90 |
///
/// `fast_math` says how the kernel is compiled: nvcc's `-use_fast_math`, for this kernel and what it
/// calls. `arch = "sm_90a"` or `arch = ["sm_90a", "sm_80"]` says for which architectures, instead of the one that the crate's
/// other kernels are compiled for: see `cuda_std::arch`.
///
/// ```
/// use cuda_std::prelude::*;
///
/// const THREADS: usize = 128;
///
/// #[kernel(block = THREADS, min_blocks = 4)]
/// pub fn reverse(x: &[f32], mut y: DisjointSlice<f32>, mut tile: Shared<Tile<f32, THREADS>>) {
///     *tile.own() = x[grid::<1>()];
///     let tile = tile.sync();
///     if let Some(y) = y.own() {
///         *y = tile[THREADS - 1 - thread::thread_idx_x() as usize];
///     }
/// }
///
/// # fn main() {
/// let (x, mut y) = (vec![1.0; 256], vec![0.0; 256]);
/// let error = reverse(&x, &mut y).check([4, 1, 1], [64, 1, 1], 0).unwrap_err();
/// assert!(error.to_string().contains("declared with `block = 128`"));
/// # }
/// ```
///
/// # Generic kernels
///
/// A kernel with type or const parameters says what it is compiled for: a list for each parameter,
/// of which it takes every combination, or one list for several. Each becomes a PTX entry of its own,
/// and the launcher finds it by the types.
///
/// ```
/// use core::ops::Mul;
/// use cuda_std::{Element, prelude::*};
///
/// #[kernel(T = [f32, f64])]
/// pub fn scale<T: Element + Copy + Mul<Output = T>>(a: T, mut y: DisjointSlice<T>) {
///     if let Some(y) = y.own() {
///         *y = a * *y;
///     }
/// }
///
/// #[kernel((T, N) = [(u32, 256), (u64, 128)], block = N)]
/// pub fn fill<T: Element + Copy, const N: usize>(value: T, mut y: DisjointSlice<T>) {
///     if let Some(y) = y.own() {
///         *y = value;
///     }
/// }
///
/// # fn main() {
/// assert_eq!(scale::<f64>(2.0, &mut vec![1.0; 9]).kernel().name, "scale_f64");
/// assert_eq!(fill::<u32, 256>(7, &mut vec![0; 9]).kernel().name, "fill_u32_256");
/// # }
/// ```
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(arguments.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a function of numbers one of whole arrays: Numba's `vectorize`, NumPy's universal functions.
///
/// The function stays what it is, for the host and for kernels. Beside it there is a type of its name with one function,
/// `over`, which takes an operand for each parameter: arrays and views of a runtime, host slices, and numbers. Their shapes
/// broadcast as NumPy's do. A runtime maps what it returns to an array.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// The length of the hypotenuse.
/// #[vectorize]
/// pub fn hypotenuse(a: f32, b: f32) -> f32 {
///     (a * a + b * b).sqrt()
/// }
///
/// # fn main() {
/// assert_eq!(hypotenuse(3.0, 4.0), 5.0);
///
/// let rows = vec![3.0_f32, 6.0];
/// let call = hypotenuse::over((&rows, [2, 1]), (&[4.0_f32, 8.0, 0.0], [1, 3]));
/// assert_eq!(call.shape(), Ok([2, 3]));
/// # }
/// ```
///
/// With the runtime `rumba`: `let c: Array<f32, 2> = module.map(hypotenuse::over(&a, &b))?`.
///
/// Two kernels come of it, `hypotenuse_flat` for arrays that lie one element after the other, with four elements for each
/// thread, and `hypotenuse_strided` for all others. A generic function says what it is compiled for, and what
/// `#[kernel(..)]` takes besides may be stated too:
///
/// ```
/// use core::ops::Mul;
/// use cuda_std::prelude::*;
///
/// #[vectorize(T = [f32, f64, i32])]
/// pub fn square<T: Mul<Output = T> + Copy>(x: T) -> T {
///     x * x
/// }
///
/// # fn main() {
/// assert_eq!(square(3), 9);
/// assert_eq!(square::over(&[1.0_f64, 2.0]).function(), "square");
/// # }
/// ```
#[proc_macro_attribute]
pub fn vectorize(arguments: TokenStream, item: TokenStream) -> TokenStream {
    vectorize::expand(arguments.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// A module of kernels in the source file of a program, whose build script is `cuda_builder::build_kernels("src/main.rs")`.
///
/// The build script compiles the module for the device, without the rest of the file: the module names what it uses from other crates, and
/// nothing outside of itself. On the host the module gets a constant `PTX`, which `Device::load` takes. The module stands at the top level
/// of the file, and its package depends on `cuda_std`. A file may have several such modules; their kernels are in one PTX text.
///
/// ```ignore
/// #[rumba::kernels]
/// mod kernels {
///     use cuda_std::prelude::*;
///
///     #[kernel]
///     pub fn double(mut values: DisjointSlice<f32>) {
///         values.each(|value| *value *= 2.0);
///     }
/// }
/// ```
#[proc_macro_attribute]
pub fn kernels(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernels::expand(arguments.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a function of arrays one of many: Numba's `guvectorize`, NumPy's generalized universal functions.
///
/// The text names the axes of each call of the function: `"(m,n),(n,p)->(m,p)"`. Axes of the same name have the same
/// length, and numbers are lengths. The function takes a `View` for each operand, a plain element for an operand
/// without axes, and finally a `ViewMut` for the result. Leading axes broadcast, with one thread for each call.
/// Elements of a new result that the function does not write are 0.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Each point's distance from a centre.
/// #[guvectorize("(n),(n)->()")]
/// pub fn distance(point: View<f32, 1>, centre: View<f32, 1>, mut distance: ViewMut<f32, 0>) {
///     let mut sum = 0.0;
///     for axis in 0..point.shape()[0] {
///         let difference = point[axis] - centre[axis];
///         sum += difference * difference;
///     }
///     distance[[]] = sum.sqrt();
/// }
///
/// # fn main() {
/// let mut result = [0.0];
/// distance(View::new(&[0.0, 3.0], [2]), View::new(&[4.0, 0.0], [2]), ViewMut::new(&mut result, []));
/// assert_eq!(result, [5.0]);
///
/// let points = vec![0.0_f32; 1000 * 3];
/// let call = distance::over((&points, [1000, 3]), &[1.0_f32, 2.0, 3.0]);
/// assert_eq!(call.shape(), Ok([1000]));
/// # }
/// ```
#[proc_macro_attribute]
pub fn guvectorize(arguments: TokenStream, item: TokenStream) -> TokenStream {
    guvectorize::expand(arguments.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a function of two elements an operator, with kernels that reduce and scan with it: Numba's `@cuda.reduce`.
///
/// The function takes two values of one type and returns a third; it must be associative, and for reductions commutative,
/// both up to rounding. Elements have 4 or 8 bytes. In place of the function stands an operator of its name, a
/// `cuda_std::algorithms::Operator`, which `rumba::algorithms` takes as `Own::new(&module, name, of_nothing)`. The PTX
/// entries are called `name_reduce` and `name_scan`.
///
/// ```
/// use cuda_std::algorithms::Operator;
/// use cuda_std::reduction;
///
/// /// Of two numbers the one that is further from zero.
/// #[reduction]
/// pub fn further(a: f32, b: f32) -> f32 {
///     if a.abs() >= b.abs() { a } else { b }
/// }
///
/// # fn main() {
/// assert_eq!(further::combine(-3.0, 2.0), -3.0);
/// # }
/// ```
#[proc_macro_attribute]
pub fn reduction(arguments: TokenStream, item: TokenStream) -> TokenStream {
    reduction::expand(arguments.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Puts a static into an address space: `shared`, `constant` or `global`.
///
/// A static in shared memory is one for each block, and its initialiser is not used: what it holds at
/// first is unspecified. So it is a `static mut`, every use of which is `unsafe`, or a
/// `cuda_std::shared::Storage`, which gives a raw pointer: no thread may read an element that was never
/// written, nor write one that another reads or writes before both have passed a barrier.
/// `cuda_std::shared::Shared` needs no such care. A static in constant memory is `Copy`, so that nothing in it
/// changes. On the host the static is an ordinary one.
///
/// `.shared` or `.const`; PTX 1.0.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// # Safety
/// ///
/// /// `y` has 64 elements, and there is one block of as many threads.
/// #[kernel(block = 64)]
/// pub unsafe fn reverse(x: &[f32], y: *mut f32) {
///     #[cuda_std::address_space(shared)]
///     static mut TILE: [f32; 64] = [0.0; 64];
///
///     let i = thread::thread_idx_x() as usize;
///     // SAFETY: each thread writes its own element.
///     unsafe { TILE[i] = x[i] };
///     sync_threads();
///     // SAFETY: no thread writes after the barrier, and `y` is long enough.
///     unsafe { *y.add(i) = TILE[63 - i] };
/// }
/// # fn main() {}
/// ```
#[proc_macro_attribute]
pub fn address_space(arguments: TokenStream, item: TokenStream) -> TokenStream {
    placement::address_space(arguments.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Keeps a static under its own name in the PTX, so that the host finds it.
///
/// ```
/// /// The host writes it before a launch.
/// #[cuda_std::externally_visible]
/// #[cuda_std::address_space(constant)]
/// pub static COEFFICIENTS: [f32; 4] = [1.0, 2.0, 3.0, 4.0];
/// ```
#[proc_macro_attribute]
pub fn externally_visible(arguments: TokenStream, item: TokenStream) -> TokenStream {
    placement::externally_visible(arguments.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// A function for the device only: on the host it panics and names itself.
///
/// ```should_panic
/// #[cuda_std::gpu_only]
/// fn lane() -> u32 {
///     cuda_std::thread::lane_id()
/// }
/// lane();
/// ```
#[proc_macro_attribute]
pub fn gpu_only(_: TokenStream, item: TokenStream) -> TokenStream {
    placement::gpu_only(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Prints from a kernel, without a line end; see `cuda_std::io`.
#[proc_macro]
pub fn print(input: TokenStream) -> TokenStream {
    print::expand(input.into(), false).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Prints a line from a kernel; see `cuda_std::io`.
#[proc_macro]
pub fn println(input: TokenStream) -> TokenStream {
    print::expand(input.into(), true).unwrap_or_else(syn::Error::into_compile_error).into()
}
