//! Convolutions of images.

mod tiles;

use self::tiles::{STEP, Tile, WarpGroups};
use crate::array::layout::Layout;
use crate::array::{Array, ArrayView, ArrayViewMut};
use crate::base::error::{LinalgError, Result};
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use crate::launch::config::LaunchConfig;
use crate::linalg::{Activation, Float, Linalg, counted, product};
use bytemuck::Pod;
use cuda_std::half::{bf16, f16};
use cuda_std::launch::Call;
use cuda_std::tensor::Window;
use rumba_linalg::convolution::patches::{self, convolution_patches};
use rumba_linalg::convolution::thread::{Geometry, TILE, convolution_threads};
use rumba_linalg::convolution::warp_group::{
    convolution_64, convolution_128, convolution_128_by_2, convolution_160, convolution_160_by_3, convolution_256,
    convolution_small,
};
use std::fmt;

/// Bytes of patches at a time.
const MOST_BYTES: usize = 256 << 20;

/// Numbers of images: `f16`, `bf16` and `f32`. Sums are `f32` in all of them.
pub trait ConvolutionElement: Float<Self> + sealed::Element {}

/// A convolution to be computed: see [`Linalg::convolution`].
#[must_use = "a convolution is computed by `eval` or `eval_into`"]
pub struct Convolution<'a, T> {
    linalg: Linalg,
    images: ArrayView<'a, T, 4>,
    filter: ArrayView<'a, T, 4>,
    bias: Option<ArrayView<'a, T, 1>>,
    stride: [usize; 2],
    padding: [usize; 2],
    activation: Activation,
}

impl Linalg {
    /// A convolution of `[images, rows, columns, channels]` with a filter of `[outputs, rows, columns, channels]`: wherever the
    /// filter stands on an image, the sum of the products of the numbers that lie on each other, for each output. The result has
    /// the shape `[images, rows, columns, outputs]`. The filter is not turned over, as in all libraries for networks.
    ///
    /// Unless told otherwise, the filter moves by one, and stands only where all of it is on the image.
    ///
    /// A filter of one row and one column that moves by one is a [`product`](Self::product) of matrices, and is computed as one, unless the
    /// tiles of convolutions fit better. Of others,
    /// numbers of 16 bits are multiplied by warp groups on devices of compute capability 9.0, where channels and outputs are multiples
    /// of 8. Everything else is a product too, of a copy of what the filter sees at each place (up to 256 MiB at a time), or is
    /// multiplied by threads where it is small. Images that do not lie one element after the other are copied first.
    ///
    /// # Examples
    /// ```
    /// use rumba::array::Array;
    /// use rumba::linalg::{Activation, Linalg};
    /// # fn main() -> rumba::Result<()> {
    /// let device = rumba::Device::new()?;
    /// let linalg = Linalg::new(&device);
    ///
    /// // An image of 4 by 4 pixels with one channel, and a filter that adds up 3 by 3 of them.
    /// let image = Array::arange(&device, 0.0_f32, 1.0, 16)?.reshape([1, 4, 4, 1])?;
    /// let filter = Array::full(&device, [1, 3, 3, 1], 1.0_f32)?;
    /// let sums = linalg.convolution(image.view(), filter.view()).eval()?;
    /// assert_eq!(sums.shape(), [1, 2, 2, 1]);
    /// assert_eq!(sums.to_vec()?, [45.0, 54.0, 81.0, 90.0]);
    ///
    /// // With zeros around the image, in steps of two, and a bias.
    /// let bias = Array::full(&device, [1], -40.0_f32)?;
    /// let sums = linalg
    ///     .convolution(image.view(), filter.view())
    ///     .padding([1, 1])
    ///     .stride([2, 2])
    ///     .bias(bias.view())
    ///     .activation(Activation::Relu)
    ///     .eval()?;
    /// assert_eq!(sums.to_vec()?, [0.0, 0.0, 11.0, 50.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn convolution<'a, T: ConvolutionElement>(
        &self,
        images: ArrayView<'a, T, 4>,
        filter: ArrayView<'a, T, 4>,
    ) -> Convolution<'a, T> {
        Convolution {
            linalg: self.clone(),
            images,
            filter,
            bias: None,
            stride: [1; 2],
            padding: [0; 2],
            activation: Activation::Identity,
        }
    }
}

