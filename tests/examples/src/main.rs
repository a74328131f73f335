//! Runs every example of the documentation of `cuda_std` that has a kernel, and every program of the book, on the device that
//! `RUMBA_DEVICE` names. An argument chooses those whose names contain it: `run-examples book`.

use std::process::ExitCode;

#[allow(clippy::all, missing_docs, unused, unreachable_pub, reason = "examples show one thing each")]
mod documentation {
    use super::done;

    include!(concat!(env!("OUT_DIR"), "/examples.rs"));
}

include!("../done.rs");

fn main() -> ExitCode {
    let (device, _) = examples::device();
    let on_gpu = !device.name().contains("software");
    let filter = std::env::args().nth(1).unwrap_or_default();
    let (mut ran, mut failed) = (0, Vec::new());
    for (name, soft, example) in documentation::ALL {
        if !name.contains(&filter) || (*soft && on_gpu) {
            continue;
        }
        println!("{name}");
        ran += 1;
        if std::panic::catch_unwind(example).is_err() {
            failed.push(name);
        }
    }
    println!("{}: {ran} examples, {} failed {failed:?}", device.name(), failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
