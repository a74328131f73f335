//! Operators between arrays: an expression is written down, and computed when it is asked for.
//!
//! Each operator is a kernel of its own that goes through memory once; nothing is fused. A function of several operations
//! in one kernel is what `#[vectorize]` is for.

use crate::algorithms::KERNELS;
use crate::array::layout::Layout;
use crate::array::{Array, ArrayView, ArrayViewMut};
use crate::base::error::Result;
use crate::buffers::allocation::Memory;
use crate::buffers::buffer::DeviceBuffer;
use crate::context::{Context, same_context};
use crate::launch::builtin;
use bytemuck::Pod;
use cuda_std::launch::{Broadcast, Constant, Dim, Map, Operand, OperandMut, Region};
use rumba_algorithms::arithmetic as kernels;
use smallvec::SmallVec;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::Arc;

/// Arithmetic of whole arrays that is not computed yet: what `&a * 2.0 + &b` is, until [`eval`](Expression::eval).
///
/// Arrays by reference, views and numbers of exactly the elements' type are combined with `+`, `-`, `*`, `/` and a minus in
/// front. Shapes broadcast as NumPy's do. `T` is the type of the elements, `D` how many dimensions the result has.
///
/// Integers wrap around, and what is divided by 0 is 0, as in NumPy. Each operation is a launch on the default stream.
/// Results in between take memory as large as the result once, or twice where parentheses stand on the right.
///
/// # Examples
/// ```
/// use rumba::array::Array;
///
/// let device = rumba::Device::new()?;
/// let (a, b) = (Array::arange(&device, 0.0_f32, 1.0, 4)?, Array::full(&device, [3, 1], 10.0)?);
/// let c: Array<f32, 2> = (2.0 * &a + &b).eval()?;
/// assert_eq!(c.shape(), [3, 4]);
/// assert_eq!(c.row(1).to_vec()?, [10.0, 12.0, 14.0, 16.0]);
///
/// // Into what is there already.
/// let mut mean = Array::zeros(&device, [4])?;
/// ((c.row(0) + c.row(1) + c.row(2)) / 3.0).eval_into(mean.view_mut())?;
/// assert_eq!(mean.to_vec()?, [10.0, 12.0, 14.0, 16.0]);
/// # Ok::<(), rumba::Error>(())
/// ```
#[must_use = "nothing is computed until `eval` or `eval_into`"]
pub struct Expression<'a, T, D> {
    /// In the order of the computation, operands before their operator. The last is an operator, and one is an array.
    steps: Vec<Step<'a, T>>,
    dimensions: PhantomData<D>,
}

/// A part of an expression.
enum Step<'a, T> {
    Value(Value<'a, T>),
    Operator(Operator),
}

/// An operand of an expression, or what has become of a part of it.
enum Value<'a, T> {
    Elements(Elements<'a>),
    Number(T),
    /// A result in between, row-major.
    Own(DeviceBuffer<T>, [usize; MOST]),
}

/// Elements of an array, which is borrowed.
struct Elements<'a> {
    memory: &'a Memory,
    address: u64,
    shape: SmallVec<[usize; MOST]>,
    strides: SmallVec<[isize; MOST]>,
}

/// An operation on two elements.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub enum Operator {
    Add,
    Sub,
    Mul,
    Div,
}

/// Numbers that arrays compute with: `u32`, `i32`, `u64`, `i64`, `f32`, `f64`.
pub trait Arithmetic: Pod + for<'a> Term<'a, Self, Rank = Dim<0>> {
    #[doc(hidden)]
    const MINUS_ONE: Self;

    #[doc(hidden)]
    fn over<'a>(operator: Operator, a: Part<'a, Self>, b: Part<'a, Self>) -> Map<'a, Self, Dim<MOST>>;
}

mod sealed {
    pub trait Sealed {}
}

/// The largest number of dimensions of an array.
const MOST: usize = 6;

