//! Constant memory: 64 KiB that all threads read and only the host writes, between launches.
//!
//! Where the threads of a warp read the same place, a read costs no more than a register; where they
//! read different places, one costs as much as several.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! cuda_std::constant! {
//!     /// A polynomial, constant term first.
//!     pub static COEFFICIENTS: [f32; 3] = [1.0, 0.0, 0.0];
//! }
//!
//! #[kernel]
//! pub fn polynomial(mut x: DisjointSlice<f32>) {
//!     if let Some(x) = x.own() {
//!         *x = COEFFICIENTS.iter().rev().fold(0.0, |sum, c| sum * *x + c);
//!     }
//! }
//!
//! fn main() {
//!     let mut x = [0.0, 1.0, 2.0];
//!     let (_, module) = examples::device();
//!     module.set_constant(&COEFFICIENTS, &[3.0, 2.0, 1.0]).unwrap();
//!     examples::launch((1, 32), polynomial(&mut x));
//!     assert_eq!(x, [3.0, 6.0, 11.0]);
//!     assert_eq!(module.constant(&COEFFICIENTS).unwrap(), [3.0, 2.0, 1.0]);
//! #   examples::becomes("polynomial", &["ld.const.b32"]);
//! }
//! ```

#[cfg(target_arch = "nvptx64")]
use core::cell::UnsafeCell;
#[cfg(target_arch = "nvptx64")]
use core::ops::Deref;

use bytemuck::Pod;

/// A variable in constant memory, which [`constant!`](crate::constant!) declares.
///
/// In a kernel it is the value, to read. On the host it is the variable's name and what it begins
/// with; a runtime writes and reads the variable of a loaded module.
#[derive(Debug)]
#[repr(transparent)]
#[cfg(target_arch = "nvptx64")]
pub struct Constant<T>(UnsafeCell<T>);

// SAFETY: threads only read it, and the host writes it while no kernel of the module runs.
#[cfg(target_arch = "nvptx64")]
unsafe impl<T: Sync> Sync for Constant<T> {}

#[cfg(target_arch = "nvptx64")]
impl<T: Pod> Constant<T> {
    /// For the macro.
    #[doc(hidden)]
    pub const fn new(_: &'static str, initial: T) -> Self {
        Self(UnsafeCell::new(initial))
    }
}

#[cfg(target_arch = "nvptx64")]
impl<T> Deref for Constant<T> {
    type Target = T;

    /// The value. `ld.const`; PTX 1.0.
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: it is not written while a kernel runs. The cell only keeps the compiler from taking the
        // first value for the last.
        unsafe { &*self.0.get() }
    }
}

/// A variable in constant memory, which [`constant!`](crate::constant!) declares.
///
/// In a kernel it is the value, to read. On the host it is the variable's name and what it begins
/// with; a runtime writes and reads the variable of a loaded module.
#[derive(Debug)]
#[cfg(not(target_arch = "nvptx64"))]
pub struct Constant<T> {
    name: &'static str,
    initial: T,
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T: Pod> Constant<T> {
    /// For the macro.
    #[doc(hidden)]
    pub const fn new(name: &'static str, initial: T) -> Self {
        Self { name, initial }
    }

    /// Its name in the module.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// On the host, where kernels are only type-checked and functions may be tried: what it begins with.
#[cfg(not(target_arch = "nvptx64"))]
impl<T> core::ops::Deref for Constant<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.initial
    }
}

/// A type for statics in constant memory, which never change: no `Copy` type has interior mutability.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a `{Self}` cannot be in constant memory, to which threads do not write",
    label = "not `Copy`, so it may change",
    note = "numbers, arrays and structures with `#[derive(Clone, Copy)]` can; what threads change is passed as `&[Atomic<..>]`"
)]
pub trait Unchanging: sealed::Unchanging {}

impl<T: Copy> Unchanging for T {}

// The host writes constants between launches; kernels only read them.
impl<T: Pod> Unchanging for Constant<T> {}

mod sealed {
    pub trait Unchanging {}
    impl<T: Copy> Unchanging for T {}
    impl<T: super::Pod> Unchanging for super::Constant<T> {}
}

/// Declares variables in constant memory, with what they hold before the host writes them.
///
/// ```
/// cuda_std::constant! {
///     /// How much.
///     pub static GAIN: f32 = 1.0;
///     static OFFSETS: [i32; 4] = [-1, 0, 0, 1];
/// }
/// assert_eq!((GAIN.name(), OFFSETS[3]), ("GAIN", 1));
/// ```
///
/// The type is plain data ([`bytemuck::Pod`]). Like a kernel, a variable has its own name in the PTX,
/// so two of one crate need two names, even in different modules.
///
/// `.const`; PTX 1.0.
#[macro_export]
macro_rules! constant {
    ($($(#[$attribute:meta])* $visibility:vis static $name:ident: $ty:ty = $value:expr;)*) => {$(
        $(#[$attribute])*
        #[$crate::externally_visible]
        #[$crate::address_space(constant)]
        $visibility static $name: $crate::constant::Constant<$ty> =
            $crate::constant::Constant::new(stringify!($name), $value);
    )*};
}
