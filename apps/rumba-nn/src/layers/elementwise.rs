//! Layers without weights: functions of each element, sums, and layers that change an image's size or channels.

use super::refuse;
use crate::error::Result;
use crate::run::Run;
use crate::run::element::{Element, in_one_piece};
use crate::run::tensor::Tensor;
use nn_kernels::elementwise;
use rumba::LaunchConfig;
use rumba::array::ArrayView;
use rumba::linalg;

/// A function of each element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// `x`.
    #[default]
    Identity,
    /// `x / (1 + exp(-x))`, also called swish.
    Silu,
    /// `x Φ(x)`, with the normal distribution's Φ: PyTorch's `nn.GELU`.
    Gelu,
    /// `x / (1 + exp(-1.702 x))`, CLIP's approximation of GELU.
    QuickGelu,
    /// `max(x, 0)`.
    Relu,
}

impl Activation {
    /// The number of the function in the kernels.
    pub(crate) fn number(self) -> u32 {
        match self {
            Activation::Identity => elementwise::IDENTITY,
            Activation::Silu => elementwise::SILU,
            Activation::Gelu => elementwise::GELU,
            Activation::QuickGelu => elementwise::QUICK_GELU,
            Activation::Relu => elementwise::RELU,
        }
    }

    /// The same function as an epilogue of matrix products; `None` if epilogues do not offer the function.
    pub(crate) fn fused(self) -> Option<linalg::Activation> {
        match self {
            Activation::Identity => Some(linalg::Activation::Identity),
            Activation::Silu => Some(linalg::Activation::Silu),
            Activation::Relu => Some(linalg::Activation::Relu),
            Activation::Gelu | Activation::QuickGelu => None,
        }
    }
}

impl Run {
    /// A function of each element.
    ///
    /// # Errors
    /// The runtime's.
    pub fn activate<T: Element, const N: usize>(&self, x: &Tensor<T, N>, function: Activation) -> Result<Tensor<T, N>> {
        let length = [x.len()];
        self.make(x.shape(), |reads, y| {
            let x = reads.view(x)?.reshape(length)?;
            self.map(T::activate(x, function.number()), y.reshape(length)?)
        })
    }

    /// The first half of each row, times the GELU of the second half: diffusers' `GEGLU` behind its product.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of rows of an odd length; the runtime's.
    // ANCHOR: gated
    pub fn gated<T: Element, const N: usize>(&self, x: &Tensor<T, N>) -> Result<Tensor<T, N>> {
        let mut shape = x.shape();
        let half = match shape.last_mut() {
            Some(last) if last.is_multiple_of(2) => {
                *last /= 2;
                *last
            }
            _ => return refuse("gated", "rows of an even length".to_owned(), &x.shape()),
        };
        let are_vectors = half.is_multiple_of(T::VECTOR);
        let length = x.len() / 2;
        self.make(shape, |reads, y| {
            let call = T::gated(reads.slice(x)?, half, in_one_piece(y), are_vectors);
            let threads = if are_vectors { length / T::VECTOR } else { length };
            self.launch(self.module(), LaunchConfig::for_each(threads), call)
        })
    }
    // ANCHOR_END: gated

    /// The sum of two tensors.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of tensors of two shapes; the runtime's.
    pub fn add<T: Element, const N: usize>(&self, x: &Tensor<T, N>, y: &Tensor<T, N>) -> Result<Tensor<T, N>> {
        same_shape("add", x, y)?;
        let shape = [1, 1, x.len()];
        self.make(x.shape(), |reads, sum| {
            let (x, y) = (reads.view(x)?.reshape(shape)?, reads.view(y)?.reshape(shape)?);
            self.map(T::add(x, y), sum.reshape(shape)?)
        })
    }

