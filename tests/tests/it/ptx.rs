//! The PTX of the gallery's kernels: the instructions that their speed depends on, and NVIDIA's assembler on them.

use rumba_ptx::ast::{FunctionKind, Item};
use rumba_tests::PTX;
use std::collections::BTreeMap;
use std::process::Command;

/// Each kernel's instructions, as opcodes with their modifiers; of its variants the newest's.
fn kernels() -> BTreeMap<&'static str, Vec<String>> {
    let mut kernels = BTreeMap::new();
    let texts = rumba_ptx::set::texts(PTX).into_iter();
    let modules = texts.map(|text| rumba_ptx::parse(text).expect("the builder's PTX is valid"));
    for item in modules.flat_map(|module| module.items) {
        if let Item::Function(function) = item
            && function.kind == FunctionKind::Entry
            && let Some(body) = &function.body
        {
            kernels.insert(function.name, body.opcodes().iter().map(ToString::to_string).collect());
        }
    }
    kernels
}

/// Whether a kernel has an instruction that starts like this.
fn has(kernels: &BTreeMap<&str, Vec<String>>, kernel: &str, opcode: &str) -> bool {
    let opcodes = kernels.get(kernel).unwrap_or_else(|| panic!("there is no kernel `{kernel}`"));
    opcodes.iter().any(|known| known.starts_with(opcode))
}

#[test]
fn saxpy_reads_through_the_read_only_cache_and_fuses() {
    let kernels = kernels();
    assert!(has(&kernels, "saxpy", "ld.global.nc"), "{:?}", kernels["saxpy"]);
    assert!(has(&kernels, "saxpy", "fma.rn.f32"), "{:?}", kernels["saxpy"]);
}

#[test]
fn shared_memory_is_addressed_as_such() {
    let kernels = kernels();
    for kernel in ["matmul_tiled", "reduce"] {
        assert!(has(&kernels, kernel, "ld.shared"), "{kernel}: {:?}", kernels[kernel]);
        assert!(has(&kernels, kernel, "st.shared"), "{kernel}: {:?}", kernels[kernel]);
    }
}

#[test]
fn tensor_cores_are_fed_by_copies_that_go_on() {
    let kernels = kernels();
    let opcodes = [
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16",
        "cp.async.cg.shared.global",
    ];
    for opcode in opcodes {
        assert!(has(&kernels, "matmul_mma", opcode), "{:?}", kernels["matmul_mma"]);
    }
    assert!(!has(&kernels, "matmul_mma", "ld.local"), "fragments are in local memory");
}

#[test]
fn no_access_is_generic() {
    const SPACES: [&str; 5] = [".global", ".shared", ".param", ".local", ".const"];
    for (kernel, opcodes) in kernels() {
        for opcode in opcodes {
            let access = opcode.starts_with("ld.") || opcode.starts_with("st.") || opcode.starts_with("atom.");
            assert!(!access || SPACES.iter().any(|space| opcode.contains(space)), "{kernel}: {opcode}");
        }
    }
}

#[test]
fn nothing_of_the_build_machine_is_in_it() {
    for line in PTX.lines().filter(|line| line.trim_start().starts_with(".file")) {
        assert!(!line.contains("\"/"), "an absolute path: {line}");
    }
}

#[test]
fn the_assembler_accepts_every_kernel_without_spills() {
    let Some(ptxas) = cuda_builder::wheels::find().ptxas else {
        eprintln!("ptxas is not installed, so nothing was assembled; `cargo xtask setup` installs it");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ptx = folder.path().join("gallery.ptx");
    std::fs::write(&ptx, PTX).expect("the temporary folder can be written");
    // `matmul_mma` needs sm_80, and so does the module.
    for arch in ["sm_80", "sm_90", "sm_100", "sm_120"] {
        let output = Command::new(&ptxas)
            .args(["-v", "-arch", arch, "-o"])
            .arg(folder.path().join("gallery.cubin"))
            .arg(&ptx)
            .output()
            .expect("ptxas starts");
        let report = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arch}:\n{report}");
        for line in report.lines().filter(|line| line.contains("spill")) {
            assert!(line.contains("0 bytes spill stores, 0 bytes spill loads"), "{arch}: {line}\n{report}");
        }
    }
}

#[test]
fn messages_of_panics_cost_most_kernels_no_registers() {
    if cuda_builder::wheels::find().ptxas.is_none() {
        eprintln!("ptxas is not installed, so no registers were counted; `cargo xtask setup` installs it");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let silent = cuda_builder::CudaBuilder::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../kernels-gpu"))
        .panic_messages(false)
        .copy_to(folder.path().join("silent.ptx"))
        .build()
        .expect("the gallery compiles");
    assert!(PTX.contains("[__rumba_panics+") && !silent.text.contains("[__rumba_panics+"));
    let registers = |ptx: &str| {
        let hopper = "sm_90".parse().expect("the name of an architecture");
        cuda_builder::inspect::resources(ptx, hopper).expect("ptxas accepts the gallery")
    };
    let costly: Vec<String> = registers(PTX)
        .into_iter()
        .zip(registers(&silent.text))
        .filter(|(loud, silent)| loud.registers > silent.registers)
        .map(|(loud, silent)| format!("{}: {} instead of {}", loud.kernel, loud.registers, silent.registers))
        .collect();
    // 20 of 28 pay nothing.
    assert!(costly.len() <= 8, "{costly:#?}");
}
