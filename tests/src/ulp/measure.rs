//! Launches the kernels and finds the worst errors.

use super::references::{ONE, One, TWO, Two};
use anyhow::{Context, Result};
use cuda_std::launch::Call;
use rumba::{Device, DeviceBuffer, Module};
use std::thread;
use test_kernels::ulp::{self, Inputs, Worst};

/// The library whose functions the kernels call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// NVIDIA's, if the builder found it.
    Libdevice,
    /// The crate.
    Libm,
}

impl Library {
    /// The libraries that this program was built with.
    pub const ALL: &[Library] =
        if cfg!(without_libdevice) { &[Library::Libm] } else { &[Library::Libdevice, Library::Libm] };

    /// As the tables have it.
    pub fn name(self) -> &'static str {
        match self {
            Library::Libdevice => "libdevice",
            Library::Libm => "libm",
        }
    }

    fn ptx(self) -> &'static str {
        match self {
            Library::Libdevice => include_str!(env!("ULP_LIBDEVICE_PTX")),
            Library::Libm => include_str!(env!("ULP_LIBM_PTX")),
        }
    }
}

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Inputs of each function of one `f32`: a power of 2, up to 2³², which is all.
    pub single: u64,
    /// Inputs of every other function.
    pub other: usize,
    /// Chooses the inputs.
    pub seed: u64,
}

/// The worst error of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The function.
    pub function: &'static str,
    /// `f32` or `f64`.
    pub ty: &'static str,
    /// See [`Library::name`].
    pub library: &'static str,
    /// The error.
    pub ulps: f64,
    /// Where.
    pub input: String,
}

type Search = for<'a> fn(Inputs, &'a mut DeviceBuffer<Worst>) -> Call<'a>;
type OfOne = for<'a> fn(&'a DeviceBuffer<f64>, &'a mut DeviceBuffer<f64>) -> Call<'a>;
type OfTwo<T> = for<'a> fn(&'a DeviceBuffer<T>, &'a DeviceBuffer<T>, &'a mut DeviceBuffer<T>) -> Call<'a>;

macro_rules! launchers {
    (
        unary { $($unary:ident $search:ident $unary_f64:ident $of_one:path;)* }
        binary { $($binary:ident $binary_f32:ident $binary_f64:ident $of_two:path;)* }
    ) => {
        const OF_ONE: &[(&str, Search, OfOne)] = &[$((
            stringify!($unary),
            |inputs, worst| ulp::$search(inputs, worst),
            |x, y| ulp::$unary_f64(x, y),
        )),*];
        const OF_TWO: &[(&str, OfTwo<f32>, OfTwo<f64>)] = &[$((
            stringify!($binary),
            |a, b, y| ulp::$binary_f32(a, b, y),
            |a, b, y| ulp::$binary_f64(a, b, y),
        )),*];
    };
}
test_kernels::functions!(launchers);

/// Measures all functions whose name contains `filter`.
///
/// # Errors
/// What the device answers.
pub fn measure(device: &Device, effort: Effort, filter: &str) -> Result<Vec<Measured>> {
    let mut all = Vec::new();
    for &library in Library::ALL {
        let module = device.load_named(library.name(), library.ptx())?;
        let mut add = |function, ty, (ulps, input)| {
            let library = library.name();
            all.push(Measured { function, ty, library, ulps, input });
        };
        for &(name, search, values) in OF_ONE.iter().filter(|(name, ..)| name.contains(filter)) {
            let one = ONE.iter().find(|one| one.name == name).context("a reference is missing")?;
            let context = || format!("{name} of {}", library.name());
            add(name, "f32", singles(device, &module, effort, one, search).with_context(context)?);
            add(name, "f64", doubles(device, &module, effort, one, values).with_context(context)?);
        }
        for &(name, single, double) in OF_TWO.iter().filter(|(name, ..)| name.contains(filter)) {
            let two = TWO.iter().find(|two| two.name == name).context("a reference is missing")?;
            add(name, "f32", pairs(device, &module, effort, two, single)?);
            add(name, "f64", pairs(device, &module, effort, two, double)?);
        }
    }
    Ok(all)
}

