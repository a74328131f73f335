//! Memory that several threads may access at once: each access is atomic, so that a race is the kernel's mistake and
//! never undefined behaviour of the machine.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// What lies in memory, and the lane that holds it.
pub(crate) trait Element: Copy + 'static {
    /// The lane: small elements are zero-extended.
    type Raw: Copy + 'static;
    /// Bytes in memory.
    const BYTES: u64;

    /// Reads an element.
    ///
    /// # Safety
    /// The address is one of a live element, aligned.
    unsafe fn read(address: u64) -> Self::Raw;

    /// Writes an element.
    ///
    /// # Safety
    /// The address is one of a live element, aligned.
    unsafe fn write(address: u64, value: Self::Raw);
}

macro_rules! element {
    ($($ty:ty, $raw:ty, $atomic:ty;)*) => {$(
        impl Element for $ty {
            type Raw = $raw;
            const BYTES: u64 = size_of::<$ty>() as u64;

            #[inline(always)]
            unsafe fn read(address: u64) -> $raw {
                // SAFETY: as the caller promises.
                unsafe { <$atomic>::from_ptr(address as *mut $ty) }.load(Ordering::Relaxed) as $raw
            }

            #[inline(always)]
            unsafe fn write(address: u64, value: $raw) {
                // SAFETY: as the caller promises.
                unsafe { <$atomic>::from_ptr(address as *mut $ty) }.store(value as $ty, Ordering::Relaxed);
            }
        }
    )*};
}

element! {
    u8, u32, AtomicU8;
    u16, u32, AtomicU16;
    u32, u32, AtomicU32;
    u64, u64, AtomicU64;
}

impl Element for u128 {
    type Raw = u128;
    const BYTES: u64 = 16;

    #[inline(always)]
    unsafe fn read(address: u64) -> u128 {
        // SAFETY: as the caller promises; the two halves may come from two writes.
        unsafe { u128::from(u64::read(address)) | u128::from(u64::read(address + 8)) << 64 }
    }

    #[inline(always)]
    unsafe fn write(address: u64, value: u128) {
        // SAFETY: as the caller promises.
        unsafe {
            u64::write(address, value as u64);
            u64::write(address + 8, (value >> 64) as u64);
        }
    }
}

/// Copies bytes from one place to another, of which other threads may access both meanwhile. Where the places overlap, it is
/// not said what is copied.
///
/// # Safety
/// Both ranges are live memory that may be written: an atomic access asks for that even where it reads.
pub(crate) unsafe fn copy(from: u64, to: u64, bytes: u64) {
    /// Copies the whole elements from an offset on, and gives the offset behind them.
    unsafe fn elements<E: Element>(from: u64, to: u64, mut offset: u64, bytes: u64) -> u64 {
        while offset + E::BYTES <= bytes {
            // SAFETY: the element is in the range, and aligned as the caller has seen.
            unsafe { E::write(to + offset, E::read(from + offset)) };
            offset += E::BYTES;
        }
        offset
    }
    let mut offset = 0;
    // SAFETY: as the caller promises.
    unsafe {
        if (from | to).is_multiple_of(8) {
            offset = elements::<u64>(from, to, offset, bytes);
        }
        if (from | to).is_multiple_of(4) {
            offset = elements::<u32>(from, to, offset, bytes);
        }
        elements::<u8>(from, to, offset, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::copy;

    #[test]
    fn copies_of_every_length_and_alignment_are_whole() {
        let mut source: Vec<u8> = (1..=48).collect();
        let offsets = || [0, 1, 3, 4, 8];
        let places = offsets().into_iter().flat_map(|from| offsets().map(|to| (from, to)));
        for ((from, to), bytes) in places.flat_map(|places| (0..33).map(move |bytes| (places, bytes))) {
            let mut target = [0_u8; 48];
            // SAFETY: both ranges lie in arrays of 48 bytes.
            unsafe {
                copy(
                    source[from..].as_mut_ptr() as u64,
                    target[to..].as_mut_ptr() as u64,
                    bytes as u64,
                );
            };
            let mut expected = [0; 48];
            expected[to..to + bytes].copy_from_slice(&source[from..from + bytes]);
            assert_eq!(target, expected, "{bytes} bytes from {from} to {to}");
        }
    }
}
