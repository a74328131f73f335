//! Memory that several threads may access at once: each access is atomic, so that a race is the kernel's mistake and
//! never undefined behaviour of the machine.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// The type of an element in memory, and of the lane that holds it.
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

/// Copies bytes between two ranges, both of which other threads may access meanwhile. If the ranges overlap, the result
/// is unspecified.
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

/// Copies bytes that no other thread accesses to memory that other threads may access meanwhile.
///
/// # Safety
/// The target is live memory that may be written.
pub(crate) unsafe fn write(to: u64, from: &[u8]) {
    let head = head(to, from.len());
    let (words, tail) = from[head..].as_chunks();
    let (middle, end) = (to + head as u64, to + (from.len() - tail.len()) as u64);
    // SAFETY: the elements lie in the target, and `head` aligns the words.
    unsafe {
        from[..head].iter().zip(to..).for_each(|(byte, to)| u8::write(to, u32::from(*byte)));
        words.iter().zip((middle..).step_by(8)).for_each(|(word, to)| u64::write(to, u64::from_le_bytes(*word)));
        tail.iter().zip(end..).for_each(|(byte, to)| u8::write(to, u32::from(*byte)));
    }
}

/// Copies memory that other threads may access meanwhile to bytes that no other thread accesses.
///
/// # Safety
/// The source is live memory that may be written: see [`copy`].
pub(crate) unsafe fn read(from: u64, to: &mut [u8]) {
    let (bytes, head) = (to.len(), head(from, to.len()));
    let (first, rest) = to.split_at_mut(head);
    let (words, tail) = rest.as_chunks_mut();
    let (middle, end) = (from + head as u64, from + (bytes - tail.len()) as u64);
    // SAFETY: the elements lie in the source, and `head` aligns the words.
    unsafe {
        first.iter_mut().zip(from..).for_each(|(byte, from)| *byte = u8::read(from) as u8);
        words.iter_mut().zip((middle..).step_by(8)).for_each(|(word, from)| *word = u64::read(from).to_le_bytes());
        tail.iter_mut().zip(end..).for_each(|(byte, from)| *byte = u8::read(from) as u8);
    }
}

/// Writes an element `count` times: in words if it is of 1, 2, 4 or 8 bytes, otherwise each by itself.
///
/// # Safety
/// The target is live memory that may be written. Whether it is aligned to the element does not matter.
pub(crate) unsafe fn fill(to: u64, element: &[u8], count: usize) {
    let size = element.len();
    if !matches!(size, 1 | 2 | 4 | 8) {
        // SAFETY: as the caller promises.
        return (0..count).for_each(|index| unsafe { write(to + (index * size) as u64, element) });
    }
    let bytes = count * size;
    let head = head(to, bytes);
    // The contents of each word from the first aligned address on.
    let word: [u8; 8] = std::array::from_fn(|index| element[(head + index) % size]);
    let (words, tail) = ((bytes - head) / 8, (bytes - head) % 8);
    let (middle, end) = (to + head as u64, to + (bytes - tail) as u64);
    // SAFETY: the elements lie in the target, and `head` aligns the words.
    unsafe {
        (0..head).zip(to..).for_each(|(index, to)| u8::write(to, u32::from(element[index % size])));
        (middle..).step_by(8).take(words).for_each(|to| u64::write(to, u64::from_le_bytes(word)));
        (end..).zip(&word[..tail]).for_each(|(to, byte)| u8::write(to, u32::from(*byte)));
    }
}

/// Bytes of a range before its first word of 8 bytes.
fn head(start: u64, bytes: usize) -> usize {
    (start.wrapping_neg() as usize % 8).min(bytes)
}

#[cfg(test)]
mod tests {
    use super::{copy, fill, read, write};

    #[test]
    fn bytes_go_in_and_out_at_every_length_and_alignment() {
        for (offset, bytes) in (0..9).flat_map(|offset| (0..35).map(move |bytes| (offset, bytes))) {
            let mut memory = [0_u64; 6];
            let start = memory.as_mut_ptr() as u64;
            let source: Vec<u8> = (1..=bytes).collect();
            let mut back = vec![0; source.len()];
            // SAFETY: the range lies in the array, of 48 bytes.
            unsafe {
                write(start + offset, &source);
                read(start + offset, &mut back);
            };
            assert_eq!(back, source, "at {offset}");
            let whole: Vec<u8> = memory.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let mut expected = vec![0; 48];
            expected[offset as usize..][..source.len()].copy_from_slice(&source);
            assert_eq!(whole, expected, "at {offset}");
        }
    }

    #[test]
    fn fills_repeat_their_element_at_every_alignment() {
        let element = [1, 2, 3, 4, 5, 6, 7, 8];
        for (size, offset, count) in [0, 1, 2, 3, 4, 8]
            .into_iter()
            .flat_map(|size| (0..9).flat_map(move |offset| (0..5).map(move |count| (size, offset, count))))
        {
            let mut memory = [0_u64; 6];
            // SAFETY: the range lies in the array, of 48 bytes.
            unsafe { fill(memory.as_mut_ptr() as u64 + offset, &element[..size], count) };
            let whole: Vec<u8> = memory.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let mut expected = vec![0; 48];
            expected[offset as usize..][..size * count].copy_from_slice(&element[..size].repeat(count));
            assert_eq!(whole, expected, "{count} of {size} bytes at {offset}");
        }
    }

    #[test]
    fn copies_of_every_length_and_alignment_are_whole() {
        let mut source: Vec<u8> = (1..=48).collect();
        let offsets = || [0, 1, 3, 4, 8];
        let places = offsets().into_iter().flat_map(|from| offsets().map(|to| (from, to)));
        for ((from, to), bytes) in places.flat_map(|places| (0..33).map(move |bytes| (places, bytes))) {
            let mut target = [0_u8; 48];
            // SAFETY: both ranges lie in arrays of 48 bytes.
            unsafe {
                copy(source[from..].as_mut_ptr() as u64, target[to..].as_mut_ptr() as u64, bytes as u64);
            };
            let mut expected = [0; 48];
            expected[to..to + bytes].copy_from_slice(&source[from..from + bytes]);
            assert_eq!(target, expected, "{bytes} bytes from {from} to {to}");
        }
    }
}
