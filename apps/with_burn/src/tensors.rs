//! Tensors of burn as arrays of Rumba: the same memory, for some launches.
//!
//! A tensor of burn's CUDA backend is memory of CubeCL in the primary context of a device, where Rumba's kernels run too. CubeCL's
//! streams do not synchronise with Rumba's, so the host waits: for the tensor before the launches, and for the launches after them.

use anyhow::{Result, ensure};
use burn::backend::Cuda;
use burn::tensor::{DType, Tensor, TensorPrimitive};
use burn_cubecl::tensor::CubeTensor;
use cubecl::cuda::CudaRuntime;
use rumba::interop::{self, Foreign, ForeignMut, Place};
use std::sync::Mutex;

// ANCHOR: tensors
/// The elements of a tensor, to read while the result lives.
pub(crate) fn read<const D: usize>(tensor: &Tensor<Cuda, D>, device: &rumba::Device) -> Result<Foreign<f32, D>> {
    let tensor = tensor.clone().into_primitive().tensor();
    Ok(memory(tensor)?.read_only().read(device)?)
}

/// Lends the elements of a tensor to `work`, which writes them, and gives the tensor back.
pub(crate) fn write<const D: usize>(
    tensor: Tensor<Cuda, D>,
    device: &rumba::Device,
    work: impl FnOnce(&mut ForeignMut<f32, D>) -> rumba::Result<()>,
) -> Result<Tensor<Cuda, D>> {
    let tensor = tensor.into_primitive().tensor();
    ensure!(tensor.handle.can_mut(), "another tensor has the same memory: `tensor.clone()` shares it");
    let mut elements = memory(tensor.clone())?.write(device)?;
    work(&mut elements)?;
    // Waits for the launches.
    drop(elements);
    Ok(Tensor::from_primitive(TensorPrimitive::Float(tensor)))
}

fn memory(tensor: CubeTensor<CudaRuntime>) -> Result<interop::Tensor> {
    ensure!(tensor.dtype == DType::F32, "the elements are {:?}, and the kernels take f32", tensor.dtype);
    let place = Place::Device(u32::try_from(tensor.device.index)?);
    let shape = tensor.meta.shape().to_vec();
    let strides: Vec<isize> = tensor.meta.strides().iter().map(|&stride| stride as isize).collect();
    // The stream of this thread waits for the work of other streams on the buffer, and the host for the stream.
    let resource = tensor.client.get_resource(tensor.handle.clone())?;
    cubecl::future::block_on(tensor.client.sync())?;
    let address = resource.resource().ptr;
    // The resource may be used from one thread at a time.
    let owner = Mutex::new((resource, tensor));
    // SAFETY: the owner keeps the elements at this address. CubeCL writes a buffer in place only for the single owner of its handle:
    // for `read` there are two, and `write` has the single one.
    Ok(unsafe { interop::Tensor::new(place, address, interop::DType::F32, &shape, Some(&strides), owner)? })
}
// ANCHOR_END: tensors
