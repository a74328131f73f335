//! How fast arrays are copied that do not lie one element after the other: views of all kinds, as shares of a plain copy in
//! the same run. `cargo xtask bench --arrays` builds and runs it.
//!
//! The bytes counted are those that a copy has to move: each sector of memory with an element of the view, and the
//! result. The kernels are those of every operation on arrays (`array-kernels`, `#[vectorize]`).

use anyhow::Result;
use bytemuck::Pod;
use comfy_table::{CellAlignment, Table, presets};
use rumba::Device;
use rumba::array::{Array, ArrayView, every};
use rumba_tests::figures::median;
use std::time::Instant;

/// Bytes of an array: on a GPU, and on the software device.
const SIZES: [usize; 2] = [1 << 30, 1 << 18];
/// Copies of a round, which ends with a wait, so that launches cost nothing.
const COPIES: u32 = 10;
const ROUNDS: usize = 7;

/// A kind of view, and the rate of its copy as a share of a plain copy's.
struct Line {
    what: &'static str,
    share: f64,
}

fn main() -> Result<()> {
    let device = Device::new()?;
    let columns = [
        ("u8", measure::<u8>(&device)?),
        ("u16", measure::<u16>(&device)?),
        ("f32", measure::<f32>(&device)?),
        ("f64", measure::<f64>(&device)?),
    ];
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    let names = columns.iter().map(|(name, _)| (*name).to_owned());
    table.set_header(["a copy of".to_owned()].into_iter().chain(names));
    for line in 0..columns[0].1.len() {
        let shares = columns.iter().map(|(_, lines)| format!("{:.0} %", 100.0 * lines[line].share));
        table.add_row([columns[0].1[line].what.to_owned()].into_iter().chain(shares));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{}: shares of the rate of a plain copy\n{table}", device.name());
    Ok(())
}

fn measure<T: Pod>(device: &Device) -> Result<Vec<Line>> {
    let bytes = SIZES[usize::from(device.capacity()?.is_software())];
    let n = bytes / size_of::<T>();
    // A power of two; a matrix that is as good as square.
    let rows = 1 << (n.ilog2() / 2);
    let source = Array::<T, 2>::zeros(device, [rows, n / rows])?;
    let mut result = Array::<T, 2>::zeros(device, [rows, n / rows])?;
    let plain = 2.0 * bytes as f64 / seconds(device, || Ok(result.copy_from(&source.view())?))?;

    let mut lines = Vec::new();
    // `read`: elements that the copy moves from memory for each that it writes.
    let mut add = |what, read: f64, view: &dyn View| -> Result<()> {
        let (elements, seconds) = view.measure(device)?;
        let moved = (1.0 + read) * (elements * size_of::<T>()) as f64;
        lines.push(Line { what, share: moved / seconds / plain });
        Ok(())
    };
    let inner = source.slice((1.., 1..));
    add("rows that are not aligned", 1.0, &inner)?;
    add("every second row", 1.0, &source.slice((every(.., 2), ..)))?;
    add("every second column", 2.0, &source.slice((.., every(.., 2))))?;
    add("columns from the last to the first", 1.0, &source.slice((.., every(.., -1))))?;
    add("the transpose", 1.0, &source.transpose())?;
    add("the transpose of rows that are not aligned", 1.0, &inner.transpose())?;
    let volume = source.view().reshape([1 << (n.ilog2() / 3), 1 << (n.ilog2() / 3), n >> (2 * (n.ilog2() / 3))])?;
    add("a volume, axes 0 2 1", 1.0, &volume.permute([0, 2, 1]))?;
    add("a volume, axes 1 0 2", 1.0, &volume.permute([1, 0, 2]))?;
    add("a volume, axes 1 2 0", 1.0, &volume.permute([1, 2, 0]))?;
    add("a volume, axes 2 0 1", 1.0, &volume.permute([2, 0, 1]))?;
    add("a volume, axes 2 1 0", 1.0, &volume.permute([2, 1, 0]))?;
    let narrow = source.view().reshape([n / 4, 4])?;
    add("the transpose of four columns", 1.0, &narrow.transpose())?;
    add("the transpose of four rows", 1.0, &source.view().reshape([4, n / 4])?.transpose())?;
    Ok(lines)
}

/// A view of any number of dimensions.
trait View {
    /// Elements of the view, and seconds to copy them.
    fn measure(&self, device: &Device) -> Result<(usize, f64)>;
}

impl<T: Pod, const N: usize> View for ArrayView<'_, T, N> {
    fn measure(&self, device: &Device) -> Result<(usize, f64)> {
        let mut result = Array::<T, N>::zeros(device, self.shape())?;
        Ok((self.len(), seconds(device, || Ok(result.copy_from(self)?))?))
    }
}

/// Seconds of one copy: the median of all rounds, after one that does not count.
fn seconds(device: &Device, mut copy: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut rounds = Vec::new();
    for _ in 0..=ROUNDS {
        let start = Instant::now();
        for _ in 0..COPIES {
            copy()?;
        }
        device.synchronize()?;
        rounds.push(start.elapsed().as_secs_f64() / f64::from(COPIES));
    }
    Ok(median(rounds.into_iter().skip(1)))
}
