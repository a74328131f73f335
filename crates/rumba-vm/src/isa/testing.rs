//! The harness of the unit tests beside the instructions: one instruction, run as a kernel.
//!
//! [`check`] runs it with both sets of handlers and as native code, with all lanes active and with some, so that a test says
//! nothing but operands and results.

use std::fmt::Write;
use std::sync::OnceLock;

use crate::{Config, Device, Engine, Launch, Module, Source};

#[path = "../../tests/it/common/compiler.rs"]
mod compiler;

/// What the destination holds before.
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
        let module = match device.load(&[Source {
            name: "instruction.ptx",
            ptx: &ptx,
        }]) {
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
    writeln!(
        ptx,
        "    @%p20 bra RUN;\n    bra DONE;\nRUN:\n    {instruction};\nDONE:"
    )
    .unwrap();
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
            let value = if position == 0 {
                BEFORE
            } else {
                cases[lane % cases.len()].0[position - 1]
            };
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
    output
        .chunks_exact(8)
        .map(|value| u64::from_le_bytes(value.try_into().unwrap()))
        .collect()
}
