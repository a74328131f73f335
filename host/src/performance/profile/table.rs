//! The profile as text: a table of what devices did, one of what the host's calls took, and the hints below.

use crate::base::units;
use crate::performance::profile::{Profile, Row};
use comfy_table::{CellAlignment, Table, presets};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let devices: Vec<&str> = self.devices.iter().map(|device| device.capacity.name()).collect();
        writeln!(
            f,
            "profile of {}; {} busy for {} ({})",
            units::time(self.wall),
            if devices.is_empty() { "no device".to_owned() } else { devices.join(", ") },
            units::time(self.busy()),
            units::percent(share(self.busy(), self.wall))
        )?;
        if self.unheard > 0 {
            writeln!(
                f,
                "without {} launches and copies of other threads, which `Profiler::start_for_all_threads` records too",
                self.unheard
            )?;
        }
        if self.untimed > 0 {
            writeln!(
                f,
                "without {} launches and copies that have no time: the driver refused an event, or the context was lost",
                self.untimed
            )?;
        }
        let rows: Vec<Row> = self.kernels().into_iter().chain(self.copies()).collect();
        if rows.is_empty() {
            return f.write_str("nothing ran on a device");
        }
        writeln!(f, "\n{}", self.device_table(&rows))?;
        let calls = self.call_rows();
        if !calls.is_empty() {
            writeln!(f, "\ncalls of the driver, on the host's clock\n{}", call_table(&calls, self.wall))?;
        }
        for row in &rows {
            for hint in row.launch.iter().flat_map(|facts| &facts.hints) {
                writeln!(f, "\nhint: {}: {hint}", row.name)?;
            }
        }
        Ok(())
    }
}

/// The share of a whole, which may be nothing.
pub(super) fn share(part: Duration, whole: Duration) -> f64 {
    match whole.as_secs_f64() {
        0.0 => 0.0,
        whole => part.as_secs_f64() / whole,
    }
}

/// The headings of the columns of [`Profile::cells`].
pub(super) const COLUMNS: [&str; 14] = [
    "",
    "calls",
    "total",
    "share",
    "mean",
    "min",
    "max",
    "GB/s",
    "of peak",
    "GFLOP/s",
    "occupancy",
    "limited by",
    "registers",
    "shared",
];

impl Profile {
    /// A row of the table; the first cell is its name.
    pub(super) fn cells(&self, row: &Row) -> [String; COLUMNS.len()] {
        let name = match self.devices.len() {
            0 | 1 => row.name.clone(),
            _ => format!("{} (device {})", row.name, row.device),
        };
        let seconds = row.total.as_secs_f64();
        let flops = row.flops.filter(|flops| *flops > 0 && seconds > 0.0);
        let launch = row.launch.as_ref();
        [
            name,
            row.calls.to_string(),
            units::time(row.total),
            units::percent(share(row.total, self.wall)),
            units::time(row.mean()),
            units::time(row.min),
            units::time(row.max),
            row.rate().map(|rate| format!("{:.1}", rate / 1e9)).unwrap_or_default(),
            row.of_peak().map(units::percent).unwrap_or_default(),
            flops.map(|flops| format!("{:.1}", flops as f64 / seconds / 1e9)).unwrap_or_default(),
            launch.map(|facts| units::percent(facts.occupancy.fraction())).unwrap_or_default(),
            launch.map(|facts| facts.occupancy.limit()).unwrap_or_default(),
            launch.map(|facts| facts.launched.info.registers.to_string()).unwrap_or_default(),
            launch
                .map(|facts| format!("{} B", facts.launched.info.shared_memory + facts.launched.dynamic_shared))
                .unwrap_or_default(),
        ]
    }

    fn device_table(&self, rows: &[Row]) -> Table {
        let rows: Vec<_> = rows.iter().map(|row| self.cells(row)).collect();
        // Columns that nothing is known for are left out.
        let kept: Vec<usize> = (0..COLUMNS.len())
            .filter(|&column| column == 0 || rows.iter().any(|cells| !cells[column].is_empty()))
            .collect();
        let mut table = plain_table();
        table.set_header(kept.iter().map(|&column| COLUMNS[column]));
        for cells in &rows {
            table.add_row(kept.iter().map(|&column| &cells[column]));
        }
        right(&mut table);
        table
    }

    /// Calls and their time, by what they were for, the longest first.
    pub(super) fn call_rows(&self) -> Vec<(&'static str, u64, Duration)> {
        let mut sums = BTreeMap::<&str, (u64, Duration)>::new();
        for call in &self.calls {
            let (count, total) = sums.entry(call.name).or_default();
            *count += 1;
            *total += call.duration;
        }
        let mut rows: Vec<_> = sums.into_iter().map(|(name, (count, total))| (name, count, total)).collect();
        rows.sort_by_key(|(_, _, total)| std::cmp::Reverse(*total));
        rows
    }
}

fn call_table(rows: &[(&str, u64, Duration)], wall: Duration) -> Table {
    let mut table = plain_table();
    table.set_header(["", "calls", "total", "share", "mean"]);
    for &(name, calls, total) in rows {
        table.add_row([
            name.to_owned(),
            calls.to_string(),
            units::time(total),
            units::percent(share(total, wall)),
            units::time(total.div_f64(calls.max(1) as f64)),
        ]);
    }
    right(&mut table);
    table
}

fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table
}

fn right(table: &mut Table) {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}
