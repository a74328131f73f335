//! Arrays of the crate `ndarray`: from and to them, and as operands and kernel arguments in host memory.

use crate::array::{Array, ArrayView, ArrayViewMut};
use crate::base::error::Result;
use crate::devices::device::Device;
use ::ndarray::{ArrayBase, Data, Dimension, IntoDimension, Ix};
use bytemuck::Pod;
use cuda_std::launch::{Dim, HostMemory, Operand, Region};

/// The number of dimensions that both sides have: `[usize; N]` and `ndarray`'s `Ix1` to `Ix6`.
type Ranked<const N: usize> = ::ndarray::Dim<[Ix; N]>;

impl<T: Pod, const N: usize> Array<T, N>
where
    Ranked<N>: Dimension,
    [Ix; N]: IntoDimension<Dim = Ranked<N>>,
{
    /// An array with a copy of an `ndarray` array or view, of any strides.
    ///
    /// ```
    /// use rumba::array::Array;
    ///
    /// let device = rumba::Device::new()?;
    /// let host = ndarray::array![[1.0_f32, 2.0], [3.0, 4.0]];
    /// let array = Array::from_ndarray(&device, &host.t())?;
    /// assert_eq!(array.to_vec()?, [1.0, 3.0, 2.0, 4.0]);
    /// assert_eq!(array.transpose().to_ndarray()?, host);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] and the driver's.
    #[track_caller]
    pub fn from_ndarray<S: Data<Elem = T>>(device: &Device, source: &ArrayBase<S, Ranked<N>>) -> Result<Array<T, N>> {
        let shape = shape(source);
        match source.as_slice() {
            Some(elements) => Array::from_slice(device, shape, elements),
            None => Array::from_slice(device, shape, &source.iter().copied().collect::<Vec<T>>()),
        }
    }

    /// A copy of the elements on the host, as an `ndarray` array.
    ///
    /// # Errors
    /// The driver's.
    pub fn to_ndarray(&self) -> Result<::ndarray::Array<T, Ranked<N>>> {
        self.view().to_ndarray()
    }
}

impl<T: Pod, const N: usize> ArrayView<'_, T, N>
where
    Ranked<N>: Dimension,
    [Ix; N]: IntoDimension<Dim = Ranked<N>>,
{
    /// A copy of the elements on the host, as an `ndarray` array.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Panics
    /// Never: the number of elements always fits the shape.
    pub fn to_ndarray(&self) -> Result<::ndarray::Array<T, Ranked<N>>> {
        let elements = self.to_vec()?;
        Ok(::ndarray::Array::from_shape_vec(self.shape(), elements).expect("a view has the elements of its shape"))
    }
}

impl<T: Pod, const N: usize> ArrayViewMut<'_, T, N>
where
    Ranked<N>: Dimension,
{
    /// Copies all elements from an `ndarray` array or view of the same shape.
    ///
    /// # Errors
    /// [`crate::array::ArrayError::Broadcast`] unless the shapes are equal; the driver's.
    #[track_caller]
    pub fn copy_from_ndarray<S: Data<Elem = T>>(&mut self, source: &ArrayBase<S, Ranked<N>>) -> Result<()> {
        if shape(source) != self.shape() {
            let (from, to) = (shape(source).to_vec(), self.shape().to_vec());
            return Err(crate::base::error::ArrayError::Broadcast { from, to }.into());
        }
        match source.as_slice() {
            Some(elements) => self.copy_from_slice(elements),
            None => self.copy_from_slice(&source.iter().copied().collect::<Vec<T>>()),
        }
    }
}

fn shape<S: Data, const N: usize>(array: &ArrayBase<S, Ranked<N>>) -> [usize; N]
where
    Ranked<N>: Dimension,
{
    std::array::from_fn(|axis| array.shape()[axis])
}

/// An `ndarray` array or view as an operand and as a kernel's `View`: it is copied to the device for the call.
///
/// ```no_run
/// # fn compute<'a>(_: impl cuda_std::launch::Operand<'a, f32>) {}
/// use rumba::array::HostArray;
///
/// let host = ndarray::array![[1.0_f32, 2.0], [3.0, 4.0]];
/// compute(HostArray(&host.t()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HostArray<A>(pub A);

// SAFETY: in row-major order the elements are lent for `'a`; otherwise they are copied.
unsafe impl<'a, T: Pod, S: Data<Elem = T>, const N: usize> Operand<'a, T> for HostArray<&'a ArrayBase<S, Ranked<N>>>
where
    Ranked<N>: Dimension,
{
    type Rank = Dim<N>;

    fn region(self) -> Region<'a> {
        let Self(array) = self;
        let shape = shape(array);
        let strides = super::layout::Layout::row_major(0, shape).strides;
        let memory = match array.as_slice() {
            Some(elements) => HostMemory::In(bytemuck::cast_slice(elements)),
            None => HostMemory::Owned(array.iter().flat_map(bytemuck::bytes_of).copied().collect()),
        };
        // SAFETY: the elements of the shape, in row-major order.
        unsafe { Region::host::<T>(memory, &shape, &strides) }
    }
}