macro_rules! numbers {
    ($($number:ident: $minus_one:expr;)*) => {$(
        impl sealed::Sealed for $number {}

        impl Term<'_, $number> for $number {
            type Rank = Dim<0>;

            fn put(self, steps: &mut Steps<'_, $number>) {
                steps.0.push(Step::Value(Value::Number(self)));
            }
        }

        impl Arithmetic for $number {
            const MINUS_ONE: Self = $minus_one;

            fn over<'a>(operator: Operator, a: Part<'a, Self>, b: Part<'a, Self>) -> Map<'a, Self, Dim<MOST>> {
                match operator {
                    Operator::Add => kernels::add::over(a, b),
                    Operator::Sub => kernels::sub::over(a, b),
                    Operator::Mul => kernels::mul::over(a, b),
                    Operator::Div => kernels::div::over(a, b),
                }
            }
        }
    )*};
}

numbers! {
    u32: u32::MAX;
    i32: -1;
    u64: u64::MAX;
    i64: -1;
    f32: -1.0;
    f64: -1.0;
}

/// An operand of a kernel, whose shape is known when it runs.
#[doc(hidden)]
pub struct Part<'a, T>(Region<'a>, PhantomData<T>);

// SAFETY: the region of an operand of `T`, borrowed for `'a`.
unsafe impl<'a, T: Pod> Operand<'a, T> for Part<'a, T> {
    type Rank = Dim<MOST>;

    fn region(self) -> Region<'a> {
        self.0
    }
}

/// A buffer of an expression's own, whose shape is known when it runs.
struct Target<'a, T>(Region<'a>, PhantomData<T>);

// SAFETY: the region of a buffer of `T` that is the expression's alone; where it is an operand too, each element is read
// before it is written, by the same thread.
unsafe impl<'a, T: Pod> OperandMut<'a, T> for Target<'a, T> {
    type Rank = Dim<MOST>;

    fn region_mut(self, _: bool) -> Region<'a> {
        self.0
    }
}

/// A term of an [`Expression`]: arrays by reference, views, numbers and expressions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no term of an expression of `{T}`",
    label = "not an array of `{T}`, and not a number",
    note = "terms are `&array`, views, other expressions, and numbers of exactly the elements' type"
)]
pub trait Term<'a, T>: sealed::Sealed {
    /// The number of dimensions, as [`Dim`].
    type Rank;

    #[doc(hidden)]
    fn put(self, steps: &mut Steps<'a, T>);
}

/// The steps of an expression.
#[doc(hidden)]
pub struct Steps<'a, T>(Vec<Step<'a, T>>);

impl<'a, T: Arithmetic, const N: usize> Term<'a, T> for &'a Array<T, N> {
    type Rank = Dim<N>;

    fn put(self, steps: &mut Steps<'a, T>) {
        self.view().put(steps);
    }
}

impl<'a, T: Arithmetic, const N: usize> Term<'a, T> for ArrayView<'a, T, N> {
    type Rank = Dim<N>;

    fn put(self, steps: &mut Steps<'a, T>) {
        let (memory, address) = self.place();
        steps.0.push(Step::Value(Value::Elements(Elements {
            memory,
            address,
            shape: SmallVec::from_slice(&self.layout().shape),
            strides: SmallVec::from_slice(&self.layout().strides),
        })));
    }
}

impl<'a, T: Arithmetic, D> Term<'a, T> for Expression<'a, T, D> {
    type Rank = D;

    fn put(self, steps: &mut Steps<'a, T>) {
        steps.0.extend(self.steps);
    }
}

impl<T, const N: usize> sealed::Sealed for &Array<T, N> {}
impl<T, const N: usize> sealed::Sealed for ArrayView<'_, T, N> {}
impl<T, D> sealed::Sealed for Expression<'_, T, D> {}

impl<'a, T: Arithmetic, D> Expression<'a, T, D> {
    fn new(operator: Operator, left: impl Term<'a, T>, right: impl Term<'a, T>) -> Expression<'a, T, D> {
        let mut steps = Steps(Vec::new());
        left.put(&mut steps);
        right.put(&mut steps);
        steps.0.push(Step::Operator(operator));
        Expression { steps: steps.0, dimensions: PhantomData }
    }
}

