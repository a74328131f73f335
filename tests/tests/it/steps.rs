//! The steps of the book's matrix product: their numbers, under every check, and their PTX.
//!
//! They run on the software device, or with `RUMBA_DEVICE=gpu` on a GPU of compute capability 9.0.

use std::process::Command;

use cuda_std::half::f16;
use rumba::{Checks, Device, Module};
use test_kernels::steps::launches::{Product, STEPS, Step};
use test_processes::alone;

/// The kernels.
const PTX: &str = include_str!(env!("STEPS_PTX"));

/// Small whole numbers, whose sums are exact until they are rounded to `f16`.
fn numbers(seed: usize, length: usize) -> Vec<f16> {
    let number = |i: usize| ((i * 7 + seed + i / 13) % 9) as f32 - 4.0;
    (0..length).map(|i| f16::from_f32(number(i))).collect()
}

/// Matrices `a` and `b`, and sums in `f64`, computed once for all steps.
struct Exact {
    shape: [usize; 3],
    a: Vec<f16>,
    b: Vec<f16>,
    sums: Vec<f64>,
}

impl Exact {
    fn new([m, n, k]: [usize; 3]) -> Self {
        let (a, b) = (numbers(1, m * k), numbers(5, n * k));
        let [left, right] = [&a, &b].map(|x| x.iter().map(|x| x.to_f64()).collect::<Vec<f64>>());
        let sum = |i: usize| {
            let (row, column) = (&left[i / n * k..][..k], &right[i % n * k..][..k]);
            row.iter().zip(column).map(|(a, b)| a * b).sum()
        };
        let sums = (0..m * n).map(sum).collect();
        Self { shape: [m, n, k], a, b, sums }
    }

    /// Runs a step and compares its result.
    fn run(&self, device: &Device, module: &Module, step: &Step) -> rumba::Result<()> {
        let mut product = Product::new(device, self.shape, &self.a, &self.b)?;
        let stream = device.stream()?;
        step.launch(module, &stream, &mut product)?;
        stream.synchronize()?;
        let columns = self.shape[1];
        for (i, (c, sum)) in product.result(step)?.into_iter().zip(&self.sums).enumerate() {
            let exact = if step.rounds() { f16::from_f64(*sum).to_f32() } else { *sum as f32 };
            assert_eq!(c, exact, "{}: row {}, column {}", step.name, i / columns, i % columns);
        }
        Ok(())
    }
}

#[test]
fn every_step_has_the_sums_of_f64() {
    let device = Device::new().expect("a device");
    let module = device.load(PTX).expect("a device of compute capability 9.0");
    // One tile of the larger steps, and edges of several.
    for shape in [[128, 256, 128], [72, 264, 136]] {
        let exact = Exact::new(shape);
        for step in &STEPS {
            exact.run(&device, &module, step).unwrap_or_else(|error| panic!("{}: {error}", step.name));
        }
    }
}

#[test]
fn no_check_finds_anything_in_any_step() {
    alone(&[("RUMBA_DEVICE", "soft")], || {
        let exact = Exact::new([72, 264, 72]);
        for step in &STEPS {
            let findings = Checks::default().run(|device| exact.run(device, &device.load(PTX)?, step))?;
            assert!(findings.is_empty(), "{}: {findings}", step.name);
        }
        Ok(())
    });
}

#[test]
fn sums_stay_in_registers() {
    assert!(!PTX.contains("ld.local") && !PTX.contains("st.local"));
    let Some(ptxas) = cuda_builder::wheels::find().ptxas else {
        eprintln!("ptxas is not installed, so nothing was assembled; `cargo xtask setup` installs it");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (text, binary) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&text, PTX).expect("the folder is ours");
    let output =
        Command::new(ptxas).args(["-arch=sm_90a", "-v", "-o"]).args([&binary, &text]).output().expect("ptxas runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    // The warnings of an assembler that serialises products: C7510, C7517, C7519.
    assert!(!said.contains("wgmma"), "{said}");
    assert_eq!(said.matches(" 0 bytes spill stores").count(), STEPS.len(), "{said}");
}
