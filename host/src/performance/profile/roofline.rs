//! The roofline of a profile: what each kernel reached, against what the device's memory and units would allow for as many
//! operations per byte (Williams, Waterman and Patterson 2009).
//!
//! The bytes are those that warps asked for ([`super::counts`]), so this is the cache-aware form (Ilic, Pratas and Sousa 2014): a
//! kernel above the roof of the memory is served by caches.

use crate::base::units;
use crate::performance::capacity::{Capacity, Measured, Unit};
use crate::performance::plot::{Axis, Chart, Series, Style};
use crate::performance::profile::Profile;

impl Profile {
    /// The roofline as SVG. Roofs are the theoretical ones of the first device; one that has none, the software device, needs
    /// `measured`. None: there are no roofs, or no kernel whose [`crate::estimate::Cost`] is known.
    pub fn roofline(&self, measured: Option<&Measured>) -> Option<String> {
        self.chart(measured).map(|chart| chart.svg())
    }

    /// The roofline as PNG.
    pub fn roofline_png(&self, measured: Option<&Measured>) -> Option<Vec<u8>> {
        self.chart(measured).map(|chart| chart.png())
    }

    fn chart(&self, measured: Option<&Measured>) -> Option<Chart> {
        let device = self.devices.first()?;
        let kernels: Vec<Series> = self
            .kernels()
            .iter()
            .filter(|row| row.device == device.ordinal)
            .filter_map(|row| {
                let (bytes, flops) = (row.bytes.filter(|n| *n > 0)?, row.flops.filter(|n| *n > 0)?);
                Some(Series {
                    name: row.name.clone(),
                    points: vec![(flops as f64 / bytes as f64, flops as f64 / row.total.as_secs_f64())],
                    style: Style::Named,
                })
            })
            .collect();
        let roofs = Roofs::of(&device.capacity, measured)?;
        if kernels.is_empty() {
            return None;
        }
        let intensities = kernels.iter().flat_map(|series| &series.points).map(|point| point.0);
        let (least, most) = intensities.fold((f64::INFINITY, 0.0_f64), |(least, most), x| (least.min(x), most.max(x)));
        let ridge = roofs.units.first()?.1 / roofs.memory;
        let (from, to) = ((least / 4.0).min(ridge / 64.0), (most * 4.0).max(ridge * 16.0));
        let top = roofs.units.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let mut series = vec![roof("memory", roofs.memory, top, from, to, Style::Line)];
        if let Some(caches) = roofs.caches {
            series.push(roof("first-level caches", caches, top, from, to, Style::Dashed));
        }
        for (unit, rate) in &roofs.units {
            // From where the caches reach it.
            let start = rate / roofs.caches.unwrap_or(roofs.memory);
            series.push(Series {
                name: format!("{unit}, {}FLOP/s", units::scaled(*rate)),
                points: vec![(start.clamp(from, to), *rate), (to, *rate)],
                style: Style::Line,
            });
        }
        series.extend(kernels);
        Some(Chart {
            title: format!("Roofline: {} ({})", device.capacity.name(), roofs.kind),
            x: (Axis::Number, "floating-point operations per byte that warps asked for"),
            y: (Axis::FlopsPerSecond, "operations per second"),
            series,
            marks: Vec::new(),
        })
    }
}

/// A line of so many bytes per second, up to the highest roof.
fn roof(name: &str, bandwidth: f64, top: f64, from: f64, to: f64, style: Style) -> Series {
    let end = (top / bandwidth).min(to);
    // Many short pieces, since dashes are laid out in pixels of each.
    const PIECES: u32 = 60;
    let points = (0..=PIECES).map(|piece| {
        let share = f64::from(piece) / f64::from(PIECES);
        let x = (from.ln() + share * (end.ln() - from.ln())).exp();
        (x, bandwidth * x)
    });
    Series { name: format!("{name}, {}B/s", units::scaled(bandwidth)), points: points.collect(), style }
}

/// The limits of a device.
struct Roofs {
    kind: &'static str,
    memory: f64,
    caches: Option<f64>,
    /// The lowest first that kernels usually meet: `f32`, `f64`, tensor cores.
    units: Vec<(Unit, f64)>,
}

impl Roofs {
    fn of(capacity: &Capacity, measured: Option<&Measured>) -> Option<Roofs> {
        const UNITS: [Unit; 3] = [Unit::F32, Unit::F64, Unit::TensorF16];
        let theoretical = || {
            Some(Roofs {
                kind: "theoretical roofs",
                memory: capacity.memory_bandwidth()?,
                caches: capacity.cache_bandwidth(),
                units: UNITS.iter().filter_map(|unit| Some((*unit, capacity.rate(*unit)?))).collect(),
            })
        };
        let by_measure = || {
            let measured = measured?;
            Some(Roofs {
                kind: "measured roofs",
                memory: measured.memory,
                caches: None,
                units: UNITS.iter().filter_map(|unit| Some((*unit, measured.rate(*unit)?))).collect(),
            })
        };
        theoretical().or_else(by_measure).filter(|roofs| !roofs.units.is_empty())
    }
}
