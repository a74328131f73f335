//! The harness of the unit tests beside the instructions: one instruction, run as a kernel.
//!
//! [`check`] runs it with both sets of handlers and as native code, with all lanes active and with some, so that a test says
//! nothing but operands and results.

use std::fmt::Write;
use std::sync::OnceLock;

use crate::words::Words;

use crate::{Config, Device, Engine, Launch, Module, Source};

#[path = "../../../../tests/machine/tests/it/common/compiler.rs"]
mod compiler;

/// The initial value of the destination.
const BEFORE: u64 = 0x5a5a_a5a5_5a5a_a5a5;

/// Active lanes: all, alternating, and all of some vectors but not of others.
const MASKS: [u32; 3] = [u32::MAX, 0x5555_5555, 0xffff_01fe];

/// The devices without and with vector instructions, and one with native code where there is LLVM.
fn devices() -> &'static [(&'static str, Device)] {
    static DEVICES: OnceLock<Vec<(&str, Device)>> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let interpreters =
            [("baseline", false), ("vector", true)].map(|(name, vectors)| (name, vectors, Engine::interpreter()));
        let native = compiler::native().map(|engine| ("native", true, engine));
        let all = interpreters.into_iter().chain(native.filter(|_| !cfg!(miri)));
        all.map(|(name, vector_instructions, engine)| {
            let device = Device::new(Config {
                memory_bytes: 64 << 20,
                workers: 1,
                vector_instructions,
                engine,
                ..Config::default()
            });
            (name, device.expect("a device of 64 MiB"))
        })
        .collect()
    })
}

/// Checks the results of an instruction.
///
/// Registers are named by width and position: the destination is `%h0`, `%r0`, `%rd0` or `%p0`, the first source `%h1`,
/// `%r1`, … Each case is what the sources hold, in this order, and what the destination holds then.
#[track_caller]
pub(super) fn check(instruction: &str, cases: &[(&[u64], u64)]) {
    check_after("", instruction, cases);
}

/// Like [`check`], after other instructions that prepare something.
#[track_caller]
pub(super) fn check_after(before: &str, instruction: &str, cases: &[(&[u64], u64)]) {
    check_masks(before, instruction, cases, &MASKS);
}

/// Like [`check`], for an instruction that all lanes execute together: a case for each.
#[track_caller]
pub(super) fn check_warp(instruction: &str, cases: &[(&[u64], u64)]) {
    check_masks("", instruction, cases, &MASKS[..1]);
}

#[track_caller]
fn check_masks(before: &str, instruction: &str, cases: &[(&[u64], u64)], masks: &[u32]) {
    assert!((1..=32).contains(&cases.len()), "a warp has 32 lanes");
    let text = format!("{instruction}; {before}");
    let ptx = kernel(before, instruction, &text, cases[0].0.len());
    for (name, device) in devices() {
        let module = match device.load(&[Source { name: "instruction.ptx", ptx: &ptx }]) {
            Ok(module) => module,
            Err(error) => panic!("{error}"),
        };
        for mask in masks.iter().copied() {
            let results = run(device, &module, mask, cases);
            for (lane, result) in results.into_iter().enumerate() {
                let (sources, expected) = cases[lane % cases.len()];
                let active = mask >> lane & 1 == 1;
                let expected = if active { expected } else { before_of(instruction) };
                assert_eq!(
                    result, expected,
                    "{instruction} of {sources:x?} is {result:#x} instead of {expected:#x} ({name}, lanes {mask:#x})"
                );
            }
        }
    }
}

/// Checks that native code computes what the handlers compute, of edges and of numbers from a generator (xorshift).
pub(super) fn compare_engines(instructions: &[&str]) {
    let mut words = Words::new(0x9e37_79b9_7f4a_7c15);
    for instruction in instructions {
        let is_source = |position: &usize| {
            ["%rd", "%r", "%h", "%p"].iter().any(|prefix| instruction.contains(&format!("{prefix}{position}")))
        };
        let sources = (1..).take_while(is_source).count();
        let ptx = kernel("", instruction, instruction, sources);
        let modules: Vec<_> = devices()
            .iter()
            .map(|(name, device)| {
                let source = Source { name: "instruction.ptx", ptx: &ptx };
                let module = device.load(&[source]).unwrap_or_else(|error| panic!("{instruction}: {error}"));
                (*name, device, module)
            })
            .collect();
        for round in 0..8 {
            let operands: Vec<Vec<u64>> = (0..32).map(|_| (0..sources).map(|_| words.word()).collect()).collect();
            let cases: Vec<(&[u64], u64)> = operands.iter().map(|operands| (&operands[..], 0)).collect();
            let mask = MASKS[round % MASKS.len()];
            let mut expected: Option<Vec<u64>> = None;
            for (name, device, module) in &modules {
                let results = run(device, module, mask, &cases);
                let expected = expected.get_or_insert_with(|| results.clone());
                for (lane, (result, expected)) in results.iter().zip(expected).enumerate() {
                    let sources = &operands[lane];
                    assert_eq!(
                        result, expected,
                        "{instruction} of {sources:x?} is {result:#x} instead of {expected:#x} ({name}, lanes {mask:#x})"
                    );
                }
            }
        }
    }
}

