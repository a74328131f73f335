//! Elements in several dimensions as arguments: for parameters that are views, and as operands and results of vectorized
//! functions.
//!
//! Here are numbers and host memory. Arrays in device memory belong to a runtime, which implements [`Operand`] and
//! [`OperandMut`] for its own.

use core::any::Any;
use std::vec::Vec;

use bytemuck::Pod;
use half::{bf16, f16};
use smallvec::SmallVec;

use super::argument::host;
use super::{Argument, Arguments, Borrowed, HostMemory, In, InOut, Out, OutputArgument, ViewError};
use crate::abi::parameter::Element;
use crate::array::strided::{Dimensions, LONGEST, View};

/// A number of dimensions, as a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim<const N: usize>;

/// Broadcasting two shapes: the result has the larger number of dimensions.
pub trait Broadcast<Other> {
    /// The larger number of dimensions.
    type Output;
}

macro_rules! broadcast {
    ($($a:literal: $($b:literal -> $larger:literal),*;)*) => {$($(
        impl Broadcast<Dim<$b>> for Dim<$a> {
            type Output = Dim<$larger>;
        }
    )*)*};
}

broadcast! {
    0: 0 -> 0, 1 -> 1, 2 -> 2, 3 -> 3, 4 -> 4, 5 -> 5, 6 -> 6;
    1: 0 -> 1, 1 -> 1, 2 -> 2, 3 -> 3, 4 -> 4, 5 -> 5, 6 -> 6;
    2: 0 -> 2, 1 -> 2, 2 -> 2, 3 -> 3, 4 -> 4, 5 -> 5, 6 -> 6;
    3: 0 -> 3, 1 -> 3, 2 -> 3, 3 -> 3, 4 -> 4, 5 -> 5, 6 -> 6;
    4: 0 -> 4, 1 -> 4, 2 -> 4, 3 -> 4, 4 -> 4, 5 -> 5, 6 -> 6;
    5: 0 -> 5, 1 -> 5, 2 -> 5, 3 -> 5, 4 -> 5, 5 -> 5, 6 -> 6;
    6: 0 -> 6, 1 -> 6, 2 -> 6, 3 -> 6, 4 -> 6, 5 -> 6, 6 -> 6;
}

/// Dimensions of which the last `CORE` belong to a call of a function of arrays.
#[diagnostic::on_unimplemented(
    message = "an operand has fewer dimensions than the function takes of it",
    label = "the function takes {CORE} of them"
)]
pub trait Split<const CORE: usize> {
    /// The remaining axes.
    type Around;
}

/// Dimensions with `CORE` more.
#[diagnostic::on_unimplemented(message = "the result would have more than 6 dimensions")]
pub trait Join<const CORE: usize> {
    /// All of them.
    type All;
}

macro_rules! split {
    ($($all:literal = $around:literal + $core:literal;)*) => {$(
        impl Split<$core> for Dim<$all> {
            type Around = Dim<$around>;
        }

        impl Join<$core> for Dim<$around> {
            type All = Dim<$all>;
        }
    )*};
}

split! {
    0 = 0 + 0;
    1 = 1 + 0;
    2 = 2 + 0;
    3 = 3 + 0;
    4 = 4 + 0;
    5 = 5 + 0;
    6 = 6 + 0;
    1 = 0 + 1;
    2 = 1 + 1;
    3 = 2 + 1;
    4 = 3 + 1;
    5 = 4 + 1;
    6 = 5 + 1;
    2 = 0 + 2;
    3 = 1 + 2;
    4 = 2 + 2;
    5 = 3 + 2;
    6 = 4 + 2;
    3 = 0 + 3;
    4 = 1 + 3;
    5 = 2 + 3;
    6 = 3 + 3;
    4 = 0 + 4;
    5 = 1 + 4;
    6 = 2 + 4;
}

