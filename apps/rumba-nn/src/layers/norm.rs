//! Group and layer norm.

use super::{Activation, refuse};
use crate::error::Result;
use crate::run::element::{Element, in_one_piece};
use crate::run::tensor::Tensor;
use crate::run::{Reads, Run};
use crate::weights::Weights;
use nn_kernels::norm::{Groups, MOST_GROUPS};
use rumba::array::Array;
use rumba::{DeviceSlice, LaunchConfig};

/// The norm of each group of channels of each image: PyTorch's `nn.GroupNorm`, for images that lie as
/// `[images, rows, columns, channels]`.
#[derive(Debug)]
pub struct GroupNorm<T> {
    scale: Array<T, 1>,
    shift: Array<T, 1>,
    groups: usize,
    epsilon: f32,
}

impl<T: Element> GroupNorm<T> {
    /// Takes `weight` and `bias`, a number for each channel.
    ///
    /// # Errors
    /// The errors of [`Weights::array`]; [`Error::Shape`](crate::Error::Shape) unless the groups divide the channels.
    pub fn load(weights: &Weights, channels: usize, groups: usize, epsilon: f32) -> Result<GroupNorm<T>> {
        if groups == 0 || !channels.is_multiple_of(groups) {
            return refuse("GroupNorm", format!("channels in {groups} groups"), &[channels]);
        }
        Ok(GroupNorm {
            scale: weights.array("weight", [channels])?,
            shift: weights.array("bias", [channels])?,
            groups,
            epsilon,
        })
    }

    /// Computes it.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of images with other channels; the runtime's.
    pub fn forward(&self, run: &Run, x: &Tensor<T, 4>) -> Result<Tensor<T, 4>> {
        self.activated(run, x, Activation::Identity)
    }

    /// Computes it, and a function of each result.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn activated(&self, run: &Run, x: &Tensor<T, 4>, function: Activation) -> Result<Tensor<T, 4>> {
        self.compute(run, x, None, function)
    }

    /// The norm of images after adding a row of numbers to each pixel, one row for each image.
    ///
    /// # Errors
    /// As [`forward`](Self::forward), and unless there is a row for each image with a number for each channel.
    pub fn activated_with(
        &self,
        run: &Run,
        x: &Tensor<T, 4>,
        rows: &Tensor<T, 2>,
        function: Activation,
    ) -> Result<Tensor<T, 4>> {
        let [images, .., channels] = x.shape();
        if rows.shape() != [images, channels] {
            let wanted = format!("rows of shape {:?}", [images, channels]);
            return refuse("GroupNorm", wanted, &rows.shape());
        }
        self.compute(run, x, Some(rows), function)
    }

    fn compute(
        &self,
        run: &Run,
        x: &Tensor<T, 4>,
        offsets: Option<&Tensor<T, 2>>,
        function: Activation,
    ) -> Result<Tensor<T, 4>> {
        let ([images, rows, columns, channels], groups) = (x.shape(), self.groups);
        if channels != self.scale.len() {
            let wanted = format!("images with {} channels", self.scale.len());
            return refuse("GroupNorm", wanted, &x.shape());
        }
        if x.is_empty() {
            return Ok(x.clone());
        }
        let pixels = rows * columns;
        let (shape, are_vectors) = share([images, pixels, channels, groups], T::VECTOR);
        let parts = channels / (shape.groups * shape.channels) as usize;
        let lines = [images * parts * shape.chunks as usize, shape.groups as usize];
        let moments = run.make(lines, |reads, moments| {
            let inputs = [reads.slice(x)?, self.offsets(reads, offsets)?];
            let moments = (in_one_piece(moments), lines);
            let call = T::group_moments(inputs, shape, moments, are_vectors);
            run.launch_rows(lines[0], call)
        })?;
        let lines = [images * groups, channels / groups];
        let factors = run.make(lines, |reads, factors| {
            let weights = [self.scale.as_slice(), self.shift.as_slice(), self.offsets(reads, offsets)?];
            let (moments, factors) = (reads.slice(&moments)?, (in_one_piece(factors), lines));
            let call = T::group_factors(moments, shape, weights, self.epsilon, factors);
            run.launch_rows(lines[0], call)
        })?;
        drop(moments);
        run.make(x.shape(), |reads, y| {
            let y = (in_one_piece(y), [images, pixels, channels]);
            let (x, factors) = (reads.slice(x)?, reads.slice(&factors)?);
            let call = T::normalise(x, factors, function.number(), y, are_vectors);
            run.launch(run.module(), in_columns([images, pixels, shape.columns as usize]), call)
        })
    }

    /// The elements of rows that kernels add to pixels: none if there are no rows.
    fn offsets<'s>(&'s self, reads: &'s Reads<'_>, rows: Option<&'s Tensor<T, 2>>) -> Result<DeviceSlice<'s, T>> {
        match rows {
            Some(rows) => reads.slice(rows),
            None => Ok(self.scale.as_slice().slice(..0)),
        }
    }
}