impl<'a, T: ConvolutionElement> Convolution<'a, T> {
    /// Adds a number to each output, before the activation.
    pub fn bias(self, bias: ArrayView<'a, T, 1>) -> Self {
        Self { bias: Some(bias), ..self }
    }

    /// A function of each sum.
    pub fn activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// How many rows and columns the filter moves from one place to the next.
    pub fn stride(self, stride: [usize; 2]) -> Self {
        Self { stride, ..self }
    }

    /// Rows of zeros above and below each image, and columns beside it.
    pub fn padding(self, padding: [usize; 2]) -> Self {
        Self { padding, ..self }
    }

    /// The shape of the result.
    ///
    /// # Errors
    /// [`LinalgError`] if filter, images and bias do not fit together.
    pub fn shape(&self) -> Result<[usize; 4]> {
        let (images, filter) = (self.images.shape(), self.filter.shape());
        if images[3] != filter[3] {
            return Err(LinalgError::Filter { images, filter }.into());
        }
        let window = self.window();
        let [rows, columns] = window.places();
        if rows == 0 || columns == 0 || window.taps.contains(&0) || self.stride.contains(&0) {
            let no_place = LinalgError::NoPlace {
                image: [images[1], images[2]],
                taps: window.taps,
                stride: self.stride,
                padding: self.padding,
            };
            return Err(no_place.into());
        }
        let stride = [0, 1].map(|axis| if [rows, columns][axis] == 1 { 1 } else { self.stride[axis] });
        let padded = [0, 1].map(|axis| images[axis + 1].saturating_add(self.padding[axis].saturating_mul(2)));
        counted("convolution", &[images[0], padded[0], padded[1], images[3], filter[0], stride[0], stride[1]])?;
        if let Some(bias) = self.bias {
            wanted("bias", &bias.shape(), &[filter[0]])?;
        }
        Ok([images[0], rows, columns, filter[0]])
    }

    /// Computes it, and returns the result in a new array.
    ///
    /// # Errors
    /// [`LinalgError`] if filter, images and bias do not fit together; [`crate::Error::OtherDevice`] for arrays of several
    /// devices; [`crate::Error::OutOfMemory`] and the driver's.
    pub fn eval(self) -> Result<Array<T, 4>> {
        let shape = self.shape()?;
        let mut output = Array::uninitialised(self.linalg.library.device(), shape)?;
        self.compute(shape, output.view_mut().into_slice().expect("the elements of a new array have no gaps"))?;
        Ok(output)
    }

    /// Computes the convolution, and writes the result to an existing array.
    ///
    /// # Errors
    /// As [`eval`](Self::eval), and [`LinalgError`] unless the output has the result's [`shape`](Self::shape).
    pub fn eval_into(self, mut output: ArrayViewMut<'_, T, 4>) -> Result<()> {
        let shape = self.shape()?;
        wanted("output", &output.shape(), &shape)?;
        if let Some(output) = output.reborrow().into_slice() {
            return self.compute(shape, output);
        }
        let result = self.eval()?;
        output.copy_from(&result.view())
    }

    fn window(&self) -> Window {
        let [_, down, right, _] = self.filter.shape();
        Window { images: self.images.shape(), taps: [down, right], stride: self.stride, padding: self.padding }
    }

