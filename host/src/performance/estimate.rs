//! Does it pay? Amdahl's law with the cost of transfers, applied to a program that was measured on the CPU, before any of it
//! is a kernel; and the prediction beside what was measured afterwards.
//!
//! The model is as simple as it looks: what stays on the CPU takes as long as before, a kernel takes as long as its bytes or
//! its operations at the device's measured rates, whichever is longer, and copies and launches are added. Overlap of copies and
//! kernels, caches and divergence are left out.

use crate::base::units;
use crate::launch::timings::Timings;
use crate::performance::capacity::{Measured, Unit};
use comfy_table::{CellAlignment, Table, presets};
use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The least work that something can be done with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes read from device memory and written to it: each input once, each output once.
    pub bytes: u64,
    /// Floating-point operations; a fused multiply-add counts as two.
    pub flops: u64,
}

/// The estimate of a program's part as a kernel.
#[derive(Clone, Copy, Debug)]
#[must_use = "it describes a part of a program; give it to `CpuProfile::parallel`"]
pub struct Offload {
    cost: Cost,
    copied: [u64; 2],
    launches: u32,
    unit: Unit,
}

impl Offload {
    /// A kernel with that cost, in `f32`, launched once, whose data is on the device already.
    pub fn new(cost: Cost) -> Offload {
        Offload { cost, copied: [0, 0], launches: 1, unit: Unit::F32 }
    }

    /// Bytes that are copied to the device before, and back afterwards.
    pub fn copies(self, to_device: u64, to_host: u64) -> Offload {
        Offload { copied: [to_device, to_host], ..self }
    }

    /// The unit that does the operations.
    pub fn unit(self, unit: Unit) -> Offload {
        Offload { unit, ..self }
    }

    /// How often it is launched.
    pub fn launches(self, launches: u32) -> Offload {
        Offload { launches, ..self }
    }

    /// How long it would take on a device.
    fn predict(&self, device: &Measured) -> Timings {
        let seconds = |amount: u64, rate: f64| match amount {
            0 => 0.0,
            amount => amount as f64 / rate.max(1.0),
        };
        let memory = seconds(self.cost.bytes, device.memory);
        let arithmetic = seconds(self.cost.flops, device.rate(self.unit).unwrap_or(f64::INFINITY));
        let duration = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let launches = device.launch.saturating_mul(self.launches);
        Timings {
            copy_in: duration(seconds(self.copied[0], device.copy_in)),
            kernel: duration(memory.max(arithmetic)).saturating_add(launches),
            copy_out: duration(seconds(self.copied[1], device.copy_out)),
        }
    }
}

/// A program on the CPU, measured in parts: those that stay there, and those that could be kernels.
///
/// # Examples
/// ```
/// use rumba::estimate::{Cost, CpuProfile, Offload};
///
/// let n = 1 << 20;
/// let mut program = CpuProfile::new();
/// let mut values = program.serial("make the input", || (0..n).map(|i| i as f32).collect::<Vec<_>>());
/// let bytes = 4 * n as u64;
/// let sines = Offload::new(Cost { bytes: 2 * bytes, flops: 20 * n as u64 }).copies(bytes, bytes);
/// program.parallel("sines", sines, || values.iter_mut().for_each(|x| *x = x.sin()));
///
/// let device = rumba::Device::new()?.measure()?;
/// let estimate = rumba::estimate(&program, &device);
/// println!("{estimate}");
/// assert!(estimate.speed_up() <= estimate.limit());
/// # Ok::<(), rumba::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CpuProfile {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    name: String,
    time: Duration,
    offload: Option<Offload>,
}

impl CpuProfile {
    /// An empty one.
    pub fn new() -> CpuProfile {
        CpuProfile::default()
    }

    /// Runs and measures a part that stays on the CPU.
    pub fn serial<T>(&mut self, name: &str, work: impl FnOnce() -> T) -> T {
        self.part(name, None, work)
    }

    /// Runs and measures a part that could be a kernel.
    pub fn parallel<T>(&mut self, name: &str, offload: Offload, work: impl FnOnce() -> T) -> T {
        self.part(name, Some(offload), work)
    }

    fn part<T>(&mut self, name: &str, offload: Option<Offload>, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = black_box(work());
        self.add(name, start.elapsed(), offload);
        result
    }

    /// Adds a part that was measured elsewhere.
    pub fn add(&mut self, name: &str, time: Duration, offload: Option<Offload>) {
        self.parts.push(Part { name: name.to_owned(), time, offload });
    }
}

/// Predicts how a program would run whose parallel parts are kernels on a device: see [`CpuProfile`].
pub fn estimate(program: &CpuProfile, device: &Measured) -> Estimate {
    let parts = program.parts.iter().map(|part| Predicted {
        name: part.name.clone(),
        cpu: part.time,
        device: part.offload.map(|offload| offload.predict(device)),
        measured: None,
    });
    Estimate { device: device.device.clone(), parts: parts.collect() }
}

/// A prediction: see [`estimate()`]. Prints as a table.
#[derive(Clone, Debug)]
pub struct Estimate {
    device: String,
    parts: Vec<Predicted>,
}

#[derive(Clone, Debug)]
struct Predicted {
    name: String,
    cpu: Duration,
    device: Option<Timings>,
    measured: Option<Timings>,
}

impl Estimate {
    /// How long the program takes on the CPU.
    pub fn cpu(&self) -> Duration {
        self.parts.iter().map(|part| part.cpu).sum()
    }

