//! The CPU against the device: one function, its version in plain Rust and its kernel, over a range of sizes, with the
//! copies of host memory and without; and where the one overtakes the other. [`crate::Bench`] runs comparisons as benchmarks.
//!
//! Both versions run in turns, so that other work of the machine slows both down alike, and the medians count. Drawing is behind
//! the feature `report` (`Comparison::svg`, `Comparison::png`).

use crate::base::error::{Error, Result};
use crate::base::{units, warning};
use crate::launch::timings::Timings;
use crate::performance::capacity::Unit;
use crate::performance::estimate::Cost;
use comfy_table::{CellAlignment, Table, presets};
use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The time of the measured runs of one size, unless the fewest runs take longer.
const BUDGET: Duration = Duration::from_secs(1);
/// The fewest and the most runs of each version.
const RUNS: [usize; 2] = [3, 100];
/// The time of the runs before the measured ones, and their number at most: caches are warm then, kernels are compiled, and clocks are up.
const WARM_UP: (Duration, usize) = (Duration::from_millis(100), 10);

/// Both versions of a function, with the data for one size.
pub trait Contender {
    /// The version for the CPU, once.
    fn cpu(&mut self);

    /// The version for the device, once. [`crate::Module::launch_timed`] returns the times; with host slices as arguments, they
    /// include the copies from and to host memory.
    ///
    /// # Errors
    /// The launch's.
    fn device(&mut self) -> Result<Timings>;

    /// Whether both came to the same, after each has run once.
    ///
    /// # Errors
    /// The first difference in words.
    fn agree(&self) -> Result<(), String>;

    /// The least bytes and operations of one run, for rates and the share of the device's limit. Without a cost the tables have
    /// neither.
    fn cost(&self) -> Cost {
        Cost::default()
    }

    /// The arithmetic unit that does the operations, for the device's limit.
    fn unit(&self) -> Unit {
        Unit::F32
    }
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

    fn cost(&self) -> Cost {
        (**self).cost()
    }

    fn unit(&self) -> Unit {
        (**self).unit()
    }
}

/// Runs both versions of a function in turns for each size, as often as a second allows, and takes the median of each.
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
    let sizes = sizes.into_iter().map(|n| {
        let mut contender = prepare(n)?;
        warning::repeating_on_purpose(|| measure(name, n, &mut contender))
    });
    Ok(Comparison { name: name.to_owned(), sizes: sizes.collect::<Result<_>>()? })
}

/// Runs both versions once and compares their results.
pub(crate) fn agree(name: &str, n: usize, contender: &mut impl Contender) -> Result<()> {
    contender.cpu();
    contender.device()?;
    contender.agree().map_err(|difference| Error::Disagreement { what: format!("{name} of size {n}"), difference })
}

/// Measures both versions in turns.
fn measure(name: &str, n: usize, contender: &mut impl Contender) -> Result<Size> {
    agree(name, n, contender)?;
    let mut round = || {
        let start = Instant::now();
        black_box(&mut *contender).cpu();
        let cpu = start.elapsed();
        Ok((cpu, contender.device()?))
    };
    rounds(0, WARM_UP, &mut round)?;
    let (mut cpu, mut device): (Vec<_>, Vec<_>) = rounds(RUNS[0], (BUDGET, RUNS[1]), &mut round)?.into_iter().unzip();
    cpu.sort_unstable();
    device.sort_unstable_by_key(Timings::total);
    Ok(Size {
        n,
        cpu: median(&cpu),
        cpu_spread: spread(&cpu),
        device: median(&device),
        device_spread: spread(&device.iter().map(Timings::total).collect::<Vec<_>>()),
        cost: contender.cost(),
        unit: contender.unit(),
        limit: None,
    })
}

/// Repeats runs until the time is over, at least so often and at most so often.
fn rounds<T>(least: usize, (time, most): (Duration, usize), mut round: impl FnMut() -> Result<T>) -> Result<Vec<T>> {
    let (mut done, started) = (Vec::new(), Instant::now());
    while done.len() < most && (done.len() < least || started.elapsed() < time) {
        done.push(round()?);
    }
    Ok(done)
}

fn median<T: Copy + Default>(sorted: &[T]) -> T {
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Half of the interquartile range, as a share of the median.
fn spread(sorted: &[Duration]) -> f64 {
    let at = |quarter: usize| sorted.get(quarter * sorted.len() / 4).map_or(0.0, Duration::as_secs_f64);
    (at(3) - at(1)) / 2.0 / at(2).max(1e-12)
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

/// The measurements of one size.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Size {
    /// The size.
    pub n: usize,
    /// The median time of the CPU.
    pub cpu: Duration,
    /// Half of the interquartile range of the CPU's times, as a share of the median.
    pub cpu_spread: f64,
    /// The device, with its copies: the run of median time.
    pub device: Timings,
    /// Half of the interquartile range of the device's times, as a share of the median.
    pub device_spread: f64,
    /// The cost of one run, if the contender states it.
    pub cost: Cost,
    /// The unit of its operations.
    pub unit: Unit,
    /// The limit of the device for this cost, where the device was measured ([`crate::Bench`]).
    pub limit: Option<Limit>,
}

/// The least time of a cost on a device.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Limit {
    /// The device's memory moves the bytes no faster.
    Memory(Duration),
    /// The unit does the operations no faster.
    Unit(Unit, Duration),
}

impl Limit {
    /// The least time.
    pub fn time(&self) -> Duration {
        match self {
            Limit::Memory(time) | Limit::Unit(_, time) => *time,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Memory(_) => f.write_str("memory"),
            Limit::Unit(unit, _) => unit.fmt(f),
        }
    }
}

