//! Histograms: how many elements lie in each of many bins.

use crate::algorithms::{Algorithms, Source, Target};
use crate::base::error::{Error, Result};
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use bytemuck::Pod;
use cuda_std::launch::{Call, Elements};
use rumba_algorithms as kernels;
use rumba_algorithms::histogram::BLOCK;
use std::ops::Range;

/// Elements that fall into bins of equal width: `u32`, `i32`, `u64`, `i64`, `f32`, `f64`.
pub trait Level: Pod + PartialOrd {
    #[doc(hidden)]
    fn call<'c>(
        x: DeviceSlice<'c, Self>,
        range: Range<Self>,
        counts: DeviceSliceMut<'c, u32>,
        local: Elements,
    ) -> Call<'c>;
}

/// Elements that are bins themselves: `u8`, `u16`, `u32`.
pub trait Value: Pod {
    #[doc(hidden)]
    fn call<'c>(x: DeviceSlice<'c, Self>, counts: DeviceSliceMut<'c, u32>, local: Elements) -> Call<'c>;
}

macro_rules! levels {
    ($($ty:ident, $vector:literal;)*) => {$(
        impl Level for $ty {
            fn call<'c>(
                x: DeviceSlice<'c, $ty>,
                range: Range<$ty>,
                counts: DeviceSliceMut<'c, u32>,
                local: Elements,
            ) -> Call<'c> {
                kernels::histogram::histogram_even::<$ty, $vector>(x, range.start, range.end, counts, local)
            }
        }
    )*};
}

macro_rules! values {
    ($($ty:ident, $vector:literal;)*) => {$(
        impl Value for $ty {
            fn call<'c>(x: DeviceSlice<'c, $ty>, counts: DeviceSliceMut<'c, u32>, local: Elements) -> Call<'c> {
                kernels::histogram::histogram_values::<$ty, $vector>(x, counts, local)
            }
        }
    )*};
}

levels! {
    u32, 4;
    i32, 4;
    f32, 4;
    u64, 2;
    i64, 2;
    f64, 2;
}

values! {
    u8, 16;
    u16, 8;
    u32, 4;
}

impl Algorithms {
    /// Counts elements of `x` in bins of equal width, one for each count: `counts[i]` is the number of elements whose
    /// `(x - start) * bins / (end - start)` has the whole part `i`. NaN and elements outside the range are skipped.
    ///
    /// Integers are counted exactly. Floats are computed with as `(x - start) * (bins / (end - start))`, in their own type.
    ///
    /// # Errors
    /// [`Error::NoRange`] if the range is empty; [`Error::OutOfMemory`] and the driver's.
    ///
    /// # Examples
    /// ```
    /// # use rumba::algorithms::Algorithms;
    /// # fn main() -> rumba::Result<()> {
    /// # let algorithms = Algorithms::new(&rumba::Device::new()?);
    /// let mut counts = [0; 4];
    /// algorithms.histogram(&[0.1_f32, 0.2, 0.3, 0.9, 1.0, f32::NAN], 0.0..1.0, &mut counts)?;
    /// assert_eq!(counts, [2, 1, 0, 1]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn histogram<'a, 'b, T: Level>(
        &self,
        x: impl Source<'a, T>,
        range: Range<T>,
        counts: impl Target<'b, u32>,
    ) -> Result<()> {
        // Not `>=`: NaN is no end of a range.
        // Not if a bound is NaN, either.
        if range.start.partial_cmp(&range.end) != Some(std::cmp::Ordering::Less) {
            return Err(Error::NoRange { operation: "count elements in bins" });
        }
        self.count(x, counts, |x, counts, local| T::call(x, range, counts, local))
    }

    /// Counts how often each value occurs: `counts[i]` is the number of elements of `x` equal to `i`. Elements above
    /// the last index are not counted.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the driver's.
    ///
    /// # Examples
    /// ```
    /// # use rumba::algorithms::Algorithms;
    /// # fn main() -> rumba::Result<()> {
    /// # let algorithms = Algorithms::new(&rumba::Device::new()?);
    /// let mut counts = [0; 256];
    /// algorithms.count_values(b"abracadabra", &mut counts)?;
    /// assert_eq!([b'a', b'b', b'r', b'z'].map(|byte| counts[byte as usize]), [5, 2, 2, 0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn count_values<'a, 'b, T: Value>(&self, x: impl Source<'a, T>, counts: impl Target<'b, u32>) -> Result<()> {
        self.count(x, counts, T::call)
    }

    fn count<'a, 'b, T: Pod>(
        &self,
        x: impl Source<'a, T>,
        counts: impl Target<'b, u32>,
        call: impl for<'c> FnOnce(DeviceSlice<'c, T>, DeviceSliceMut<'c, u32>, Elements) -> Call<'c>,
    ) -> Result<()> {
        counts.on_device(self.device(), |mut counts| {
            x.on_device(self.device(), |x| {
                self.clear(counts.reborrow())?;
                if x.is_empty() || counts.is_empty() {
                    return Ok(());
                }
                let local = counts.len() * copies(counts.len(), self.device().limits().shared_memory_optin);
                let vectors = (x.len() * size_of::<T>()).div_ceil(16);
                let call = call(x, counts, Elements(local));
                let blocks = vectors.div_ceil(BLOCK).min(self.full_grid(None, &call, BLOCK, 4 * local)?);
                self.launch(self.config(blocks, BLOCK), call)
            })
        })
    }
}

/// How many copies of the bins a block has in shared memory: as many powers of two as 32 KiB hold, one if that is all that
/// fits, or none.
fn copies(bins: usize, shared_memory: u32) -> usize {
    const WORDS: usize = 8192;
    match (WORDS / bins).min(32).checked_ilog2() {
        Some(power) => 1 << power,
        None if 4 * bins <= shared_memory as usize / 2 => 1,
        None => 0,
    }
}
