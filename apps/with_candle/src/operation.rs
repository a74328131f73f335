//! The operation of candle: forward, in place, and its gradient.

use crate::kernels;
use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CudaStorage, CustomOp1, InplaceOp1, Layout, Result, Shape, Tensor};
use rumba::Module;
use rumba::interop::cudarc::scope;

// ANCHOR: operation
/// The squared rectifier: `max(x, 0)²`.
pub(crate) struct SquaredRelu {
    pub(crate) device: rumba::Device,
    pub(crate) module: Module,
}

/// An error of Rumba as candle's.
fn of_rumba(error: rumba::Error) -> candle_core::Error {
    candle_core::Error::wrap(error)
}

/// The elements of a tensor, which the kernels take in row-major order.
fn range(layout: &Layout) -> Result<std::ops::Range<usize>> {
    let no = || candle_core::Error::RequiresContiguous { op: "squared-relu" }.bt();
    layout.contiguous_offsets().map(|(start, end)| start..end).ok_or_else(no)
}

impl CustomOp1 for SquaredRelu {
    fn name(&self) -> &'static str {
        "squared-relu"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let x = &x.as_slice::<f32>()?[range(layout)?];
        let y = x.iter().map(|x| x.max(0.0).powi(2)).collect();
        Ok((CpuStorage::F32(y), layout.shape().clone()))
    }

    fn cuda_fwd(&self, x: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        let device = x.device().clone();
        let x = x.as_cuda_slice::<f32>()?.slice(range(layout)?);
        // SAFETY: the kernel writes all elements.
        let mut result = unsafe { device.alloc::<f32>(x.len()) }?;
        let y = result.as_view_mut();
        let launched = scope(&self.device, |scope| {
            let (x, y) = (scope.read(x)?, scope.write(y)?);
            self.module.for_each(y.len(), kernels::squared_relu(x, y))
        });
        launched.map_err(of_rumba)?;
        let result = CudaStorage::wrap_cuda_slice(result, device);
        Ok((result, layout.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, _y: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(((x.relu()? * 2.0)? * gradient)?))
    }
}

impl InplaceOp1 for SquaredRelu {
    fn name(&self) -> &'static str {
        "squared-relu in place"
    }

    fn cpu_fwd(&self, x: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let CpuStorage::F32(x) = x else {
            candle_core::bail!("squared-relu takes elements of f32");
        };
        x[range(layout)?].iter_mut().for_each(|x| *x = x.max(0.0).powi(2));
        Ok(())
    }

    fn cuda_fwd(&self, x: &mut CudaStorage, layout: &Layout) -> Result<()> {
        let range = range(layout)?;
        let x = x.as_cuda_slice_mut::<f32>()?.slice_mut(range);
        let launched = scope(&self.device, |scope| {
            let x = scope.write(x)?;
            self.module.for_each(x.len(), kernels::square_relu(x))
        });
        launched.map_err(of_rumba)
    }
}
// ANCHOR_END: operation
