//! Kernels for several generations of devices.
//!
//! Kernels are compiled for the oldest architecture that their instructions allow, and newer devices run them. A kernel that
//! uses what only newer ones have says so, `#[kernel(arch = "sm_90")]`, and its crate's other kernels still run on older
//! devices. With a list it is compiled once for each, and takes what the library has for each; [`cfg_arch!`](crate::cfg_arch)
//! tells the body its architecture as a constant, so that a branch not taken is not compiled. CUDA C++ has `-gencode`
//! and `__CUDA_ARCH__` for this.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! #[kernel(arch = ["sm_80", "sm_70"])]
//! pub fn smallest(x: &[u32], mut y: DisjointSlice<u32>) {
//!     let smallest = if cfg_arch!("sm_80") {
//!         warp::reduce_min(x[grid::<1>()])
//!     } else {
//!         warp::reduce(x[grid::<1>()], u32::min)
//!     };
//!     if let Some(y) = y.own() {
//!         *y = smallest;
//!     }
//! }
//!
//! # fn main() {
//! # let x: Vec<u32> = (7..39).rev().collect();
//! # let mut y = vec![0; 32];
//! # examples::launch((1, 32), smallest(&x, &mut y));
//! # assert_eq!(y, [7; 32]);
//! # examples::becomes("smallest", &["redux.sync.min.u32", "shfl.sync.bfly"]);
//! # }
//! ```
//!
//! The launcher is one, and so are the parameters and what the kernel states about its launches. When a module is loaded, the
//! device takes of each kernel the newest variant that it runs. A kernel of which it runs none is an error when it is first
//! used, and no other kernel of the module is concerned.
//!
//! # Names
//!
//! | name | runs on |
//! |---|---|
//! | `sm_80` | compute capability 8.0 and all later ones |
//! | `sm_90a` | compute capability 9.0 and no other: it may use what that generation alone has, such as `wgmma` |
//! | `sm_100f` | 10.0 and later ones of its family, which is 10.3 |
//!
//! So a kernel that states `sm_90a` or `sm_100a` alone runs on one generation only; beside it belongs an architecture without
//! a suffix, for all others. (PTX manual, section 11.1.2, ".target".)

/// Whether the code around it is compiled for an architecture that has all of this one, as [`cfg!`](core::cfg) is of other
/// conditions: a constant, of which both branches must compile for Rust, and one becomes PTX. See [`arch`](crate::arch).
///
/// On the host it is false.
///
/// ```
/// use cuda_std::prelude::*;
///
/// #[kernel(arch = ["sm_90a", "sm_70"])]
/// pub fn generation(mut y: DisjointSlice<u32>) {
///     if let Some(y) = y.own() {
///         *y = if cfg_arch!("sm_90a") { 90 } else { 70 };
///     }
/// }
///
/// # fn main() {
/// # let mut y = vec![0; 32];
/// # examples::launch((1, 32), generation(&mut y));
/// # assert!(y == [90; 32] || y == [70; 32]);
/// # }
/// ```
#[macro_export]
macro_rules! cfg_arch {
    ($arch:literal) => {
        $crate::arch::has::<{ $crate::arch::code($arch) }>()
    };
}

#[doc(no_inline)]
pub use cfg_arch;

/// Whether the code is compiled for an architecture that has all of the one with this number. For the macro.
#[doc(hidden)]
#[inline(always)]
#[must_use]
pub fn has<const CODE: u32>() -> bool {
    #[cfg(target_arch = "nvptx64")]
    {
        unsafe extern "C" {
            fn __rumba_arch_has(code: u32) -> u32;
        }
        // SAFETY: the builder replaces the call by a number.
        unsafe { __rumba_arch_has(CODE) != 0 }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    false
}

/// The number of an architecture, as the builder has it: four times its own, and 1 for `f`, 2 for `a`. For the macro.
///
/// # Panics
///
/// If it is not the name of an architecture.
#[doc(hidden)]
#[must_use]
#[track_caller]
pub const fn code(name: &str) -> u32 {
    let name = name.as_bytes();
    let (mut number, mut at) = (0, 3);
    while at < name.len() && name[at].is_ascii_digit() && number < 1000 {
        number = number * 10 + (name[at] - b'0') as u32;
        at += 1;
    }
    let suffix = match name {
        [b's', b'm', b'_', .., last] if at == name.len() && last.is_ascii_digit() => Some(0),
        [b's', b'm', b'_', .., b'f'] if at + 1 == name.len() => Some(1),
        [b's', b'm', b'_', .., b'a'] if at + 1 == name.len() => Some(2),
        _ => None,
    };
    match suffix {
        Some(suffix) if number >= 10 && number < 1000 => number * 4 + suffix,
        _ => panic!(
            "the name of an architecture is `sm_` and its number, perhaps with `a` or `f`: `cfg_arch!(\"sm_90a\")`"
        ),
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::code;

    #[test]
    fn architectures_have_the_builder_s_numbers() {
        assert_eq!(["sm_90", "sm_90a", "sm_100f"].map(code), [360, 362, 401]);
        for name in ["90", "sm_9", "sm_90b", "sm_90aa", "sm_", "sm_a", "sm_1000", "compute_90"] {
            assert!(std::panic::catch_unwind(|| code(name)).is_err(), "{name}");
        }
        assert!(!crate::cfg_arch!("sm_70"), "the host is none");
    }
}
