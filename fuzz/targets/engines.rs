//! Random modules of mostly valid lines, and random programs: all engines of the machine leave the same memory and
//! report the same results, also after faults if a launch is one warp. Of faults of several warps, kind and message are
//! the same.
//!
//! `program.rs` and the package `machine`, which compares, define the inputs: an input with an odd first byte
//! is a random program. Programs that read a clock are left out.

#![no_main]

mod program;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use program::Input;
use machine::{Agreement, Argument, Case, Choices, Disagreement, Engines, Shape};

/// Warp instructions of a launch: lines that are mostly right have loops without an end.
const LIMIT: u64 = 20_000;

static ENGINES: LazyLock<Engines> = LazyLock::new(|| Engines::all(None).expect("there is a libLLVM"));

fn compare(case: &Case, engines: &Engines) -> Option<Agreement> {
    match engines.compare(case) {
        Ok(agreement) => Some(agreement),
        Err(Disagreement::Refused(_)) => None,
        Err(error) => panic!("{error}\n{case}"),
    }
}

/// The case of an input, in blocks of so many threads.
fn case(input: &Input, grid: u32, block: u32) -> Case {
    Case {
        arguments: input.parameters.iter().cycle().take(64).copied().map(Argument::Wide).collect(),
        launches: vec![Shape { grid: [grid, 1, 1], block: [block, 1, 1] }],
        variables: vec!["gmem".to_owned()],
        ptx: input.text.clone(),
    }
}

fuzz_target!(|data: &[u8]| {
    if let Some((first, rest)) = data.split_first()
        && first % 2 == 1
    {
        let case = machine::program(Choices::of_bytes(rest)).case;
        let agreement = compare(&case, &ENGINES);
        assert!(agreement.is_some(), "the machine refuses a program made by chance:\n{case}");
        return;
    }
    let Some(input) = Input::of(data) else { return };
    if input.text.contains("clock") || input.text.contains("globaltimer") {
        return;
    }
    let engines = ENGINES.clone().limited(LIMIT);
    let failed = compare(&case(&input, input.grid, input.block), &engines) == Some(Agreement::Failed);
    if failed && (input.grid > 1 || input.block > 32) {
        // Failures of this kind are deterministic within a warp, and within a thread.
        for block in [32, 1] {
            compare(&case(&input, 1, block), &engines);
        }
    }
});
