//! Types that lanes can exchange: plain data of any size, in pieces of 32 bits.

use core::mem::MaybeUninit;

use bytemuck::{CheckedBitPattern, NoUninit};

/// A value that lanes can exchange: every number, `bool`, `char`, arrays of numbers, and structures that derive
/// bytemuck's `Pod`, or `NoUninit` and `CheckedBitPattern`.
///
/// The value from a lane that does not take part is unspecified, so a type with invalid bit patterns is checked on
/// arrival; if the value is invalid, the lane keeps its own value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be exchanged between lanes",
    label = "not plain data",
    note = "numbers, `bool`, arrays of numbers, and structures with `#[repr(C)]` and \
            `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]` can"
)]
pub trait Shuffle: NoUninit + CheckedBitPattern {
    /// Exchanges the value in pieces of 32 bits.
    #[doc(hidden)]
    #[inline(always)]
    fn in_words(self, exchange: impl Fn(u32) -> u32) -> Self {
        let size = size_of::<Self>();
        let from = (&raw const self).cast::<u8>();
        let mut bits = MaybeUninit::<Self::Bits>::uninit();
        let to = bits.as_mut_ptr().cast::<u8>();
        let mut at = 0;
        // SAFETY: `at` and what is read and written there stay below the size, which both types have (`Bits` promises
        // it); the value has no padding, so each byte is initialised, and each byte of `bits` is written.
        unsafe {
            while at + 4 <= size {
                let word = from.add(at).cast::<u32>().read_unaligned();
                to.add(at).cast::<u32>().write_unaligned(exchange(word));
                at += 4;
            }
            if at + 2 <= size {
                let half = from.add(at).cast::<u16>().read_unaligned();
                to.add(at).cast::<u16>().write_unaligned(exchange(u32::from(half)) as u16);
                at += 2;
            }
            if at < size {
                to.add(at).write(exchange(u32::from(from.add(at).read())) as u8);
            }
        }
        // SAFETY: written above.
        let bits = unsafe { bits.assume_init() };
        if Self::is_valid_bit_pattern(&bits) {
            // SAFETY: valid bits, of the same size.
            unsafe { core::mem::transmute_copy(&bits) }
        } else {
            self
        }
    }
}

impl<T: NoUninit + CheckedBitPattern> Shuffle for T {}