/// The register at a position, as the text names it: its prefix.
fn prefix(text: &str, position: usize) -> &'static str {
    ["%rd", "%r", "%h", "%p"]
        .into_iter()
        .find(|prefix| {
            text.match_indices(&format!("{prefix}{position}"))
                .any(|(at, name)| !text[at + name.len()..].starts_with(|next: char| next.is_ascii_digit()))
        })
        .unwrap_or_else(|| panic!("{text} has no register of number {position}"))
}

fn before_of(instruction: &str) -> u64 {
    match prefix(instruction, 0) {
        "%rd" => BEFORE,
        "%r" => BEFORE & 0xffff_ffff,
        "%h" => BEFORE & 0xffff,
        _ => BEFORE & 1,
    }
}

fn kernel(before: &str, instruction: &str, text: &str, sources: usize) -> String {
    let mut ptx = String::from(
        ".version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 mask)
{
    .reg .pred %p<32>; .reg .b16 %h<32>; .reg .b32 %r<32>; .reg .b64 %rd<32>;
    ld.param.u64 %rd20, [in]; ld.param.u64 %rd21, [out]; ld.param.u32 %r20, [mask];
    mov.u32 %r21, %tid.x; mul.wide.u32 %rd22, %r21, 8; add.u64 %rd20, %rd20, %rd22; add.u64 %rd21, %rd21, %rd22;
    shr.u32 %r22, %r20, %r21; and.b32 %r22, %r22, 1; setp.ne.u32 %p20, %r22, 0;\n",
    );
    for position in 0..=sources {
        // Row 0 of the input is what the destination holds before.
        writeln!(ptx, "    ld.global.u64 %rd{position}, [%rd20+{}];", position * 256).unwrap();
        match prefix(text, position) {
            "%r" => writeln!(ptx, "    cvt.u32.u64 %r{position}, %rd{position};").unwrap(),
            "%h" => writeln!(ptx, "    cvt.u16.u64 %h{position}, %rd{position};").unwrap(),
            "%p" => writeln!(
                ptx,
                "    and.b64 %rd{position}, %rd{position}, 1; setp.ne.u64 %p{position}, %rd{position}, 0;"
            )
            .unwrap(),
            _ => {}
        }
    }
    for line in before.split_terminator(';') {
        writeln!(ptx, "    @%p20 {};", line.trim()).unwrap();
    }
    writeln!(ptx, "    @%p20 bra RUN;\n    bra DONE;\nRUN:\n    {instruction};\nDONE:").unwrap();
    match prefix(instruction, 0) {
        "%r" => ptx.push_str("    cvt.u64.u32 %rd0, %r0;\n"),
        "%h" => ptx.push_str("    cvt.u64.u16 %rd0, %h0;\n"),
        "%p" => ptx.push_str("    selp.u64 %rd0, 1, 0, %p0;\n"),
        _ => {}
    }
    ptx.push_str("    st.global.u64 [%rd21], %rd0;\n    ret;\n}\n");
    ptx
}

#[track_caller]
fn run(device: &Device, module: &Module, mask: u32, cases: &[(&[u64], u64)]) -> Vec<u64> {
    let sources = cases[0].0.len();
    let mut input = Vec::new();
    for position in 0..=sources {
        for lane in 0..32 {
            let value = if position == 0 { BEFORE } else { cases[lane % cases.len()].0[position - 1] };
            input.extend_from_slice(&value.to_le_bytes());
        }
    }
    let places = [device.allocate(input.len()).unwrap(), device.allocate(256).unwrap()];
    // SAFETY: the launches have ended, and nothing else uses the device.
    unsafe { device.write(places[0], &input) }.unwrap();
    let mut parameters = Vec::new();
    for place in places {
        parameters.extend_from_slice(&place.to_le_bytes());
    }
    parameters.extend_from_slice(&mask.to_le_bytes());
    let launch = Launch {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        dynamic_shared: 0,
        parameters: &parameters,
        cooperative: false,
        cluster: None,
        device: 0,
    };
    if let Err(error) = device.launch(&module.function("k").unwrap(), &launch) {
        panic!("{error}");
    }
    let mut output = [0; 256];
    // SAFETY: as above.
    unsafe { device.read(places[1], &mut output) }.unwrap();
    for place in places {
        device.free(place).unwrap();
    }
    output.chunks_exact(8).map(|value| u64::from_le_bytes(value.try_into().unwrap())).collect()
}

mod tests {
    use super::compare_engines;

    #[test]
    fn forms_of_integers() {
        compare_engines(&[
            "div.u16 %h0, %h1, %h2",
            "div.s16 %h0, %h1, %h2",
            "div.u32 %r0, %r1, %r2",
            "div.s32 %r0, %r1, %r2",
            "div.u64 %rd0, %rd1, %rd2",
            "div.s64 %rd0, %rd1, %rd2",
            "div.u32 %r0, %r1, 7",
            "div.s32 %r0, %r1, -3",
            "rem.u16 %h0, %h1, %h2",
            "rem.s16 %h0, %h1, %h2",
            "rem.u32 %r0, %r1, %r2",
            "rem.s32 %r0, %r1, %r2",
            "rem.u64 %rd0, %rd1, %rd2",
            "rem.s64 %rd0, %rd1, %rd2",
            "rem.s32 %r0, %r1, 10",
            "abs.s16 %h0, %h1",
            "abs.s32 %r0, %r1",
            "abs.s64 %rd0, %rd1",
            "mul24.lo.u32 %r0, %r1, %r2",
            "mul24.hi.s32 %r0, %r1, %r2",
            "mad24.hi.u32 %r0, %r1, %r2, %r3",
            "mad24.lo.s32 %r0, %r1, %r2, %r3",
            "sad.s16 %h0, %h1, %h2, %h3",
            "sad.u32 %r0, %r1, %r2, %r3",
            "sad.s64 %rd0, %rd1, %rd2, %rd3",
            "dp4a.s32.u32 %r0, %r1, %r2, %r3",
            "dp4a.u32.s32 %r0, %r1, %r2, %r3",
        ]);
    }

    #[test]
    fn forms_of_bits() {
        compare_engines(&[
            "brev.b32 %r0, %r1",
            "brev.b64 %rd0, %rd1",
            "bfe.u32 %r0, %r1, %r2, %r3",
            "bfe.s32 %r0, %r1, %r2, %r3",
            "bfe.u64 %rd0, %rd1, %r2, %r3",
            "bfe.s64 %rd0, %rd1, %r2, %r3",
            "bfi.b32 %r0, %r1, %r2, %r3, %r4",
            "bfi.b64 %rd0, %rd1, %rd2, %r3, %r4",
            "prmt.b32 %r0, %r1, %r2, %r3",
            "prmt.b32 %r0, %r1, %r2, 0x9d40",
            "lop3.b32 %r0, %r1, %r2, %r3, 0x96",
            "lop3.b32 %r0, %r1, %r2, %r3, 0x1b",
            "shf.l.wrap.b32 %r0, %r1, %r2, %r3",
            "shf.l.clamp.b32 %r0, %r1, %r2, %r3",
            "shf.r.wrap.b32 %r0, %r1, %r2, %r3",
            "shf.r.clamp.b32 %r0, %r1, %r2, %r3",
            "slct.u32.s32 %r0, %r1, %r2, %r3",
            "slct.u64.f32 %rd0, %rd1, %rd2, %r3",
            "slct.ftz.u32.f32 %r0, %r1, %r2, %r3",
            "copysign.f32 %r0, %r1, %r2",
            "copysign.f64 %rd0, %rd1, %rd2",
            "cnot.b32 %r0, %r1",
            "cnot.b64 %rd0, %rd1",
        ]);
    }

    #[test]
    fn forms_of_singles() {
        let mut instructions = Vec::new();
        for (name, sources) in [("add", "%r1, %r2"), ("sub", "%r1, %r2"), ("mul", "%r1, %r2"), ("div", "%r1, %r2")] {
            for modifiers in ["rz", "rm", "rp.ftz"] {
                instructions.push(format!("{name}.{modifiers}.f32 %r0, {sources}"));
            }
        }
        for modifiers in ["rz", "rm", "rp.ftz.sat", "rm.ftz"] {
            instructions.push(format!("fma.{modifiers}.f32 %r0, %r1, %r2, %r3"));
        }
        for name in ["rcp", "sqrt"] {
            for modifiers in ["rn", "rz.ftz", "rm", "rp"] {
                instructions.push(format!("{name}.{modifiers}.f32 %r0, %r1"));
            }
        }
        for name in ["sin", "cos", "lg2", "ex2"] {
            instructions.push(format!("{name}.approx.f32 %r0, %r1"));
            instructions.push(format!("{name}.approx.ftz.f32 %r0, %r1"));
        }
        instructions.extend(["tanh.approx.f32 %r0, %r1".to_owned(), "div.approx.f32 %r0, %r1, %r2".to_owned()]);
        instructions.push("div.approx.ftz.f32 %r0, %r1, %r2".to_owned());
        for name in ["min", "max"] {
            for modifiers in ["", ".ftz", ".NaN", ".ftz.NaN", ".xorsign.abs"] {
                instructions.push(format!("{name}{modifiers}.f32 %r0, %r1, %r2"));
            }
        }
        let instructions: Vec<_> = instructions.iter().map(String::as_str).collect();
        compare_engines(&instructions);
    }

    #[test]
    fn forms_of_doubles() {
        compare_engines(&[
            "div.rn.f64 %rd0, %rd1, %rd2",
            "rcp.rn.f64 %rd0, %rd1",
            "rcp.approx.ftz.f64 %rd0, %rd1",
            "sqrt.rn.f64 %rd0, %rd1",
            "neg.f64 %rd0, %rd1",
            "abs.f64 %rd0, %rd1",
            "min.f64 %rd0, %rd1, %rd2",
            "max.f64 %rd0, %rd1, %rd2",
        ]);
    }

    #[test]
    fn forms_of_halves() {
        let mut instructions = Vec::new();
        for name in ["add", "sub", "mul"] {
            for ty in ["f16", "f16x2", "bf16", "bf16x2"] {
                let registers = if ty.ends_with("x2") { "%r0, %r1, %r2" } else { "%h0, %h1, %h2" };
                instructions.push(format!("{name}.{ty} {registers}"));
            }
            instructions.push(format!("{name}.ftz.sat.f16 %h0, %h1, %h2"));
        }
        instructions.push("fma.rn.f16 %h0, %h1, %h2, %h3".to_owned());
        instructions.push("fma.rn.ftz.relu.f16x2 %r0, %r1, %r2, %r3".to_owned());
        instructions.push("fma.rn.bf16 %h0, %h1, %h2, %h3".to_owned());
        instructions.push("fma.rn.relu.bf16x2 %r0, %r1, %r2, %r3".to_owned());
        for comparison in ["eq", "lt", "le", "ne", "gtu", "num"] {
            instructions.push(format!("setp.{comparison}.f16 %p0, %h1, %h2"));
            instructions.push(format!("setp.{comparison}.bf16 %p0, %h1, %h2"));
        }
        let instructions: Vec<_> = instructions.iter().map(String::as_str).collect();
        compare_engines(&instructions);
    }

    #[test]
    fn forms_of_conversions() {
        let mut instructions: Vec<String> = [
            "cvt.f32.f16 %r0, %h1",
            "cvt.sat.f32.f16 %r0, %h1",
            "cvt.f32.bf16 %r0, %h1",
            "cvt.rn.f16.f32 %h0, %r1",
            "cvt.rz.f16.f32 %h0, %r1",
            "cvt.rm.f16.f32 %h0, %r1",
            "cvt.rp.sat.f16.f32 %h0, %r1",
            "cvt.rn.bf16.f32 %h0, %r1",
            "cvt.rz.bf16.f32 %h0, %r1",
            "cvt.rn.relu.f16.f32 %h0, %r1",
            "cvt.rn.f16x2.f32 %r0, %r1, %r2",
            "cvt.rz.relu.f16x2.f32 %r0, %r1, %r2",
            "cvt.rn.bf16x2.f32 %r0, %r1, %r2",
            "cvt.rn.satfinite.bf16x2.f32 %r0, %r1, %r2",
            "cvt.rn.f32.f64 %r0, %rd1",
            "cvt.rz.f32.f64 %r0, %rd1",
            "cvt.rp.ftz.sat.f32.f64 %r0, %rd1",
            "cvt.f64.f32 %rd0, %r1",
            "cvt.ftz.f64.f32 %rd0, %r1",
            "cvt.sat.f64.f32 %rd0, %r1",
        ]
        .map(str::to_owned)
        .into();
        for rounding in ["rni", "rzi", "rmi", "rpi"] {
            instructions.push(format!("cvt.{rounding}.f32.f32 %r0, %r1"));
            instructions.push(format!("cvt.{rounding}.f64.f64 %rd0, %rd1"));
            for (ty, register) in
                [("u8", "%r0"), ("s16", "%h0"), ("u32", "%r0"), ("s32", "%r0"), ("u64", "%rd0"), ("s64", "%rd0")]
            {
                instructions.push(format!("cvt.{rounding}.{ty}.f32 {register}, %r1"));
                instructions.push(format!("cvt.{rounding}.{ty}.f64 {register}, %rd1"));
            }
        }
        let instructions: Vec<_> = instructions.iter().map(String::as_str).collect();
        compare_engines(&instructions);
    }
}