impl Size {
    /// The share of the device's limit that the kernel reaches; beyond 1 where caches serve bytes of the cost.
    pub fn of_limit(&self) -> Option<f64> {
        let kernel = self.device.kernel.as_secs_f64();
        Some(self.limit?.time().as_secs_f64() / kernel).filter(|share| share.is_finite())
    }

    /// Whether the device's version copies from or to host memory.
    fn copies(&self) -> bool {
        self.device.total() > self.device.kernel
    }

    /// A row of the table, behind the name.
    fn cells(&self) -> [String; COLUMNS.len() - 1] {
        let Size { n, cpu, device, cost, .. } = *self;
        let spread = |time: Duration, spread: f64| format!("{} ±{:.0} %", units::time(time), 100.0 * spread);
        let rate = |amount: u64| match amount {
            0 => String::new(),
            amount => format!("{:.2}", amount as f64 / device.kernel.as_secs_f64().max(1e-12) / 1e9),
        };
        let ratio = |time: Duration| format!("{:.3}", cpu.as_secs_f64() / time.as_secs_f64().max(1e-12));
        let of_copies = |text: String| if self.copies() { text } else { String::new() };
        [
            n.to_string(),
            spread(cpu, self.cpu_spread),
            of_copies(units::time(device.copy_in)),
            match self.copies() {
                true => units::time(device.kernel),
                false => spread(device.kernel, self.device_spread),
            },
            of_copies(units::time(device.copy_out)),
            of_copies(spread(device.total(), self.device_spread)),
            rate(cost.bytes),
            rate(cost.flops),
            match (self.of_limit(), self.limit) {
                (Some(share), Some(limit)) => format!("{} of {limit}", units::percent(share)),
                _ => String::new(),
            },
            of_copies(ratio(device.total())),
            ratio(device.kernel),
        ]
    }
}

const COLUMNS: [&str; 12] = [
    "benchmark",
    "size",
    "CPU",
    "copy in",
    "kernel",
    "copy out",
    "device, all",
    "GB/s",
    "GFLOP/s",
    "of the limit",
    "CPU / all",
    "CPU / kernel",
];

/// A table of named rows. It leaves out columns that are empty in all rows.
pub(crate) fn table<'r>(rows: impl IntoIterator<Item = (&'r str, &'r Size)>) -> Table {
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|(name, size)| [vec![name.to_owned()], size.cells().into()].concat()).collect();
    let kept: Vec<usize> =
        (0..COLUMNS.len()).filter(|&column| rows.iter().any(|cells| !cells[column].is_empty())).collect();
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(kept.iter().map(|&column| COLUMNS[column]));
    for cells in &rows {
        table.add_row(kept.iter().map(|&column| &cells[column]));
    }
    for (column, at) in table.column_iter_mut().zip(kept) {
        column.set_cell_alignment(if at == 0 { CellAlignment::Left } else { CellAlignment::Right });
    }
    table
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

    /// Whether the device's version copies from or to host memory.
    pub(crate) fn copies(&self) -> bool {
        self.sizes.iter().any(Size::copies)
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
        let table = table(self.sizes.iter().map(|size| ("", size)));
        writeln!(f, "{}\n{table}", self.name)?;
        let sentence = |crossover: Option<f64>| match crossover {
            Some(n) if self.sizes.first().is_some_and(|size| n <= size.n as f64) => "at every size".to_owned(),
            Some(n) => format!("from about {n:.0} on"),
            None => "at no size here".to_owned(),
        };
        if !self.copies() {
            return write!(f, "the kernel is faster {}", sentence(self.kernel_crossover()));
        }
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
    use super::{Comparison, Limit, Size, median, spread};
    use crate::launch::timings::Timings;
    use crate::performance::capacity::Unit;
    use crate::performance::estimate::Cost;
    use std::time::Duration;

    fn comparison(times: &[(usize, u64, u64, u64)]) -> Comparison {
        let sizes = times.iter().map(|&(n, cpu, copy, kernel)| Size {
            n,
            cpu: Duration::from_micros(cpu),
            cpu_spread: 0.0,
            device_spread: 0.25,
            cost: Cost::default(),
            unit: Unit::F32,
            limit: None,
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

    #[test]
    fn columns_without_numbers_are_left_out() {
        let mut found = comparison(&[(100, 10, 0, 20)]);
        let header = |found: &Comparison| found.to_string().lines().nth(2).unwrap_or_default().to_owned();
        assert_eq!(header(&found).split_whitespace().collect::<Vec<_>>().join(" "), "size CPU kernel CPU / kernel");
        assert!(found.to_string().contains("20.0 µs ±25 %"), "{found}");
        assert!(found.to_string().ends_with("the kernel is faster at no size here"), "{found}");

        found.sizes[0].cost = Cost { bytes: 400_000, flops: 0 };
        found.sizes[0].limit = Some(Limit::Memory(Duration::from_micros(5)));
        assert!(header(&found).contains("GB/s") && !header(&found).contains("GFLOP/s"), "{found}");
        assert!(found.to_string().contains("20.00") && found.to_string().contains("25 % of memory"), "{found}");
    }

    #[test]
    fn medians_and_spreads() {
        let times: Vec<Duration> = [1, 2, 4, 6, 9].map(Duration::from_secs).into();
        assert_eq!(median(&times), Duration::from_secs(4));
        assert!((spread(&times) - 0.5).abs() < 1e-9);
        assert_eq!((median::<Duration>(&[]), spread(&[])), (Duration::ZERO, 0.0));
    }
}
