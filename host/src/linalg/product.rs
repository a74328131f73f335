//! Products of matrices.

mod choice;
mod group;
mod matrices;
mod pack;
mod parts;
mod types;

pub use matrices::Matrices;
pub use rumba_linalg::product::Activation;
pub use types::{Float, Multiply};

use crate::array::{ArrayView, ArrayViewMut};
use crate::base::error::{LinalgError, Result};
use crate::launch::config::LaunchConfig;
use crate::linalg::{Linalg, counted};
use crate::modules::module::Module;
use bytemuck::Pod;
use choice::Problem;
pub(super) use choice::cycles_of_halves;
use cuda_std::launch::Call;
use std::fmt;
use types::Operands;

/// The precision of products of `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precision {
    /// `f32`.
    #[default]
    Full,
    /// TensorFloat-32: 11 bits of each factor count, and sums are `f32`. Tensor cores are several times as fast.
    Tf32,
}

/// A product of matrices that is not computed yet: `activation(alpha a b + bias) + residual`, see [`Linalg::product`].
#[must_use = "nothing is computed until `eval_into`"]
pub struct Product<'a, T, U: Pod>
where
    T: Multiply<U>,
{
    linalg: &'a Linalg,
    a: ArrayView<'a, T, 3>,
    b: ArrayView<'a, T, 3>,
    /// As they were given, for errors.
    shapes: [Vec<usize>; 2],
    alpha: T::Sum,
    beta: T::Sum,
    activation: Activation,
    bias: Option<Repeated<'a, U>>,
    residual: Option<Repeated<'a, U>>,
    precision: Precision,
}

/// A view that is repeated to a shape that is known later.
type Repeated<'a, U> = Box<dyn Fn([usize; 3]) -> Result<ArrayView<'a, U, 3>> + 'a>;

impl Linalg {
    /// The product of two matrices, or of two batches of matrices: `[rows, terms]` times `[terms, columns]`, with an axis of
    /// matrices before it where there are several.
    ///
    /// Operands are arrays by reference or views of them, with any strides: a transposed view is a transposed operand. What else is
    /// done with the sums is said before [`eval_into`](Product::eval_into), and done by the same kernel.
    ///
    /// | elements `T` | output `U` | sums | computed by | on an H200, 4096 by 4096 by 4096 |
    /// |---|---|---|---|---|
    /// | `f16`, `bf16` | the same or `f32` | `f32` | tensor cores | 750 TFLOP/s |
    /// | `e4m3`, `e5m2` | `f16`, `bf16` or `f32` | `f32` | tensor cores, from compute capability 9.0 on | |
    /// | `f32` | `f32` | `f32` | threads, or tensor cores with [`Precision::Tf32`] | 37 TFLOP/s by threads |
    /// | `f64` | `f64` | `f64` | tensor cores | 45 TFLOP/s |
    /// | `i8` | `i32` | `i32`, which wraps around | tensor cores | |
    ///
    /// On compute capability 9.0 products are computed by warp groups (`wgmma`), where rows of the operands begin at multiples of 16
    /// bytes, or after they have been copied so. A bias, an activation, a residual or old elements take little time beside that; the
    /// activations are approximations then, with errors of some units in the last place of `f32`.
    ///
    /// # Examples
    /// ```
    /// use rumba::array::Array;
    /// use rumba::linalg::{Activation, Linalg};
    /// # fn main() -> rumba::Result<()> {
    /// let device = rumba::Device::new()?;
    /// let linalg = Linalg::new(&device);
    ///
    /// let a = Array::from_slice(&device, [2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let b = Array::from_slice(&device, [3, 2], &[1.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0])?;
    /// let mut c = Array::zeros(&device, [2, 2])?;
    /// linalg.product(&a, &b).eval_into(&mut c)?;
    /// assert_eq!(c.to_vec()?, [4.0, 5.0, 10.0, 11.0]);
    ///
    /// // a aᵀ, with a number added to each column, and what is negative set to zero.
    /// let bias = Array::from_slice(&device, [2], &[-20.0_f32, 1.0])?;
    /// let product = linalg.product(&a, a.transpose()).bias(&bias);
    /// product.activation(Activation::Relu).eval_into(&mut c)?;
    /// assert_eq!(c.to_vec()?, [0.0, 33.0, 12.0, 78.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn product<'a, T: Multiply<U>, U: Pod>(
        &'a self,
        a: impl Matrices<'a, T>,
        b: impl Matrices<'a, T>,
    ) -> Product<'a, T, U> {
        let (a, b) = (a.matrices(), b.matrices());
        Product {
            linalg: self,
            shapes: [a.shape.clone(), b.shape.clone()],
            a: a.view,
            b: b.view,
            alpha: T::ONE,
            beta: T::ZERO,
            activation: Activation::Identity,
            bias: None,
            residual: None,
            precision: Precision::Full,
        }
    }
}

