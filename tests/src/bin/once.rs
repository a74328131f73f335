//! Each case launched once, of a middling size, for profilers to look at: `tests/traffic.rs` compares
//! what the software device counts with what NVIDIA's profiler does.
//!
//! Usage: `once [PART OF A NAME ...]`; without one all cases.

use anyhow::{Context, Result, bail};
use rumba::Device;
use rumba_tests::{Case, PTX, cases};

fn main() -> Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let chosen = |case: &&&Case| wanted.is_empty() || wanted.iter().any(|word| case.name.contains(word.as_str()));
    let chosen: Vec<&Case> = cases::ALL.iter().filter(chosen).copied().collect();
    if chosen.is_empty() {
        bail!("no case has `{}` in its name", wanted.join("` or `"));
    }
    let device = Device::new()?;
    let module = device.load(PTX)?;
    for case in chosen {
        let largest = case.sizes.iter().copied().max().unwrap_or(1);
        let n = largest.max(case.bench[0] / 16);
        let launched = (case.prepare)(&device, &module, n).and_then(|mut prepared| {
            prepared.launch()?;
            Ok(device.synchronize()?)
        });
        launched.with_context(|| format!("{} of size {n}", case.name))?;
        println!("{} of size {n}", case.name);
    }
    Ok(())
}