    /// `a x + b y`, with numbers that a graph's launches read anew.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of tensors of two shapes, and of more numbers than one; the runtime's.
    pub fn weighted_sum<T: Element, const N: usize>(
        &self,
        [a, b]: [ArrayView<'_, f32, 1>; 2],
        x: &Tensor<T, N>,
        y: &Tensor<T, N>,
    ) -> Result<Tensor<T, N>> {
        same_shape("weighted_sum", x, y)?;
        for weight in [a, b] {
            if weight.len() != 1 {
                return refuse("weighted_sum", "weights of one number".to_owned(), &weight.shape());
            }
        }
        let shape = [1, 1, x.len()];
        self.make(x.shape(), |reads, sum| {
            let (x, y) = (reads.view(x)?.reshape(shape)?, reads.view(y)?.reshape(shape)?);
            self.map(T::sum(x, y, a, b), sum.reshape(shape)?)
        })
    }

    /// Images, with a row of numbers for each image added to each of its pixels.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless there is a row for each image, with a number for each channel; the runtime's.
    pub fn add_to_pixels<T: Element>(&self, x: &Tensor<T, 4>, rows: &Tensor<T, 2>) -> Result<Tensor<T, 4>> {
        let [images, height, width, channels] = x.shape();
        if rows.shape() != [images, channels] {
            return refuse("add_to_pixels", format!("rows of shape {:?}", [images, channels]), &rows.shape());
        }
        let shape = [images, height * width, channels];
        self.make(x.shape(), |reads, sum| {
            let (x, rows) = (reads.view(x)?.reshape(shape)?, reads.view(rows)?.insert_axis(1));
            self.map(T::add(x, rows), sum.reshape(shape)?)
        })
    }

    /// Images of twice as many rows and columns, with each pixel four times: PyTorch's `nn.Upsample(scale_factor=2)`.
    ///
    /// # Errors
    /// The runtime's.
    pub fn upsample<T: Element>(&self, x: &Tensor<T, 4>) -> Result<Tensor<T, 4>> {
        let [images, rows, columns, channels] = x.shape();
        self.make([images, 2 * rows, 2 * columns, channels], |reads, y| {
            let pixels = reads.view(x)?.reshape([images, rows, 1, columns, 1, channels])?;
            self.map(T::copy(pixels), y.reshape([images, rows, 2, columns, 2, channels])?)
        })
    }

    /// The first rows and columns of images.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of images with fewer; the runtime's.
    pub fn cropped<T: Element>(&self, x: &Tensor<T, 4>, [rows, columns]: [usize; 2]) -> Result<Tensor<T, 4>> {
        let [images, own_rows, own_columns, channels] = x.shape();
        if rows > own_rows || columns > own_columns {
            let wanted = format!("images of {rows} rows and {columns} columns, or more");
            return refuse("cropped", wanted, &x.shape());
        }
        if [rows, columns] == [own_rows, own_columns] {
            return Ok(x.clone());
        }
        self.make([images, rows, columns, channels], |reads, y| {
            self.map(T::copy(reads.view(x)?.slice((.., ..rows, ..columns, ..))), y)
        })
    }

    /// Images with a row and a column of zeros more, at the end: PyTorch's `F.pad(x, (0, 1, 0, 1))`.
    ///
    /// # Errors
    /// The runtime's.
    pub fn padded<T: Element>(&self, x: &Tensor<T, 4>) -> Result<Tensor<T, 4>> {
        let [images, rows, columns, channels] = x.shape();
        self.make([images, rows + 1, columns + 1, channels], |reads, y| {
            let (above, below) = y.split_at_mut(1, rows);
            let (inner, right) = above.split_at_mut(2, columns);
            self.map(T::copy(reads.view(x)?), inner)?;
            self.map(T::constant(0.0), right)?;
            self.map(T::constant(0.0), below)
        })
    }

    /// Images with channels of zeros behind their own.
    pub(crate) fn widened<T: Element>(&self, x: &Tensor<T, 4>, zeros: usize) -> Result<Tensor<T, 4>> {
        let [images, rows, columns, channels] = x.shape();
        self.make([images, rows, columns, channels + zeros], |reads, wide| {
            let (own, behind) = wide.split_at_mut(3, channels);
            self.map(T::copy(reads.view(x)?), own)?;
            self.map(T::constant(0.0), behind)
        })
    }

    /// The channels of one tensor and then those of another, for each pixel.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of other images; the runtime's.
    pub fn concatenate<T: Element>(&self, x: &Tensor<T, 4>, y: &Tensor<T, 4>) -> Result<Tensor<T, 4>> {
        let ([images, rows, columns, first], [.., second]) = (x.shape(), y.shape());
        if y.shape() != [images, rows, columns, second] {
            let wanted = format!("images of shape {:?} with any channels", [images, rows, columns]);
            return refuse("concatenate", wanted, &y.shape());
        }
        let pixels = images * rows * columns;
        self.make([images, rows, columns, first + second], |reads, both| {
            let (left, right) = both.reshape([pixels, first + second])?.split_at_mut(1, first);
            let matrix = |tensor, channels| -> Result<ArrayView<'_, T, 2>> {
                Ok(reads.view::<T, 4>(tensor)?.reshape([pixels, channels])?)
            };
            self.map(T::copy(matrix(x, first)?), left)?;
            self.map(T::copy(matrix(y, second)?), right)
        })
    }
}

fn same_shape<T, const N: usize>(layer: &'static str, x: &Tensor<T, N>, y: &Tensor<T, N>) -> Result<()> {
    if x.shape() == y.shape() {
        return Ok(());
    }
    refuse(layer, format!("two tensors of shape {:?}", x.shape()), &y.shape())
}
