//! Runs contests between the CPU and the device: `cargo xtask compare`. For each the table over its sizes, the plot, and for its
//! largest size what would have been predicted from the CPU's times, beside what was measured.

use anyhow::{Context, Result, bail};
use rumba::{Device, Module, capacity::Measured, compare, estimate, estimate::CpuProfile};
use rumba_tests::PTX;
use rumba_tests::contests::{ALL, Contest};
use std::path::PathBuf;

fn main() -> Result<()> {
    let mut folder = PathBuf::from(".");
    let mut wanted = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--folder" => folder = words.next().context("--folder needs a folder")?.into(),
            _ => wanted.push(word),
        }
    }
    let names: Vec<&str> = ALL.iter().map(|contest| contest.name).collect();
    if wanted.is_empty() {
        println!("there is: {}", names.join(", "));
        return Ok(());
    }
    if let Some(unknown) = wanted.iter().find(|word| !names.contains(&word.as_str())) {
        bail!("there is no comparison `{unknown}`; there is: {}", names.join(", "));
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let device = Device::new()?;
    let module = device.load(PTX)?;
    let measured = device.measure()?;
    let is_gpu = !device.capacity()?.is_software();
    println!("{}; CPU: {} threads\n", device.name(), rayon::current_num_threads());
    for contest in ALL.iter().filter(|contest| wanted.iter().any(|word| word == contest.name)) {
        // Nsight's tools find it by this name.
        let _range = rumba::nvtx::range(contest.name);
        let sizes = contest.sizes[usize::from(is_gpu)];
        let comparison = compare(contest.name, sizes.iter().copied(), |n| Ok((contest.prepare)(&module, n)))?;
        println!("{comparison}\n");
        let picture = |extension: &str| folder.join(format!("{}.{extension}", contest.name));
        std::fs::write(picture("svg"), comparison.svg())?;
        std::fs::write(picture("png"), comparison.png())?;
        println!("plot: {}\n", picture("svg").display());
        predict(contest, &module, &measured, *sizes.last().context("a contest has sizes")?)?;
    }
    Ok(())
}

/// A whole program with that function in it: predicted from its run on the CPU, then run with the kernel.
fn predict(contest: &Contest, module: &Module, device: &Measured, n: usize) -> Result<()> {
    let mut program = CpuProfile::new();
    let mut contender = program.serial("make the input", || (contest.prepare)(module, n));
    // Memory is touched, caches are warm and kernels are loaded before anything is measured.
    contender.cpu();
    contender.device()?;
    program.parallel(contest.name, (contest.offload)(n), || contender.cpu());
    let mut prediction = estimate(&program, device);
    prediction.set_measured(contest.name, contender.device()?);
    println!("a program that makes its input and calls {} of size {n} once, {prediction}\n", contest.name);
    Ok(())
}
