//! Calls of vectorized functions: operands broadcast to the shape of the result.
//!
//! The rules are NumPy's ("Broadcasting", NumPy manual): shapes are compared from their last axis on, and an axis of
//! length 1, or a missing axis, takes any length. Broadcasting copies nothing. `elementwise` and `looped` define the
//! kernels' arguments.

use core::fmt;
use core::marker::PhantomData;
use std::string::String;
use std::vec::Vec;

use smallvec::SmallVec;

use super::elementwise::Elementwise;
use super::looped::Looped;
use super::operand::{Lengths, OperandMut, Region, Strides};
use super::{Call, Dim, Kernel, Signature, ViewError};
use crate::array::strided::LONGEST;
use crate::array::vectorize::{AXES, Axes, CHUNK};

/// A vectorized function with its operands: what `hypot::over(&a, &b)` returns and a runtime computes. `T` is the element
/// of the result, `D` the number of its dimensions, as [`Dim`].
#[derive(Debug)]
#[must_use = "nothing is computed until a runtime maps it"]
pub struct Map<'a, T, D> {
    kernels: Kernels,
    operands: SmallVec<[Region<'a>; 4]>,
    result: PhantomData<(T, D)>,
}

/// The kernels of a vectorized function. For the macros.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Kernels(Kind);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Elementwise(Elementwise),
    Looped(Looped),
}

impl Kernels {
    /// Kernels for a function of numbers: for contiguous operands, and for all others.
    #[must_use]
    pub const fn elementwise(function: &'static str, flat: &'static Kernel, strided: &'static Kernel) -> Self {
        Self(Kind::Elementwise(Elementwise { function, flat, strided }))
    }

    /// The kernel for a function of arrays.
    #[must_use]
    pub const fn looped(function: &'static str, kernel: &'static Kernel, signature: &'static Signature) -> Self {
        Self(Kind::Looped(Looped { function, kernel, signature }))
    }
}

/// Operands whose shapes do not fit together, or not the result.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// An axis has several lengths, none of which is 1.
    #[error(
        "`{function}`: shapes {} do not broadcast together: axis {axis} from the end is {first} long in one and {second} \
         in another; lengths must be equal, or 1",
        Shapes(shapes)
    )]
    Operands {
        /// The function.
        function: &'static str,
        /// The shapes of the operands.
        shapes: Vec<Vec<usize>>,
        /// Counted from the last, which is 1.
        axis: usize,
        /// A length.
        first: usize,
        /// Another.
        second: usize,
    },
    /// The result is to be written where there is no room for it, or too much.
    #[error(
        "`{function}`: the result of shape {result:?} cannot be written to an array of shape {output:?}; the shapes must be \
         equal, or the result's broadcast to the array's"
    )]
    Output {
        /// The function.
        function: &'static str,
        /// The shape of the operands together.
        result: Vec<usize>,
        /// The shape of the output.
        output: Vec<usize>,
    },
    /// Arrays of a function whose axes of the same name are not as long.
    #[error(
        "`{function}`: with shapes {}, axis `{name}` of \"{signature}\" is {first} long in one place and {second} in another",
        Shapes(shapes)
    )]
    Signature {
        /// The function.
        function: &'static str,
        /// Its signature.
        signature: &'static str,
        /// The axis.
        name: String,
        /// Its length, as the first operand has it or the signature says.
        first: usize,
        /// Another.
        second: usize,
        /// The shapes of the operands.
        shapes: Vec<Vec<usize>>,
    },
    /// More axes than kernels walk.
    #[error(
        "`{function}`: arrays of shape {shape:?} have {axes} axes that memory does not join; {AXES} at most are supported"
    )]
    TooManyAxes {
        /// The function.
        function: &'static str,
        /// The shape.
        shape: Vec<usize>,
        /// The remaining axes.
        axes: usize,
    },
    /// An operand is no array of its shape, or too large.
    #[error("`{function}`: {error}")]
    View {
        /// The function.
        function: &'static str,
        /// The problem.
        error: ViewError,
    },
}

crate::__debug_as_display!(ShapeError);

struct Shapes<'s>(&'s [Vec<usize>]);

impl fmt::Display for Shapes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, shape) in self.0.iter().enumerate() {
            let separator = match index {
                0 => "",
                _ if index + 1 == self.0.len() => " and ",
                _ => ", ",
            };
            write!(f, "{separator}{shape:?}")?;
        }
        Ok(())
    }
}

