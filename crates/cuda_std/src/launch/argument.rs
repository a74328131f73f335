//! What may be passed for which kernel parameter.
//!
//! Here are values and host memory. Device memory belongs to a runtime, which implements
//! [`Argument`] for its own buffers.

use std::vec::Vec;

use bytemuck::{NoUninit, Pod};

use super::reach::Output;
use super::{Arguments, HostMemory};
use crate::atomic::Atomic;
use crate::groups::GridGroup;
use crate::mma::DisjointFragments;
use crate::parameter::Element;
use crate::shared::SharedSlice;
use crate::{
    DisjointChunks, DisjointColumns, DisjointRounds, DisjointRows, DisjointSlice, DisjointSlice2, DisjointSlice3,
    DisjointTiles, PerBlock,
};

/// A host value that can be passed for a kernel parameter of type `P`.
///
/// `P` is the parameter's type in the kernel, less the reference of a slice: `f32` for `a: f32`,
/// `[f32]` for `x: &[f32]`, [`DisjointSlice<f32>`] for `y: DisjointSlice<f32>`.
///
/// | parameter | takes |
/// |---|---|
/// | `T` | a `T`, of exactly that type |
/// | `&[T]` | `&[T]`, `&Vec<T>`, `&[T; N]`, these in [`In`], or a runtime's buffer by reference |
/// | `DisjointSlice<T>`, `PerBlock<T>`, `&[Atomic<T>]` | `&mut [T]`, `&mut Vec<T>`, `&mut [T; N]`, these in [`InOut`] or [`Out`], or a runtime's buffer by mutable reference |
/// | `View<T, N>`, `DisjointView<T, N>` | what is an [`Operand`](super::Operand), an [`OperandMut`](super::OperandMut) of `N` dimensions |
/// | `SharedSlice<T>` | [`Elements(n)`](Elements) |
/// | `DisjointSlice2<T>`, `DisjointTiles<T, ..>`, `DisjointRows<T>` | a pair of one of these and the shape: `(&mut c, [rows, columns])` |
/// | `DisjointSlice3<T>`, `DisjointColumns<T>` | `(&mut c, [layers, rows, columns])` |
///
/// # Safety
///
/// `bind` calls exactly one `push_*` method of [`Arguments`], with what
/// [`KernelParameter`](crate::KernelParameter) says the parameter is made of. Memory that it binds
/// is valid on the device for `'a`, and for a parameter that the kernel writes to it is borrowed
/// mutably for `'a`.
#[diagnostic::on_unimplemented(
    message = "a kernel parameter of type `{P}` cannot take `{Self}`",
    label = "does not fit the kernel's parameter, `{P}`",
    note = "a value takes exactly its type: write `2.0_f32`, or convert with `as u32`",
    note = "`[T]`, which is `&[T]` in the kernel, takes `&slice`, `&vec`, `In(&vec)` or `&device_buffer` of that very `T`",
    note = "outputs (`DisjointSlice<T>`, `PerBlock<T>`, `[Atomic<T>]`) take `&mut slice`, `&mut vec`, `InOut(&mut vec)`, \
            `Out(&mut vec)` or `&mut device_buffer`; `DisjointSlice2<T>` and `DisjointSlice3<T>` take the shape too: \
            `(&mut vec, [rows, columns])`",
    note = "raw pointers take a device pointer of the runtime"
)]
pub unsafe trait Argument<'a, P: ?Sized> {
    /// Appends this argument to the list.
    fn bind(self, arguments: &mut Arguments<'a>);
}

// SAFETY: a value is one PTX parameter of its own bytes.
unsafe impl<T: NoUninit> Argument<'_, T> for T {
    fn bind(self, arguments: &mut Arguments<'_>) {
        arguments.push_value(self);
    }
}

/// Memory of a launch's own, zero at its start: what the macro `#[kernel]` binds for a
/// [`GridGroup`](crate::groups::GridGroup).
#[derive(Clone, Copy, Debug)]
pub struct Workspace;

