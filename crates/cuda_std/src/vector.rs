//! Four numbers that a thread reads and writes with one instruction.
//!
//! A warp that reads 16 bytes for each thread keeps four times as many bytes under way as one that reads 4. No
//! arithmetic is defined here: a vector is an array with an alignment.

use core::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable};

/// Four numbers of 32 bits, aligned so that they are read and written as one.
///
/// The host makes them with [`vectors`], and gets numbers back with `bytemuck::cast_slice`.
///
/// ```
/// use cuda_std::vector::Vector4;
///
/// let v = Vector4([1.0_f32, 2.0, 3.0, 4.0]);
/// assert_eq!(v.iter().sum::<f32>(), 10.0);
/// ```
///
/// `ld.v4.b32`, `st.v4.b32`; PTX 1.0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct Vector4<T>(pub [T; 4]);

impl<T> Deref for Vector4<T> {
    type Target = [T; 4];

    #[inline(always)]
    fn deref(&self) -> &[T; 4] {
        &self.0
    }
}

impl<T> DerefMut for Vector4<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T; 4] {
        &mut self.0
    }
}

/// Numbers as vectors, on the host.
///
/// ```
/// use cuda_std::vector::{Vector4, vectors};
///
/// assert_eq!(vectors(&[1, 2, 3, 4, 5, 6, 7, 8])[1], Vector4([5, 6, 7, 8]));
/// ```
///
/// # Panics
/// If they do not fill the last vector.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn vectors<T: Copy>(numbers: &[T]) -> std::vec::Vec<Vector4<T>> {
    let (vectors, rest) = numbers.as_chunks();
    assert!(rest.is_empty(), "{} numbers do not fill the last vector", numbers.len());
    vectors.iter().copied().map(Vector4).collect()
}

macro_rules! plain_data {
    ($($ty:ty),*) => {$(
        // SAFETY: four zeros are four numbers.
        unsafe impl Zeroable for Vector4<$ty> {}
        // SAFETY: four numbers of 4 bytes fill the 16 of the alignment: no padding, and valid for any bits.
        unsafe impl Pod for Vector4<$ty> {}
    )*};
}
plain_data!(u32, i32, f32);

#[cfg(test)]
mod tests {
    use super::Vector4;

    #[test]
    fn numbers_are_cast_to_vectors_and_back() {
        let vectors = [Vector4([1_u32, 2, 3, 4]), Vector4([5, 6, 7, 8])];
        let numbers: &[u32] = bytemuck::cast_slice(&vectors);
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((size_of::<Vector4<f32>>(), align_of::<Vector4<f32>>()), (16, 16));
    }
}