/// Elements of `T` to read: a number, a host slice, or a runtime's array or view.
///
/// | operand | dimensions |
/// |---|---|
/// | a number (`f32`, `u8`, ...), any plain data in [`Constant`] | 0 |
/// | `&[T]`, `&Vec<T>`, `&[T; N]`, these in [`In`], a runtime's buffer | 1 |
/// | `(&slice, [rows, columns])`, with any number of lengths | theirs |
/// | a runtime's array or view | theirs |
///
/// # Safety
/// The region is in memory that is valid for `'a`, and that is not written meanwhile.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no elements of `{T}`",
    label = "not an operand of `{T}`",
    note = "operands are numbers of exactly that type (`2.0_f32`), `&slice`, `&vec`, `(&slice, [rows, columns])`, and a \
            runtime's arrays by reference and views"
)]
pub unsafe trait Operand<'a, T> {
    /// How many dimensions it has: [`Dim`].
    type Rank;

    /// Where the elements are.
    fn region(self) -> Region<'a>;
}

/// Elements of `T` to write: `&mut` of what [`Operand`] takes, but for numbers.
///
/// # Safety
/// The region is in memory that is borrowed mutably for `'a`, and has each element once.
#[diagnostic::on_unimplemented(
    message = "elements of `{T}` cannot be written to `{Self}`",
    label = "not an output of `{T}`",
    note = "outputs are `&mut slice`, `&mut vec`, `(&mut slice, [rows, columns])`, and a runtime's arrays by mutable \
            reference and mutable views"
)]
pub unsafe trait OperandMut<'a, T> {
    /// How many dimensions it has: [`Dim`].
    type Rank;

    /// Where the elements are. `overwritten`: what they are before does not matter, since all of them are written.
    fn region_mut(self, overwritten: bool) -> Region<'a>;
}

/// Elements with a shape and strides.
#[derive(Debug)]
pub struct Region<'a> {
    pub(super) place: RegionMemory<'a>,
    /// Bytes of an element.
    pub(super) size: usize,
    /// The alignment of an element.
    pub(super) align: usize,
    pub(super) shape: Lengths,
    pub(super) strides: Strides,
    pub(super) problem: Option<ViewError>,
}

pub(super) type Lengths = SmallVec<[usize; 6]>;
pub(super) type Strides = SmallVec<[isize; 6]>;

