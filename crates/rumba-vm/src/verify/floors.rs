//! Since when forms exist: the version of PTX and the target that they need (the "PTX ISA Notes" and "Target ISA Notes"
//! of the manual's sections).
//!
//! A table of opcodes, each with modifiers that must all be there. What is not in it is as old as its target.

use rumba_ptx::ast::{Instruction, Version};

use super::Target;

/// A form, and what it needs.
struct Floor {
    mnemonic: &'static str,
    /// Modifiers that the instruction has, all of them.
    with: &'static [&'static str],
    /// Modifiers that it does not have.
    without: &'static [&'static str],
    version: (u32, u32),
    target: u32,
    /// Whether only the target itself or its family has it: `sm_90a`.
    specific: bool,
    /// The least number of operands, destinations included.
    operands: usize,
}

const fn floor(mnemonic: &'static str, with: &'static [&'static str], version: (u32, u32), target: u32) -> Floor {
    Floor {
        mnemonic,
        with,
        without: &[],
        version,
        target,
        specific: false,
        operands: 0,
    }
}

const fn specific(floor: Floor) -> Floor {
    Floor {
        specific: true,
        ..floor
    }
}

const fn without(floor: Floor, without: &'static [&'static str]) -> Floor {
    Floor { without, ..floor }
}

/// With three sources.
const fn three(floor: Floor) -> Floor {
    Floor { operands: 4, ..floor }
}

/// The forms that are younger than their targets may be.
const FLOORS: &[Floor] = &[
    floor("activemask", &[], (6, 2), 30),
    floor("add", &[".f32", ".f16"], (8, 6), 100),
    floor("add", &[".f32", ".bf16"], (8, 6), 100),
    without(floor("add", &[".f16"], (4, 2), 53), &[".f32"]),
    floor("add", &[".f16x2"], (4, 2), 53),
    without(floor("add", &[".bf16"], (7, 8), 90), &[".f32"]),
    floor("add", &[".bf16x2"], (7, 8), 90),
    floor("add", &[".f32x2"], (8, 6), 100),
    floor("add", &[".u16x2"], (8, 0), 90),
    floor("add", &[".s16x2"], (8, 0), 90),
    floor("alloca", &[], (7, 3), 52),
    floor("applypriority", &[], (7, 4), 80),
    floor("atom", &[".cluster"], (7, 8), 90),
    floor("atom", &[".b128"], (8, 3), 90),
    floor("atom", &[".add", ".f64"], (5, 0), 60),
    floor("atom", &[".bf16"], (7, 8), 90),
    floor("atom", &[".bf16x2"], (7, 8), 90),
    floor("atom", &[".f16x2"], (6, 2), 60),
    floor("atom", &[".f16"], (6, 3), 70),
    floor("atom", &[".b16"], (6, 3), 70),
    floor("atom", &[".relaxed"], (6, 0), 70),
    floor("atom", &[".acquire"], (6, 0), 70),
    floor("atom", &[".release"], (6, 0), 70),
    floor("atom", &[".acq_rel"], (6, 0), 70),
    floor("atom", &[".v2"], (8, 1), 90),
    floor("atom", &[".v4"], (8, 1), 90),
    floor("bar", &[".warp"], (6, 0), 30),
    floor("barrier", &[".cluster"], (7, 8), 90),
    floor("bmsk", &[], (7, 6), 70),
    floor("brx", &[], (6, 0), 30),
    floor("clusterlaunchcontrol", &[], (8, 6), 100),
    specific(floor(
        "clusterlaunchcontrol",
        &[".multicast::cluster::all"],
        (8, 6),
        100,
    )),
    floor("cp", &[".async"], (7, 0), 80),
    floor("cvt", &[".tf32"], (7, 0), 80),
    floor("cvt", &[".bf16"], (7, 0), 80),
    floor("cvt", &[".bf16x2"], (7, 0), 80),
    floor("cvt", &[".e4m3x2"], (7, 8), 89),
    floor("cvt", &[".e5m2x2"], (7, 8), 89),
    specific(floor("cvt", &[".e2m1x2"], (8, 6), 100)),
    specific(floor("cvt", &[".e2m3x2"], (8, 6), 100)),
    specific(floor("cvt", &[".e3m2x2"], (8, 6), 100)),
    specific(floor("cvt", &[".ue8m0x2"], (8, 6), 100)),
    specific(floor("cvt", &[".rs"], (8, 7), 100)),
    floor("discard", &[], (7, 4), 80),
    floor("dp2a", &[], (5, 0), 61),
    floor("dp4a", &[], (5, 0), 61),
    floor("elect", &[], (8, 0), 90),
    floor("fence", &[], (6, 0), 70),
    floor("fence", &[".cluster"], (7, 8), 90),
    floor("fma", &[".f32", ".f16"], (8, 6), 100),
    floor("fma", &[".f32", ".bf16"], (8, 6), 100),
    without(floor("fma", &[".f16"], (4, 2), 53), &[".f32"]),
    floor("fma", &[".f16x2"], (4, 2), 53),
    without(floor("fma", &[".bf16"], (7, 0), 80), &[".f32"]),
    floor("fma", &[".bf16x2"], (7, 0), 80),
    floor("fma", &[".f32x2"], (8, 6), 100),
    floor("fns", &[], (6, 0), 30),
    floor("getctarank", &[], (7, 8), 90),
    floor("griddepcontrol", &[], (7, 8), 90),
    floor("ld", &[".volatile", ".local"], (9, 1), 0),
    floor("ld", &[".acquire"], (6, 0), 70),
    floor("ld", &[".relaxed"], (6, 0), 70),
    floor("ld", &[".cluster"], (7, 8), 90),
    floor("ld", &[".b128"], (8, 3), 70),
    floor("ld", &[".v8"], (8, 8), 100),
    floor("ldmatrix", &[], (6, 5), 75),
    specific(floor("ldmatrix", &[".m16n16"], (8, 6), 100)),
    specific(floor("ldmatrix", &[".m8n16"], (8, 6), 100)),
    floor("lop3", &[], (4, 3), 50),
    floor("mapa", &[], (7, 8), 90),
    floor("match", &[], (6, 0), 70),
    three(floor("max", &[], (8, 8), 100)),
    floor("max", &[".NaN"], (7, 0), 80),
    floor("max", &[".xorsign"], (7, 2), 86),
    floor("max", &[".s16x2"], (8, 0), 90),
    floor("max", &[".u16x2"], (8, 0), 90),
    floor("max", &[".relu"], (8, 0), 90),
    floor("max", &[".f16"], (7, 0), 80),
    floor("max", &[".bf16"], (7, 0), 80),
    floor("mbarrier", &[], (7, 0), 80),
    three(floor("min", &[], (8, 8), 100)),
    floor("min", &[".NaN"], (7, 0), 80),
    floor("min", &[".xorsign"], (7, 2), 86),
    floor("min", &[".s16x2"], (8, 0), 90),
    floor("min", &[".u16x2"], (8, 0), 90),
    floor("min", &[".relu"], (8, 0), 90),
    floor("min", &[".f16"], (7, 0), 80),
    floor("min", &[".bf16"], (7, 0), 80),
    // Of these sm_120a is the first that has them; the machine takes them for sm_100a, too, as one device with all.
    specific(floor("mma", &[".kind::f8f6f4"], (8, 7), 100)),
    floor("mul", &[".f16"], (4, 2), 53),
    floor("mul", &[".f16x2"], (4, 2), 53),
    floor("mul", &[".bf16"], (7, 8), 90),
    floor("mul", &[".bf16x2"], (7, 8), 90),
    floor("mul", &[".f32x2"], (8, 6), 100),
    floor("nanosleep", &[], (6, 3), 70),
    floor("red", &[".cluster"], (7, 8), 90),
    floor("red", &[".relaxed"], (6, 0), 70),
    floor("red", &[".release"], (6, 0), 70),
    floor("red", &[".add", ".f64"], (5, 0), 60),
    floor("red", &[".v2"], (8, 1), 90),
    floor("red", &[".v4"], (8, 1), 90),
    floor("redux", &[], (7, 0), 80),
    specific(floor("redux", &[".f32"], (8, 6), 100)),
    specific(floor("setmaxnreg", &[], (8, 0), 90)),
    floor("shfl", &[".sync"], (6, 0), 30),
    floor("st", &[".volatile", ".local"], (9, 1), 0),
    floor("st", &[".release"], (6, 0), 70),
    floor("st", &[".relaxed"], (6, 0), 70),
    floor("st", &[".cluster"], (7, 8), 90),
    floor("st", &[".b128"], (8, 3), 70),
    floor("st", &[".v8"], (8, 8), 100),
    floor("stackrestore", &[], (7, 3), 52),
    floor("stacksave", &[], (7, 3), 52),
    floor("stmatrix", &[], (7, 8), 90),
    specific(floor("stmatrix", &[".m16n8"], (8, 6), 100)),
    floor("sub", &[".f32", ".f16"], (8, 6), 100),
    floor("sub", &[".f32", ".bf16"], (8, 6), 100),
    without(floor("sub", &[".f16"], (4, 2), 53), &[".f32"]),
    floor("sub", &[".f16x2"], (4, 2), 53),
    without(floor("sub", &[".bf16"], (7, 8), 90), &[".f32"]),
    floor("sub", &[".bf16x2"], (7, 8), 90),
    floor("sub", &[".f32x2"], (8, 6), 100),
    floor("szext", &[], (7, 6), 70),
    floor("tanh", &[], (7, 0), 75),
    floor("vote", &[".sync"], (6, 0), 30),
];

