//! Native code computes what the interpreter computes.

mod accesses;
mod groups;

use std::sync::{Arc, Mutex};

use crate::common::{Bench, bytes_of, compiler, kernel, u32s};
use crate::same::{compare, compare_gallery};
use rumba_vm::engine::{Compiler, Done, Unit};
use rumba_vm::{Config, Engine, Statistics};

/// Native code; nothing on machines without LLVM, where there is nothing to test.
fn native() -> Option<Config> {
    Some(Config { engine: compiler::native()?, ..Config::default() })
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
    // Launches that end with a fault in both engines prove little.
    assert!(ended > 60, "only {ended} launches came to their end");
}

/// Each warp begins with a clear carry flag, whatever the warps before it have left, on both engines.
#[test]
fn the_carry_flag_is_clear_at_the_start() {
    let Some(config) = native() else { return };
    let ptx = kernel("", "addc.u32 %r6, 7, 0; st.global.u32 [%rd2], %r6; mov.u32 %r7, -1; add.cc.u32 %r8, %r7, %r7;");
    for engine in [Engine::interpreter(), config.engine] {
        let bench = Bench::with(&ptx, Config { engine, workers: 1, ..Config::default() });
        for threads in [32, 29, 64] {
            let out = bench.zeros(4 * 8 * threads as usize);
            for _ in 0..2 {
                bench.run("k", 8, threads, &[out.into(), 0_u32.into()]).unwrap();
                let values = u32s(&bench.download(out, 4 * 8 * threads as usize));
                assert!(values.iter().all(|value| *value == 7), "{values:?}");
            }
        }
    }
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

/// A compiler that is asked when a thousand operations were interpreted, and again makes nothing.
#[derive(Debug, Default)]
struct Patient(Reader);

// SAFETY: it makes no code.
unsafe impl Compiler for Patient {
    fn threshold(&self, _: u64) -> u64 {
        1000
    }

    fn compile(&self, unit: Unit, done: Done) {
        self.0.compile(unit, done);
    }
}

#[test]
fn a_compiler_is_asked_when_enough_was_interpreted() {
    let asked_after = |launches: &[u32]| {
        let compiler = Arc::new(Patient::default());
        let engine = Engine::compiled(compiler.clone());
        let config = Config { engine, ..Config::default() };
        let bench = Bench::with(&kernel("", "st.global.u32 [%rd2], %r2;"), config);
        let out = bench.zeros(4 * 32 * 1000);
        let mut executed = 0;
        for grid in launches {
            assert_eq!(compiler.0.0.lock().unwrap().len(), usize::from(executed >= 1000), "after {executed}");
            let statistics = bench.run("k", *grid, 32, &[out.into(), 7_u32.into()]).unwrap();
            executed += statistics.warp_instructions;
        }
        let asked = compiler.0.0.lock().unwrap().len();
        (asked, executed)
    };
    let (asked, once) = asked_after(&[1]);
    assert!(asked == 0 && (1..500).contains(&once), "{asked} after {once}");
    // A long launch does not have to end first; nor is the compiler asked again.
    assert_eq!(asked_after(&[1000]).0, 1);
    assert_eq!(asked_after(&[1; 1000]).0, 1);
}

#[test]
fn a_fingerprint_stands_for_a_text() {
    const VARIABLE: &str = ".global .align 4 .u32 counter = 3;";
    let unit = |body: &str, padding: u64| {
        let reader = Arc::new(Reader::default());
        let config = Config { engine: Engine::compiled(reader.clone()), ..Config::default() };
        // The variable lies elsewhere in the second device.
        let bench = Bench::with(&kernel(&format!(".global .align 4 .b8 before[{padding}]; {VARIABLE}"), body), config);
        let out = bench.zeros(4 * 256);
        bench.run("k", 2, 64, &[out.into(), 7_u32.into()]).unwrap();
        let mut units = reader.0.lock().unwrap();
        units.pop().expect("the kernel has a text")
    };
    let body = "ld.global.u32 %r10, [counter]; add.u32 %r11, %r10, %r4; st.global.u32 [%rd2], %r11;";
    let first = unit(body, 16);
    assert_eq!(first, unit(body, 16 << 20));
    // Another operation on the same registers.
    let other = unit(&body.replace("add.u32", "max.u32"), 16);
    assert_ne!((first.fingerprint, first.text), (other.fingerprint, other.text));
}

/// The text of a kernel, which is interpreted all the same.
fn text(body: &str, block: u32) -> String {
    text_beside("", body, block, |_| ())
}

/// The text of a kernel with declarations, passed to `look` while the device exists.
fn text_beside(declarations: &str, body: &str, block: u32, look: impl FnOnce(&str)) -> String {
    text_of(&kernel(declarations, body), block, look)
}

/// The text of the kernel `k` of a module.
fn text_of(ptx: &str, block: u32, look: impl FnOnce(&str)) -> String {
    let reader = Arc::new(Reader::default());
    let config = Config { engine: Engine::compiled(reader.clone()), ..Config::default() };
    let bench = Bench::with(ptx, config);
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

/// LLVM takes time by the square of the number of vector loads between two fences.
#[test]
fn an_entry_has_fences_between_its_loads() {
    let numbers = 0..100;
    let set = numbers.clone().map(|number| format!("xor.b32 %x{number}, %r4, {};", number + 1));
    let sum = numbers.map(|number| format!("add.u32 %r10, %r10, %x{number};"));
    let (set, sum) = (set.collect::<String>(), sum.collect::<String>());
    let body = format!(".reg .b32 %x<100>; {set} bar.sync 0; mov.u32 %r10, 0; {sum} st.global.u32 [%rd2], %r10;");
    let (mut loads, mut together, mut most) = (0, 0, 0);
    for line in text(&body, 64).lines() {
        if line.contains("= load <32 x i32>, ptr %registers") {
            (loads, together) = (loads + 1, together + 1);
            most = most.max(together);
        } else if line.ends_with(':') || line.contains("fence ") {
            together = 0;
        }
    }
    assert!(loads >= 100 && (16..=32).contains(&most), "{loads} loads, at most {most} together");
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

/// As a slice's index, which mostly comes from 32 bits, is compared with its length.
#[test]
fn numbers_of_few_bits_are_compared_with_lengths_as_such() {
    let body = "
    mov.b64 %rd10, 0;
    setp.eq.u32 %p1, %r2, 3;
    @%p1 bra COMPARE;
    mul.lo.u32 %r10, %r4, 0x9e3779b9;
    // Also the largest one.
    setp.eq.u32 %p2, %r2, 5;
    selp.u32 %r10, -1, %r10, %p2;
    cvt.u64.u32 %rd10, %r10;
COMPARE:
    mul.wide.u32 %rd11, %r1, %r1;
    setp.lt.u64 %p3, %rd10, %rd11;
    setp.gt.u64 %p4, %rd10, %rd11;
    selp.u32 %r11, 1, 0, %p3;
    selp.u32 %r12, 2, 0, %p4;
    or.b32 %r11, %r11, %r12;
    st.global.u32 [%rd2], %r11;";
    let text = text(body, 32);
    assert_eq!(text.matches("icmp ult <32 x i64>").count(), 0, "{text}");
    assert!(text.matches("icmp ult <32 x i32>").count() >= 2, "{text}");
    for n in [0, 1, 0xb000, 0xffff, 0x10000, u32::MAX] {
        let Some([native, interpreted]) = on_both("", body, 2, 64, n) else { return };
        assert_eq!(native.0, interpreted.0, "{n}");
        let length = u64::from(n) * u64::from(n);
        for (thread, found) in (0_u32..).zip(native.0) {
            let number = match thread % 64 {
                3 => 0,
                5 => u64::from(u32::MAX),
                _ => u64::from(thread.wrapping_mul(0x9e37_79b9)),
            };
            let expected = u32::from(number < length) | u32::from(number > length) << 1;
            assert_eq!(found, expected, "{number:#x} and {length:#x}");
        }
    }
}

/// Numbers that differ from lane to lane by steps are compared by those of the first lane.
#[test]
fn comparisons_of_strided_numbers_hold_for_the_same_lanes() {
    const EDGES: [u64; 6] = [0, 1 << 31, 1 << 32, 1 << 63, 100, (1 << 32) - 100];
    const OFFSETS: [i64; 7] = [-33, -8, -1, 0, 1, 7, 31];
    let Some(native) = native() else { return };
    let numbers = EDGES.iter().flat_map(|edge| OFFSETS.map(|offset| edge.wrapping_add_signed(offset)));
    let numbers: Vec<u64> = numbers.collect();
    // Each number with each, and some twice, so that rows of a warp have other pairs than the row before.
    let pairs: Vec<u64> = numbers.iter().flat_map(|a| numbers.iter().flat_map(|b| [*a, *b])).collect();
    let warps = (pairs.len() / 2) as u32;
    for (a_step, b_step) in [(1, 0), (-1, 0), (0, 1), (4, 0), (-3, 2), (2, 2), (0, 0)] {
        // A pair for the warp, and one for each row of 8 lanes.
        for row in [5, 3] {
            let mut tests = String::new();
            for (number, test) in ["lt.u64", "le.u64", "lt.s64", "ge.s64"].into_iter().enumerate() {
                tests += &format!(
                    "setp.{test} %p1, %rd20, %rd21;\nselp.u32 %r20, {}, 0, %p1;\nor.b32 %r21, %r21, %r20;\n",
                    1 << number
                );
            }
            for (number, test) in ["lt.u32", "hi.u32", "lt.s32", "ge.s32"].into_iter().enumerate() {
                tests += &format!(
                    "setp.{test} %p1, %r22, %r23;\nselp.u32 %r20, {}, 0, %p1;\nor.b32 %r21, %r21, %r20;\n",
                    16 << number
                );
            }
            let body = format!(
                "
    shr.u32 %r10, %r2, {row};
    add.u32 %r10, %r10, %r3;
    // Behind the last pair, the first one again.
    setp.ge.u32 %p2, %r10, {warps};
    selp.u32 %r11, {warps}, 0, %p2;
    sub.u32 %r10, %r10, %r11;
    mul.wide.u32 %rd10, %r10, 16;
    add.u64 %rd10, %rd10, %rd1;
    ld.global.u64 %rd11, [%rd10];
    ld.global.u64 %rd12, [%rd10+8];
    cvt.u64.u32 %rd13, %r2;
    mul.lo.u64 %rd14, %rd13, {a_step};
    add.u64 %rd20, %rd11, %rd14;
    mul.lo.u64 %rd14, %rd13, {b_step};
    add.u64 %rd21, %rd12, %rd14;
    cvt.u32.u64 %r22, %rd11;
    mad.lo.u32 %r22, %r2, {a_step}, %r22;
    cvt.u32.u64 %r23, %rd12;
    mad.lo.u32 %r23, %r2, {b_step}, %r23;
    mov.u32 %r21, 256;
    {tests}
    add.u64 %rd15, %rd1, {results};
    add.u64 %rd15, %rd15, %rd3;
    st.global.u32 [%rd15], %r21;",
                results = 8 * pairs.len()
            );
            let run = |config: &Config| {
                let bench = Bench::on_the_engine_of(config.clone(), &kernel("", &body));
                let bytes = 8 * pairs.len() + 4 * 32 * warps as usize;
                let out = bench.zeros(bytes);
                bench.write(out, &bytes_of(&pairs)).unwrap();
                bench.run("k", warps, 32, &[out.into(), 0_u32.into()]).unwrap();
                u32s(&bench.download(out, bytes)[8 * pairs.len()..])
            };
            let [found, expected] = [&native, &Config::default()].map(run);
            let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
            let of_lane = wrong.map(|at| (at / 32, at % 32, found[at], expected[at]));
            assert_eq!(of_lane, None, "steps {a_step} and {b_step}, rows of {} lanes", 1 << row);
            assert!(expected.iter().all(|word| *word & 256 != 0));
        }
    }
    let code = text("sub.u32 %r10, %r2, 5;\nsetp.lt.u32 %p1, %r10, %r1;\n@%p1 st.global.u32 [%rd2], %r2;", 32);
    assert!(code.contains("@llvm.umin.i32") && code.contains("freeze i1"), "{code}");
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

/// A body in which the thread whose two numbers are equal reads behind the end of its buffer.
fn reads_behind_the_end(equal: &str) -> String {
    format!(
        "
    setp.ne.u32 %p1, {equal};
    @%p1 bra GOOD;
    ld.global.u32 %r10, [%rd2+1048576];
    st.global.u32 [%rd2], %r10;
GOOD:
    st.global.u32 [%rd2], %r2;"
    )
}

#[test]
fn a_fault_is_reported_as_by_the_interpreter() {
    let body = &reads_behind_the_end("%r2, 37");
    let Some(config) = native() else { return };
    let faults = [config, Config::default()].map(|config| {
        let bench = Bench::with(&kernel("", body), config);
        let out = bench.zeros(256);
        let fault = bench.fault("k", 1, 64, &[out.into(), 0_u32.into()]);
        (fault.kind, fault.thread, fault.ptx_line, fault.address.map(|address| address - out))
    });
    assert_eq!(faults[0], faults[1]);
    assert_eq!(faults[0].1, [37, 0, 0]);
}

/// The contents of `out` after a kernel, by native code and by the interpreter, with the statistics of the launch.
fn on_both(declarations: &str, body: &str, grid: u32, block: u32, n: u32) -> Option<[(Vec<u32>, Statistics); 2]> {
    Some([native()?, Config::default()].map(|config| {
        let bench = Bench::on_the_engine_of(config, &kernel(declarations, body));
        let bytes = (4 * grid * block) as usize;
        let out = bench.zeros(bytes);
        let statistics = bench.run("k", grid, block, &[out.into(), n.into()]).unwrap();
        (u32s(&bench.download(out, bytes)), statistics)
    }))
}

#[test]
fn nans_get_their_bits_where_something_sees_them() {
    let body = "
    // Every other lane starts with a NaN of its own.
    and.b32 %r10, %r2, 1;
    setp.eq.u32 %p1, %r10, 0;
    or.b32 %r11, %r2, 0x7f900000;
    selp.b32 %f1, %r11, 0x3f800000, %p1;
    mov.b32 %f2, 0f00000000;
    mov.u32 %r12, 0;
LOOP:
    fma.rn.f32 %f2, %f1, %f1, %f2;
    add.u32 %r12, %r12, 1;
    setp.lt.u32 %p2, %r12, %r1;
    @%p2 bra LOOP;
    // Some hold an integer in the register that others hold a number in, and its bits are those of a NaN.
    setp.gt.u32 %p3, %r2, 20;
    @%p3 bra INTEGER;
    add.f32 %f3, %f2, %f1;
    bra STORE;
INTEGER:
    mov.b32 %f3, -5;
STORE:
    st.global.u32 [%rd2], %f3;";
    let Some([native, interpreted]) = on_both("", body, 2, 64, 3) else {
        return;
    };
    assert_eq!(native.0, interpreted.0);
    assert_eq!(native.0[..2], [0x7fff_ffff, 4_f32.to_bits()]);
    assert_eq!(native.0[21..23], [-5_i32 as u32; 2]);
}

#[test]
fn arithmetic_does_not_look_at_nans() {
    let chain = "fma.rn.f32 %f1, %f1, %f1, %f1;\n".repeat(8);
    let body = format!("cvt.rn.f32.u32 %f1, %r2;\n{chain}st.global.u32 [%rd2], %f1;");
    let text = text(&body, 64);
    let sums = text.matches("call <32 x float> @llvm.fma").count();
    assert!(sums >= 8, "{text}");
    assert_eq!(8 * text.matches("icmp ugt <32 x i32>").count(), sums, "{text}");
}

#[test]
fn blocks_that_ask_nothing_are_counted_like_others() {
    // Warps part, the last one lacks lanes, and one of them runs for longer than a turn.
    let body = "
    mov.u32 %r12, 3;
    setp.ne.u32 %p1, %r4, 5000;
    @%p1 bra START;
    mov.u32 %r12, 100000;
START:
    mov.u32 %r10, 0;
    mov.u32 %r11, %r4;
LOOP:
    mad.lo.u32 %r11, %r11, 3, 1;
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p2, %r10, %r12;
    @%p2 bra LOOP;
    and.b32 %r13, %r2, 3;
    setp.eq.u32 %p3, %r13, 1;
    @%p3 add.u32 %r11, %r11, %r1;
    st.global.u32 [%rd2], %r11;";
    let Some([native, interpreted]) = on_both("", body, 300, 72, 7) else {
        return;
    };
    assert_eq!(native.0, interpreted.0);
    assert_eq!(native.1.warp_instructions, interpreted.1.warp_instructions);
    assert_eq!(native.1.blocks, 300);
}

#[test]
fn blocks_are_started_where_they_are_asked_for_something() {
    let declarations = ".global .align 4 .b32 count;";
    // Of each third block, the second warp's lanes count themselves one by one, some after others have gone on.
    let body = "
    rem.u32 %r10, %r3, 3;
    setp.ne.u32 %p1, %r10, 1;
    setp.lt.u32 %p2, %r2, 37;
    or.pred %p1, %p1, %p2;
    mov.u32 %r11, 0;
    @%p1 bra STORE;
    mov.u32 %r12, %r2;
    atom.global.add.u32 %r11, [count], 1;
    add.u32 %r11, %r12, 1;
    bar.warp.sync 0xffffffe0;
STORE:
    add.u32 %r11, %r11, %r2;
    st.global.u32 [%rd2], %r11;";
    let Some([native, interpreted]) = on_both(declarations, body, 200, 64, 7) else {
        return;
    };
    assert_eq!(native.0, interpreted.0);
    assert_eq!(native.0[64 + 40], 81);
    assert_eq!(native.1.warp_instructions, interpreted.1.warp_instructions);
}

#[test]
fn each_block_arrives_at_its_own_cluster_s_barrier() {
    let body = "
    st.global.u32 [%rd2], %r4;
    barrier.cluster.arrive.aligned;
    ret;";
    let Some([native, interpreted]) = on_both("", body, 3, 44, 7) else {
        return;
    };
    assert_eq!(native, interpreted);
}

#[test]
fn a_fault_names_its_block() {
    let body = &reads_behind_the_end("%r4, 10037");
    let Some(config) = native() else { return };
    let bench = Bench::with(&kernel("", body), config);
    let out = bench.zeros(4 * 64 * 200);
    let fault = bench.fault("k", 200, 64, &[out.into(), 0_u32.into()]);
    assert_eq!((fault.block, fault.thread), ([156, 0, 0], [53, 0, 0]));
}

#[test]
fn warps_come_back_to_where_they_stand() {
    // What is done between two rounds of the outer loop stands before its head, and behind the inner loop in the order in which the
    // code has its blocks. Warps leave the code at each call, in either loop, and come back at different heads.
    let declarations = "
.func (.reg .u32 %out) mix (.reg .u32 %a)
{
    mad.lo.u32 %out, %a, 5, 3;
    ret;
}";
    let body = "
    mov.u32 %r10, 0;
    mov.u32 %r11, %r4;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra DONE;
    bra HEAD;
LATCH:
    add.u32 %r10, %r10, 1;
    setp.ge.u32 %p1, %r10, %r1;
    @%p1 bra DONE;
HEAD:
    xor.b32 %r11, %r11, %r10;
    call (%r11), mix, (%r11);
    and.b32 %r12, %r10, 3;
    setp.eq.u32 %p2, %r12, 3;
    @%p2 bra LATCH;
    mov.u32 %r13, 0;
INNER:
    mad.lo.u32 %r11, %r11, 7, %r13;
    call (%r11), mix, (%r11);
    add.u32 %r13, %r13, 1;
    setp.le.u32 %p3, %r13, %r12;
    @%p3 bra INNER;
    bra LATCH;
DONE:
    st.global.u32 [%rd2], %r11;";
    let Some([native, interpreted]) = on_both(declarations, body, 2, 64, 500) else {
        return;
    };
    assert_eq!(native.0, interpreted.0);
    assert_eq!(native.1.warp_instructions, interpreted.1.warp_instructions);
}

/// Blocks of 128 threads that come to many barriers, and do something else in between.
fn in_step(between: &str) {
    let declarations = ".shared .align 4 .b32 tile[128];";
    let body = format!(
        "
    mov.u64 %rd10, tile;
    mul.wide.u32 %rd11, %r2, 4;
    add.s64 %rd11, %rd10, %rd11;
    add.u32 %r10, %r2, 37;
    and.b32 %r10, %r10, 127;
    mul.wide.u32 %rd12, %r10, 4;
    add.s64 %rd12, %rd10, %rd12;
    mov.u32 %r11, %r4;
    mov.u32 %r12, 0;
LOOP:
    st.shared.u32 [%rd11], %r11;
    bar.sync 0;
    ld.shared.u32 %r13, [%rd12];
    mad.lo.u32 %r11, %r11, 3, %r13;
    {between}
    bar.sync 0;
    add.u32 %r12, %r12, 1;
    setp.lt.u32 %p1, %r12, %r1;
    @%p1 bra LOOP;
    st.global.u32 [%rd2], %r11;"
    );
    let Some([native, interpreted]) = on_both(declarations, &body, 20, 128, 9) else {
        return;
    };
    assert_eq!(native.0, interpreted.0);
    assert_eq!(native.1.warp_instructions, interpreted.1.warp_instructions);
    assert_ne!(native.0[300], 0);
}

#[test]
fn warps_go_from_barrier_to_barrier() {
    in_step("");
}

#[test]
fn a_warp_that_exits_is_not_waited_for() {
    in_step("setp.eq.u32 %p2, %r12, 4; setp.gt.u32 %p3, %r2, 95; and.pred %p2, %p2, %p3; @%p2 exit;");
}

#[test]
fn warps_come_to_barriers_of_their_own() {
    in_step("shr.u32 %r20, %r2, 6; add.u32 %r20, %r20, 1; bar.sync %r20, 64;");
    in_step("setp.lt.u32 %p2, %r2, 64; @%p2 bra A; bar.arrive 3, 128; bra B; A: bar.sync 3, 128; B:");
    in_step("setp.lt.u32 %p2, %r2, 32; @%p2 bar.sync 4, 32;");
}

#[test]
fn lanes_that_part_come_to_barriers_one_by_one() {
    in_step(
        "setp.lt.u32 %p2, %r2, 40; @%p2 bra A; mul.lo.u32 %r11, %r11, 5; barrier.sync 0; bra B; A: barrier.sync 0; B:",
    );
}

#[test]
fn a_fault_between_barriers_is_reported_as_by_the_interpreter() {
    let declarations = ".shared .align 4 .b32 tile[64];";
    let body = "
    mov.u64 %rd10, tile;
    mul.wide.u32 %rd11, %r2, 4;
    add.s64 %rd11, %rd10, %rd11;
    st.shared.u32 [%rd11], %r4;
    bar.sync 0;
    ld.shared.u32 %r10, [%rd11];
    setp.ne.u32 %p1, %r10, 200;
    @%p1 bra GOOD;
    trap;
GOOD:
    bar.sync 0;
    st.global.u32 [%rd2], %r10;";
    let Some(config) = native() else { return };
    let faults = [config, Config::default()].map(|config| {
        let bench = Bench::on_the_engine_of(config, &kernel(declarations, body));
        let out = bench.zeros(4 * 64 * 8);
        let fault = bench.fault("k", 8, 64, &[out.into(), 0_u32.into()]);
        (fault.kind, fault.block, fault.thread, fault.ptx_line)
    });
    assert_eq!(faults[0], faults[1]);
    assert_eq!(faults[0].1, [3, 0, 0]);
}

/// A loop that lanes leave one after the other, and then an access at an address that was made in it.
fn leaving_a_loop() -> &'static str {
    "
    and.b32 %r14, %r1, 4;
    cvt.u64.u32 %rd10, %r14;
    mov.u64 %rd11, %rd2;
    sub.s64 %rd11, %rd11, %rd10;
    sub.u32 %r10, 31, %r2;
    shr.u32 %r10, %r10, 3;
    mov.u32 %r11, 0;
LOOP:
    add.s64 %rd11, %rd11, %rd10;
    add.u32 %r11, %r11, 1;
    setp.lt.u32 %p1, %r11, %r10;
    @%p1 bra LOOP;
    ld.global.u32 %r12, [%rd11];
    sub.s64 %rd12, %rd11, %rd2;
    cvt.u32.u64 %r13, %rd12;
    mad.lo.u32 %r12, %r12, 100, %r13;
    st.global.u32 [%rd2], %r12;"
}

#[test]
fn lanes_that_leave_a_loop_wait_for_the_others() {
    // The code after the inner loop stands before the loop.
    let body = "
    mov.u32 %r10, 0;
    mov.u32 %r11, %r2;
    bra HEAD;
BEHIND:
    shfl.sync.bfly.b32 %r12, %r11, 1, 31, -1;
    add.u32 %r11, %r11, %r12;
    add.u32 %r10, %r10, 1;
    setp.ge.u32 %p1, %r10, 5;
    @%p1 bra DONE;
HEAD:
    and.b32 %r13, %r2, 7;
INNER:
    mad.lo.u32 %r11, %r11, 3, %r13;
    sub.u32 %r13, %r13, 1;
    setp.gt.s32 %p2, %r13, 0;
    @%p2 bra INNER;
    bra BEHIND;
DONE:
    st.global.u32 [%rd2], %r11;";
    let Some([native, interpreted]) = on_both("", body, 2, 64, 0) else {
        return;
    };
    assert_eq!(native.0, interpreted.0);
}

#[test]
fn shuffles_by_registers_are_written_out() {
    let shuffle = |mode: &str, clamp: &str, at: u32| {
        format!(
            "
    shfl.sync.{mode}.b32 %r20|%p1, %r4, %r10, {clamp}, -1;
    selp.u32 %r21, 1, 2, %p1;
    mad.lo.u32 %r11, %r11, {at}, %r20;
    mad.lo.u32 %r11, %r11, 5, %r21;"
        )
    };
    let modes = ["idx", "up", "down", "bfly"];
    // Segments of the whole warp, of 8 lanes, and of another size in each lane.
    let clamps = ["%r12", "%r13", "%r14"];
    let shuffles = modes.iter().flat_map(|mode| clamps.map(|clamp| shuffle(mode, clamp, 3)));
    let body = format!(
        "
    mad.lo.u32 %r10, %r2, 7, %r1;
    mov.u32 %r11, 1;
    add.u32 %r12, %r1, 24;
    add.u32 %r13, %r1, 0x1818;
    mul.lo.u32 %r14, %r2, 0x0507;
    {}
    st.global.u32 [%rd2], %r11;",
        shuffles.collect::<String>()
    );
    let text = text(&body, 64);
    assert!(text.contains("%shuffled = alloca <32 x i32>"), "{text}");
    let Some([native, interpreted]) = on_both("", &body, 2, 64, 7) else {
        return;
    };
    assert_eq!(native.0, interpreted.0);
}
