//! The runtime's algorithms against NVIDIA's CUB, on the same buffers in one run on one GPU. `cargo xtask bench --against
//! cub` builds and runs it.
//!
//! CUB is a shared library that nvcc makes of tests/baseline/cub/cub.cu, here, for this GPU. The two take turns, and the
//! medians are compared. The results of both are the same, bit for bit where the type's arithmetic is exact.

use anyhow::{Context, Result, bail, ensure};
use bytemuck::Pod;
use comfy_table::{CellAlignment, Table, presets};
use libloading::{Library, Symbol};
use rumba::algorithms::{Algorithms, Operation, SortKey, Sum};
use rumba::{Device, DeviceBuffer};
use rumba_tests::cases::is_chosen;
use rumba_tests::figures::median;
use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Elements.
const N: usize = 1 << 28;
/// Launches of each for a median.
const ROUNDS: usize = 15;
/// Bins of the histograms.
const BINS: usize = 256;

fn main() -> Result<()> {
    // SAFETY: the process has a single thread here.
    unsafe { std::env::set_var("RUMBA_DEVICE", "gpu") };
    let mut arguments = std::env::args().skip(1);
    let source = arguments.next().context("the path of tests/baseline/cub/cub.cu is missing")?;
    let words: Vec<String> = arguments.collect();
    let device = Device::new().context("times need a GPU")?;
    let cub = Cub::build(Path::new(&source))?;
    let bench = Bench { algorithms: Algorithms::new(&device), cub, words, device };
    println!("{}, 2^28 elements, medians of {ROUNDS} calls in turns\n", bench.device.name());
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).force_no_tty();
    table.set_header(["algorithm", "ours", "CUB", "ours / CUB", "Gelements/s"]);
    for row in bench.all()? {
        table.add_row([
            row.name.to_owned(),
            format!("{:.3} ms", row.ours),
            format!("{:.3} ms", row.cub),
            format!("{:.3}", row.ours / row.cub),
            format!("{:.1}", N as f64 / row.ours / 1e6),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    Ok(())
}

/// Median milliseconds of both.
struct Row {
    name: &'static str,
    ours: f64,
    cub: f64,
}

struct Bench {
    device: Device,
    algorithms: Algorithms,
    cub: Cub,
    words: Vec<String>,
}

impl Bench {
    fn all(&self) -> Result<Vec<Row>> {
        let words = self.random::<u32>(7)?;
        let longs = self.random::<u64>(8)?;
        let mut floats = self.device.zeros::<f32>(N)?;
        self.algorithms.fill_uniform(&mut floats, 0.0..1.0, 9)?;
        let mut doubles = self.device.zeros::<f64>(N)?;
        self.algorithms.fill_uniform(&mut doubles, 0.0..1.0, 10)?;

        let mut rows = Vec::new();
        rows.extend(self.reduce("reduce u32", "reduce_u32", &words, |a, b| a == b)?);
        rows.extend(self.reduce("reduce u64", "reduce_u64", &longs, |a, b| a == b)?);
        rows.extend(self.reduce("reduce f32", "reduce_f32", &floats, |a, b| (a - b).abs() < 1e-4 * a)?);
        rows.extend(self.reduce("reduce f64", "reduce_f64", &doubles, |a, b| (a - b).abs() < 1e-12 * a)?);
        rows.extend(self.scan("scan u32", "scan_u32", &words, |a, b| a == b)?);
        rows.extend(self.scan("scan u64", "scan_u64", &longs, |a, b| a == b)?);
        rows.extend(self.scan("scan f32", "scan_f32", &floats, |a, b| (a - b).abs() <= 1e-3 * a)?);
        rows.extend(self.scan("scan f64", "scan_f64", &doubles, |a, b| (a - b).abs() <= 1e-9 * a)?);
        rows.extend(self.sort("sort u32", "sort_u32", &words)?);
        rows.extend(self.sort("sort f32", "sort_f32", &floats)?);
        rows.extend(self.sort("sort u64", "sort_u64", &longs)?);
        rows.extend(self.sort_pairs("sort u32 with u32", "sort_u32_u32", &words, &words)?);
        rows.extend(self.sort_pairs("sort u64 with u64", "sort_u64_u64", &longs, &longs)?);
        let bytes = words.slice(..N / 4);
        rows.extend(self.histogram(
            "histogram of u8",
            "histogram_u8",
            address(&words),
            (0_i32, 256),
            |ours, counts| ours.count_values(bytes.cast::<u8>(), counts),
        )?);
        rows.extend(self.histogram(
            "histogram of f32",
            "histogram_f32",
            address(&floats),
            (0.0_f32, 1.0),
            |ours, counts| ours.histogram(&floats, 0.0..1.0, counts),
        )?);
        rows.extend(self.histogram(
            "histogram of u32",
            "histogram_u32",
            address(&words),
            (0_u32, u32::MAX),
            |ours, counts| ours.histogram(&words, 0..u32::MAX, counts),
        )?);
        Ok(rows)
    }

    fn reduce<T: Pod>(
        &self,
        name: &'static str,
        symbol: &str,
        x: &DeviceBuffer<T>,
        same: fn(T, T) -> bool,
    ) -> Result<Option<Row>>
    where
        Sum: Operation<T>,
    {
        self.sums(name, symbol, (x, 1), same, |ours, y| ours.reduce_into(x, Sum, y))
    }

    fn scan<T: Pod>(
        &self,
        name: &'static str,
        symbol: &str,
        x: &DeviceBuffer<T>,
        same: fn(T, T) -> bool,
    ) -> Result<Option<Row>>
    where
        Sum: Operation<T>,
    {
        self.sums(name, symbol, (x, N), same, |ours, y| ours.inclusive_scan(x, Sum, y))
    }

    /// One or as many sums of the elements of `x`.
    fn sums<T: Pod>(
        &self,
        name: &'static str,
        symbol: &str,
        (x, length): (&DeviceBuffer<T>, usize),
        same: fn(T, T) -> bool,
        sum: impl Fn(&Algorithms, &mut DeviceBuffer<T>) -> rumba::Result<()>,
    ) -> Result<Option<Row>> {
        type Call = unsafe extern "C" fn(*mut c_void, *mut usize, u64, u64, u64) -> c_int;
        if !self.is_wanted(name) {
            return Ok(None);
        }
        let (mut ours, theirs) = (self.device.zeros::<T>(length)?, self.device.zeros::<T>(length)?);
        let call: Symbol<'_, Call> = self.cub.function(symbol)?;
        let mut work = None;
        let row = self.measure(
            name,
            || Ok(sum(&self.algorithms, &mut ours)?),
            || {
                // SAFETY: buffers of `N` elements and of `length`, and work memory of the size that was asked for.
                self.with_work(&mut work, |memory, bytes| unsafe {
                    call(memory, bytes, address(x), address(&theirs), N as u64)
                })
            },
        )?;
        let both = ours.to_vec()?.into_iter().zip(theirs.to_vec()?);
        if let Some(i) = both.into_iter().position(|(a, b)| !same(a, b)) {
            bail!("{name}: the results differ at {i}");
        }
        Ok(Some(row))
    }

    fn sort<T: Pod + SortKey>(&self, name: &'static str, symbol: &str, x: &DeviceBuffer<T>) -> Result<Option<Row>> {
        type Call = unsafe extern "C" fn(*mut c_void, *mut usize, u64, u64, u64, *mut c_int) -> c_int;
        if !self.is_wanted(name) {
            return Ok(None);
        }
        let mut ours = self.device.zeros::<T>(N)?;
        let (mut a, b) = (self.device.zeros::<T>(N)?, self.device.zeros::<T>(N)?);
        let call: Symbol<'_, Call> = self.cub.function(symbol)?;
        let (mut work, mut in_b) = (None, 0);
        let (mut times, mut cub_times) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS / 2 {
            ours.copy_from_buffer(x)?;
            times.push(self.time(|| Ok(self.algorithms.sort(&mut ours)?))?);
            a.copy_from_buffer(x)?;
            let keys = (address(&a), address(&b));
            let mut sort = || {
                // SAFETY: buffers of `N` elements, and work memory of the size that was asked for.
                self.with_work(&mut work, |memory, bytes| unsafe {
                    call(memory, bytes, keys.0, keys.1, N as u64, &mut in_b)
                })
            };
            if cub_times.is_empty() {
                sort()?;
                a.copy_from_buffer(x)?;
            }
            cub_times.push(self.time(sort)?);
        }
        let theirs = if in_b == 1 { &b } else { &a };
        let equal = bytemuck::cast_slice::<T, u8>(&ours.to_vec()?) == bytemuck::cast_slice::<T, u8>(&theirs.to_vec()?);
        ensure!(equal, "{name}: the results differ");
        Ok(Some(row(name, times, cub_times)))
    }

    fn sort_pairs<K: SortKey, V: Pod + PartialEq>(
        &self,
        name: &'static str,
        symbol: &str,
        keys: &DeviceBuffer<K>,
        values: &DeviceBuffer<V>,
    ) -> Result<Option<Row>> {
        type Call = unsafe extern "C" fn(*mut c_void, *mut usize, u64, u64, u64, u64, u64, *mut c_int) -> c_int;
        if !self.is_wanted(name) {
            return Ok(None);
        }
        let (mut our_keys, mut our_values) = (self.device.zeros::<K>(N)?, self.device.zeros::<V>(N)?);
        let (mut a, b) = (self.device.zeros::<K>(N)?, self.device.zeros::<K>(N)?);
        let (mut c, d) = (self.device.zeros::<V>(N)?, self.device.zeros::<V>(N)?);
        let call: Symbol<'_, Call> = self.cub.function(symbol)?;
        let (mut work, mut in_b) = (None, 0);
        let (mut times, mut cub_times) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS / 2 {
            our_keys.copy_from_buffer(keys)?;
            our_values.copy_from_buffer(values)?;
            times.push(self.time(|| Ok(self.algorithms.sort_by_key(&mut our_keys, &mut our_values)?))?);
            a.copy_from_buffer(keys)?;
            c.copy_from_buffer(values)?;
            let all = (address(&a), address(&b), address(&c), address(&d));
            let mut sort = || {
                // SAFETY: buffers of `N` elements, and work memory of the size that was asked for.
                self.with_work(&mut work, |memory, bytes| unsafe {
                    call(memory, bytes, all.0, all.1, all.2, all.3, N as u64, &mut in_b)
                })
            };
            if cub_times.is_empty() {
                sort()?;
                a.copy_from_buffer(keys)?;
                c.copy_from_buffer(values)?;
            }
            cub_times.push(self.time(sort)?);
        }
        let theirs = if in_b == 1 { &d } else { &c };
        ensure!(our_values.to_vec()? == theirs.to_vec()?, "{name}: the results differ");
        Ok(Some(row(name, times, cub_times)))
    }

    fn histogram<L: Copy>(
        &self,
        name: &'static str,
        symbol: &str,
        x: u64,
        (low, high): (L, L),
        count: impl Fn(&Algorithms, &mut DeviceBuffer<u32>) -> rumba::Result<()>,
    ) -> Result<Option<Row>> {
        type Call<L> = unsafe extern "C" fn(*mut c_void, *mut usize, u64, u64, c_int, L, L, u64) -> c_int;
        if !self.is_wanted(name) {
            return Ok(None);
        }
        let (mut ours, theirs) = (self.device.zeros::<u32>(BINS)?, self.device.zeros::<u32>(BINS)?);
        let call: Symbol<'_, Call<L>> = self.cub.function(symbol)?;
        let mut work = None;
        let row = self.measure(
            name,
            || Ok(count(&self.algorithms, &mut ours)?),
            || {
                // SAFETY: a buffer of `N` elements and one of `BINS`, and work memory of the size that was asked for.
                self.with_work(&mut work, |memory, bytes| unsafe {
                    call(memory, bytes, x, address(&theirs), BINS as c_int, low, high, N as u64)
                })
            },
        )?;
        let (ours, theirs) = (ours.to_vec()?, theirs.to_vec()?);
        // At the edges of bins, rounding decides; CUB's last bin has the last number, ours not.
        let difference: u64 = ours.iter().zip(&theirs).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        ensure!(difference < N as u64 / 1_000_000, "{name}: {difference} elements are counted elsewhere");
        Ok(Some(row))
    }

    fn is_wanted(&self, name: &str) -> bool {
        is_chosen(name, &self.words)
    }

    /// Random bits.
    fn random<T: Pod>(&self, seed: u64) -> Result<DeviceBuffer<T>> {
        let mut buffer = self.device.zeros::<T>(N)?;
        self.algorithms.fill_random(buffer.as_slice_mut().cast::<u32>(), seed)?;
        Ok(buffer)
    }

    /// Medians of both, which take turns.
    fn measure(
        &self,
        name: &'static str,
        mut ours: impl FnMut() -> Result<()>,
        mut cub: impl FnMut() -> Result<()>,
    ) -> Result<Row> {
        ours()?;
        cub()?;
        let (mut times, mut cub_times) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            times.push(self.time(&mut ours)?);
            cub_times.push(self.time(&mut cub)?);
        }
        Ok(row(name, times, cub_times))
    }

    /// Milliseconds on the device.
    fn time(&self, work: impl FnOnce() -> Result<()>) -> Result<f64> {
        self.device.synchronize()?;
        let begin: Symbol<'_, unsafe extern "C" fn() -> c_int> = self.cub.function("time_begin")?;
        let end: Symbol<'_, unsafe extern "C" fn(*mut f32) -> c_int> = self.cub.function("time_end")?;
        let mut milliseconds = 0.0;
        // SAFETY: they have these types, and the place is valid.
        check(unsafe { begin() })?;
        work()?;
        // SAFETY: as above.
        check(unsafe { end(&mut milliseconds) })?;
        Ok(f64::from(milliseconds))
    }

    /// A call of CUB with the work memory that it asks for, which is kept.
    fn with_work(
        &self,
        work: &mut Option<DeviceBuffer<u8>>,
        mut call: impl FnMut(*mut c_void, *mut usize) -> c_int,
    ) -> Result<()> {
        let mut bytes = 0;
        check(call(std::ptr::null_mut(), &mut bytes))?;
        if work.as_ref().is_none_or(|work| work.len() < bytes) {
            *work = Some(self.device.zeros(bytes.max(1))?);
        }
        let memory = work.as_ref().context("it was just allocated")?;
        check(call(address(memory) as *mut c_void, &mut bytes))
    }
}

fn row(name: &'static str, ours: Vec<f64>, cub: Vec<f64>) -> Row {
    let row = Row { name, ours: median(ours), cub: median(cub) };
    eprintln!("{name}: {:.3} ms, CUB {:.3} ms", row.ours, row.cub);
    row
}

fn address<T: Pod>(buffer: &DeviceBuffer<T>) -> u64 {
    buffer.as_device_pointer().address()
}

fn check(error: c_int) -> Result<()> {
    ensure!(error == 0, "CUB reports CUDA's error {error}");
    Ok(())
}

/// CUB, loaded.
struct Cub {
    library: Library,
}

impl Cub {
    /// Compiles the source for the GPU at hand.
    fn build(source: &Path) -> Result<Cub> {
        let folder = tempfile::tempdir()?;
        let library = folder.path().join("libcub.so");
        let on_path = std::env::var_os("PATH").unwrap_or_default();
        let known = std::env::split_paths(&on_path).chain([PathBuf::from("/usr/local/cuda/bin")]);
        let nvcc = known.map(|folder| folder.join("nvcc")).find(|file| file.is_file());
        let nvcc = nvcc.context("nvcc is not on the search path; it compiles CUB, and is part of the CUDA toolkit")?;
        let options = ["-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-o"];
        let status = Command::new(nvcc).args(options).arg(&library).arg(source).status()?;
        ensure!(status.success(), "nvcc did not compile {}", source.display());
        // SAFETY: it runs nothing when it is loaded but CUDA's own initialisation.
        let loaded = unsafe { Library::new(&library) }.context("the library was compiled but cannot be loaded");
        std::fs::remove_file(&library)?;
        Ok(Cub { library: loaded? })
    }

    fn function<F>(&self, name: &str) -> Result<Symbol<'_, F>> {
        // SAFETY: the callers name the types that cub.cu has.
        unsafe { self.library.get(name.as_bytes()) }.with_context(|| format!("cub.cu has no `{name}`"))
    }
}