/// The call of a vectorized function, with the grid and the block that it is planned for: with others, threads would share
/// elements of the result, or leave some out.
#[derive(Debug)]
#[must_use = "a call does nothing until it is launched"]
pub struct PlannedCall<'a> {
    pub(super) call: Call<'a>,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
}

impl<'a> PlannedCall<'a> {
    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> &'static Kernel {
        self.call.kernel()
    }

    /// Blocks of the launch along x, y and z.
    #[must_use]
    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }

    /// Threads of a block along x, y and z.
    #[must_use]
    pub fn block(&self) -> [u32; 3] {
        self.block
    }

    /// The call, the grid and the block. For runtimes.
    ///
    /// # Safety
    /// The call is launched with this grid and this block, if at all.
    pub unsafe fn into_parts(self) -> (Call<'a>, [u32; 3], [u32; 3]) {
        (self.call, self.grid, self.block)
    }
}

impl<'a, T, D> Map<'a, T, D> {
    /// Joins a function's kernels and its operands. For the macros.
    ///
    /// # Safety
    /// The kernels take operands of these types, in this order, and a result of `T`. Operands of a function of arrays
    /// have at least the dimensions of its signature.
    #[doc(hidden)]
    pub unsafe fn new(kernels: Kernels, operands: impl IntoIterator<Item = Region<'a>>) -> Self {
        Self { kernels, operands: operands.into_iter().collect(), result: PhantomData }
    }

    /// The function's name.
    #[must_use]
    pub fn function(&self) -> &'static str {
        match self.kernels.0 {
            Kind::Elementwise(kernels) => kernels.function,
            Kind::Looped(kernels) => kernels.function,
        }
    }

    /// Whether the kernels write every element of the result whatever the function does.
    #[must_use]
    pub fn writes_all(&self) -> bool {
        matches!(self.kernels.0, Kind::Elementwise(_))
    }

    fn lengths(&self) -> Result<Lengths, ShapeError> {
        if let Some(error) = self.operands.iter().find_map(|operand| operand.problem.clone()) {
            let function = self.function();
            return Err(ShapeError::View { function, error });
        }
        match self.kernels.0 {
            Kind::Elementwise(kernels) => kernels.shape(&self.operands),
            Kind::Looped(kernels) => kernels.shape(&self.operands),
        }
    }

    /// The call that writes the result to `output`, which may also have more axes or longer ones than the operands. None: it
    /// has no elements.
    ///
    /// # Errors
    /// [`ShapeError`] if the operands do not broadcast to the shape of the output.
    pub fn into_launch<'o>(self, output: impl OperandMut<'o, T>) -> Result<Option<PlannedCall<'o>>, ShapeError>
    where
        'a: 'o,
    {
        let function = self.function();
        self.lengths()?;
        let output = output.region_mut(self.writes_all());
        if let Some(error) = output.problem.clone() {
            return Err(ShapeError::View { function, error });
        }
        // The list itself could not be made shorter-lived.
        fn shortened<'o, 'a: 'o>(operand: Region<'a>) -> Region<'o> {
            operand
        }
        let operands: SmallVec<[Region<'o>; 4]> = self.operands.into_iter().map(shortened).collect();
        match self.kernels.0 {
            Kind::Elementwise(kernels) => kernels.launch(operands, output),
            Kind::Looped(kernels) => kernels.launch(operands, output),
        }
    }
}

impl<T, const N: usize> Map<'_, T, Dim<N>> {
    /// The shape of the result.
    ///
    /// # Errors
    /// [`ShapeError`] if the operands do not broadcast together.
    pub fn shape(&self) -> Result<[usize; N], ShapeError> {
        let shape = self.lengths()?;
        // The type says how many axes the operands have at most.
        let missing = N.saturating_sub(shape.len());
        Ok(core::array::from_fn(|axis| if axis < missing { 1 } else { shape[axis - missing] }))
    }
}

impl Region<'_> {
    /// The strides in a larger shape: missing axes, and axes of length 1, have stride 0.
    pub(super) fn strides_in(&self, shape: &[usize]) -> Strides {
        let missing = shape.len() - self.shape.len();
        let own = self.shape.iter().zip(&self.strides);
        let own = own.map(|(&length, &stride)| if length == 1 { 0 } else { stride });
        core::iter::repeat_n(0, missing).chain(own).collect()
    }
}

