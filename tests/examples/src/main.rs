//! Runs every example of the documentation of `cuda_std` that has a kernel, on the device that `RUMBA_DEVICE` names.

use std::process::ExitCode;

#[allow(
    clippy::all,
    missing_docs,
    unused,
    unreachable_pub,
    reason = "examples show one thing each"
)]
mod documentation {
    include!(concat!(env!("OUT_DIR"), "/examples.rs"));
}

fn main() -> ExitCode {
    let (device, _) = examples::device();
    let filter = std::env::args().nth(1).unwrap_or_default();
    let mut failed = Vec::new();
    let chosen = documentation::ALL.iter().filter(|(name, _)| name.contains(&filter));
    for (name, example) in chosen.clone() {
        if std::panic::catch_unwind(example).is_err() {
            failed.push(name);
        }
    }
    println!(
        "{}: {} examples, {} failed {failed:?}",
        device.name(),
        chosen.count(),
        failed.len()
    );
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
