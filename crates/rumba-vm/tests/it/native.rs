//! Native code computes what the interpreter computes.

use std::sync::{Arc, Mutex};

use crate::common::{Bench, compiler, kernel, u32s};
use crate::lockstep::{compare, compare_gallery};
use rumba_vm::engine::{Compiler, Done, Unit};
use rumba_vm::{Config, Engine};

/// Native code; nothing on machines without LLVM, where there is nothing to test.
fn native() -> Option<Config> {
    Some(Config {
        engine: compiler::native()?,
        ..Config::default()
    })
}

#[test]
fn the_gallery_computes_the_same() {
    let Some(config) = native() else { return };
    compare_gallery(&config);
}

#[test]
fn random_kernels_compute_the_same() {
    let Some(config) = native() else { return };
    let mut ended = 0;
    for seed in 1..16 {
        match compare(seed, &config) {
            Ok(count) => ended += count,
            Err(message) => panic!("{message}"),
        }
    }
    // What ends with a fault in both says little.
    assert!(ended > 60, "only {ended} launches came to their end");
}

/// A compiler that keeps the texts and makes nothing of them.
#[derive(Debug, Default)]
struct Reader(Mutex<Vec<Unit>>);

// SAFETY: it makes no code.
unsafe impl Compiler for Reader {
    fn compile(&self, unit: Unit, done: Done) {
        self.0.lock().unwrap().push(unit);
        done(Err("nothing is compiled here".to_owned()));
    }
}

/// The text of a kernel, which is interpreted all the same.
fn text(body: &str, block: u32) -> String {
    text_beside("", body, block, |_| ())
}

/// The same with declarations, which is handed over while its device is there.
fn text_beside(declarations: &str, body: &str, block: u32, look: impl FnOnce(&str)) -> String {
    let reader = Arc::new(Reader::default());
    let config = Config {
        engine: Engine::compiled(reader.clone()),
        ..Config::default()
    };
    let bench = Bench::with(&kernel(declarations, body), config);
    let out = bench.zeros(4 * 256);
    for _ in 0..2 {
        bench.run("k", 2, block, &[out.into(), 7_u32.into()]).unwrap();
    }
    let units = reader.0.lock().unwrap();
    let [unit] = &units[..] else {
        panic!("a kernel is compiled once, not {} times", units.len());
    };
    assert_eq!(unit.kernel, "k");
    look(&unit.text);
    unit.text.clone()
}

#[test]
fn the_text_does_not_tell_where_memory_is() {
    let declarations = ".global .align 8 .b64 counter;\n.const .align 8 .b64 table[4];";
    let body = "
    mov.u64 %rd10, counter;
    st.global.u64 [%rd1], %rd10;
    ld.const.u64 %rd11, [table+8];
    atom.global.add.u64 %rd12, [counter], %rd11;
    mov.b64 %fd1, 0d3FF8000000000000;
    st.global.f64 [%rd1+8], %fd1;";
    // The second device is made while the first one has its memory.
    text_beside(declarations, body, 64, |first| {
        let second = text_beside(declarations, body, 64, |_| ());
        assert_eq!(first, second);
    });
}

#[test]
fn a_warp_is_a_vector() {
    let body = "xor.b32 %r10, %r2, 21; add.s32 %r11, %r10, %r1; st.global.u32 [%rd2], %r11;";
    let text = text(body, 64);
    // The thread's number is affine and `n` a number; what is no longer affine is a vector, the store one of 128 bytes.
    assert!(text.contains("xor <32 x i32>"), "{text}");
    assert!(text.contains("store <32 x i32>"), "{text}");
    assert!(!text.contains("mul <32 x i64>"), "the address is a number:\n{text}");
}

#[test]
fn lanes_that_part_have_a_copy_of_their_own() {
    let straight = text("st.global.u32 [%rd2], %r2;", 64);
    assert!(!straight.contains("%wait"), "{straight}");
    let parted = text("setp.lt.u32 %p1, %r2, 5;\n@%p1 st.global.u32 [%rd2], %r2;", 64);
    assert!(parted.contains("llvm.masked.store"), "{parted}");
}

#[test]
fn a_spinning_lane_lets_the_others_run() {
    // Lane 0 waits for what lane 1 of its own warp stores further down.
    let body = "
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra STORE;
SPIN:
    ld.volatile.global.u32 %r10, [%rd1+128];
    setp.eq.u32 %p2, %r10, 0;
    @%p2 bra SPIN;
    st.global.u32 [%rd1], %r10;
    bra DONE;
STORE:
    setp.eq.u32 %p3, %r2, 1;
    @%p3 st.volatile.global.u32 [%rd1+128], %r1;
DONE:";
    let Some(config) = native() else { return };
    let bench = Bench::with(&kernel("", body), config);
    let out = bench.zeros(256);
    bench.run("k", 1, 32, &[out.into(), 7_u32.into()]).unwrap();
    assert_eq!(u32s(&bench.download(out, 4)), [7]);
}

#[test]
fn a_fault_is_reported_as_by_the_interpreter() {
    let body = "
    setp.ne.u32 %p1, %r2, 37;
    @%p1 bra GOOD;
    ld.global.u32 %r10, [%rd2+1048576];
    st.global.u32 [%rd2], %r10;
GOOD:
    st.global.u32 [%rd2], %r2;";
    let Some(config) = native() else { return };
    let faults = [config, Config::default()].map(|config| {
        let bench = Bench::with(&kernel("", body), config);
        let out = bench.zeros(256);
        let fault = bench.fault("k", 1, 64, &[out.into(), 0_u32.into()]);
        (
            fault.kind,
            fault.thread,
            fault.ptx_line,
            fault.address.map(|address| address - out),
        )
    });
    assert_eq!(faults[0], faults[1]);
    assert_eq!(faults[0].1, [37, 0, 0]);
}