/// The shape that all shapes broadcast to, or the axis at which two do not fit, from the end, and their lengths.
pub(super) fn broadcast<'s>(
    shapes: impl IntoIterator<Item = &'s [usize]> + Clone,
) -> Result<Lengths, (usize, usize, usize)> {
    let rank = shapes.clone().into_iter().map(<[usize]>::len).max().unwrap_or(0);
    let mut result: Lengths = SmallVec::from_elem(1, rank);
    for shape in shapes {
        for (axis, &length) in shape.iter().rev().enumerate() {
            let so_far = &mut result[rank - 1 - axis];
            if *so_far == 1 {
                *so_far = length;
            } else if length != 1 && length != *so_far {
                return Err((axis + 1, *so_far, length));
            }
        }
    }
    Ok(result)
}

/// An axis of a result: how long it is, and the strides of the result and of each operand along it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) length: usize,
    pub(super) strides: Strides,
}

/// The axes of a shape that are longer than 1, as the first of the regions lies in memory, the fastest first; those that
/// lie like one for all regions are one.
pub(super) fn join(shape: &[usize], strides: &[Strides]) -> SmallVec<[Axis; 6]> {
    let mut axes: SmallVec<[Axis; 6]> = (0..shape.len())
        .filter(|&axis| shape[axis] > 1)
        .map(|axis| Axis { length: shape[axis], strides: strides.iter().map(|strides| strides[axis]).collect() })
        .collect();
    axes.reverse();
    axes.sort_by_key(|axis| axis.strides[0].unsigned_abs());
    let mut joined: SmallVec<[Axis; 6]> = SmallVec::new();
    for axis in axes {
        match joined.last_mut() {
            Some(inner) if continues(inner, &axis) => inner.length *= axis.length,
            _ => joined.push(axis),
        }
    }
    joined
}

/// Whether one axis goes on where the other ends, for the result and all operands.
fn continues(inner: &Axis, outer: &Axis) -> bool {
    let mut both = inner.strides.iter().zip(&outer.strides);
    both.all(|(inner_stride, outer_stride)| inner_stride.checked_mul(inner.length as isize) == Some(*outer_stride))
        && inner.length.checked_mul(outer.length).is_some_and(|length| length <= LONGEST * CHUNK)
}

/// The axes as a kernel takes them, in the place that the first of them has there, and the strides of the regions; `None`
/// if one is too long.
pub(super) fn placed(order: &[Axis], first: usize, regions: usize) -> Option<(Axes, Vec<[i32; AXES]>)> {
    let mut axes = Axes { lengths: [1; AXES], count: (first + order.len()) as u32, outer: 1, down: 1 };
    let mut outer = 1_usize;
    let mut steps = std::vec![[0; AXES]; regions];
    for (index, axis) in order.iter().enumerate().map(|(index, axis)| (first + index, axis)) {
        if axis.length > LONGEST {
            return None;
        }
        axes.lengths[index] = axis.length as u32;
        for (steps, &stride) in steps.iter_mut().zip(&axis.strides) {
            steps[index] = i32::try_from(stride).ok()?;
        }
        if index >= 2 {
            outer = outer.checked_mul(axis.length).filter(|&outer| outer <= LONGEST)?;
        }
    }
    axes.outer = outer as u32;
    Some((axes, steps))
}

#[cfg(test)]
mod tests {
    use super::{Axis, broadcast, placed};
    use smallvec::SmallVec;

    #[test]
    fn shapes_broadcast_as_in_numpy() {
        let of = |shapes: &[&[usize]]| broadcast(shapes.iter().copied()).map(|shape| shape.to_vec());
        assert_eq!(of(&[&[3, 1], &[4]]), Ok(std::vec![3, 4]));
        assert_eq!(of(&[&[], &[5, 1, 2], &[7, 1]]), Ok(std::vec![5, 7, 2]));
        assert_eq!(of(&[&[0, 3], &[1, 1]]), Ok(std::vec![0, 3]));
        assert_eq!(of(&[&[2, 3], &[2]]), Err((1, 3, 2)));
        assert_eq!(of(&[&[0], &[2]]), Err((1, 0, 2)));
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let axis = |length, stride| Axis { length, strides: SmallVec::from_slice(&[stride]) };
        assert!(placed(&[axis(1 << 31, 1)], 0, 1).is_none());
        assert!(placed(&[axis(2, 1 << 31)], 0, 1).is_none());
        assert!(placed(&[axis(2, 1), axis(2, 1), axis(1 << 20, 1), axis(1 << 20, 1)], 0, 1).is_none());
    }
}
