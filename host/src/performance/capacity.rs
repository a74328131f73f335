//! Capacity: what a device can do per second at best, computed from its attributes, and what it does when asked to.
//!
//! The theoretical figures are products that anyone can check: [`Capacity`] prints its formulas. Operations per clock and
//! multiprocessor are in one table (`throughput`), by compute capability. Measuring is in `measure`. The software device has no
//! theoretical figures, since it is no GPU: only what is measured.

mod bus;
pub(super) mod measure;
mod throughput;

pub use bus::Bus;
pub use measure::Measured;
pub use throughput::Unit;

use crate::base::error::{DriverError, Result};
use crate::base::{driver, units};
use crate::cuda::Code;
use crate::cuda::DeviceAttribute as A;
use crate::devices::device::Device;
use comfy_table::{CellAlignment, Table, presets};
use std::fmt;

/// The peak rates of a device per second.
///
/// A multiplication with an addition in one instruction counts as two operations, as in every datasheet.
///
/// # Examples
/// ```
/// let device = rumba::Device::new()?;
/// let capacity = device.capacity()?;
/// println!("{capacity}");
/// match capacity.rate(rumba::capacity::Unit::F32) {
///     Some(rate) => println!("{:.1} TFLOP/s", rate / 1e12),
///     None => println!("no GPU: {}", device.measure()?),
/// }
/// # Ok::<(), rumba::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Capacity {
    name: String,
    compute_capability: (u32, u32),
    multiprocessors: u32,
    clock: f64,
    memory_clock: f64,
    memory_width: u32,
    memory: usize,
    l2: u32,
    bus: Option<Bus>,
    is_software: bool,
}

impl Device {
    /// The peak rates of this device per second, computed from its attributes.
    ///
    /// # Errors
    /// The driver's, if it does not know an attribute.
    pub fn capacity(&self) -> Result<Capacity> {
        Capacity::of_raw(self.raw())
            .map_err(|error| DriverError::new("read the attributes of the device".to_owned(), error).into())
    }
}

impl Capacity {
    pub(crate) fn of_raw(device: crate::cuda::Device) -> Result<Capacity, Code> {
        let get = |attribute| device.attribute(attribute).map(|value| u32::try_from(value).unwrap_or(0));
        let is_software = driver::is_software();
        let address = [get(A::PciDomainId)?, get(A::PciBusId)?, get(A::PciDeviceId)?];
        Ok(Capacity {
            name: device.name()?,
            compute_capability: (get(A::ComputeCapabilityMajor)?, get(A::ComputeCapabilityMinor)?),
            multiprocessors: get(A::MultiprocessorCount)?,
            // The driver tells kHz.
            clock: 1e3 * f64::from(get(A::ClockRate)?),
            memory_clock: 1e3 * f64::from(get(A::MemoryClockRate)?),
            memory_width: get(A::GlobalMemoryBusWidth)?,
            memory: device.total_memory()?,
            l2: get(A::L2CacheSize)?,
            bus: if is_software { None } else { bus::find(address) },
            is_software,
        })
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether this is the software device, which has no theoretical figures.
    pub fn is_software(&self) -> bool {
        self.is_software
    }

    /// Operations per second of one kind of unit, at the device's highest clock: multiprocessors × clock × operations per
    /// clock. None: the software device, a GPU without such units, or one that is newer than the table.
    pub fn rate(&self, unit: Unit) -> Option<f64> {
        let per_clock = self.per_clock(unit)?;
        Some(f64::from(self.multiprocessors) * self.clock * f64::from(per_clock))
    }

    /// Operations per clock and multiprocessor.
    fn per_clock(&self, unit: Unit) -> Option<u32> {
        if self.is_software {
            return None;
        }
        throughput::per_clock(self.compute_capability, unit)
    }

    /// Bytes per second of the device's memory: its clock × 2 (double data rate) × the width of its bus.
    pub fn memory_bandwidth(&self) -> Option<f64> {
        let bandwidth = 2.0 * self.memory_clock * f64::from(self.memory_width) / 8.0;
        (!self.is_software && bandwidth > 0.0).then_some(bandwidth)
    }

    /// Bytes per second that all multiprocessors together load from their first-level caches: multiprocessors × clock ×
    /// 128 bytes per clock, since Volta.
    pub fn cache_bandwidth(&self) -> Option<f64> {
        let bandwidth = f64::from(self.multiprocessors) * self.clock * f64::from(throughput::CACHE_BYTES_PER_CLOCK);
        (!self.is_software && bandwidth > 0.0).then_some(bandwidth)
    }

    /// The bus to the host, where NVIDIA's management library or the system knows it.
    pub fn bus(&self) -> Option<&Bus> {
        self.bus.as_ref()
    }
}

impl fmt::Display for Capacity {
    /// A table, with the formula of each figure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.compute_capability;
        writeln!(
            f,
            "{}: compute capability {major}.{minor}, {} multiprocessors, {:.1} GiB of memory",
            self.name,
            self.multiprocessors,
            self.memory as f64 / f64::from(1 << 30)
        )?;
        if self.is_software {
            return write!(
                f,
                "no GPU: it runs on the cores of this machine, and its attributes are limits, not speeds; what it does is \
                 measured"
            );
        }
        let mut table = Table::new();
        table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
        table.set_header(["", "at best", "formula"]);
        let clock = self.clock / 1e9;
        for unit in Unit::ALL {
            if let (Some(rate), Some(per_clock)) = (self.rate(unit), self.per_clock(unit)) {
                let formula = format!("{} × {clock:.3} GHz × {per_clock} per clock", self.multiprocessors);
                table.add_row([unit.to_string(), format!("{}{}", units::scaled(rate), unit.operations()), formula]);
            }
        }
        if let Some(bandwidth) = self.memory_bandwidth() {
            let formula = format!("{:.3} GHz × 2 × {} bits", self.memory_clock / 1e9, self.memory_width);
            table.add_row(["memory".to_owned(), format!("{}B/s", units::scaled(bandwidth)), formula]);
        }
        if let Some(bandwidth) = self.cache_bandwidth() {
            let bytes = throughput::CACHE_BYTES_PER_CLOCK;
            let formula = format!("{} × {clock:.3} GHz × {bytes} bytes per clock", self.multiprocessors);
            table.add_row(["first-level caches".to_owned(), format!("{}B/s", units::scaled(bandwidth)), formula]);
        }
        match &self.bus {
            Some(bus) => table.add_row([
                "bus, each way".to_owned(),
                format!("{}B/s", units::scaled(bus.bandwidth())),
                bus.to_string(),
            ]),
            None => table.add_row([
                "bus".to_owned(),
                "unknown".to_owned(),
                "neither NVML nor the system tells it".to_owned(),
            ]),
        };
        for column in table.column_iter_mut().skip(1).take(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        write!(f, "{table}")?;
        if throughput::per_clock(self.compute_capability, Unit::F32).is_none() {
            write!(
                f,
                "\noperations per clock of compute capability {major}.{minor} are not in the table: only measured figures"
            )?;
        }
        write!(f, "\nsecond-level cache: {:.1} MiB", f64::from(self.l2) / f64::from(1 << 20))
    }
}
