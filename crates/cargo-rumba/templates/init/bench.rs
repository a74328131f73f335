//! Kernels against plain loops over a range of sizes: `cargo bench`, or `cargo rumba bench` with plots.

use kernels::amplify;
use rumba::compare::Contender;
use rumba::estimate::Cost;
use rumba::{Bench, Module, Timings};

/// The kernels as PTX, built by the build script.
const PTX: &str = include_str!(env!("KERNELS_PTX"));

/// A factor that keeps numbers finite, however often they are multiplied.
const FACTOR: f32 = -1.0;

/// Both versions of `values *= FACTOR`, each with its own values.
struct Amplify {
    module: Module,
    on_cpu: Vec<f32>,
    on_device: Vec<f32>,
}

impl Contender for Amplify {
    fn cpu(&mut self) {
        for value in &mut self.on_cpu {
            *value *= FACTOR;
        }
    }

    fn device(&mut self) -> rumba::Result<Timings> {
        // Host slices are copied to the device and back; the tables have these times too. `DeviceBuffer`s stay there.
        self.module.for_each_timed(self.on_device.len(), amplify(FACTOR, &mut self.on_device))
    }

    fn agree(&self) -> Result<(), String> {
        match self.on_cpu.iter().zip(&self.on_device).position(|(cpu, device)| cpu != device) {
            None => Ok(()),
            Some(i) => Err(format!("element {i} is {} instead of {}", self.on_device[i], self.on_cpu[i])),
        }
    }

    fn cost(&self) -> Cost {
        // Each value is read and written once, with one product.
        let n = self.on_cpu.len() as u64;
        Cost { bytes: 8 * n, flops: n }
    }
}

fn main() -> rumba::Result<()> {
    let mut bench = Bench::new()?;
    let module = bench.device().load(PTX)?;
    bench.compare("amplify", [1 << 10, 1 << 14, 1 << 18, 1 << 22], |n| {
        let values: Vec<f32> = (0..n).map(|i| i as f32).collect();
        Ok(Amplify { module: module.clone(), on_cpu: values.clone(), on_device: values })
    })?;
    bench.finish();
    Ok(())
}
