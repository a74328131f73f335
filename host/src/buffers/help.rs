//! A frequent mistake of users of NumPy and CuPy that no type allows: the compiler suggests what to write instead.

use std::ops::{Index, IndexMut};

use bytemuck::Pod;

use crate::buffers::buffer::DeviceBuffer;

/// An index of memory of the device, on the host.
#[diagnostic::on_unimplemented(
    message = "memory of the device cannot be indexed by the host",
    label = "the elements are on the device",
    note = "`buffer.to_vec()?` copies all elements to the host, and `buffer.slice(2..5).to_vec()?` some: `let y = buffer.to_vec()?;`, then `y[0]`",
    note = "`buffer.slice_mut(2..5).copy_from(&[7, 8, 9])?` writes elements"
)]
pub trait OnHost {
    /// Never called: no type implements this trait.
    fn never(&self) -> !;
}

impl<T: Pod, I: OnHost> Index<I> for DeviceBuffer<T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        index.never()
    }
}

impl<T: Pod, I: OnHost> IndexMut<I> for DeviceBuffer<T> {
    fn index_mut(&mut self, index: I) -> &mut T {
        index.never()
    }
}
