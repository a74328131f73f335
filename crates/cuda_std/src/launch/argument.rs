//! The host types that kernel parameters accept.
//!
//! Here are values and host memory. Device memory belongs to a runtime, which implements [`Memory`] and [`MemoryMut`] for its
//! own buffers; for which parameters they may be passed is said here, once.

use core::marker::PhantomData;
use std::vec::Vec;

use bytemuck::{NoUninit, Pod};

use super::{Arguments, Dim, HostMemory, Operand};
use crate::abi::parameter::Element;
use crate::array::output::{Disjoint, Layout};
use crate::array::strided::View;
use crate::collective::groups::GridGroup;
use crate::collective::symmetric::{Access, Symmetric};
use crate::mem::atomic::Atomic;
use crate::mem::shared::SharedSlice;

/// A host value that can be passed for a kernel parameter of type `P`.
///
/// `P` is the parameter's type in the kernel, less the reference of a slice: `f32` for `a: f32`,
/// `[f32]` for `x: &[f32]`, [`DisjointSlice<f32>`](crate::DisjointSlice) for `y: DisjointSlice<f32>`.
///
/// | parameter | takes |
/// |---|---|
/// | `T` | a `T`, of exactly that type |
/// | `&[T]` | [`Memory`]: `&[T]`, `&Vec<T>`, `&[T; N]`, these in [`In`], or a runtime's buffer by reference |
/// | `&[Atomic<T>]` | [`MemoryMut`]: `&mut [T]`, `&mut Vec<T>`, `&mut [T; N]`, these in [`InOut`] or [`Out`], or a runtime's buffer by mutable reference |
/// | `Disjoint<T, ..>` | the same; for layouts of matrices and volumes with the shape, `(&mut c, [rows, columns])` |
/// | `View<T, N>`, `Disjoint<T, Array<N>>` | what is an [`Operand`](super::Operand), an [`OperandMut`](super::OperandMut) of `N` dimensions |
/// | `SharedSlice<T>` | [`Elements(n)`](Elements) |
/// | `Symmetric<T, A>` | a runtime's symmetric memory by mutable reference |
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
    note = "outputs take `&mut slice`, `&mut vec`, `InOut(&mut vec)`, `Out(&mut vec)` or `&mut device_buffer`; those of matrices and \
            volumes (`PerThread<2>`, `Tiles<..>`, `Layers`, ..) take the shape too: `(&mut vec, [rows, columns])`",
    note = "raw pointers take a device pointer of the runtime, and `SharedSlice<T>` takes `Elements(n)`"
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

/// Memory with elements of type `T` that a kernel may read, as a pointer and a length: host memory, which is copied for the
/// call, or a runtime's.
///
/// # Safety
///
/// `bind` calls [`Arguments::push_slice`] or [`Arguments::push_transfer`] once, with memory of elements of `T` that is valid on
/// the device and not written for `'a`.
#[diagnostic::on_unimplemented(
    message = "an input of elements `{T}` cannot take `{Self}`",
    label = "no memory of elements `{T}`"
)]
pub unsafe trait Memory<'a, T> {
    /// Appends pointer and length to the list.
    fn bind(self, arguments: &mut Arguments<'a>);
}

/// Memory with elements of type `T` that a kernel may write, as [`Memory`] is what it may read.
///
/// # Safety
///
/// As for [`Memory`]; and the memory is borrowed mutably for `'a`.
#[diagnostic::on_unimplemented(
    message = "an output of elements `{T}` cannot take `{Self}`",
    label = "no mutable memory of elements `{T}`"
)]
pub unsafe trait MemoryMut<'a, T> {
    /// Appends pointer and length to the list.
    fn bind(self, arguments: &mut Arguments<'a>);
}

/// An argument for an output of elements `T` whose layout has lengths of type `S`.
///
/// # Safety
///
/// `bind` binds pointer and lengths in the layout of such an output, of memory as for [`MemoryMut`].
pub unsafe trait OutputArgument<'a, T, S> {
    /// Appends pointer and lengths to the list.
    fn bind(self, arguments: &mut Arguments<'a>);
}

// SAFETY: pointer and length of memory that is not written.
unsafe impl<'a, T: Pod, M: Memory<'a, T>> Argument<'a, [T]> for M {
    fn bind(self, arguments: &mut Arguments<'a>) {
        Memory::bind(self, arguments);
    }
}

// SAFETY: pointer and length of memory that is borrowed mutably; an atomic has the layout of its number.
unsafe impl<'a, T: Pod, M: MemoryMut<'a, T>> Argument<'a, [Atomic<T>]> for M {
    fn bind(self, arguments: &mut Arguments<'a>) {
        MemoryMut::bind(self, arguments);
    }
}

// SAFETY: what `OutputArgument` promises.
unsafe impl<'a, T: Element, L: Layout, A: OutputArgument<'a, T, L::Shape>> Argument<'a, Disjoint<'_, T, L>> for A {
    fn bind(self, arguments: &mut Arguments<'a>) {
        OutputArgument::bind(self, arguments);
        arguments.written(L::REACH);
    }
}

