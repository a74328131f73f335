//! Which instructions native code lets the interpreter execute, most kernels first.
//!
//! `cargo run --release -p rumba-vm --example forms -- FILE.ptx …`

use std::collections::{BTreeMap, BTreeSet};

use rumba_vm::{Config, Device, Source};

/// The instruction that stands in a line of PTX, without its guard.
fn opcode(line: &str) -> &str {
    let words = line.split_whitespace();
    let mut words = words.skip_while(|word| word.starts_with('@') || *word == "{");
    words.next().unwrap_or_default().trim_end_matches(';')
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::new(Config {
        workers: 1,
        ..Config::default()
    })?;
    let mut found: BTreeMap<String, (usize, BTreeSet<String>)> = BTreeMap::new();
    let mut kernels = 0;
    for path in std::env::args().skip(1) {
        let ptx = std::fs::read_to_string(&path)?;
        let lines: Vec<&str> = ptx.lines().collect();
        let module = match device.load(&[Source { name: &path, ptx: &ptx }]) {
            Ok(module) => module,
            Err(error) => {
                eprintln!("{error}");
                continue;
            }
        };
        for function in module.functions() {
            kernels += 1;
            for line in function.lines_without_form() {
                let text = lines.get(line as usize - 1).copied().unwrap_or_default();
                let (count, users) = found.entry(opcode(text).to_owned()).or_default();
                *count += 1;
                users.insert(format!("{path}:{}", function.name()));
            }
        }
    }
    let mut rows: Vec<_> = found.into_iter().collect();
    rows.sort_by_key(|(_, (_, users))| std::cmp::Reverse(users.len()));
    println!("{kernels} kernels\nkernels  operations  instruction");
    for (instruction, (count, users)) in rows {
        println!("{:7}  {count:10}  {instruction}", users.len());
    }
    Ok(())
}