    /// Fills the output.
    fn compute(&self, shape: [usize; 4], output: DeviceSliceMut<'_, T>) -> Result<()> {
        if output.is_empty() {
            return Ok(());
        }
        let (images, filter) = (Contiguous::of(&self.images)?, Contiguous::of(&self.filter)?);
        let bias = self.bias.as_ref().map(Contiguous::of).transpose()?;
        let problem = Problem {
            window: self.window(),
            images: images.slice(),
            filter: filter.slice(),
            bias: match &bias {
                Some(bias) => bias.slice(),
                None => filter.slice().slice(..0),
            },
            activation: self.activation,
        };
        let has_tiles = problem.has_tensor_maps(shape, &output) && self.linalg.has_warp_groups();
        if self.is_product() && !(has_tiles && self.linalg.prefers_tiles(shape, problem.window)) {
            self.compute_by_product(problem.images, &problem, shape, output)
        } else if has_tiles {
            self.linalg.convolution_by_warp_groups(&problem, shape, output)
        } else if problem.is_worth_patches(shape) {
            self.compute_by_patches(&problem, shape, MOST_BYTES, output)
        } else {
            self.linalg.convolution_by_threads(problem, shape, output)
        }
    }
}

impl<T: ConvolutionElement> Convolution<'_, T> {
    /// Whether the filter sees one pixel at a time, each pixel once.
    fn is_product(&self) -> bool {
        let window = self.window();
        window.taps == [1, 1] && window.stride == [1, 1] && window.padding == [0, 0]
    }

    /// The product of patches, what the filter sees at each place, and the transpose of the filter.
    fn compute_by_product(
        &self,
        patches: DeviceSlice<'_, T>,
        problem: &Problem<'_, T>,
        [.., outputs]: [usize; 4],
        output: DeviceSliceMut<'_, T>,
    ) -> Result<()> {
        let terms = problem.terms();
        let matrix = |rows: usize, columns: usize| Layout::row_major(0, [rows, columns]);
        let places = output.as_slice().len() / outputs;
        let patches = ArrayView::new(patches, matrix(places, terms));
        let filter = ArrayView::new(problem.filter, matrix(outputs, terms));
        let output = ArrayViewMut::new(output.into_view(), matrix(places, outputs));
        let product = self.linalg.product(patches, filter.permute([1, 0]));
        let product = product.activation(self.activation);
        match self.bias {
            Some(bias) => product.bias(bias).eval_into(output),
            None => product.eval_into(output),
        }
    }

    /// The same of patches that are copied first, so many bytes at a time at most.
    fn compute_by_patches(
        &self,
        problem: &Problem<'_, T>,
        shape: [usize; 4],
        most_bytes: usize,
        output: DeviceSliceMut<'_, T>,
    ) -> Result<()> {
        let [images, rows, columns, outputs] = shape;
        let library = &self.linalg.library;
        let bytes = problem.terms() * size_of::<T>();
        let at_once = (most_bytes / bytes).clamp(1, images * rows * columns);
        let mut work = library.work((at_once * bytes).div_ceil(4))?;
        for (part, output) in output.chunks_mut(at_once * outputs).enumerate() {
            let places = output.as_slice().len() / outputs;
            let mut memory = work.slice();
            let mut patches = memory.reborrow().cast::<T>().slice_mut(..places * problem.terms());
            let (config, call) = problem.patches(rows, columns, part * at_once, &mut patches);
            library.launch(None, config, call)?;
            self.compute_by_product(patches.as_slice(), problem, shape, output)?;
        }
        Ok(())
    }
}

/// Compares the shape of an operand with what it has to be.
fn wanted(operand: &'static str, shape: &[usize], wanted: &[usize]) -> Result<()> {
    if shape == wanted {
        return Ok(());
    }
    let (shape, wanted) = (shape.to_vec(), wanted.to_vec());
    Err(LinalgError::Operand { operand, shape, wanted }.into())
}

/// The elements of a view one after the other: where they are, or copied.
enum Contiguous<'a, T, const N: usize> {
    There(DeviceSlice<'a, T>),
    Copied(Array<T, N>),
}

impl<'a, T: Pod, const N: usize> Contiguous<'a, T, N> {
    fn of(view: &ArrayView<'a, T, N>) -> Result<Self> {
        match view.as_slice() {
            Some(slice) => Ok(Self::There(slice)),
            None => view.to_array().map(Self::Copied),
        }
    }