/// Where a region is.
#[derive(Debug)]
pub(super) enum RegionMemory<'a> {
    /// In device memory: the address of the element at index 0, and what is borrowed.
    Device(u64, Borrowed<'a>),
    /// In host memory, which is copied.
    Host(HostMemory<'a>),
    /// Nowhere: the bytes of one number.
    Number(SmallVec<[u8; 16]>),
}

impl<'a> Region<'a> {
    /// Elements in device memory: the address of the one at index 0, the owner as for [`Borrowed`], whether they are
    /// written, and how many elements further the next one along each axis is.
    ///
    /// # Safety
    /// All elements that shape and strides reach are of type `T`, there for `'a`, and not written by others; if `writes`,
    /// they are borrowed mutably for `'a`, and each is reached once.
    #[must_use]
    pub unsafe fn device<T>(
        address: u64,
        owner: &'a (dyn Any + Send + Sync),
        writes: bool,
        shape: &[usize],
        strides: &[isize],
    ) -> Self {
        let (mut before, mut after) = (0, 0);
        for (&length, &stride) in shape.iter().zip(strides) {
            let reach = stride.unsigned_abs() * length.saturating_sub(1);
            *(if stride < 0 { &mut before } else { &mut after }) += (reach * size_of::<T>()) as u64;
        }
        let any = !shape.contains(&0);
        let borrowed = Borrowed {
            owner,
            address: if any { address - before } else { address },
            bytes: if any { before + after + size_of::<T>() as u64 } else { 0 },
            writes,
        };
        Self::new::<T>(RegionMemory::Device(address, borrowed), shape, strides)
    }

    /// Elements in host memory that is all theirs, with strides that are not negative.
    ///
    /// # Safety
    /// The memory has all elements that shape and strides reach, of type `T`; if it is written, each is reached once.
    #[must_use]
    pub unsafe fn host<T>(memory: HostMemory<'a>, shape: &[usize], strides: &[isize]) -> Self {
        Self::new::<T>(RegionMemory::Host(memory), shape, strides)
    }

    fn number<T: Pod>(number: T) -> Self {
        Self::new::<T>(RegionMemory::Number(bytemuck::bytes_of(&number).into()), &[], &[])
    }

    fn new<T>(place: RegionMemory<'a>, shape: &[usize], strides: &[isize]) -> Self {
        Self {
            place,
            size: size_of::<T>(),
            align: align_of::<T>(),
            shape: shape.into(),
            strides: strides.into(),
            problem: None,
        }
    }

    /// How long each axis is.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub(super) fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Splits one dimension into several.
    fn reshaped(mut self, shape: &[usize]) -> Self {
        let product = shape.iter().try_fold(1_usize, |all, &length| all.checked_mul(length));
        if product == Some(self.elements()) {
            let step = self.strides.first().copied().unwrap_or(1);
            self.strides = row_major(shape).iter().map(|stride| stride * step).collect();
            self.shape = shape.into();
        } else {
            self.problem = Some(ViewError::Elements { elements: self.elements(), shape: shape.to_vec() });
        }
        self
    }

    /// The dimensions in the layout of a kernel's parameter, or an error.
    fn dimensions<const N: usize>(&self) -> Result<Dimensions<N>, ViewError> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        let too_long = || ViewError::TooLong { shape: self.shape.to_vec(), strides: self.strides.to_vec() };
        let mut dimensions = Dimensions { lengths: [0; N], strides: [0; N] };
        for axis in 0..N {
            let (length, stride) = (self.shape[axis], self.strides[axis]);
            if length > LONGEST {
                return Err(too_long());
            }
            dimensions.lengths[axis] = length as u32;
            // The stride of an axis of length 1 does not matter.
            let stride = if length > 1 { stride } else { 0 };
            dimensions.strides[axis] = i32::try_from(stride).map_err(|_| too_long())?;
        }
        Ok(dimensions)
    }

    /// Binds a view: address and dimensions.
    fn bind<const N: usize>(self, arguments: &mut Arguments<'a>) {
        let elements = self.elements();
        let dimensions = self.dimensions::<N>().unwrap_or_else(|problem| {
            arguments.refuse(problem);
            bytemuck::Zeroable::zeroed()
        });
        let place = match self.place {
            // A view has an address: the number is copied to one.
            RegionMemory::Number(bytes) => RegionMemory::Host(HostMemory::Owned(bytes.to_vec())),
            place => place,
        };
        arguments.push_place(place, self.align, elements);
        arguments.push_part(bytemuck::bytes_of(&dimensions));
    }
}

/// Strides of a shape whose last axis is the fastest.
pub(super) fn row_major(shape: &[usize]) -> Strides {
    let mut strides: Strides = SmallVec::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].wrapping_mul(shape[axis] as isize);
    }
    strides
}

// SAFETY: binds the address and dimensions of a live region, in the layout of the parameter.
unsafe impl<'a, T: Element + Copy, A: Operand<'a, T, Rank = Dim<N>>, const N: usize> Argument<'a, View<'_, T, N>>
    for A
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        self.region().bind::<N>(arguments);
    }
}

// SAFETY: as above, borrowed mutably.
unsafe impl<'a, T: Element, A: OperandMut<'a, T, Rank = Dim<N>>, const N: usize> OutputArgument<'a, T, Dimensions<N>>
    for A
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        self.region_mut(false).bind::<N>(arguments);
    }
}