/// The worst of the evenly spread inputs, found on the device.
fn singles(device: &Device, module: &Module, effort: Effort, one: &One, search: Search) -> Result<(f64, String)> {
    const BLOCK: u32 = 256;
    let threads = effort.single.min(1 << if effort.single > 1 << 24 { 20 } else { 14 }) as u32;
    let inputs = Inputs {
        first: fastrand::Rng::with_seed(effort.seed).u32(..),
        step: ((1 << 32) / effort.single) as u32 | 1,
        per_thread: (effort.single / u64::from(threads)) as u32,
        padding: 0,
        domain: one.domain,
        floor: one.floor.map_or(0.0, |floor| 2.0_f64.powi(floor)),
    };
    let mut worst = device.zeros::<Worst>(threads as usize)?;
    module.launch((threads.div_ceil(BLOCK), BLOCK), search(inputs, &mut worst))?;
    let worst = worst.to_vec()?;
    let worst = worst.iter().max_by(|a, b| a.ulps.total_cmp(&b.ulps)).context("no inputs")?;
    Ok((f64::from(worst.ulps), format!("{:e}", f32::from_bits(worst.input))))
}

/// The worst of random inputs, found on the host.
fn doubles(device: &Device, module: &Module, effort: Effort, one: &One, values: OfOne) -> Result<(f64, String)> {
    let mut random = fastrand::Rng::with_seed(effort.seed);
    let inputs: Vec<f64> = (0..effort.other)
        .map(|i| {
            let [low, high] = if i % 2 == 0 { one.near } else { one.domain };
            loop {
                let x = match i % 2 {
                    0 => low + (high - low) * random.f64(),
                    _ => f64::from_bits(random.u64(..)),
                };
                if (low..=high).contains(&x) {
                    break x;
                }
            }
        })
        .collect();
    let x = device.buffer_from(&inputs)?;
    let mut y = device.zeros::<f64>(inputs.len())?;
    module.for_each(inputs.len(), values(&x, &mut y))?;
    let results = y.to_vec()?;
    let floor = one.floor.unwrap_or(i32::MIN);
    Ok(worst(inputs.len(), |i| {
        let ulps = (one.exact)(inputs[i]).ulps(results[i], <f64 as Type>::DIGITS, <f64 as Type>::EXPONENTS, floor);
        (ulps, format!("{:e}", inputs[i]))
    }))
}

/// The worst of random pairs, found on the host.
fn pairs<T: Type>(
    device: &Device,
    module: &Module,
    effort: Effort,
    two: &Two,
    values: OfTwo<T>,
) -> Result<(f64, String)> {
    let mut random = fastrand::Rng::with_seed(effort.seed);
    let mut number = |[low, high]: [f64; 2], negative| {
        let magnitude = (low + (high - low) * random.f64()).exp2();
        T::from_f64(if negative && random.bool() { -magnitude } else { magnitude })
    };
    let (a, b): (Vec<T>, Vec<T>) =
        (0..effort.other).map(|_| (number(two.powers, two.negative[0]), number(two.other, two.negative[1]))).unzip();
    let (a_device, b_device) = (device.buffer_from(&a)?, device.buffer_from(&b)?);
    let mut y = device.zeros::<T>(a.len())?;
    module.for_each(a.len(), values(&a_device, &b_device, &mut y))?;
    let results = y.to_vec()?;
    Ok(worst(a.len(), |i| {
        let (a, b): (f64, f64) = (a[i].into(), b[i].into());
        let ulps = (two.exact)(a, b).ulps(results[i].into(), T::DIGITS, T::EXPONENTS, i32::MIN);
        (ulps, format!("{a:e},{b:e}"))
    }))
}

/// The properties of a type that the references use.
trait Type: Copy + Into<f64> + cust::memory::DeviceCopy + bytemuck::Pod + Send + Sync {
    /// Bits of the mantissa, the first one too.
    const DIGITS: i32;
    /// The exponents of normal numbers.
    const EXPONENTS: [i32; 2];
    fn from_f64(x: f64) -> Self;
}

impl Type for f32 {
    const DIGITS: i32 = 24;
    const EXPONENTS: [i32; 2] = [-126, 127];

    fn from_f64(x: f64) -> Self {
        x as f32
    }
}

impl Type for f64 {
    const DIGITS: i32 = 53;
    const EXPONENTS: [i32; 2] = [-1022, 1023];

    fn from_f64(x: f64) -> Self {
        x
    }
}

/// The largest error of all indices, on all cores.
fn worst(count: usize, error: impl Fn(usize) -> (f64, String) + Sync) -> (f64, String) {
    let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let larger = |a: (f64, String), b: (f64, String)| if b.0 > a.0 { b } else { a };
    thread::scope(|scope| {
        let error = &error;
        let handles: Vec<_> = (0..workers)
            .map(|worker| {
                scope.spawn(move || (worker..count).step_by(workers).map(error).fold(Default::default(), larger))
            })
            .collect();
        handles
            .into_iter()
            .map(|handle| handle.join().expect("references do not panic"))
            .fold(Default::default(), larger)
    })
}
