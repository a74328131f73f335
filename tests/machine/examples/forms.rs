//! How long the texts are that native code is made of, and which instructions it lets the interpreter execute, those of most
//! kernels first.
//!
//! `cargo run --release -p machine --example forms -- [--texts | --text=KERNEL] FILE.ptx …`

use std::collections::{BTreeMap, BTreeSet};

use rumba_vm::{Config, Device, Source};

/// The instruction that stands in a line of PTX, without its guard.
fn opcode(line: &str) -> &str {
    let words = line.split_whitespace();
    let mut words = words.skip_while(|word| word.starts_with('@') || *word == "{");
    words.next().unwrap_or_default().trim_end_matches(';')
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::new(Config { workers: 1, ..Config::default() })?;
    let mut found: BTreeMap<String, (usize, BTreeSet<String>)> = BTreeMap::new();
    let mut kernels = 0;
    let (options, paths): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--text"));
    for path in paths {
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
            if !options.is_empty() {
                let text = device.native_text(&function, [256, 1, 1]);
                if options.contains(&format!("--text={}", function.name())) {
                    println!("{}", text.unwrap_or_default());
                    return Ok(());
                }
                let length = text.map_or("too long".to_owned(), |text| format!("{} KiB", text.len() / 1024));
                println!("{:40} {length}", function.name());
            }
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
