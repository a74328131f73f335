//! Benchmarks: comparisons of the CPU with the device as a program of its own, which `cargo bench` and `cargo rumba bench` run.
//!
//! The measurements are those of [`crate::compare`]. This file adds the words of the command line, the measured limits of the
//! device, and the tables.

use crate::base::driver;
use crate::base::error::Result;
use crate::base::units;
use crate::devices::device::Device;
use crate::performance::capacity::{Unit, measure};
use crate::performance::compare::{self, Comparison, Contender, Limit, Size};
use std::fmt;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of the copy that tells the limit of the memory: more than caches hold.
const COPY: usize = 256 << 20;

/// A program of benchmarks: a file in `benches` whose section `[[bench]]` of `Cargo.toml` has `harness = false`.
///
/// `cargo bench` runs it, and `cargo rumba bench` with the kernels compiled beforehand and with plots. Words of the command line
/// choose the benchmarks whose names contain one of them; words that begin with `-` are for other harnesses. Without `--bench`,
/// which cargo adds, as under `cargo test --benches`, each benchmark runs once with its smallest size, and only the results are
/// compared.
///
/// The limits of the device are measured first: its memory by a copy, its units by multiply-adds. A kernel is bound by its bytes
/// or by its operations ([`Contender::cost`]), whichever take longer at these rates.
///
/// # Examples
/// ```
/// use rumba::{Bench, Module, Timings, compare::Contender, estimate::Cost};
/// # use rumba::test_kernels::{PTX, scale};
///
/// struct Scale { module: Module, on_cpu: Vec<f32>, on_device: Vec<f32> }
///
/// impl Contender for Scale {
///     fn cpu(&mut self) {
///         self.on_cpu.iter_mut().for_each(|x| *x *= 1.5);
///     }
///     fn device(&mut self) -> rumba::Result<Timings> {
///         self.module.for_each_timed(self.on_device.len(), scale(1.5, &mut self.on_device))
///     }
///     fn agree(&self) -> Result<(), String> {
///         (self.on_cpu == self.on_device).then_some(()).ok_or("they differ".to_owned())
///     }
///     fn cost(&self) -> Cost {
///         let n = self.on_cpu.len() as u64;
///         Cost { bytes: 8 * n, flops: n }
///     }
/// }
///
/// fn main() -> rumba::Result<()> {
///     let mut bench = Bench::new()?;
///     let module = bench.device().load(PTX)?;
///     bench.compare("scale", [1 << 10, 1 << 16, 1 << 20], |n| {
///         Ok(Scale { module: module.clone(), on_cpu: vec![1.0; n], on_device: vec![1.0; n] })
///     })?;
///     bench.finish();
///     Ok(())
/// }
/// ```
#[must_use = "`finish` prints the table of all benchmarks"]
#[derive(Debug)]
pub struct Bench {
    device: Device,
    /// The words that choose benchmarks.
    words: Vec<String>,
    /// None: results are compared, and nothing is measured.
    limits: Option<Limits>,
    /// The folder of the plots.
    folder: Option<PathBuf>,
    comparisons: Vec<Comparison>,
    /// Benchmarks that the words do not choose.
    others: Vec<String>,
}

impl Bench {
    /// Begins with the arguments of this process, and measures the memory of the device.
    ///
    /// # Errors
    /// As [`Device::new`]; [`crate::Error::OutOfMemory`] if the device has less than half a GiB of memory left.
    pub fn new() -> Result<Bench> {
        Bench::of(std::env::args().skip(1), driver::path_from_environment("RUMBA_BENCH"))
    }

