//! The CPU against the device: one function, its version in plain Rust and its kernel, over a range of sizes, with the
//! copies of host memory and without; and where the one overtakes the other.
//!
//! Drawing is behind the feature `report` ([`Comparison::svg`], [`Comparison::png`]).

use crate::base::error::Result;
use crate::base::units;
use crate::launch::timings::Timings;
use comfy_table::{CellAlignment, Table, presets};
use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long the runs of one side and size may take together, unless one run takes longer.
const BUDGET: Duration = Duration::from_millis(200);
/// The most runs of one side and size.
const RUNS: usize = 30;

/// Both versions of a function, with the data for one size.
pub trait Contender {
    /// The version for the CPU, once.
    fn cpu(&mut self);

    /// The version for the device, once, from host memory to host memory: [`crate::Module::launch_timed`] with host
    /// slices has the times.
    ///
    /// # Errors
    /// The launch's.
    fn device(&mut self) -> Result<Timings>;

    /// Whether both came to the same, after each has run once.
    ///
    /// # Errors
    /// The first difference in words.
    fn agree(&self) -> Result<(), String>;
}

impl<C: Contender + ?Sized> Contender for Box<C> {
    fn cpu(&mut self) {
        (**self).cpu();
    }

    fn device(&mut self) -> Result<Timings> {
        (**self).device()
    }

    fn agree(&self) -> Result<(), String> {
        (**self).agree()
    }
}

/// Runs both versions of a function for each size, as often as time allows, and keeps the best of each.
///
/// # Errors
/// What `prepare` and the launches return, and [`crate::Error::Disagreement`] if the versions come to different results.
///
/// # Examples
/// ```
/// use rumba::{compare::Contender, Module, Timings};
/// # use rumba::test_kernels::{PTX, scale};
///
/// struct Doubling { module: Module, cpu: Vec<f32>, device: Vec<f32> }
///
/// impl Contender for Doubling {
///     fn cpu(&mut self) {
///         self.cpu.iter_mut().for_each(|x| *x *= 1.0);
///     }
///     fn device(&mut self) -> rumba::Result<Timings> {
///         self.module.for_each_timed(self.device.len(), scale(1.0, &mut self.device))
///     }
///     fn agree(&self) -> Result<(), String> {
///         (self.cpu == self.device).then_some(()).ok_or("they differ".to_owned())
///     }
/// }
///
/// let module = rumba::Device::new()?.load(PTX)?;
/// let comparison = rumba::compare("scale", [1 << 10, 1 << 12], |n| {
///     Ok(Doubling { module: module.clone(), cpu: vec![1.0; n], device: vec![1.0; n] })
/// })?;
/// println!("{comparison}");
/// assert_eq!(comparison.sizes.len(), 2);
/// # Ok::<(), rumba::Error>(())
/// ```
pub fn compare<C: Contender>(
    name: &str,
    sizes: impl IntoIterator<Item = usize>,
    mut prepare: impl FnMut(usize) -> Result<C>,
) -> Result<Comparison> {
    let mut rows = Vec::new();
    for n in sizes {
        let mut contender = prepare(n)?;
        contender.cpu();
        contender.device()?;
        contender.agree().map_err(|difference| crate::base::error::Error::Disagreement {
            what: format!("{name} of size {n}"),
            difference,
        })?;
        let cpu = best(|| {
            let start = Instant::now();
            black_box(&mut contender).cpu();
            Ok(start.elapsed())
        })?;
        let mut device: Option<Timings> = None;
        best(|| {
            let timings = contender.device()?;
            if device.is_none_or(|best| timings.total() < best.total()) {
                device = Some(timings);
            }
            Ok(timings.total())
        })?;
        rows.push(Size { n, cpu, device: device.unwrap_or_default() });
    }
    Ok(Comparison { name: name.to_owned(), sizes: rows })
}

fn best(mut run: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    let (mut least, started) = (Duration::MAX, Instant::now());
    for done in 0..RUNS {
        if done >= 3 && started.elapsed() > BUDGET {
            break;
        }
        least = least.min(run()?);
    }
    Ok(least)
}

