//! Parses PTX files and says how long that took, or what is wrong with them; `--print` prints them
//! again. Not a benchmark with statistics: each file is read a few times and the best run counts.

use std::error::Error;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Instant;

use rumba_ptx::{Colour, Report, parse};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let (options, files): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let print = options.iter().any(|option| option == "--print");
    let colour = if std::io::stderr().is_terminal() { Colour::Always } else { Colour::Never };
    let mut code = ExitCode::SUCCESS;
    for file in &files {
        let source = std::fs::read_to_string(file)?;
        match parse(&source) {
            Ok(module) if print => print!("{module}"),
            Ok(module) => {
                let best = (0..5).map(|_| {
                    let start = Instant::now();
                    let _ = std::hint::black_box(parse(std::hint::black_box(&source)));
                    start.elapsed()
                });
                let best = best.min().unwrap_or_default();
                let (lines, items) = (source.lines().count(), module.items.len());
                println!("{file}: {lines} lines, {items} items, {best:.1?}");
            }
            Err(faults) => {
                let report = Report::new(file, &source).with_colour(colour);
                eprintln!("{}\n", report.render_all(&faults));
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}
