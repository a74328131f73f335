//! Memory scopes: the threads among which an ordering holds (PTX ISA, "Memory Consistency Model", "Scope").

#[cfg(target_arch = "nvptx64")]
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::Ordering::{self, Relaxed};

#[cfg(target_arch = "nvptx64")]
use crate::device::intrinsics::is_shared;

/// The threads among which an ordering holds: [`Block`], [`Device`], [`System`] or [`Nearest`].
pub trait Scope: sealed::Scope {
    /// See [`fence`](crate::sync::fence).
    #[doc(hidden)]
    fn fence(order: Ordering);
}

/// The threads of the block. PTX's `.cta`.
#[derive(Clone, Copy, Debug)]
pub enum Block {}

/// The threads of the device. PTX's `.gpu`.
#[derive(Clone, Copy, Debug)]
pub enum Device {}

/// All devices and the host. PTX's `.sys`.
#[derive(Clone, Copy, Debug)]
pub enum System {}

/// The threads that can reach a number: those of the block in its shared memory, and of the device elsewhere. A fence is
/// the device's.
#[derive(Clone, Copy, Debug)]
pub enum Nearest {}

pub(crate) mod sealed {
    pub trait Scope: Copy {
        /// The scope of an operation on a number.
        #[cfg(target_arch = "nvptx64")]
        fn at(address: *const u8) -> Which;
    }

    #[cfg(target_arch = "nvptx64")]
    #[derive(Clone, Copy)]
    pub enum Which {
        Block,
        Device,
        System,
    }
}

/// The call of the fence that the builder provides.
#[cfg(target_arch = "nvptx64")]
macro_rules! provided {
    ($word:literal, $scope:literal) => {{
        unsafe extern "C" {
            #[link_name = concat!("__rumba_fence_", $word, "_", $scope)]
            safe fn operation();
        }
        operation()
    }};
}

macro_rules! scopes {
    ($($scope:ident = $word:literal;)*) => {$(
        impl Scope for $scope {
            #[inline(always)]
            fn fence(order: Ordering) {
                #[cfg(target_arch = "nvptx64")]
                match order {
                    Relaxed => {}
                    SeqCst => provided!("seqcst", $word),
                    _ => provided!("acqrel", $word),
                }
                #[cfg(not(target_arch = "nvptx64"))]
                if order != Relaxed {
                    core::sync::atomic::fence(order);
                }
            }
        }
        impl sealed::Scope for $scope {
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            fn at(_: *const u8) -> sealed::Which {
                sealed::Which::$scope
            }
        }
    )*};
}

scopes! {
    Block = "block";
    Device = "device";
    System = "system";
}

impl Scope for Nearest {
    #[inline(always)]
    fn fence(order: Ordering) {
        Device::fence(order);
    }
}

impl sealed::Scope for Nearest {
    // If the compiler knows the state space, as for `Shared` parameters and slices, the branch disappears.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    fn at(address: *const u8) -> sealed::Which {
        if is_shared(address) { sealed::Which::Block } else { sealed::Which::Device }
    }
}