/// Warps that keep any GPU busy with sums.
const ENOUGH: usize = 2048;

/// Chunks of an image at most: each of its groups adds up what they have.
const MOST_CHUNKS: usize = 256;

/// How warps share images out to find the moments of their groups, and whether they read vectors of so many numbers.
fn share([images, pixels, channels, groups]: [usize; 4], vector: usize) -> (Groups, bool) {
    let each = channels / groups;
    let of_width = |width: usize| {
        let is_part = |groups_in_part: &usize| {
            let numbers = groups_in_part * each;
            groups.is_multiple_of(*groups_in_part) && numbers.is_multiple_of(width) && numbers / width <= 32
        };
        // 64 bytes of neighbouring numbers for each pixel, where there are so many.
        let mut whole = (1..=MOST_GROUPS).filter(is_part);
        let whole = whole.clone().find(|part| part * each >= 4 * width).or(whole.next_back());
        if let Some(whole) = whole {
            return Some((whole * each / width, whole));
        }
        let columns = each.is_multiple_of(width).then(|| each / width)?;
        let parts = (2..=columns).find(|parts| columns.is_multiple_of(*parts) && columns / parts <= 32)?;
        Some((columns / parts, 1))
    };
    let (width, (part, whole)) = match of_width(vector) {
        Some(found) => (vector, found),
        None => (1, of_width(1).expect("a part of one number is one")),
    };
    let parts = channels / (part * width);
    let least = 4 * (32 / part);
    let chunks = (ENOUGH / (images * parts)).clamp(1, MOST_CHUNKS);
    let length = pixels.div_ceil(chunks).max(least);
    let shape = Groups {
        pixels: pixels as u32,
        columns: (channels / width) as u32,
        part: part as u32,
        groups: whole as u32,
        channels: (part * width / whole) as u32,
        length: length as u32,
        chunks: pixels.div_ceil(length) as u32,
    };
    (shape, width > 1)
}

/// Threads that stay in a column each, of `[images, pixels, columns]`.
fn in_columns([images, pixels, columns]: [usize; 3]) -> LaunchConfig<'static> {
    const THREADS: usize = 256;
    let across = columns.div_ceil(columns.div_ceil(64));
    let down = THREADS / across;
    // Four pixels for each thread, or more.
    let blocks = pixels.div_ceil(4 * down).clamp(1, 512);
    let grid = [columns.div_ceil(across), blocks, images.min(1 << 15)].map(|length| length as u32);
    LaunchConfig::new(grid, [across as u32, down as u32, 1])
}

/// The norm of the last axis: PyTorch's `nn.LayerNorm`.
#[derive(Debug)]
pub struct LayerNorm<T> {
    scale: Array<T, 1>,
    shift: Array<T, 1>,
    epsilon: f32,
}

impl<T: Element> LayerNorm<T> {
    /// Takes `weight` and `bias`, a number for each element of a row.
    ///
    /// # Errors
    /// The errors of [`Weights::array`].
    pub fn load(weights: &Weights, columns: usize, epsilon: f32) -> Result<LayerNorm<T>> {
        Ok(LayerNorm { scale: weights.array("weight", [columns])?, shift: weights.array("bias", [columns])?, epsilon })
    }

    /// Computes it.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of rows of another length; the runtime's.
    pub fn forward<const N: usize>(&self, run: &Run, x: &Tensor<T, N>) -> Result<Tensor<T, N>> {
        let columns = self.scale.len();
        if x.shape().last() != Some(&columns) {
            return refuse("LayerNorm", format!("rows of {columns} elements"), &x.shape());
        }
        let rows = x.len() / columns.max(1);
        run.make(x.shape(), |reads, y| {
            let (scale, shift, y) = (self.scale.as_slice(), self.shift.as_slice(), in_one_piece(y));
            let are_vectors = columns.is_multiple_of(T::VECTOR);
            let y = (y, [rows, columns]);
            let call = T::layer_norm([reads.slice(x)?, scale, shift], self.epsilon, y, are_vectors);
            run.launch_rows(rows, call)
        })
    }
}
