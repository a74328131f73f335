//! Kernels against plain loops over a range of sizes: `cargo bench`, or `cargo rumba bench` with plots.

use kernels::saxpy;
use rumba::compare::Contender;
use rumba::estimate::Cost;
use rumba::{Bench, Module, Timings};

/// The kernels as PTX, built by the build script.
const PTX: &str = include_str!(env!("KERNELS_PTX"));

/// Both versions of `y += 2 x`, each with its own `y`.
struct Saxpy {
    module: Module,
    x: Vec<f32>,
    on_cpu: Vec<f32>,
    on_device: Vec<f32>,
}

impl Contender for Saxpy {
    fn cpu(&mut self) {
        for (y, x) in self.on_cpu.iter_mut().zip(&self.x) {
            *y += 2.0 * x;
        }
    }

    fn device(&mut self) -> rumba::Result<Timings> {
        // Host slices are copied to the device and back; the tables have these times too. `DeviceBuffer`s stay there.
        self.module.for_each_timed(self.x.len(), saxpy(2.0, &self.x, &mut self.on_device))
    }

    fn agree(&self) -> Result<(), String> {
        match self.on_cpu.iter().zip(&self.on_device).position(|(cpu, device)| cpu != device) {
            None => Ok(()),
            Some(i) => Err(format!("element {i} is {} instead of {}", self.on_device[i], self.on_cpu[i])),
        }
    }

    fn cost(&self) -> Cost {
        // `x` and `y` are read, `y` is written: a product and a sum for each element.
        let n = self.x.len() as u64;
        Cost { bytes: 12 * n, flops: 2 * n }
    }
}

fn main() -> rumba::Result<()> {
    let mut bench = Bench::new()?;
    let module = bench.device().load(PTX)?;
    bench.compare("saxpy", [1 << 10, 1 << 14, 1 << 18, 1 << 22], |n| {
        let x: Vec<f32> = (0..n).map(|i| (i % 100) as f32).collect();
        Ok(Saxpy { module: module.clone(), x, on_cpu: vec![0.5; n], on_device: vec![0.5; n] })
    })?;
    bench.finish();
    Ok(())
}