    /// How long it would take with the device, all parts one after the other.
    pub fn device(&self) -> Duration {
        let part = |part: &Predicted| part.device.map_or(part.cpu, |timings| timings.total());
        self.parts.iter().map(part).sum()
    }

    /// How many times as fast the whole would be. Below 1 it does not pay.
    pub fn speed_up(&self) -> f64 {
        ratio(self.cpu(), self.device())
    }

    /// The most that any device could reach: Amdahl's law, `1 / (1 - p)`, where `p` is the share of the parallel parts.
    pub fn limit(&self) -> f64 {
        let serial = self.parts.iter().filter(|part| part.device.is_none());
        ratio(self.cpu(), serial.map(|part| part.cpu).sum())
    }

    /// Sets the measured times of the parallel parts of this name, next to their prediction.
    pub fn set_measured(&mut self, name: &str, timings: Timings) {
        for part in self.parts.iter_mut().filter(|part| part.name == name) {
            part.measured = Some(timings);
        }
    }

    /// How many times as fast the whole is, from what was measured. None, unless every parallel part was.
    pub fn measured_speed_up(&self) -> Option<f64> {
        let times = self.parts.iter().map(|part| match (part.device, part.measured) {
            (None, _) => Some(part.cpu),
            (Some(_), measured) => measured.map(|timings| timings.total()),
        });
        Some(ratio(self.cpu(), times.sum::<Option<Duration>>()?))
    }
}

fn ratio(whole: Duration, part: Duration) -> f64 {
    if part.is_zero() { f64::INFINITY } else { whole.as_secs_f64() / part.as_secs_f64() }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
        table.set_header(["part", "", "CPU", "copy in", "kernel", "copy out", "together", "faster"]);
        let mut row = |name: &str, what: &str, cpu: Duration, timings: Timings| {
            table.add_row([
                name.to_owned(),
                what.to_owned(),
                units::time(cpu),
                units::time(timings.copy_in),
                units::time(timings.kernel),
                units::time(timings.copy_out),
                units::time(timings.total()),
                format!("{:.2}", ratio(cpu, timings.total())),
            ]);
        };
        for part in &self.parts {
            if let Some(predicted) = part.device {
                row(&part.name, "predicted", part.cpu, predicted);
            }
            if let Some(measured) = part.measured {
                row("", "measured", part.cpu, measured);
            }
        }
        for part in self.parts.iter().filter(|part| part.device.is_none()) {
            let time = units::time(part.cpu);
            table.add_row([part.name.as_str(), "stays on the CPU", &time, "", "", "", &time, "1.00"]);
        }
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(f, "on {}\n{table}", self.device)?;
        let parallel = 100.0 * (1.0 - 1.0 / self.limit());
        write!(
            f,
            "{parallel:.1} % of {} can be kernels: at most {:.2} times as fast on any device (Amdahl), {:.2} times predicted here",
            units::time(self.cpu()),
            self.limit(),
            self.speed_up()
        )?;
        match self.measured_speed_up() {
            Some(measured) => write!(f, ", {measured:.2} times measured"),
            None if self.speed_up() <= 1.0 => write!(f, ": it does not pay"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, CpuProfile, Offload, estimate};
    use crate::launch::timings::Timings;
    use crate::performance::capacity::{Measured, Unit};
    use std::time::Duration;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// A device with round numbers.
    fn device() -> Measured {
        Measured {
            device: "a device".to_owned(),
            copy_in: 10e9,
            copy_out: 5e9,
            copy_in_pinned: 20e9,
            copy_out_pinned: 20e9,
            memory: 1e12,
            launch: seconds(10e-6),
            rates: vec![(Unit::F32, 1e13)],
        }
    }

    #[test]
    fn amdahl_by_hand() {
        let mut program = CpuProfile::new();
        program.add("read", seconds(1.0), None);
        // 0.1 s in, 0.2 s out, 0.5 s of arithmetic (0.1 s of memory beside it), 10 µs to launch.
        let cost = Cost { bytes: 100_000_000_000, flops: 5_000_000_000_000 };
        let work = Offload::new(cost).copies(1_000_000_000, 1_000_000_000);
        program.add("work", seconds(9.0), Some(work));
        let mut estimate = estimate(&program, &device());
        assert!((estimate.limit() - 10.0).abs() < 1e-9);
        let expected = 10.0 / (1.0 + 0.1 + 0.2 + 0.5 + 10e-6);
        assert!((estimate.speed_up() - expected).abs() < 1e-6, "{}", estimate.speed_up());

        assert_eq!(estimate.measured_speed_up(), None);
        let measured = Timings { kernel: seconds(3.0), ..Timings::default() };
        estimate.set_measured("work", measured);
        assert!((estimate.measured_speed_up().expect("all measured") - 2.5).abs() < 1e-9);
        let text = estimate.to_string();
        for part in ["90.0 %", "at most 10.00 times", "5.56 times predicted", "2.50 times measured"] {
            assert!(text.contains(part), "`{part}` is missing in {text}");
        }
    }

    #[test]
    fn what_does_not_pay_says_so() {
        let mut program = CpuProfile::new();
        let copies = Offload::new(Cost::default()).copies(1_000_000_000, 0);
        program.add("small", seconds(0.01), Some(copies));
        let text = estimate(&program, &device()).to_string();
        assert!(text.ends_with("it does not pay"), "{text}");
    }
}