// SAFETY: a slice of two words, which the runtime copies to memory that is this call's alone.
unsafe impl Argument<'_, GridGroup<'_>> for Workspace {
    fn bind(self, arguments: &mut Arguments<'_>) {
        arguments.push_transfer(HostMemory::In(&[0; 8]), align_of::<u32>(), 2);
    }
}

/// The length of a [`SharedSlice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements(pub usize);

// SAFETY: place and length in the dynamic shared memory, as `SharedSlice` has them.
unsafe impl<T: Element> Argument<'_, SharedSlice<T>> for Elements {
    fn bind(self, arguments: &mut Arguments<'_>) {
        arguments.push_shared(size_of::<T>(), align_of::<T>(), self.0);
    }
}

/// Host memory that is copied to the device for the call: Numba's and PyCUDA's `In`.
#[derive(Clone, Copy, Debug)]
pub struct In<S>(pub S);

/// Host memory that is copied back from the device after the call.
///
/// The kernel is expected to write every element. What it does not write comes back with
/// unspecified contents: use [`InOut`] to keep the old ones. A runtime refuses a launch that has too few threads or blocks to
/// reach every element.
#[derive(Debug)]
pub struct Out<S>(pub S);

/// Host memory that is copied to the device for the call, and back after it.
#[derive(Debug)]
pub struct InOut<S>(pub S);

pub(super) mod host {
    //! Which host types are a slice. Private, so that the list is closed.

    use super::Vec;

    /// A host reference that is a slice of `T`.
    pub trait Source<'a, T> {
        fn slice(self) -> &'a [T];
    }

    /// A mutable host reference that is a slice of `T`.
    pub trait Destination<'a, T> {
        fn slice_mut(self) -> &'a mut [T];
    }

    impl<'a, T> Source<'a, T> for &'a [T] {
        fn slice(self) -> &'a [T] {
            self
        }
    }

    impl<'a, T> Source<'a, T> for &'a Vec<T> {
        fn slice(self) -> &'a [T] {
            self
        }
    }

    impl<'a, T, const N: usize> Source<'a, T> for &'a [T; N] {
        fn slice(self) -> &'a [T] {
            self
        }
    }

    impl<'a, T> Destination<'a, T> for &'a mut [T] {
        fn slice_mut(self) -> &'a mut [T] {
            self
        }
    }

    impl<'a, T> Destination<'a, T> for &'a mut Vec<T> {
        fn slice_mut(self) -> &'a mut [T] {
            self
        }
    }

    impl<'a, T, const N: usize> Destination<'a, T> for &'a mut [T; N] {
        fn slice_mut(self) -> &'a mut [T] {
            self
        }
    }
}

fn bind_in<'a, T: Pod>(slice: &'a [T], arguments: &mut Arguments<'a>) {
    let memory = HostMemory::In(bytemuck::cast_slice(slice));
    arguments.push_transfer(memory, align_of::<T>(), slice.len());
}

fn bind_out<'a, T: Pod>(slice: &'a mut [T], arguments: &mut Arguments<'a>) {
    let elements = slice.len();
    let memory = HostMemory::Out(bytemuck::cast_slice_mut(slice));
    arguments.push_transfer(memory, align_of::<T>(), elements);
}

fn bind_in_out<'a, T: Pod>(slice: &'a mut [T], arguments: &mut Arguments<'a>) {
    let elements = slice.len();
    let memory = HostMemory::InOut(bytemuck::cast_slice_mut(slice));
    arguments.push_transfer(memory, align_of::<T>(), elements);
}

// Inputs.

// SAFETY: for this one and the next three: a transfer is a pointer and a length, as `[T]` is, and
// the runtime that provides the memory keeps it for the call.
unsafe impl<'a, T: Pod> Argument<'a, [T]> for &'a [T] {
    fn bind(self, arguments: &mut Arguments<'a>) {
        bind_in(self, arguments);
    }
}

// SAFETY: see above.
unsafe impl<'a, T: Pod> Argument<'a, [T]> for &'a Vec<T> {
    fn bind(self, arguments: &mut Arguments<'a>) {
        bind_in(self, arguments);
    }
}