/// The operators with an array, a view or an expression on the left, and with a number there.
macro_rules! operators {
    ($($operator:ident $method:ident;)*) => {$(
        operators!($operator $method, [const N: usize] &'a Array<T, N>, Dim<N>);
        operators!($operator $method, [const N: usize] ArrayView<'a, T, N>, Dim<N>);
        operators!($operator $method, [D] Expression<'a, T, D>, D);
        operators!($operator $method, u32 i32 u64 i64 f32 f64);
    )*};
    ($operator:ident $method:ident, [$($generic:tt)*] $left:ty, $rank:ty) => {
        impl<'a, T: Arithmetic, R: Term<'a, T>, $($generic)*> $operator<R> for $left
        where
            $rank: Broadcast<R::Rank>,
        {
            type Output = Expression<'a, T, <$rank as Broadcast<R::Rank>>::Output>;

            fn $method(self, right: R) -> Self::Output {
                Expression::new(Operator::$operator, self, right)
            }
        }
    };
    ($operator:ident $method:ident, $($number:ident)*) => {$(
        operators!($operator $method, $number, [const N: usize] &'a Array<$number, N>, Dim<N>);
        operators!($operator $method, $number, [const N: usize] ArrayView<'a, $number, N>, Dim<N>);
        operators!($operator $method, $number, [D] Expression<'a, $number, D>, D);
    )*};
    ($operator:ident $method:ident, $number:ident, [$($generic:tt)*] $right:ty, $rank:ty) => {
        impl<'a, $($generic)*> $operator<$right> for $number {
            type Output = Expression<'a, $number, $rank>;

            fn $method(self, right: $right) -> Self::Output {
                Expression::new(Operator::$operator, self, right)
            }
        }
    };
}

operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

macro_rules! minus {
    ($([$($generic:tt)*] $term:ty, $rank:ty;)*) => {$(
        impl<'a, T: Arithmetic, $($generic)*> Neg for $term {
            type Output = Expression<'a, T, $rank>;

            fn neg(self) -> Self::Output {
                // Not `0 - x`, which is 0.0 instead of -0.0 for x = 0.0.
                Expression::new(Operator::Mul, self, T::MINUS_ONE)
            }
        }
    )*};
}

minus! {
    [const N: usize] &'a Array<T, N>, Dim<N>;
    [const N: usize] ArrayView<'a, T, N>, Dim<N>;
    [D] Expression<'a, T, D>, D;
}

impl<T: Arithmetic, const N: usize> Expression<'_, T, Dim<N>> {
    /// Computes it, and returns the result in a new array.
    ///
    /// # Errors
    /// [`crate::array::ArrayError::Operands`] if the shapes do not broadcast together; [`crate::Error::OtherDevice`] for
    /// arrays of several devices; [`crate::Error::OutOfMemory`] and the driver's.
    #[track_caller]
    pub fn eval(self) -> Result<Array<T, N>> {
        let context = self.context()?;
        let mut values = Vec::new();
        for step in self.steps {
            next(&context, &mut values, step)?;
        }
        match values.pop() {
            Some(Value::Own(buffer, shape)) => {
                Ok(Array { buffer, shape: std::array::from_fn(|axis| shape[MOST - N + axis]) })
            }
            _ => unreachable!("the last step is an operator"),
        }
    }

    /// Computes the expression, and writes the result to an existing array. A larger array is filled with copies.
    ///
    /// # Errors
    /// As [`Expression::eval`], and [`crate::array::ArrayError::Operands`] if the result does not broadcast to the shape of
    /// `output`.
    #[track_caller]
    pub fn eval_into(mut self, mut output: ArrayViewMut<'_, T, N>) -> Result<()> {
        let context = self.context()?;
        let memory = output.view().memory().memory();
        same_context(&context, &memory.context, || memory.operation("compute to"))?;
        let (last, mut values) = (self.steps.pop(), Vec::new());
        for step in self.steps {
            next(&context, &mut values, step)?;
        }
        match (last, &*values) {
            (Some(Step::Operator(operator)), [left, right]) => {
                let map = T::over(operator, left.part(), right.part());
                launch(&context, map, output.reborrow())
            }
            _ => unreachable!("the last step is an operator, and operators take two"),
        }
    }
}

impl<T, D> Expression<'_, T, D> {
    /// The context of its arrays.
    fn context(&self) -> Result<Arc<Context>> {
        let mut arrays = self.steps.iter().filter_map(|step| match step {
            Step::Value(Value::Elements(elements)) => Some(elements.memory),
            _ => None,
        });
        let context = &arrays.next().expect("an array is part of each expression").context;
        for memory in arrays {
            same_context(context, &memory.context, || memory.operation("compute with"))?;
        }
        Ok(context.clone())
    }
}

/// Does a step with the values so far.
#[track_caller]
fn next<'a, T: Arithmetic>(context: &Arc<Context>, values: &mut Vec<Value<'a, T>>, step: Step<'a, T>) -> Result<()> {
    let operator = match step {
        Step::Value(value) => {
            values.push(value);
            return Ok(());
        }
        Step::Operator(operator) => operator,
    };
    let right = values.pop().expect("operands come before their operator");
    let left = values.pop().expect("operators take two");
    let map = || T::over(operator, left.part(), right.part());
    let shape = map().shape()?;
    // Each element is read before it is written, by the same thread.
    let result = match (&left, &right) {
        (Value::Own(buffer, own), _) | (_, Value::Own(buffer, own)) if *own == shape => {
            launch(context, map(), Target(axes(buffer, &shape, 0, true), PhantomData))?;
            if matches!(&left, Value::Own(_, own) if *own == shape) { left } else { right }
        }
        _ => {
            let buffer = DeviceBuffer::uninitialised(context.clone(), super::elements::<T, MOST>(shape)?)?;
            launch(context, map(), Target(axes(&buffer, &shape, 0, true), PhantomData))?;
            Value::Own(buffer, shape)
        }
    };
    values.push(result);
    Ok(())
}

impl<T: Arithmetic> Value<'_, T> {
    fn part(&self) -> Part<'_, T> {
        let region = match self {
            // SAFETY: the elements of an array or a view that the expression borrows.
            Value::Elements(of) => unsafe { Region::device::<T>(of.address, of.memory, false, &of.shape, &of.strides) },
            Value::Number(number) => Constant(*number).region(),
            Value::Own(buffer, shape) => {
                // Axes that arrays of fewer dimensions do not have are in front.
                let unused = shape.iter().take_while(|&&length| length == 1).count();
                axes(buffer, shape, unused, false)
            }
        };
        Part(region, PhantomData)
    }
}