    fn of(arguments: impl Iterator<Item = String>, folder: Option<PathBuf>) -> Result<Bench> {
        let (options, words): (Vec<_>, Vec<_>) = arguments.partition(|word| word.starts_with('-'));
        let device = Device::new()?;
        let limits = match options.iter().any(|option| option == "--bench") {
            true => Some(Limits { memory: measure::memory(&device, COPY)?, units: Vec::new() }),
            false => None,
        };
        if limits.is_some() {
            println!("device: {}\n", device.name());
        }
        Ok(Bench { device, words, limits, folder, comparisons: Vec::new(), others: Vec::new() })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Runs a benchmark over a range of sizes, unless the words of the command line choose others: [`crate::compare()`], with the
    /// limits of the device. Prints the table of several sizes, and plots them (see `RUMBA_BENCH` among the variables).
    ///
    /// # Errors
    /// What `prepare` and the launches return, [`crate::Error::Disagreement`] if the versions come to different results, and
    /// [`crate::Error::Unwritable`] for a plot.
    pub fn compare<C: Contender>(
        &mut self,
        name: &str,
        sizes: impl IntoIterator<Item = usize>,
        mut prepare: impl FnMut(usize) -> Result<C>,
    ) -> Result<()> {
        if !self.words.is_empty() && !self.words.iter().any(|word| name.contains(word.as_str())) {
            self.others.push(name.to_owned());
            return Ok(());
        }
        let Some(limits) = &mut self.limits else {
            if let Some(least) = sizes.into_iter().min() {
                compare::agree(name, least, &mut prepare(least)?)?;
                println!("{name}: the CPU and the device agree, size {least}");
            }
            return Ok(());
        };
        let mut comparison = compare::compare(name, sizes, |n| {
            say(&format!("measuring {name}, size {n} ..."));
            prepare(n)
        })?;
        say("");
        for size in &mut comparison.sizes {
            size.limit = limits.of(&self.device, size)?;
        }
        if comparison.sizes.len() > 1 {
            println!("{comparison}");
            if let Some(folder) = &self.folder {
                plot(&comparison, folder)?;
            }
            println!();
        }
        self.comparisons.push(comparison);
        Ok(())
    }

    /// Prints the table of all benchmarks, each with its largest size.
    pub fn finish(self) {
        let largest = |comparison: &Comparison| comparison.sizes.iter().copied().max_by_key(|size| size.n);
        let rows: Vec<(&str, Size)> =
            self.comparisons.iter().filter_map(|each| Some((each.name.as_str(), largest(each)?))).collect();
        if let Some(limits) = self.limits.filter(|_| !rows.is_empty()) {
            let is_said = matches!(self.comparisons.as_slice(), [only] if only.sizes.len() > 1);
            if !is_said {
                println!("{}", compare::table(rows.iter().map(|(name, size)| (*name, size))));
            }
            if rows.len() > 1 {
                let logarithms = rows.iter().map(|(_, Size { cpu, device, .. })| {
                    (cpu.as_secs_f64().max(1e-12) / device.kernel.as_secs_f64().max(1e-12)).ln()
                });
                let mean = (logarithms.sum::<f64>() / rows.len() as f64).exp();
                println!("geometric mean of CPU / kernel: {mean:.3}");
            }
            println!("{limits}");
        } else if rows.is_empty() && !self.others.is_empty() {
            let (words, others) = (self.words.join("` or `"), self.others.join(", "));
            println!("no benchmark here has `{words}` in its name; there are: {others}");
        }
    }
}

/// The measured rates of the device.
#[derive(Debug)]
struct Limits {
    /// Bytes per second.
    memory: f64,
    /// Operations per second of the units that benchmarks have used so far. None: the device has no such unit.
    units: Vec<(Unit, Option<f64>)>,
}

impl Limits {
    /// The limit of a cost, where it states bytes or operations.
    fn of(&mut self, device: &Device, size: &Size) -> Result<Option<Limit>> {
        let Size { cost, unit, .. } = *size;
        let time = |amount: u64, rate: f64| Duration::from_secs_f64(amount as f64 / rate.max(1.0));
        let by_memory = (cost.bytes > 0).then(|| Limit::Memory(time(cost.bytes, self.memory)));
        let by_unit = match cost.flops {
            0 => None,
            flops => self.rate(device, unit)?.map(|rate| Limit::Unit(unit, time(flops, rate))),
        };
        Ok(by_memory.into_iter().chain(by_unit).max_by_key(Limit::time))
    }

    fn rate(&mut self, device: &Device, unit: Unit) -> Result<Option<f64>> {
        if let Some((_, rate)) = self.units.iter().find(|(known, _)| *known == unit) {
            return Ok(*rate);
        }
        let rate = measure::rate(device, unit)?;
        self.units.push((unit, rate));
        Ok(rate)
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "limits of the device: {}B/s (a copy in its memory, read and written)", units::scaled(self.memory))?;
        for (unit, rate) in &self.units {
            if let Some(rate) = rate {
                write!(f, ", {}{} ({unit}, multiply-adds count twice)", units::scaled(*rate), unit.operations())?;
            }
        }
        Ok(())
    }
}

