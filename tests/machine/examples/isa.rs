//! How much of PTX the machine executes; `cargo xtask isa` runs this.

#[path = "../tests/it/coverage/mod.rs"]
mod coverage;
#[path = "../tests/it/vectors/mod.rs"]
mod vectors;

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;

use coverage::{LISTS, List, Verdict};
use rumba_vm::isa::unsupported::UNSUPPORTED;
use rumba_vm::{Config, Device};

/// The options on the command line.
#[derive(Default)]
struct Args {
    missing: bool,
    json: bool,
    statements: bool,
    errors: bool,
    accepts: bool,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    sigpipe::reset();
    let mut args = Args::default();
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--missing" => args.missing = true,
            "--json" => args.json = true,
            "--statements" => args.statements = true,
            "--errors" => args.errors = true,
            "--accepts" => args.accepts = true,
            other => {
                let known = "--missing, --json, --statements, --accepts, --errors";
                return Err(format!("`{other}` is not one of {known}").into());
            }
        }
    }
    if args.statements {
        print_statements();
        return Ok(ExitCode::SUCCESS);
    }
    let device = Device::new(Config { memory_bytes: 64 << 20, workers: 1, ..Config::default() })?;
    if args.accepts {
        return print_verdicts(&device);
    }
    if args.errors {
        return print_errors(&device);
    }
    let surveys: Vec<_> = LISTS.iter().map(|list| Survey::new(&device, *list)).collect();
    if args.json {
        print_json(&surveys);
    } else {
        for survey in &surveys {
            survey.print(args.missing);
        }
        println!("Not executed, on purpose:");
        for entry in UNSUPPORTED {
            println!("  {:<44} {}", entry.opcodes.join(", "), entry.reason);
        }
    }
    let missing = surveys.iter().any(|survey| survey.total().missing > 0);
    Ok(if missing { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Whether the machine takes each of the statements on standard input.
fn print_verdicts(device: &Device) -> Result<ExitCode, Box<dyn Error>> {
    for statement in std::io::stdin().lines() {
        let statement = statement?;
        match coverage::accepts(device, &statement) {
            Ok(()) => println!("+ {statement}"),
            Err(reason) => println!("- {statement} | {reason}"),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The worst errors of the approximate functions, and whether they keep their bounds.
fn print_errors(device: &Device) -> Result<ExitCode, Box<dyn Error>> {
    println!("{:<22} {:<30} {:>17} {:>17} {:>17}", "function", "where", "bound", "worst", "worst of an H200");
    let mut kept = true;
    for function in vectors::errors::FUNCTIONS {
        let (error, ..) = function.worst_on(device)?;
        kept &= error <= function.bound;
        println!(
            "{:<22} {:<30} {:>17} {:>17} {:>17}",
            function.opcode,
            function.place,
            function.show(function.bound),
            function.show(error),
            function.show(function.h200)
        );
    }
    println!("Over {} operands each, against the exact value.", vectors::errors::INPUTS);
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Every instruction that is put to the machine, as module, for other assemblers to look at.
fn print_statements() {
    let mut seen = std::collections::BTreeSet::new();
    for list in LISTS {
        for form in list.forms() {
            if coverage::out_of_scope(&form).is_none() {
                seen.extend(coverage::statements(&form).into_iter().flatten());
            }
        }
    }
    for statement in seen {
        println!("{}", statement.replace('\n', " "));
    }
}

/// Forms by what the machine makes of them.
#[derive(Default, Clone, Copy)]
struct Counts {
    covered: usize,
    out_of_scope: usize,
    missing: usize,
}

impl Counts {
    fn listed(self) -> usize {
        self.covered + self.out_of_scope + self.missing
    }
}

struct Survey {
    list: List,
    families: BTreeMap<String, Counts>,
    missing: Vec<(String, String, String)>,
}

impl Survey {
    fn new(device: &Device, list: List) -> Self {
        let mut survey = Self { list, families: BTreeMap::new(), missing: Vec::new() };
        for form in list.forms() {
            let counts = survey.families.entry(coverage::family(&form).to_owned()).or_default();
            match coverage::check(device, &form) {
                Verdict::Covered => counts.covered += 1,
                Verdict::OutOfScope(_) => counts.out_of_scope += 1,
                Verdict::Missing { instruction, reason } => {
                    counts.missing += 1;
                    survey.missing.push((form, instruction, reason));
                }
            }
        }
        survey
    }

    fn total(&self) -> Counts {
        self.families.values().fold(Counts::default(), |sum, counts| Counts {
            covered: sum.covered + counts.covered,
            out_of_scope: sum.out_of_scope + counts.out_of_scope,
            missing: sum.missing + counts.missing,
        })
    }

    fn print(&self, missing: bool) {
        println!("{}: {}", self.list.name, self.list.about);
        println!("  {:<20} {:>7} {:>8} {:>13} {:>8}", "family", "listed", "covered", "out of scope", "missing");
        let row = |name: &str, counts: Counts| {
            println!(
                "  {name:<20} {:>7} {:>8} {:>13} {:>8}",
                counts.listed(),
                counts.covered,
                counts.out_of_scope,
                counts.missing
            );
        };
        for (family, counts) in &self.families {
            row(family, *counts);
        }
        let total = self.total();
        row("all", total);
        let in_scope = total.listed() - total.out_of_scope;
        println!(
            "  {} of {in_scope} forms in scope: {:.1} %",
            total.covered,
            100.0 * total.covered as f64 / in_scope as f64
        );
        if missing {
            for (form, instruction, reason) in &self.missing {
                println!("  missing: {form}: `{instruction}`: {reason}");
            }
        }
        println!();
    }
}

fn print_json(surveys: &[Survey]) {
    let lists: Vec<String> = surveys
        .iter()
        .map(|survey| {
            let families: Vec<String> = survey
                .families
                .iter()
                .map(|(family, counts)| {
                    format!(
                        "\"{family}\":{{\"covered\":{},\"out_of_scope\":{},\"missing\":{}}}",
                        counts.covered, counts.out_of_scope, counts.missing
                    )
                })
                .collect();
            let missing: Vec<String> = survey.missing.iter().map(|(form, ..)| format!("\"{form}\"")).collect();
            format!(
                "\"{}\":{{\"families\":{{{}}},\"missing\":[{}]}}",
                survey.list.name,
                families.join(","),
                missing.join(",")
            )
        })
        .collect();
    println!("{{{}}}", lists.join(","));
}