    fn slice(&self) -> DeviceSlice<'_, T> {
        match self {
            Self::There(slice) => *slice,
            Self::Copied(array) => array.as_slice(),
        }
    }
}

/// A convolution of arrays whose elements lie one after the other.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "it is not public")]
pub struct Problem<'c, T> {
    window: Window,
    images: DeviceSlice<'c, T>,
    filter: DeviceSlice<'c, T>,
    /// A bias for each output, or none.
    bias: DeviceSlice<'c, T>,
    activation: Activation,
}

impl<T: ConvolutionElement> Problem<'_, T> {
    /// Products that a sum of the output has.
    fn terms(&self) -> usize {
        self.window.taps[0] * self.window.taps[1] * self.window.images[3]
    }

    /// Whether to copy patches takes little time beside their products.
    fn is_worth_patches(&self, [images, rows, columns, outputs]: [usize; 4]) -> bool {
        self.terms() >= 64 && outputs >= 32 && images * rows * columns >= 64
    }

    /// How the filter goes over images whose pixels have so many numbers or vectors, with so many rows of places.
    fn geometry(&self, rows: usize, channels: usize) -> Geometry {
        let Window { images: [_, height, width, _], taps, stride, padding } = self.window;
        let small = |lengths: [usize; 2]| lengths.map(|length| length as u32);
        Geometry {
            image: small([height, width]),
            channels: channels as u32,
            places: rows as u32,
            taps: small(taps),
            stride: small(stride),
            padding: small(padding),
        }
    }

    /// Copies what the filter sees from a place on.
    fn patches<'c>(
        &'c self,
        rows: usize,
        columns: usize,
        first: usize,
        patches: &'c mut DeviceSliceMut<'_, T>,
    ) -> (LaunchConfig<'static>, Call<'c>) {
        const THREADS: usize = 256;
        let (first, columns, terms) = (first as u64, columns as u32, self.terms());
        let (places, taps) = (patches.as_slice().len() / terms, self.window.taps[0] * self.window.taps[1]);
        let channels = self.window.images[3];
        let vector = size_of::<patches::Vector>() / size_of::<T>();
        let are_vectors = channels.is_multiple_of(vector) && self.images.address().is_multiple_of(16);
        let channels = if are_vectors { channels / vector } else { channels };
        let (geometry, shape) = (self.geometry(rows, channels), [places, taps, channels]);
        let across = channels.next_power_of_two().min(THREADS);
        let behind = (THREADS / across).min(64);
        let grid = [channels.div_ceil(across), taps, places.div_ceil(behind)].map(|blocks| blocks.min(65535) as u32);
        let config = LaunchConfig::new(grid, [across as u32, 1, behind as u32]);
        macro_rules! call {
            ($ty:ty) => {
                convolution_patches::<$ty>(
                    self.images.cast(),
                    geometry,
                    first,
                    columns,
                    (patches.reborrow().cast::<$ty>(), shape),
                )
            };
        }
        let call = match size_of::<T>() {
            _ if are_vectors => call!(patches::Vector),
            2 => call!(u16),
            _ => call!(u32),
        };
        (config, call)
    }

    /// Whether tensor copies can have all operands: rows of a multiple of 16 bytes, which is eight numbers of 16 bits.
    fn has_tensor_maps(&self, [images, rows, columns, outputs]: [usize; 4], output: &DeviceSliceMut<'_, T>) -> bool {
        let Window { images: [.., channels], taps, stride, padding } = self.window;
        let places = [self.images.address(), self.filter.address(), output.as_slice().address()];
        size_of::<T>() == 2
            && channels > 0
            && channels.is_multiple_of(8)
            && outputs.is_multiple_of(8)
            && places.iter().all(|address| address.is_multiple_of(16))
            && (0..2).all(|axis| taps[axis] <= 127 && padding[axis] <= 127 && stride[axis] <= 8)
            && images * rows * columns <= i32::MAX as usize
    }
}

impl Linalg {
    fn has_warp_groups(&self) -> bool {
        self.library.device().limits().compute_capability == (9, 0)
    }

