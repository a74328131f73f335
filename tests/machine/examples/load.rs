//! Loads PTX files, and lists their kernels with the attributes, or the errors in the files.

use rumba_vm::{Config, Device, Source};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::new(Config { workers: 1, ..Config::default() })?;
    let mut failed = false;
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path)?;
        match device.load(&[Source { name: &path, ptx: &text }]) {
            Ok(module) => {
                println!("{path}:");
                for function in module.functions() {
                    println!("  {} {:?}", function.name(), function.attributes());
                }
            }
            Err(error) => {
                failed = true;
                println!("{error}");
            }
        }
    }
    if failed { Err("not all files can be loaded".into()) } else { Ok(()) }
}
