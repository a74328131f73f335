//! Vectorized functions applied to arrays: the allocation of the result and the launch.

use crate::array::Array;
use crate::base::error::Result;
use crate::buffers::buffer::DeviceBuffer;
use crate::launch::config::LaunchConfig;
use crate::modules::module::Module;
use crate::streams::stream::Stream;
use bytemuck::Pod;
use cuda_std::launch::{Dim, Map, OperandMut};

impl Module {
    /// Computes a function that is declared with `#[vectorize]` for all elements of its operands, or one that is declared
    /// with `#[guvectorize]` for all its arrays, and returns a new array with the results: NumPy's universal functions,
    /// Numba's `vectorize` and `guvectorize`.
    ///
    /// The shapes of the operands broadcast together. Host slices among them are copied to the device for the call.
    ///
    /// ```no_run
    /// # mod kernels {
    /// #     use cuda_std::prelude::*;
    /// #     #[vectorize]
    /// #     pub fn hypotenuse(a: f32, b: f32) -> f32 { (a * a + b * b).sqrt() }
    /// #     pub const PTX: &str = "";
    /// # }
    /// use rumba::array::Array;
    ///
    /// // In the kernel crate: #[vectorize] pub fn hypotenuse(a: f32, b: f32) -> f32 { (a * a + b * b).sqrt() }
    /// let device = rumba::Device::new()?;
    /// let module = device.load(kernels::PTX)?;
    /// let column = Array::from_slice(&device, [2, 1], &[3.0, 6.0])?;
    /// let row = Array::from_slice(&device, [3], &[4.0, 8.0, 0.0])?;
    /// let c: Array<f32, 2> = module.map(kernels::hypotenuse::over(&column, &row))?;
    /// let d = module.map(kernels::hypotenuse::over(c.transpose(), 1.0))?;
    /// # Ok::<(), rumba::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::array::ArrayError::Operands`] if the shapes do not fit together; [`crate::Error::OutOfMemory`]; as
    /// [`Module::launch`].
    #[track_caller]
    pub fn map<T: Pod, const N: usize>(&self, map: Map<'_, T, Dim<N>>) -> Result<Array<T, N>> {
        let shape = map.shape()?;
        let (context, length) = (self.context().clone(), super::elements::<T, N>(shape)?);
        let buffer = if map.writes_all() {
            DeviceBuffer::uninitialised(context, length)?
        } else {
            DeviceBuffer::zeros(context, length)?
        };
        let mut array = Array { buffer, shape };
        self.map_into(map, &mut array)?;
        Ok(array)
    }

    /// As [`Module::map`], but writes the results to an existing array, view, buffer or host memory, which may be
    /// larger than the operands; operands are then repeated.
    ///
    /// # Errors
    /// [`crate::array::ArrayError::Operands`] if the shapes do not fit together, or not the output; as [`Module::launch`].
    #[track_caller]
    pub fn map_into<'o, 'a: 'o, T: Pod, D>(&self, map: Map<'a, T, D>, output: impl OperandMut<'o, T>) -> Result<()> {
        self.map_launch(map, output, None)
    }

    /// As [`Module::map_into`], on a stream of its own instead of the default one.
    ///
    /// # Errors
    /// As [`Module::map_into`].
    #[track_caller]
    pub fn map_into_on<'o, 'a: 'o, T: Pod, D>(
        &self,
        stream: &Stream,
        map: Map<'a, T, D>,
        output: impl OperandMut<'o, T>,
    ) -> Result<()> {
        self.map_launch(map, output, Some(stream))
    }

    #[track_caller]
    fn map_launch<'o, 'a: 'o, T: Pod, D>(
        &self,
        map: Map<'a, T, D>,
        output: impl OperandMut<'o, T>,
        stream: Option<&Stream>,
    ) -> Result<()> {
        let Some(planned) = map.into_launch(output)? else {
            return Ok(());
        };
        // SAFETY: the call is launched with its planned grid and block.
        let (call, grid, block) = unsafe { planned.into_parts() };
        let config = LaunchConfig::new(grid, block);
        self.launch(
            match stream {
                Some(stream) => config.stream(stream),
                None => config,
            },
            call,
        )
    }
}
