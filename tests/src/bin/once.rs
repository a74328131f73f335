//! Each case launched once, of a middling size, for profilers to look at: `tests/it/traffic.rs` compares
//! what the software device counts with what NVIDIA's profiler does.
//!
//! Usage: `once [PART OF A NAME ...]`; without one all cases.

use anyhow::{Context, Result};
use rumba::Device;
use rumba_tests::{PTX, cases};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let chosen = cases::chosen(&words)?;
    let device = Device::new()?;
    let module = device.load(PTX)?;
    for case in chosen {
        let n = case.middling();
        let launched = (case.prepare)(&device, &module, n).and_then(|mut prepared| {
            prepared.launch()?;
            Ok(device.synchronize()?)
        });
        launched.with_context(|| format!("{} of size {n}", case.name))?;
        println!("{} of size {n}", case.name);
    }
    Ok(())
}
