//! Counts of the software device for the same program, as the cost of a kernel's launch.
//!
//! `RUMBA_PROFILE_JSON` makes the device write a line for each launch. Operations are taken from the instructions, bytes from
//! the sectors of global memory that warps asked for: caches are not modelled, so that a kernel that reads something
//! twice is counted twice. Atomic operations and bulk copies are not counted.

use crate::performance::estimate::Cost;
use crate::performance::profile::Profile;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Bytes of a sector.
const SECTOR: u64 = 32;

#[derive(Deserialize)]
struct Launch {
    kernel: String,
    instructions: Vec<Instruction>,
}

#[derive(Deserialize)]
struct Instruction {
    instruction: String,
    executions: u64,
    threads: u64,
    global: Option<Global>,
}

#[derive(Deserialize)]
struct Global {
    sectors: u64,
}

impl Profile {
    /// Takes the costs of kernels from what the software device has counted, in the form of `RUMBA_PROFILE_JSON`: the mean
    /// of each kernel's launches. Lines of any other form are skipped.
    pub fn set_counts(&mut self, json: &str) {
        let mut sums = BTreeMap::<String, (u64, Cost)>::new();
        for launch in json.lines().filter_map(|line| serde_json::from_str::<Launch>(line).ok()) {
            let (launches, sum) = sums.entry(launch.kernel).or_default();
            *launches += 1;
            for instruction in &launch.instructions {
                sum.flops += operations(instruction);
                sum.bytes += instruction.global.as_ref().map_or(0, |global| SECTOR * global.sectors);
            }
        }
        for (kernel, (launches, sum)) in sums {
            let cost = Cost { bytes: sum.bytes / launches, flops: sum.flops / launches };
            self.set_cost(&kernel, cost);
        }
    }
}

/// Floating-point operations of all executions of an instruction; a fused multiply-add counts as two.
fn operations(instruction: &Instruction) -> u64 {
    let text = instruction.instruction.trim_start();
    // "@%p fma.rn.f32 ..."
    let text = match text.strip_prefix('@') {
        Some(rest) => rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start()),
        None => text,
    };
    let mut words = text.split(|c: char| c.is_whitespace() || c == ';').next().unwrap_or("").split('.');
    let name = words.next().unwrap_or("");
    let qualifiers: Vec<&str> = words.collect();
    if matches!(name, "mma" | "wmma") {
        let shape = qualifiers.iter().find_map(|word| shape(word));
        let is_float = qualifiers.iter().any(|word| matches!(*word, "f16" | "f32" | "f64"));
        let is_product = name == "mma" || qualifiers.first() == Some(&"mma");
        return match shape {
            Some(product) if is_float && is_product => 2 * product * instruction.executions,
            _ => 0,
        };
    }
    let each = match name {
        "add" | "sub" | "mul" | "div" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => 1,
        "fma" | "mad" => 2,
        _ => return 0,
    };
    let lanes = match qualifiers.last() {
        Some(&("f16x2" | "bf16x2" | "f32x2")) => 2,
        Some(&("f16" | "bf16" | "f32" | "f64")) => 1,
        _ => return 0,
    };
    each * lanes * instruction.threads
}

/// The product of "m16n8k16".
fn shape(word: &str) -> Option<u64> {
    let mut product = 1;
    let mut rest = word.strip_prefix('m')?;
    for next in ['n', 'k'] {
        let (number, after) = rest.split_once(next)?;
        product *= number.parse::<u64>().ok()?;
        rest = after;
    }
    Some(product * rest.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::{Instruction, operations};
    use crate::performance::estimate::Cost;
    use crate::performance::profile::Profile;

    #[test]
    fn operations_are_those_of_the_instruction() {
        for (text, expected) in [
            ("fma.rn.f32 %f1, %f2, %f3, %f4;", 2 * 320),
            ("@%p1 add.f64 %d1, %d2, %d3;", 320),
            ("@!%p1 mul.rn.bf16x2 %r1, %r2, %r3;", 2 * 320),
            ("add.s32 %r1, %r2, %r3;", 0),
            ("mad.lo.s32 %r1, %r2, %r3, %r4;", 0),
            ("ld.global.f32 %f1, [%rd1];", 0),
            ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1};", 2 * 2048 * 10),
            ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1}, {%r1}, {%r2}, {%r1};", 0),
            ("ret;", 0),
        ] {
            let instruction = Instruction { instruction: text.to_owned(), executions: 10, threads: 320, global: None };
            assert_eq!(operations(&instruction), expected, "{text}");
        }
    }

    #[test]
    fn costs_are_means_of_launches() {
        let line = |sectors: u64| {
            format!(
                r#"{{"kernel":"k","grid":[1,1,1],"block":[32,1,1],"instructions":[{{"ptx":"p","ptx_line":1,
                "instruction":"ld.global.f32 %f1, [%rd1];","locations":[],"executions":1,"threads":32,
                "global":{{"requests":1,"sectors":{sectors},"ideal_sectors":4}},"shared":null,"branch":null}}]}}"#
            )
            .replace('\n', "")
        };
        let mut profile = Profile::default();
        profile.set_counts(&format!("{}\nno json\n{}\n", line(4), line(8)));
        assert_eq!(profile.cost("k"), Some(Cost { bytes: 192, flops: 0 }));
    }
}