    /// Whether a convolution that is a product takes less time in the tiles of convolutions, of which there are more sizes.
    fn prefers_tiles(&self, [images, rows, columns, outputs]: [usize; 4], window: Window) -> bool {
        let multiprocessors = self.library.device().limits().multiprocessors_at_once as usize;
        let (places, channels) = (images * rows * columns, window.images[3]);
        let steps = channels.div_ceil(STEP);
        let (_, cycles) = tiles::fastest([places, outputs, steps], multiprocessors);
        (cycles as f64) < product::cycles_of_halves([places, outputs, channels], multiprocessors as f64)
    }

    fn convolution_by_warp_groups<T: ConvolutionElement>(
        &self,
        problem: &Problem<'_, T>,
        [images, rows, columns, outputs]: [usize; 4],
        output: DeviceSliceMut<'_, T>,
    ) -> Result<()> {
        let places = images * rows * columns;
        let Window { images: [.., channels], taps: [down, right], .. } = problem.window;
        let steps = down * right * channels.div_ceil(STEP);
        let multiprocessors = self.library.device().limits().multiprocessors_at_once as usize;
        let (tile, _) = tiles::fastest([places, outputs, steps], multiprocessors);
        self.convolve_in_tiles(tile, problem, [places, outputs], output)
    }

    fn convolve_in_tiles<T: ConvolutionElement>(
        &self,
        tile: &Tile,
        problem: &Problem<'_, T>,
        [places, outputs]: [usize; 2],
        output: DeviceSliceMut<'_, T>,
    ) -> Result<()> {
        let multiprocessors = self.library.device().limits().multiprocessors_at_once as usize;
        let clusters = tile.clusters(places, outputs).min(tile.resident(multiprocessors));
        let call = T::convolution_by_warp_groups(tile.kernel, problem, (output, [places, outputs]));
        let blocks = (tile.cluster * clusters) as u32;
        // SAFETY: the kernels read their parameters, and else nothing before they take roles, which waits for what is ahead.
        let config = unsafe { LaunchConfig::new(blocks, tile.threads).dependent() };
        self.library.launch(None, config, call)
    }

    /// A launch has at most 65535 layers, which are rows of images, so there may be several.
    fn convolution_by_threads<T: ConvolutionElement>(
        &self,
        mut problem: Problem<'_, T>,
        [images, rows, columns, outputs]: [usize; 4],
        output: DeviceSliceMut<'_, T>,
    ) -> Result<()> {
        const MOST_LAYERS: usize = 65535;
        let at_once = (MOST_LAYERS / rows).clamp(1, images);
        let [_, height, width, channels] = problem.window.images;
        let geometry = problem.geometry(rows, channels);
        let (pixels, whole) = (height * width * channels, problem.images);
        for (part, output) in output.chunks_mut(at_once * rows * columns * outputs).enumerate() {
            let first = part * at_once;
            let count = at_once.min(images - first);
            problem.images = whole.slice(first * pixels..(first + count) * pixels);
            let blocks = [outputs.div_ceil(TILE), columns.div_ceil(TILE), count * rows].map(|blocks| blocks as u32);
            let call = T::convolution_by_threads(&problem, geometry, (output, [count * rows, columns, outputs]));
            self.library.launch(None, (blocks, [TILE as u32, TILE as u32, 1]), call)?;
        }
        Ok(())
    }
}

mod sealed {
    use super::{Call, DeviceSliceMut, Geometry, Problem, WarpGroups};

    pub trait Element: Sized {
        /// By warp groups, for numbers of 16 bits.
        fn convolution_by_warp_groups<'c>(
            kernel: WarpGroups,
            problem: &Problem<'c, Self>,
            output: (DeviceSliceMut<'c, Self>, [usize; 2]),
        ) -> Call<'c>;

        fn convolution_by_threads<'c>(
            problem: &Problem<'c, Self>,
            geometry: Geometry,
            output: (DeviceSliceMut<'c, Self>, [usize; 3]),
        ) -> Call<'c>;
    }
}

