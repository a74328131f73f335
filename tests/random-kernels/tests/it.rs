//! The generator makes everything that it knows, and the software device's engines agree with the host about the kernels of every day.

use std::collections::BTreeSet;
use std::process::Command;

#[allow(dead_code, reason = "these tests look at the programs alone")]
#[path = "../src/program/mod.rs"]
mod program;

use program::generate::{BLOCKS, COLLECTIVES, SPECIALS};

/// Names of statements and expressions, as `Debug` prints them.
const KINDS: &str = "Set SetLocal If Loop Match Count Rounds Together Phase Bins Var Special Unary Binary MulAdd Compare Cast Select \
                     Element ElementOr Local Shared Own Call Negate CountOnes LeadingZeros TrailingZeros SwapBytes ReverseBits Abs Sqrt \
                     Floor Trunc ToBits Divide Remainder ShiftLeft ShiftRight RotateLeft Min Max AbsDiff";

#[test]
fn a_few_hundred_programs_have_everything() {
    let mut seen = BTreeSet::new();
    for seed in 0..400 {
        let program = program::generate::program(seed);
        seen.insert(format!("{:?}", program.block));
        let text = format!("{program:?}");
        seen.extend(text.split(|letter: char| !letter.is_alphanumeric()).map(str::to_owned));
    }
    let mut wanted: Vec<String> = KINDS.split_whitespace().map(str::to_owned).collect();
    wanted.extend(BLOCKS.iter().map(|block| format!("{block:?}")));
    wanted.extend(COLLECTIVES.iter().map(|collective| format!("{collective:?}")));
    wanted.extend(SPECIALS.iter().map(|special| format!("{special:?}")));
    wanted.retain(|word| !seen.contains(word));
    assert!(wanted.is_empty(), "no program has {wanted:?}");
}

#[test]
fn both_engines_compute_what_the_host_does() {
    let output = Command::new(env!("CARGO_BIN_EXE_random-kernels"))
        .output()
        .expect("the program of this package can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.matches(", 0 differ").count(), 2, "{said}");
}
