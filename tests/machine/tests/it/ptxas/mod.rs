//! NVIDIA's assembler and this machine accept and refuse the same modules.
//!
//! The assembler's verdicts on the corpus are kept in `verdicts.txt`, so that the test needs no assembler;
//! `cargo xtask verdicts` asks it again. Each line is a hash of the module's text, `accepts` or `refuses`, and its name.

mod corpus;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use corpus::Case;
use rumba_vm::{Config, Device, Source};

const VERDICTS: &str = include_str!("../../ptxas/verdicts.txt");
/// Modules on which the verdicts differ and why; the list must shrink.
const GAPS: &str = include_str!("../../ptxas/gaps.txt");
/// What this machine says of a family of instructions that it does not have: nothing about the module.
const NO_INSTRUCTION: &str = "is not an instruction that this device executes";

/// Names the assembler, to ask it again.
const ASSEMBLER: &str = "RUMBA_PTXAS";

/// FNV-1a, which is short and does not change.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

fn line(case: &Case, accepts: bool) -> String {
    let verdict = if accepts { "accepts" } else { "refuses" };
    format!("{:016x} {verdict} {}", hash(&case.text), case.name.replace('\n', " "))
}

/// The architecture to assemble for: the one that the module asks for if it is above sm_90, since this machine is a device
/// of any of them.
fn architecture(text: &str) -> &str {
    let asked = text.lines().find_map(|line| line.strip_prefix(".target sm_"));
    let Some(asked) = asked.map(|rest| rest.split([',', ' ']).next().unwrap_or(rest)) else {
        return "sm_90";
    };
    let known = ["90a", "100", "100a", "103", "120", "120a"];
    known
        .iter()
        .position(|name| *name == asked)
        .map_or("sm_90", |at| ["sm_90a", "sm_100", "sm_100a", "sm_103", "sm_120", "sm_120a"][at])
}

/// The lines of all cases, from as many assemblers at once as there are processors.
fn ask(assembler: &str, cases: &[Case], folder: &Path) -> String {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let part = |(number, cases): (usize, &[Case])| {
        let file = folder.join(format!("{number}.ptx"));
        let mut text = String::new();
        for case in cases {
            let _ = writeln!(text, "{}", line(case, assemble(assembler, case, &file)));
        }
        text
    };
    std::thread::scope(|scope| {
        let parts = cases.chunks(cases.len().div_ceil(workers)).enumerate();
        let parts: Vec<_> = parts.map(|cases| scope.spawn(move || part(cases))).collect();
        parts.into_iter().map(|part| part.join().expect("the assembler runs")).collect()
    })
}

/// The assembler's verdict.
fn assemble(assembler: &str, case: &Case, file: &Path) -> bool {
    std::fs::write(file, &case.text).expect("the folder can be written to");
    let mut command = Command::new(assembler);
    let arch = format!("-arch={}", architecture(&case.text));
    command.args([&arch, "-O0", "-o", "/dev/null"]).arg(file);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.expect("the assembler runs").success()
}

/// This machine's verdict, and why.
fn load(device: &Device, case: &Case) -> Result<(), String> {
    let source = Source { name: "case.ptx", ptx: &case.text };
    device.load(&[source]).map(drop).map_err(|error| error.short())
}

fn device() -> Device {
    let config = Config { memory_bytes: 64 << 20, workers: 1, ..Config::default() };
    Device::new(config).expect("a small device")
}

#[test]
fn agrees_with_the_assembler() {
    let cases = corpus::all();
    if let Ok(assembler) = std::env::var(ASSEMBLER) {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("verdicts");
        std::fs::create_dir_all(&folder).expect("cargo's folder for tests is there");
        let text = ask(&assembler, &cases, &folder);
        std::fs::remove_dir_all(&folder).expect("the folder was made here");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptxas/verdicts.txt");
        std::fs::write(file, text).expect("the verdicts can be kept");
        return;
    }
    assert!(cases.len() >= 500, "{} modules are too few", cases.len());
    assert_eq!(VERDICTS.lines().count(), cases.len(), "the corpus changed: `cargo xtask verdicts`");
    let device = device();
    let mut gaps: HashSet<&str> = GAPS.lines().filter(|line| !line.starts_with('#')).collect();
    let mut wrong = String::new();
    for (case, expected) in cases.iter().zip(VERDICTS.lines()) {
        let ours = load(&device, case);
        let found = line(case, ours.is_ok());
        if found == expected {
            continue;
        }
        assert_eq!(found[..16], expected[..16], "the corpus changed: `cargo xtask verdicts`");
        let reason = ours.err().unwrap_or_default();
        let reason = reason.lines().next().unwrap_or("it is accepted here");
        if reason.contains(NO_INSTRUCTION) && found[17..].starts_with("refuses") {
            continue;
        }
        if gaps.remove(&expected[17..]) {
            continue;
        }
        let _ = writeln!(wrong, "{}\n    {reason}", &expected[17..]);
    }
    assert!(gaps.is_empty(), "these verdicts agree and can leave gaps.txt: {gaps:#?}");
    let count = wrong.lines().count() / 2;
    assert!(count == 0, "{count} of {} verdicts differ; the assembler says:\n{wrong}", cases.len());
}