impl<'a, T: Multiply<U>, U: Pod> Product<'a, T, U> {
    /// Multiplies each sum by a number.
    pub fn scale(mut self, alpha: T::Sum) -> Self {
        self.alpha = alpha;
        self
    }

    /// Adds the output's old elements, times a number, at the end.
    ///
    /// ```
    /// # use rumba::array::Array;
    /// # use rumba::linalg::Linalg;
    /// # fn main() -> rumba::Result<()> {
    /// # let device = rumba::Device::new()?;
    /// # let linalg = Linalg::new(&device);
    /// let (row, column) = (Array::full(&device, [1, 4], 2_i8)?, Array::full(&device, [4, 1], 3_i8)?);
    /// let mut sum = Array::full(&device, [1, 1], 100_i32)?;
    /// linalg.product(&row, &column).accumulate(1).eval_into(&mut sum)?;
    /// assert_eq!(sum.to_vec()?, [124]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn accumulate(mut self, beta: T::Sum) -> Self {
        self.beta = beta;
        self
    }

    /// Adds an array to the scaled sums, before the activation: one of as many elements as there are columns, or any other that
    /// broadcasts to the output, such as a column of numbers for the rows.
    pub fn bias<const N: usize>(mut self, bias: impl Into<ArrayView<'a, U, N>>) -> Self {
        self.bias = Some(repeated(bias.into()));
        self
    }

    /// Adds an array after the activation, which broadcasts to the output.
    pub fn residual<const N: usize>(mut self, residual: impl Into<ArrayView<'a, U, N>>) -> Self {
        self.residual = Some(repeated(residual.into()));
        self
    }

    /// Computes the product, and writes it to an array, a view or a part of one, with any strides.
    ///
    /// The work is put on the handle's stream. A [captured](crate::Device::capture) one records it.
    ///
    /// # Errors
    /// [`LinalgError`] if shapes do not fit, [`ArrayError::Broadcast`](crate::error::ArrayError::Broadcast) of a bias or a residual;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) and the driver's.
    pub fn eval_into<const N: usize>(self, c: impl Into<ArrayViewMut<'a, U, N>>) -> Result<()> {
        let Some((operands, problem)) = self.operands(c.into())? else {
            return Ok(());
        };
        choice::run(self.linalg, operands, &problem, self.precision)
    }

    /// Computes the product by a kernel of one's own, which does anything with each sum: see [`cuda_std::product`]. `call` is given
    /// both operands and the output in three dimensions; the numbers, bias and residual of this product are not used.
    ///
    /// ```ignore
    /// // In the kernel crate:
    /// #[kernel(block = 256)]
    /// pub fn square_product(a: View<f32, 3>, b: View<f32, 3>, c: Disjoint<f32, Product<ByThreads>>, stages: ProductStages<ByThreads>) {
    ///     stages.product(a, b, c, |_, sum, c| *c = sum * sum);
    /// }
    ///
    /// // In the program:
    /// linalg.product(&a, &b).eval_by(&module, &mut c, |a, b, c| kernels::square_product(a, b, c))?;
    /// ```
    ///
    /// # Errors
    /// As [`eval_into`](Self::eval_into), and those of [`Module::launch`].
    pub fn eval_by<const N: usize>(
        self,
        module: &Module,
        c: impl Into<ArrayViewMut<'a, U, N>>,
        call: impl FnOnce(ArrayView<'a, T, 3>, ArrayView<'a, T, 3>, ArrayViewMut<'a, U, 3>) -> Call<'a>,
    ) -> Result<()> {
        let Some((operands, problem)) = self.operands(c.into())? else {
            return Ok(());
        };
        let Operands { a, b, c, .. } = operands;
        // The grid is sized for the smallest tiles. With larger tiles, some blocks have no work.
        let blocks = problem.tiles([rumba_linalg::product::thread::TILE; 2])?;
        self.linalg.library.launch(Some(module), LaunchConfig::grid(blocks), call(a, b, c))
    }

    /// The operands in three dimensions, or `None` if the output has no elements.
    fn operands<'s, const N: usize>(
        &'s self,
        c: ArrayViewMut<'a, U, N>,
    ) -> Result<Option<(Operands<'a, T, U>, Problem)>> {
        let output = c.shape().to_vec();
        for shape in self.shapes.iter().chain([&output]) {
            if !matches!(shape.len(), 2 | 3) {
                return Err(LinalgError::NoMatrix { shape: shape.clone() }.into());
            }
        }
        let c = matrices::output(c);
        let ([batch, rows, columns], [_, left, terms], [_, other, right]) = (c.shape(), self.a.shape(), self.b.shape());
        let serves = |matrices: usize| matrices == batch || matrices == 1;
        let fits =
            [left, right, terms] == [rows, columns, other] && serves(self.a.shape()[0]) && serves(self.b.shape()[0]);
        if !fits {
            let [left, right] = self.shapes.clone();
            return Err(LinalgError::Product { left, right, output }.into());
        }
        let shape = c.shape();
        let repeated = |view: &Option<Repeated<'a, U>>| view.as_ref().map(|view| view(shape)).transpose();
        let (bias, residual) = (repeated(&self.bias)?, repeated(&self.residual)?);
        let operands = Operands {
            a: self.a.broadcast([batch, rows, terms])?,
            b: self.b.broadcast([batch, terms, columns])?,
            bias: bias.unwrap_or_else(|| matrices::nothing(&self.a)),
            residual: residual.unwrap_or_else(|| matrices::nothing(&self.a)),
            alpha: self.alpha,
            beta: self.beta,
            activation: self.activation,
            c,
        };
        counted("product", &[batch, rows, columns, terms])?;
        let problem = Problem::new([batch, rows, columns, terms]);
        Ok((!operands.c.is_empty()).then_some((operands, problem)))
    }
}

