//! Images as arguments for im2col maps.

use std::vec;

use bytemuck::Pod;

use super::argument::{Argument, Written};
use super::tensor::TensorMemory;
use super::{Arguments, ViewError};
use crate::collective::tensor::{Geometry, Im2colMap, Im2colTiling, Image, Swizzled, Tile, Window};

/// Device memory with elements of type `T` that an im2col map can be made of.
///
/// # Safety
///
/// As for [`TensorMemory`]: `encode_im2col` gives the device's map of the images, which lie in memory as described.
#[diagnostic::on_unimplemented(
    message = "no im2col map of elements `{T}` can be made of `{Self}`",
    label = "no device memory of elements `{T}`",
    note = "write `(&buffer, window)` with a buffer on the device"
)]
pub unsafe trait ImageMemory<'a, T>: TensorMemory<'a, T> {
    /// An im2col map of images at an address.
    ///
    /// # Errors
    ///
    /// The driver's result, if it makes none.
    fn encode_im2col(address: u64, tiling: Im2colTiling) -> Result<Image, u32>;
}

/// The window in the layout of the kernel's parameter, if it fits.
fn geometry(window: &Window) -> Option<Geometry> {
    let places = window.places();
    let [images, rows, columns, channels] = window.images;
    let pixels = images.checked_mul(places[0])?.checked_mul(places[1])?;
    // Places and coordinates are counted in 31 bits.
    let fits = [images, rows, columns, channels, pixels].iter().all(|&length| length <= i32::MAX as usize);
    let small = |lengths: [usize; 2]| Some([u16::try_from(lengths[0]).ok()?, u16::try_from(lengths[1]).ok()?]);
    fits.then_some(Geometry {
        places: places.map(|length| length as u32),
        channels: channels as u32,
        taps: small(window.taps)?,
        stride: small(window.stride)?,
        padding: small(window.padding)?,
    })
}

// SAFETY: a tensor map by value, and the geometry; the memory is not written.
unsafe impl<'a, T, M, const ROWS: usize, const COLUMNS: usize> Argument<'a, Im2colMap<'_, Swizzled<T, ROWS, COLUMNS>>>
    for (M, Window)
where
    T: Pod,
    Swizzled<T, ROWS, COLUMNS>: Tile<Element = T>,
    M: ImageMemory<'a, T>,
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        let (memory, window) = self;
        let (memory, elements) = memory.place();
        let images = vec::Vec::from(window.images);
        let row_bytes = window.images[3].saturating_mul(size_of::<T>());
        let count = window.images.iter().try_fold(1_usize, |count, &length| count.checked_mul(length));
        let geometry = geometry(&window);
        let made = if count != Some(elements) {
            Err(ViewError::Elements { elements, shape: images })
        } else if elements == 0 {
            Err(ViewError::TensorEmpty { shape: images })
        } else if !row_bytes.is_multiple_of(16) || !memory.address.is_multiple_of(16) {
            Err(ViewError::TensorRows { row_bytes, address: memory.address })
        } else if geometry.is_none() || !window.is_encodable() {
            Err(ViewError::Window { window })
        } else {
            M::encode_im2col(memory.address, Im2colTiling::of::<Swizzled<T, ROWS, COLUMNS>>(window))
                .map_err(|code| ViewError::TensorRefused { shape: images, tile: vec![ROWS, COLUMNS], code })
        };
        let image = made.unwrap_or_else(|problem| {
            arguments.refuse(problem);
            Image::default()
        });
        arguments.push_copy(image);
        let geometry = geometry.unwrap_or_else(bytemuck::Zeroable::zeroed);
        arguments.push_part(bytemuck::bytes_of(&geometry));
        arguments.borrow(memory);
    }
}

// SAFETY: as for the parameter itself.
unsafe impl<'a, T: Tile, A: Argument<'a, Im2colMap<'static, T>>> Argument<'a, Written<for<'l> fn(Im2colMap<'l, T>)>>
    for A
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        Argument::<'a, Im2colMap<'static, T>>::bind(self, arguments);
    }
}