// SAFETY: see above.
unsafe impl<'a, T: Pod, const N: usize> Argument<'a, [T]> for &'a [T; N] {
    fn bind(self, arguments: &mut Arguments<'a>) {
        bind_in(self, arguments);
    }
}

// SAFETY: see above.
unsafe impl<'a, T: Pod, S: host::Source<'a, T>> Argument<'a, [T]> for In<S> {
    fn bind(self, arguments: &mut Arguments<'a>) {
        bind_in(self.0.slice(), arguments);
    }
}

/// An output parameter that is a pointer and a length: the same host types serve all of them.
macro_rules! outputs {
    ($($parameter:ty $(where $($constant:ident)*)?),* $(,)?) => {$(
        // SAFETY: for this one and the next four: a transfer is a pointer and a length, as the
        // parameter is; the host memory is borrowed mutably, and what is on the device is the
        // call's alone.
        unsafe impl<'a, T: Pod $($(, const $constant: usize)*)?> Argument<'a, $parameter> for &'a mut [T] {
            fn bind(self, arguments: &mut Arguments<'a>) {
                bind_in_out(self, arguments);
                arguments.written(<$parameter as Output>::REACH);
            }
        }

        // SAFETY: see above.
        unsafe impl<'a, T: Pod $($(, const $constant: usize)*)?> Argument<'a, $parameter> for &'a mut Vec<T> {
            fn bind(self, arguments: &mut Arguments<'a>) {
                bind_in_out(self, arguments);
                arguments.written(<$parameter as Output>::REACH);
            }
        }

        // SAFETY: see above.
        unsafe impl<'a, T: Pod, const LENGTH: usize $($(, const $constant: usize)*)?> Argument<'a, $parameter> for &'a mut [T; LENGTH] {
            fn bind(self, arguments: &mut Arguments<'a>) {
                bind_in_out(self, arguments);
                arguments.written(<$parameter as Output>::REACH);
            }
        }

        // SAFETY: see above.
        unsafe impl<'a, T: Pod, S: host::Destination<'a, T> $($(, const $constant: usize)*)?> Argument<'a, $parameter> for InOut<S> {
            fn bind(self, arguments: &mut Arguments<'a>) {
                bind_in_out(self.0.slice_mut(), arguments);
                arguments.written(<$parameter as Output>::REACH);
            }
        }

        // SAFETY: see above.
        unsafe impl<'a, T: Pod, S: host::Destination<'a, T> $($(, const $constant: usize)*)?> Argument<'a, $parameter> for Out<S> {
            fn bind(self, arguments: &mut Arguments<'a>) {
                bind_out(self.0.slice_mut(), arguments);
                arguments.written(<$parameter as Output>::REACH);
            }
        }
    )*};
}

outputs!(DisjointSlice<T>, DisjointChunks<T, ELEMENTS> where ELEMENTS, DisjointRounds<T, N, V, RUN> where N V RUN, PerBlock<T>, [Atomic<T>]);

/// An output with a shape: the inner argument binds pointer and length, the shape takes the length's place.
macro_rules! shaped {
    ($($parameter:ty, $rank:literal $([$($generic:tt)*])?;)*) => {$(
        // SAFETY: pointer and lengths, as the parameter has them.
        unsafe impl<'a, T: Element, A $(, $($generic)*)?> Argument<'a, $parameter> for (A, [usize; $rank])
        where
            A: Argument<'a, DisjointSlice<T>>,
            $parameter: Output,
        {
            fn bind(self, arguments: &mut Arguments<'a>) {
                self.0.bind(arguments);
                arguments.shape_last(self.1, <$parameter as Output>::REACH);
            }
        }
    )*};
}

shaped! {
    DisjointSlice2<T>, 2;
    DisjointSlice3<T>, 3;
    DisjointTiles<T, ROWS, COLUMNS, O>, 2 [const ROWS: usize, const COLUMNS: usize, O];
    DisjointRows<T, G>, 2 [G];
    DisjointColumns<T, LAYERS>, 3 [const LAYERS: usize];
    DisjointFragments<T, ROWS, COLUMNS, M, N>, 2 [const ROWS: usize, const COLUMNS: usize, const M: usize, const N: usize];
}
