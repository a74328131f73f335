//! Prints what each device can do per second: `cargo xtask devices`. With `--measure`, and on the software device in any
//! case, what it does as well.

use anyhow::Result;
use rumba::{Device, capacity::Unit};

fn main() -> Result<()> {
    let wants_measured = std::env::args().any(|word| word == "--measure");
    for ordinal in 0..Device::count()? {
        let device = Device::get(ordinal)?;
        let capacity = device.capacity()?;
        println!("device {ordinal}, {capacity}");
        if !wants_measured && !capacity.is_software() {
            continue;
        }
        let measured = device.measure()?;
        println!("\n{measured}");
        let shares = Unit::ALL.iter().filter_map(|&unit| {
            let share = measured.rate(unit)? / capacity.rate(unit)?;
            Some(format!("{unit} {:.0} %", 100.0 * share))
        });
        let mut shares: Vec<String> = shares.collect();
        if let Some(bandwidth) = capacity.memory_bandwidth() {
            shares.push(format!("memory {:.0} %", 100.0 * measured.memory / bandwidth));
        }
        if let Some(bus) = capacity.bus() {
            let [copy_in, copy_out] =
                [measured.copy_in_pinned, measured.copy_out_pinned].map(|rate| 100.0 * rate / bus.bandwidth());
            shares.push(format!("bus {copy_in:.0} % in and {copy_out:.0} % out"));
        }
        if !shares.is_empty() {
            println!("measured, of the theoretical figures: {}", shares.join(", "));
        }
    }
    Ok(())
}
