//! Finds the loudest frequency of noisy signals by cuRAND, cuFFT and cuBLAS: `cargo run -p gallery --example nvidia_libraries`, on an
//! NVIDIA GPU with these libraries.

use anyhow::Result;
use cuda_std::complex::Complex32;
use rumba::array::Array;
use rumba::cublas::Blas;
use rumba::cufft::Plan;
use rumba::curand::{Generator, Kind};
use rumba::{Device, error::Error, error::LibraryError};

const SIGNALS: usize = 64;
const SAMPLES: usize = 1 << 14;

fn main() -> Result<()> {
    sigpipe::reset();
    let device = Device::new()?;
    let blas = match Blas::new(&device) {
        Err(Error::Library(error)) if matches!(*error, LibraryError::SoftwareDevice { .. }) => {
            println!("{}: this program needs an NVIDIA GPU with cuBLAS, cuFFT and cuRAND\n{error}", device.name());
            return Ok(());
        }
        other => other?,
    };

    // Signal `i` is a wave of 100 + i periods in noise of the same strength.
    let wave = |[signal, sample]: [usize; 2]| {
        let turns = (100 + signal) * sample % SAMPLES;
        (std::f32::consts::TAU * turns as f32 / SAMPLES as f32).sin()
    };
    let mut signals = Array::from_fn(&device, [SIGNALS, SAMPLES], wave)?.into_buffer();
    let mut noise = device.zeros::<f32>(SIGNALS * SAMPLES)?;
    Generator::new(&device, Kind::Philox, 42)?.normal(&mut noise, 0.0, 1.0)?;
    blas.axpy(1.0, &noise, &mut signals)?;

    let plan = Plan::<f32, Complex32>::new(&device, [SAMPLES], SIGNALS)?;
    let mut frequencies = device.zeros(plan.lengths()[1])?;
    plan.forward(&signals, &mut frequencies)?;
    let frequencies = frequencies.to_vec()?;
    let loudest = |line: &[Complex32]| {
        let (place, _) = line.iter().enumerate().max_by(|a, b| a.1.norm_sqr().total_cmp(&b.1.norm_sqr()))?;
        Some(place)
    };
    let found: Vec<_> = frequencies.chunks(SAMPLES / 2 + 1).filter_map(loudest).collect();
    assert_eq!(found, (100..100 + SIGNALS).collect::<Vec<_>>());
    println!("{}: the loudest frequencies of {SIGNALS} signals in noise are {found:?}", device.name());

    // The products of all pairs of signals: a signal has more in common with itself than with others.
    let signals = Array::from_buffer(signals, [SIGNALS, SAMPLES])?;
    let mut products = Array::zeros(&device, [SIGNALS, SIGNALS])?;
    blas.gemm(1.0 / SAMPLES as f32, &signals, signals.transpose(), 0.0, &mut products)?;
    let products = products.to_vec()?;
    let own: f32 = (0..SIGNALS).map(|signal| products[signal * (SIGNALS + 1)]).sum::<f32>() / SIGNALS as f32;
    let others = (products.iter().sum::<f32>() - own * SIGNALS as f32) / (SIGNALS * (SIGNALS - 1)) as f32;
    assert!((own - 1.5).abs() < 0.1 && others.abs() < 0.1);
    println!("the mean product of a signal with itself is {own:.2}, with another {others:.4}");
    Ok(())
}