macro_rules! of_any_launch {
    ($([$($generic:tt)*] $written:ty, $parameter:ty, $argument:ty;)*) => {$(
        // SAFETY: as for the parameter itself.
        unsafe impl<'a, $($generic)*> Argument<'a, Written<$written>> for $argument {
            fn bind(self, arguments: &mut Arguments<'a>) {
                Argument::<'a, $parameter>::bind(self, arguments);
            }
        }
    )*};
}

/// A parameter type as the argument of a function pointer: there the lifetime of the launch can be left out, whatever the type
/// is called. So `#[kernel]` names parameters whose types it does not know.
#[doc(hidden)]
#[derive(Debug)]
pub struct Written<F>(PhantomData<F>);

of_any_launch! {
    [T: NoUninit] fn(T), T, T;
    [T: Element, L: Layout, A: OutputArgument<'a, T, L::Shape>] for<'l> fn(Disjoint<'l, T, L>), Disjoint<'static, T, L>, A;
    [T: Element + Copy, A: Operand<'a, T, Rank = Dim<N>>, const N: usize] for<'l> fn(View<'l, T, N>), View<'static, T, N>, A;
    [T: Element] for<'l> fn(SharedSlice<'l, T>), SharedSlice<'static, T>, Elements;
    [] for<'l> fn(GridGroup<'l>), GridGroup<'static>, Workspace;
    [T: Element + Pod, W: Access, M: Argument<'a, Symmetric<'static, T, W>>] for<'l> fn(Symmetric<'l, T, W>), Symmetric<'static, T, W>, M;
}

// SAFETY: pointer and length.
unsafe impl<'a, T: Element, M: MemoryMut<'a, T>> OutputArgument<'a, T, usize> for M {
    fn bind(self, arguments: &mut Arguments<'a>) {
        MemoryMut::bind(self, arguments);
    }
}

macro_rules! shaped {
    ($($rank:literal)*) => {$(
        // SAFETY: pointer and lengths.
        unsafe impl<'a, T: Element, M: MemoryMut<'a, T>> OutputArgument<'a, T, [u32; $rank]> for (M, [usize; $rank]) {
            fn bind(self, arguments: &mut Arguments<'a>) {
                self.0.bind(arguments);
                arguments.shape_last(self.1);
            }
        }
    )*};
}

shaped!(2 3);

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
unsafe impl<T: Element> Argument<'_, SharedSlice<'_, T>> for Elements {
    fn bind(self, arguments: &mut Arguments<'_>) {
        arguments.push_shared(size_of::<T>(), align_of::<T>(), self.0);
    }
}

/// Host memory that is copied to the device for the call: Numba's and PyCUDA's `In`.
#[derive(Clone, Copy, Debug)]
pub struct In<S>(pub S);

/// Host memory that is copied back from the device after the call.
///
/// The kernel is expected to write every element. Elements that the kernel does not write come back with unspecified
/// contents: use [`InOut`] to keep the old elements. A runtime refuses a launch that has too few threads or blocks to
/// reach every element.
#[derive(Debug)]
pub struct Out<S>(pub S);

/// Host memory that is copied to the device for the call, and back after it.
#[derive(Debug)]
pub struct InOut<S>(pub S);

pub(super) mod host {
    //! Host types that convert to slices. Sealed: other crates cannot add types.

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

fn bind_mut<'a, T: Pod>(slice: &'a mut [T], memory: fn(&'a mut [u8]) -> HostMemory<'a>, arguments: &mut Arguments<'a>) {
    let elements = slice.len();
    let memory = memory(bytemuck::cast_slice_mut(slice));
    arguments.push_transfer(memory, align_of::<T>(), elements);
}

macro_rules! host_memory {
    ($([$($length:ident)?] $memory:ty;)*) => {$(
        // SAFETY: here and below: a transfer is a pointer and a length, and the runtime that provides the memory keeps it
        // for the call.
        unsafe impl<'a, T: Pod $(, const $length: usize)?> Memory<'a, T> for &'a $memory {
            fn bind(self, arguments: &mut Arguments<'a>) {
                bind_in(self, arguments);
            }
        }

        // SAFETY: as above; the host memory is borrowed mutably, and what is on the device is the call's alone.
        unsafe impl<'a, T: Pod $(, const $length: usize)?> MemoryMut<'a, T> for &'a mut $memory {
            fn bind(self, arguments: &mut Arguments<'a>) {
                bind_mut(self, HostMemory::InOut, arguments);
            }
        }
    )*};
}

host_memory! {
    [] [T];
    [] Vec<T>;
    [N] [T; N];
}

// SAFETY: see above.
unsafe impl<'a, T: Pod, S: host::Source<'a, T>> Memory<'a, T> for In<S> {
    fn bind(self, arguments: &mut Arguments<'a>) {
        bind_in(self.0.slice(), arguments);
    }
}

// SAFETY: see above.
unsafe impl<'a, T: Pod, S: host::Destination<'a, T>> MemoryMut<'a, T> for InOut<S> {
    fn bind(self, arguments: &mut Arguments<'a>) {
        bind_mut(self.0.slice_mut(), HostMemory::InOut, arguments);
    }
}

// SAFETY: see above.
unsafe impl<'a, T: Pod, S: host::Destination<'a, T>> MemoryMut<'a, T> for Out<S> {
    fn bind(self, arguments: &mut Arguments<'a>) {
        bind_mut(self.0.slice_mut(), HostMemory::Out, arguments);
    }
}