/// Properties that the types share.
macro_rules! by_threads {
    () => {
        fn convolution_by_threads<'c>(
            problem: &Problem<'c, Self>,
            geometry: Geometry,
            output: (DeviceSliceMut<'c, Self>, [usize; 3]),
        ) -> Call<'c> {
            let Problem { images, filter, bias, activation, .. } = *problem;
            let outputs = output.1[2] as u32;
            convolution_threads::<Self>(images, filter, bias, geometry, outputs, activation, output)
        }
    };
}

macro_rules! halves {
    ($($ty:ident)*) => {$(
        impl ConvolutionElement for $ty {}

        impl sealed::Element for $ty {
            fn convolution_by_warp_groups<'c>(
                kernel: WarpGroups,
                problem: &Problem<'c, Self>,
                output: (DeviceSliceMut<'c, Self>, [usize; 2]),
            ) -> Call<'c> {
                let Problem { window, images, filter, bias, activation } = *problem;
                let [_, _, _, channels] = window.images;
                let (images, filter) = (
                    (images, window),
                    (filter, [output.1[1], window.taps[0] * window.taps[1] * channels]),
                );
                macro_rules! call {
                    ($kernel:ident) => {
                        $kernel::<$ty>(images, filter, bias, activation, output)
                    };
                }
                match kernel {
                    WarpGroups::By256 => call!(convolution_256),
                    WarpGroups::By160 => call!(convolution_160),
                    WarpGroups::By128 => call!(convolution_128),
                    WarpGroups::By64 => call!(convolution_64),
                    WarpGroups::Small => call!(convolution_small),
                    WarpGroups::By160In3 => call!(convolution_160_by_3),
                    WarpGroups::By128In2 => call!(convolution_128_by_2),
                }
            }

            by_threads!();
        }
    )*};
}

halves!(f16 bf16);

impl ConvolutionElement for f32 {}

impl sealed::Element for f32 {
    fn convolution_by_warp_groups<'c>(
        _: WarpGroups,
        _: &Problem<'c, Self>,
        _: (DeviceSliceMut<'c, Self>, [usize; 2]),
    ) -> Call<'c> {
        unreachable!("`has_tensor_maps` asks for numbers of 16 bits")
    }

    by_threads!();
}

