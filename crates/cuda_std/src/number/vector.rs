//! Numbers that a thread reads and writes with one instruction: four of 32 bits, eight of 16.
//!
//! A warp that reads 16 bytes for each thread keeps four times as many bytes under way as one that reads 4. No
//! arithmetic is defined here: a vector is an array with an alignment.

use core::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable};

use crate::number::half::{bf16, f16};

/// Four numbers of 32 bits, aligned to 16 bytes for vector loads and stores.
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

/// Eight numbers of 16 bits, aligned so that they are read and written as one: what `cp.async` copies at once.
///
/// The host makes them with [`padded_rows`], and gets numbers back with `bytemuck::cast_slice`.
///
/// `ld.v4.b32`, `st.v4.b32`; PTX 1.0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct Vector8<T>(pub [T; 8]);

macro_rules! arrays {
    ($($vector:ident of $length:literal;)*) => {$(
        impl<T> Deref for $vector<T> {
            type Target = [T; $length];

            #[inline(always)]
            fn deref(&self) -> &[T; $length] {
                &self.0
            }
        }

        impl<T> DerefMut for $vector<T> {
            #[inline(always)]
            fn deref_mut(&mut self) -> &mut [T; $length] {
                &mut self.0
            }
        }
    )*};
}

arrays! {
    Vector4 of 4;
    Vector8 of 8;
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

/// The rows of a matrix as vectors, on the host: each row is filled up with zeros.
///
/// ```
/// use cuda_std::vector::{Vector8, padded_rows};
///
/// let rows = padded_rows(&[1_u16, 2, 3, 4, 5, 6], 3);
/// assert_eq!(rows, [Vector8([1, 2, 3, 0, 0, 0, 0, 0]), Vector8([4, 5, 6, 0, 0, 0, 0, 0])]);
/// ```
///
/// # Panics
/// If they do not fill the last row.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn padded_rows<T: Copy + Default>(numbers: &[T], columns: usize) -> std::vec::Vec<Vector8<T>> {
    if numbers.is_empty() {
        return std::vec::Vec::new();
    }
    assert!(
        columns > 0 && numbers.len().is_multiple_of(columns),
        "{} numbers do not fill rows of {columns}",
        numbers.len()
    );
    let padded = |part: &[T]| Vector8(core::array::from_fn(|i| part.get(i).copied().unwrap_or_default()));
    numbers.chunks_exact(columns).flat_map(|row| row.chunks(8).map(padded)).collect()
}

macro_rules! plain_data {
    ($($vector:ident: $($ty:ty)*;)*) => {$($(
        // SAFETY: zeros are numbers.
        unsafe impl Zeroable for $vector<$ty> {}
        // SAFETY: the numbers fill the 16 bytes of the alignment: no padding, and valid for any bits.
        unsafe impl Pod for $vector<$ty> {}
    )*)*};
}

plain_data! {
    Vector4: u32 i32 f32;
    Vector8: u16 i16 f16 bf16;
}

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