/// Forms without `.sync`, which sm_70 no longer has since version 6.4.
const WITHOUT_SYNC: [&str; 2] = ["shfl", "vote"];

/// What a module lacks to have this instruction, as a sentence.
pub(super) fn missing(instruction: &Instruction<'_>, version: Version, target: Target) -> Option<String> {
    let opcode = &instruction.opcode;
    let has = |modifier: &&str| opcode.modifiers.contains(modifier);
    let text = || format!("{}{}", opcode.mnemonic, opcode.modifiers.concat());
    let current = (version.major, version.minor);
    if WITHOUT_SYNC.contains(&opcode.mnemonic) && !has(&".sync") && target.number >= 70 && current >= (6, 4) {
        return Some(format!(
            "`{}` without .sync does not exist for .target sm_70 and later",
            text()
        ));
    }
    for floor in FLOORS {
        if floor.mnemonic != opcode.mnemonic
            || instruction.operands.len() < floor.operands
            || !floor.with.iter().all(has)
            || floor.without.iter().any(has)
        {
            continue;
        }
        let (major, minor) = floor.version;
        if current < floor.version {
            return Some(format!("`{}` needs .version {major}.{minor} or later", text()));
        }
        let number = floor.target;
        if target.number < number {
            return Some(format!("`{}` needs .target sm_{number} or later", text()));
        }
        if floor.specific && !target.specific {
            return Some(format!("`{}` needs .target sm_{number}a", text()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::FLOORS;

    #[test]
    fn the_table_is_sorted() {
        for pair in FLOORS.windows(2) {
            assert!(
                pair[0].mnemonic <= pair[1].mnemonic,
                "{} after {}",
                pair[1].mnemonic,
                pair[0].mnemonic
            );
        }
    }
}
