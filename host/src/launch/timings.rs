//! Where the time of a launch went.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::time::Duration;

/// Where the time of a launch went: copies are measured on the host's clock, the kernel on the
/// device's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// Host slices to the device, device memory for them included.
    pub copy_in: Duration,
    /// The kernel alone.
    pub kernel: Duration,
    /// Results to host slices.
    pub copy_out: Duration,
}

impl Timings {
    /// All three together.
    pub fn total(&self) -> Duration {
        self.copy_in + self.kernel + self.copy_out
    }
}

impl Add for Timings {
    type Output = Timings;

    fn add(self, other: Timings) -> Timings {
        Timings {
            copy_in: self.copy_in + other.copy_in,
            kernel: self.kernel + other.kernel,
            copy_out: self.copy_out + other.copy_out,
        }
    }
}

impl AddAssign for Timings {
    fn add_assign(&mut self, other: Timings) {
        *self = *self + other;
    }
}

impl Sum for Timings {
    fn sum<I: Iterator<Item = Timings>>(timings: I) -> Timings {
        timings.fold(Timings::default(), Add::add)
    }
}

impl fmt::Display for Timings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Timings { copy_in, kernel, copy_out } = self;
        write!(f, "copy in {copy_in:.1?}, kernel {kernel:.1?}, copy out {copy_out:.1?}")
    }
}