/// Any plain data as an operand that is the same for all elements.
#[derive(Clone, Copy, Debug)]
pub struct Constant<T>(pub T);

// SAFETY: the number is in the region itself.
unsafe impl<T: Pod> Operand<'_, T> for Constant<T> {
    type Rank = Dim<0>;

    fn region(self) -> Region<'static> {
        Region::number(self.0)
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        // SAFETY: the number is in the region itself.
        unsafe impl Operand<'_, $number> for $number {
            type Rank = Dim<0>;

            fn region(self) -> Region<'static> {
                Region::number(self)
            }
        }
    )*};
}

numbers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 f16 bf16);

fn slice<'a, T: Pod>(slice: &'a [T]) -> Region<'a> {
    let memory = HostMemory::In(bytemuck::cast_slice(slice));
    // SAFETY: the elements of the slice.
    unsafe { Region::host::<T>(memory, &[slice.len()], &[1]) }
}

fn slice_mut<'a, T: Pod>(slice: &'a mut [T], overwritten: bool) -> Region<'a> {
    let elements = slice.len();
    let bytes = bytemuck::cast_slice_mut(slice);
    let memory = if overwritten { HostMemory::Out(bytes) } else { HostMemory::InOut(bytes) };
    // SAFETY: the elements of the slice, which is borrowed mutably.
    unsafe { Region::host::<T>(memory, &[elements], &[1]) }
}

/// Host types that are slices.
macro_rules! slices {
    ($($slice:ty $(, $constant:ident)?;)*) => {$(
        // SAFETY: borrowed for `'a`.
        unsafe impl<'a, T: Pod $(, const $constant: usize)?> Operand<'a, T> for &'a $slice {
            type Rank = Dim<1>;

            fn region(self) -> Region<'a> {
                slice(self)
            }
        }

        // SAFETY: borrowed mutably for `'a`.
        unsafe impl<'a, T: Pod $(, const $constant: usize)?> OperandMut<'a, T> for &'a mut $slice {
            type Rank = Dim<1>;

            fn region_mut(self, overwritten: bool) -> Region<'a> {
                slice_mut(self, overwritten)
            }
        }
    )*};
}

slices! {
    [T];
    Vec<T>;
    [T; LENGTH], LENGTH;
}

// SAFETY: borrowed for `'a`.
unsafe impl<'a, T: Pod, S: host::Source<'a, T>> Operand<'a, T> for In<S> {
    type Rank = Dim<1>;

    fn region(self) -> Region<'a> {
        slice(self.0.slice())
    }
}

// SAFETY: borrowed mutably for `'a`.
unsafe impl<'a, T: Pod, S: host::Destination<'a, T>> OperandMut<'a, T> for Out<S> {
    type Rank = Dim<1>;

    fn region_mut(self, _: bool) -> Region<'a> {
        slice_mut(self.0.slice_mut(), true)
    }
}

// SAFETY: borrowed mutably for `'a`.
unsafe impl<'a, T: Pod, S: host::Destination<'a, T>> OperandMut<'a, T> for InOut<S> {
    type Rank = Dim<1>;

    fn region_mut(self, _: bool) -> Region<'a> {
        slice_mut(self.0.slice_mut(), false)
    }
}

// SAFETY: the same elements.
unsafe impl<'a, T, A: Operand<'a, T, Rank = Dim<1>>, const N: usize> Operand<'a, T> for (A, [usize; N]) {
    type Rank = Dim<N>;

    fn region(self) -> Region<'a> {
        self.0.region().reshaped(&self.1)
    }
}

// SAFETY: the same elements.
unsafe impl<'a, T, A: OperandMut<'a, T, Rank = Dim<1>>, const N: usize> OperandMut<'a, T> for (A, [usize; N]) {
    type Rank = Dim<N>;

    fn region_mut(self, overwritten: bool) -> Region<'a> {
        self.0.region_mut(overwritten).reshaped(&self.1)
    }
}