/// All elements of a buffer in a shape, of which some axes in front are left out.
fn axes<'b, T: Pod>(buffer: &'b DeviceBuffer<T>, shape: &[usize; MOST], unused: usize, writes: bool) -> Region<'b> {
    let slice = buffer.as_slice();
    let strides = Layout::row_major(0, *shape).strides;
    // SAFETY: the shape has the buffer's elements. The expression owns every buffer that is written: see `Target`.
    unsafe { Region::device::<T>(slice.address(), slice.memory(), writes, &shape[unused..], &strides[unused..]) }
}

fn launch<'o, 'a: 'o, T: Arithmetic>(
    context: &Context,
    map: Map<'a, T, Dim<MOST>>,
    output: impl OperandMut<'o, T>,
) -> Result<()> {
    let Some(planned) = map.into_launch(output)? else {
        return Ok(());
    };
    let entered = context.enter(|| "compute with arrays".to_owned())?;
    builtin::launch(&entered, &KERNELS, planned)
}

impl<T: fmt::Debug, D> fmt::Debug for Expression<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.steps.iter().map(|step| match step {
            Step::Value(Value::Elements(elements)) => format!("array of {:?}", elements.shape),
            Step::Value(Value::Number(number)) => format!("{number:?}"),
            Step::Value(Value::Own(_, shape)) => format!("array of {shape:?}"),
            Step::Operator(operator) => format!("{operator:?}"),
        });
        f.write_str("Expression ")?;
        f.debug_list().entries(steps).finish()
    }
}