impl<T: Float<U>, U: Pod> Product<'_, T, U> {
    /// Applies a function to each scaled sum with its bias.
    pub fn activation(mut self, activation: Activation) -> Self {
        self.activation = activation;
        self
    }
}

impl<U: Pod> Product<'_, f32, U>
where
    f32: Multiply<U>,
{
    /// The precision of products of `f32`: all bits by default.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }
}

fn repeated<U: Pod, const N: usize>(view: ArrayView<'_, U, N>) -> Repeated<'_, U> {
    Box::new(move |shape| view.broadcast(shape))
}

impl<T: Multiply<U>, U: Pod> fmt::Debug for Product<'_, T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Product").field("shapes", &self.shapes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Activation, matrices};
    use crate::array::Array;
    use crate::devices::device::Device;
    use crate::launch::config::LaunchConfig;
    use crate::launch::test_kernels::{PTX, scale};
    use crate::linalg::{KERNELS, Linalg};
    use cuda_std::half::f16;
    use rumba_linalg::product::thread;

    #[test]
    fn a_kernel_of_another_module() {
        let device = Device::new().unwrap();
        let capability = device.limits().compute_capability;
        let text = KERNELS.only("product_threads_small", capability).unwrap();
        let module = device.load_named("the test", &text).unwrap();
        let (a, b) = (Array::full(&device, [140, 5], 2.0_f32).unwrap(), Array::full(&device, [5, 3], 0.5_f32).unwrap());
        let mut c = Array::zeros(&device, [140, 3]).unwrap();
        let nothing = matrices::nothing(&a.view().insert_axis(0));
        let linalg = Linalg::new(&device);
        let product = linalg.product(&a, &b);
        let call = |a, b, c| thread::product_threads_small(a, b, nothing, nothing, 3.0, 0.0, Activation::Identity, c);
        product.eval_by(&module, &mut c, call).unwrap();
        assert_eq!(c.to_vec().unwrap(), [15.0; 420]);
    }

    #[test]
    fn launches_are_told_what_no_other_writes_that_may_be_running() {
        let device = Device::new().unwrap();
        if device.limits().compute_capability != (9, 0) {
            return;
        }
        let linalg = Linalg::new(&device).only("small");
        let module = device.load(PTX).unwrap();
        let mut numbers = device.buffer_from(&[1.0_f32; 8]).unwrap();
        let one = || Array::full(&device, [64, 64], f16::ONE).unwrap();
        let (x, mut y, mut z, mut halves) = (one(), one(), one(), one());
        let graph = device
            .capture(|stream| {
                let linalg = linalg.on(stream);
                linalg.product(&x, &x).eval_into(&mut y)?;
                linalg.product(&x, &y).eval_into(&mut z)?;
                // The second launch may not have waited yet for the first launch, which writes `y`.
                linalg.product(&y, &x).eval_into(&mut z)?;
                // This launch waits for all earlier launches.
                module.launch(LaunchConfig::for_each(8).stream(stream), scale(2.0, &mut numbers))?;
                linalg.product(y.slice((..32, ..)), &z).eval_into(halves.slice_mut((..32, ..)))?;
                // The launch writes the first half of `halves` only.
                linalg.product(x.slice((..32, ..)), &x).eval_into(halves.slice_mut((..32, ..)))?;
                linalg.product(halves.slice((32.., ..)), &x).eval_into(y.slice_mut((..32, ..)))?;
                linalg.product(halves.slice((..32, ..)), &x).eval_into(y.slice_mut((..32, ..)))
            })
            .unwrap();
        let expected: [&[bool]; 8] = [
            &[true, true],
            &[true, false],
            &[false, true],
            &[],
            &[true, true],
            &[true, true],
            &[true, true],
            &[false, true],
        ];
        assert_eq!(graph.told(), expected);
        graph.launch().unwrap();
        assert!(y.to_vec().unwrap()[..32 * 64].iter().all(|y| y.to_f32() == 64.0 * 64.0));
    }
}
