//! Random numbers for whole slices.

use crate::algorithms::{Algorithms, Target};
use crate::base::error::Result;
use crate::buffers::view::DeviceSliceMut;
use crate::launch::config::LaunchConfig;
use bytemuck::Pod;
use cuda_std::launch::Call;
use rumba_algorithms::random;
use std::ops::{Range, Sub};

/// Random floats: `f32`, `f64`.
pub trait Real: Pod + Sub<Output = Self> {
    #[doc(hidden)]
    fn uniform(seed: u64, low: Self, width: Self, x: DeviceSliceMut<'_, Self>) -> Call<'_>;
    #[doc(hidden)]
    fn normal(seed: u64, mean: Self, deviation: Self, x: DeviceSliceMut<'_, Self>) -> Call<'_>;
}

macro_rules! reals {
    ($($ty:ident, $vector:literal;)*) => {$(
        impl Real for $ty {
            fn uniform(seed: u64, low: $ty, width: $ty, x: DeviceSliceMut<'_, $ty>) -> Call<'_> {
                random::random_uniform::<$ty, $vector>(seed, low, width, x)
            }

            fn normal(seed: u64, mean: $ty, deviation: $ty, x: DeviceSliceMut<'_, $ty>) -> Call<'_> {
                random::random_normal::<$ty, $vector>(seed, mean, deviation, x)
            }
        }
    )*};
}

reals! {
    f32, 4;
    f64, 2;
}

/// Each element is a function of the seed and its index: the next number of the stream 0 of
/// [`Philox4x32`](cuda_std::random::Philox4x32), which gives the host the same numbers.
impl Algorithms {
    /// Fills with random bits.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] and the driver's.
    ///
    /// # Examples
    /// ```
    /// use cuda_std::random::{Generator, Philox4x32};
    /// # use rumba::algorithms::Algorithms;
    /// # fn main() -> rumba::Result<()> {
    /// # let algorithms = Algorithms::new(&rumba::Device::new()?);
    /// let mut bits = vec![0; 1000];
    /// algorithms.fill_random(&mut bits, 42)?;
    /// let mut random = Philox4x32::new(42, 0);
    /// assert!(bits.iter().all(|bits| *bits == random.next_u32()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn fill_random<'a>(&self, x: impl Target<'a, u32>, seed: u64) -> Result<()> {
        x.on_device(self.device(), |x| self.launch(LaunchConfig::for_each(x.len()), random::random_bits(seed, x)))
    }

    /// Fills with numbers that are evenly distributed from `range.start` to below `range.end`, up to rounding.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] and the driver's.
    ///
    /// # Examples
    /// ```
    /// # use rumba::algorithms::{Algorithms, Sum};
    /// # fn main() -> rumba::Result<()> {
    /// # let device = rumba::Device::new()?;
    /// # let algorithms = Algorithms::new(&device);
    /// let mut x = device.zeros::<f64>(100_000)?;
    /// algorithms.fill_uniform(&mut x, -1.0..1.0, 42)?;
    /// assert!((algorithms.reduce(&x, Sum)? / 100_000.0).abs() < 0.01);
    /// # Ok(())
    /// # }
    /// ```
    pub fn fill_uniform<'a, T: Real>(&self, x: impl Target<'a, T>, range: Range<T>, seed: u64) -> Result<()> {
        x.on_device(self.device(), |x| {
            let width = range.end - range.start;
            self.launch(LaunchConfig::for_each(x.len()), T::uniform(seed, range.start, width, x))
        })
    }

    /// Fills with numbers of the normal distribution.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] and the driver's.
    pub fn fill_normal<'a, T: Real>(&self, x: impl Target<'a, T>, mean: T, deviation: T, seed: u64) -> Result<()> {
        x.on_device(self.device(), |x| {
            self.launch(LaunchConfig::for_each(x.len()), T::normal(seed, mean, deviation, x))
        })
    }
}