/// The measurements of [`compare`]. Prints as a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// The name of the comparison.
    pub name: String,
    /// The sizes, as they were given.
    pub sizes: Vec<Size>,
}

/// The best times of one size.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Size {
    /// The size.
    pub n: usize,
    /// The CPU.
    pub cpu: Duration,
    /// The device, with its copies.
    pub device: Timings,
}

impl Comparison {
    /// The size from which on the device is faster, its copies counted: interpolated between two sizes that were measured, on
    /// logarithmic axes. None: it never is.
    pub fn crossover(&self) -> Option<f64> {
        self.crossover_of(|size| size.device.total())
    }

    /// The crossover for the kernel alone, when the data stays on the device.
    pub fn kernel_crossover(&self) -> Option<f64> {
        self.crossover_of(|size| size.device.kernel)
    }

    fn crossover_of(&self, device: impl Fn(&Size) -> Duration) -> Option<f64> {
        // By how much the CPU is ahead, as a logarithm.
        let lead = |size: &Size| (device(size).as_secs_f64().max(1e-12) / size.cpu.as_secs_f64().max(1e-12)).ln();
        let behind = self.sizes.iter().rposition(|size| lead(size) > 0.0);
        let Some(last) = behind else {
            return self.sizes.first().map(|size| size.n as f64);
        };
        let (before, after) = (&self.sizes[last], self.sizes.get(last + 1)?);
        let share = lead(before) / (lead(before) - lead(after));
        let (from, to) = ((before.n as f64).ln(), (after.n as f64).ln());
        Some((from + share * (to - from)).exp())
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
        table.set_header(["size", "CPU", "copy in", "kernel", "copy out", "device, all", "CPU / all", "CPU / kernel"]);
        for Size { n, cpu, device } in &self.sizes {
            let ratio = |time: Duration| format!("{:.3}", cpu.as_secs_f64() / time.as_secs_f64().max(1e-12));
            table.add_row([
                n.to_string(),
                units::time(*cpu),
                units::time(device.copy_in),
                units::time(device.kernel),
                units::time(device.copy_out),
                units::time(device.total()),
                ratio(device.total()),
                ratio(device.kernel),
            ]);
        }
        for column in table.column_iter_mut() {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(f, "{}\n{table}", self.name)?;
        let sentence = |crossover: Option<f64>| match crossover {
            Some(n) if self.sizes.first().is_some_and(|size| n <= size.n as f64) => "at every size".to_owned(),
            Some(n) => format!("from about {n:.0} on"),
            None => "at no size here".to_owned(),
        };
        write!(
            f,
            "the device is faster, its copies counted, {}; the kernel alone {}",
            sentence(self.crossover()),
            sentence(self.kernel_crossover())
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Size};
    use crate::launch::timings::Timings;
    use std::time::Duration;

    fn comparison(times: &[(usize, u64, u64, u64)]) -> Comparison {
        let sizes = times.iter().map(|&(n, cpu, copy, kernel)| Size {
            n,
            cpu: Duration::from_micros(cpu),
            device: Timings {
                copy_in: Duration::from_micros(copy),
                kernel: Duration::from_micros(kernel),
                copy_out: Duration::ZERO,
            },
        });
        Comparison { name: "test".to_owned(), sizes: sizes.collect() }
    }

    #[test]
    fn the_crossover_lies_between_the_sizes() {
        // Ratios of 4 and 1/4: half way on a logarithmic axis.
        let found = comparison(&[(100, 10, 35, 5), (10_000, 1000, 200, 50)]);
        assert!((found.crossover().expect("it overtakes") - 1000.0).abs() < 1.0);
        assert_eq!(found.kernel_crossover(), Some(100.0), "ahead from the start");
        assert!(found.to_string().contains("from about 1000 on"), "{found}");
    }

    #[test]
    fn a_device_that_never_wins() {
        let found = comparison(&[(100, 10, 100, 100), (1000, 10, 100, 100)]);
        assert_eq!((found.crossover(), found.kernel_crossover()), (None, None));
        assert!(found.to_string().contains("at no size here"), "{found}");
    }
}