impl<T> fmt::Debug for Convolution<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Convolution")
            .field("stride", &self.stride)
            .field("padding", &self.padding)
            .field("activation", &self.activation)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Activation, Array, Linalg, Problem, Window, f16, tiles};
    use crate::linalg::KERNELS;
    use rumba_ptx::ast::Item;

    /// Small whole numbers.
    fn numbers(length: usize, seed: usize) -> Vec<f32> {
        (0..length).map(|i| ((i * 5 + i / 11 + seed) % 5) as f32 - 2.0).collect()
    }

    /// Each kernel of warp groups, also where it would not be chosen, beside the threads.
    #[test]
    fn all_kernels_compute_the_same() {
        let device = crate::Device::new().unwrap();
        let linalg = Linalg::new(&device);
        if !linalg.has_warp_groups() {
            return;
        }
        let array = |shape: [usize; 4], seed| {
            let numbers: Vec<f16> = numbers(shape.iter().product(), seed).into_iter().map(f16::from_f32).collect();
            Array::from_slice(&device, shape, &numbers).unwrap()
        };
        // More places than a tile has, and of the last output tile only a part. A second step of channels that is short.
        let (images, filter) = (array([2, 9, 9, 72], 1), array([200, 1, 2, 72], 3));
        let bias = device.buffer_from(&[f16::from_f32(0.5); 200]).unwrap();
        let problem = Problem {
            window: Window { images: images.shape(), taps: [1, 2], stride: [1, 1], padding: [0, 1] },
            images: images.as_slice(),
            filter: filter.as_slice(),
            bias: bias.as_slice(),
            activation: Activation::Relu,
        };
        let shape = [2, 9, 10, 200];
        let mut expected = device.zeros(2 * 90 * 200).unwrap();
        linalg.convolution_by_threads(problem, shape, expected.slice_mut(..)).unwrap();
        let expected = expected.to_vec().unwrap();
        for tile in &tiles::TILES {
            let mut output = device.buffer_from(&vec![f16::NAN; expected.len()]).unwrap();
            linalg.convolve_in_tiles(tile, &problem, [180, 200], output.slice_mut(..)).unwrap();
            assert!(output.to_vec().unwrap() == expected, "{:?}", tile.kernel);
        }
    }

    /// Patches in vectors and by numbers, in several parts, beside the threads.
    #[test]
    fn patches_compute_the_same() {
        fn check<T: super::ConvolutionElement + PartialEq>(channels: usize, number: fn(f32) -> T) {
            let device = crate::Device::new().unwrap();
            let linalg = Linalg::new(&device);
            let array = |shape: [usize; 4], seed| {
                let numbers = numbers(shape.iter().product(), seed);
                let numbers: Vec<T> = numbers.into_iter().map(number).collect();
                Array::from_slice(&device, shape, &numbers).unwrap()
            };
            let (images, filter) = (array([2, 9, 7, channels], 1), array([40, 3, 2, channels], 3));
            let bias = Array::from_slice(&device, [40], &[number(0.5); 40]).unwrap();
            let convolution = linalg
                .convolution(images.view(), filter.view())
                .bias(bias.view())
                .stride([1, 2])
                .padding([1, 1])
                .activation(Activation::Relu);
            let problem = Problem {
                window: convolution.window(),
                images: images.as_slice(),
                filter: filter.as_slice(),
                bias: bias.as_slice(),
                activation: Activation::Relu,
            };
            let shape = convolution.shape().unwrap();
            assert_eq!(shape, [2, 9, 4, 40]);
            let mut expected = device.zeros(shape.iter().product()).unwrap();
            linalg.convolution_by_threads(problem, shape, expected.slice_mut(..)).unwrap();
            let expected = expected.to_vec().unwrap();
            // All 72 places, 17 at a time, or each by itself.
            for places in [100, 17, 1] {
                let bytes = places * problem.terms() * size_of::<T>();
                let mut output = device.buffer_from(&vec![number(f32::NAN); expected.len()]).unwrap();
                convolution.compute_by_patches(&problem, shape, bytes, output.slice_mut(..)).unwrap();
                assert!(output.to_vec().unwrap() == expected, "{channels} channels, {places} places");
            }
        }
        for channels in [8, 5] {
            check::<f32>(channels, |x| x);
            check::<f16>(channels, f16::from_f32);
        }
    }

    /// Sizes that the kernels of warp groups need.
    #[test]
    fn kernels_gather_the_image_and_keep_sums_in_registers() {
        for kernel in
            ["convolution_256_f16", "convolution_160_bf16", "convolution_small_f16", "convolution_160_by_3_f16"]
        {
            let text = KERNELS.only(kernel, (9, 0)).unwrap();
            let module = rumba_ptx::parse(&text).unwrap();
            let mut opcodes: Vec<String> = Vec::new();
            for item in &module.items {
                if let Item::Function(function) = item
                    && function.name == kernel
                    && let Some(body) = &function.body
                {
                    opcodes.extend(body.opcodes().iter().map(ToString::to_string));
                }
            }
            let wanted = [
                "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes",
                "setmaxnreg.inc.sync.aligned.u32",
            ];
            for wanted in wanted {
                assert!(opcodes.iter().any(|opcode| opcode == wanted), "`{kernel}` has no `{wanted}`");
            }
            assert!(opcodes.iter().any(|opcode| opcode.starts_with("wgmma.mma_async")), "{kernel}");
            for opcode in opcodes {
                let is_local = opcode.starts_with("ld.local") || opcode.starts_with("st.local");
                assert!(!is_local && !opcode.starts_with("call"), "`{kernel}` has `{opcode}`");
            }
        }
    }
}