/// Replaces the last line of a terminal.
fn say(line: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r{line}\x1b[K");
    }
}

#[cfg(feature = "report")]
fn plot(comparison: &Comparison, folder: &Path) -> Result<()> {
    use crate::performance::files::write;

    let stem: String = comparison.name.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let svg = write(folder, &format!("{stem}.svg"), comparison.svg().as_bytes())?;
    write(folder, &format!("{stem}.png"), &comparison.png())?;
    println!("plot: {} (and .png)", svg.display());
    Ok(())
}

#[cfg(not(feature = "report"))]
fn plot(_: &Comparison, _: &Path) -> Result<()> {
    println!("no plot: this program's `rumba` is without the feature `report`");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Bench;
    use crate::base::error::{Error, Result};
    use crate::launch::test_kernels::{PTX, scale};
    use crate::launch::timings::Timings;
    use crate::modules::module::Module;
    use crate::performance::compare::Contender;
    use crate::performance::estimate::Cost;

    struct Negation {
        module: Module,
        on_cpu: Vec<f32>,
        on_device: Vec<f32>,
    }

    impl Contender for Negation {
        fn cpu(&mut self) {
            self.on_cpu.iter_mut().for_each(|value| *value = -*value);
        }

        fn device(&mut self) -> Result<Timings> {
            self.module.for_each_timed(self.on_device.len(), scale(-1.0, &mut self.on_device))
        }

        fn agree(&self) -> Result<(), String> {
            (self.on_cpu == self.on_device).then_some(()).ok_or_else(|| "the first element".to_owned())
        }

        fn cost(&self) -> Cost {
            Cost { bytes: 8 * self.on_cpu.len() as u64, flops: 0 }
        }
    }

    fn bench(words: &[&str], folder: Option<std::path::PathBuf>) -> Bench {
        Bench::of(words.iter().map(|word| (*word).to_owned()), folder).expect("a device")
    }

    #[test]
    fn chosen_benchmarks_are_measured_with_the_limits_of_the_device() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut bench = bench(&["--bench", "--exact", "neg"], Some(folder.path().to_owned()));
        let module = bench.device().load(PTX).expect("a kernel");
        let prepare = |n| Ok(Negation { module: module.clone(), on_cpu: vec![1.0; n], on_device: vec![1.0; n] });
        bench
            .compare("sorting", [1], |_| -> Result<Negation> { panic!("no word chooses it") })
            .expect("nothing is run");
        bench.compare("negation / f32", [100, 10_000], prepare).expect("both agree");

        assert_eq!(bench.others, ["sorting"]);
        let [comparison] = &bench.comparisons[..] else { panic!("one was chosen") };
        for size in &comparison.sizes {
            assert!(size.of_limit().is_some_and(|share| share > 0.0), "{size:?}");
        }
        assert!(comparison.to_string().contains("% of memory"), "{comparison}");
        let is_drawn =
            folder.path().join("negation---f32.svg").exists() && folder.path().join("negation---f32.png").exists();
        assert_eq!(is_drawn, cfg!(feature = "report"));
        let limits = bench.limits.as_ref().expect("they were measured").to_string();
        assert!(limits.starts_with("limits of the device: ") && limits.contains("B/s (a copy"), "{limits}");
        bench.finish();
    }

    #[test]
    fn tests_compare_results_and_measure_nothing() {
        let mut bench = bench(&[], None);
        let module = bench.device().load(PTX).expect("a kernel");
        let mut sizes = Vec::new();
        let found = bench.compare("negation", [1000, 10], |n| {
            sizes.push(n);
            Ok(Negation { module: module.clone(), on_cpu: vec![2.0; n], on_device: vec![1.0; n] })
        });
        assert!(matches!(found, Err(Error::Disagreement { what, .. }) if what == "negation of size 10"));
        assert_eq!(sizes, [10], "the smallest size");
        assert!(bench.comparisons.is_empty());
    }
}
