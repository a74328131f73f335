//! Views with four dimensions as arguments for tensor maps.

use crate::array::{ArrayView, ArrayViewMut};
use crate::buffers::tensor::encode_strided;
use bytemuck::Pod;
use cuda_std::launch::{Borrowed, Strided, TensorArray, TensorArrayMut};
use cuda_std::tensor::{Image, TensorTiling};

fn place<'a, T: Pod>(view: &ArrayView<'a, T, 4>, writes: bool) -> (Borrowed<'a>, Strided) {
    let memory = view.memory();
    let borrowed = Borrowed { owner: memory.memory(), address: memory.address(), bytes: memory.bytes() as u64, writes };
    let (_, address) = view.place();
    let array = Strided { address, shape: view.shape(), strides: view.strides() };
    (borrowed, array)
}

// SAFETY: the elements of a view lie in device memory that is borrowed for `'a`; what a launch that outlasts `'a` still uses is kept
// until its stream is done. The driver encodes.
unsafe impl<'a, T: Pod> TensorArray<'a, T> for ArrayView<'a, T, 4> {
    fn place(self) -> (Borrowed<'a>, Strided) {
        place(&self, false)
    }

    fn encode(array: Strided, tiling: TensorTiling) -> Result<Image, u32> {
        encode_strided(array, tiling)
    }
}

// SAFETY: the same; they are borrowed mutably, and a mutable view has each element once.
unsafe impl<'a, T: Pod> TensorArrayMut<'a, T> for ArrayViewMut<'a, T, 4> {
    fn place(self) -> (Borrowed<'a>, Strided) {
        place(&self.into_view(), true)
    }

    fn encode(array: Strided, tiling: TensorTiling) -> Result<Image, u32> {
        encode_strided(array, tiling)
    }
}
