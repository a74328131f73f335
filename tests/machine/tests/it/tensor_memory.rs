//! Tensor memory: a product with its loads, stores and waits, every shape of loads and stores, and mistakes in a right kernel.

use std::fmt::Write;

use crate::common::{Bench, HEADER, u32s};
use rumba_vm::{Check, CheckSet, Config, FaultKind, FindingKind, LaunchFailure};

/// A product of 128 rows and 16 columns of ones, with a depth of 16, which is added to ones that the warps have stored in tensor
/// memory. Each thread then loads its row and writes the last sum.
const PRODUCT: &str = "
.visible .entry k(.param .u64 out)
{
    .shared .align 1024 .b8 factors[8192];
    .shared .align 8 .b8 barrier[8];
    .shared .align 4 .b8 place[4];
    .reg .pred %p<9>; .reg .b32 %r<80>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5;
    mov.u32 %r3, %ctaid.x; mad.lo.u32 %r3, %r3, 128, %r1; mul.wide.u32 %rd2, %r3, 4; add.u64 %rd1, %rd1, %rd2;
    mov.u32 %r3, factors; mul.lo.u32 %r4, %r1, 48; add.u32 %r4, %r4, %r3;
    setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r2, 0; setp.ne.u32 %p3, %r1, 9999;
    mov.u32 %r5, 32;
    mov.u32 %r6, 0x08040010;
    @%p1 mbarrier.init.shared.b64 [barrier], 1;
    @%p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], %r5;
    @%p2 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
    mov.u32 %r7, 0x3c003c00;
    st.shared.v4.u32 [%r4], {%r7, %r7, %r7, %r7};
    st.shared.v4.u32 [%r4+16], {%r7, %r7, %r7, %r7};
    st.shared.v4.u32 [%r4+32], {%r7, %r7, %r7, %r7};
    fence.proxy.async.shared::cta;
    bar.sync 0;
    ld.shared.u32 %r8, [place];
    shl.b32 %r9, %r2, 21; add.u32 %r9, %r9, %r8;
    mov.u32 %r10, 0x3f800000;
    tcgen05.st.sync.aligned.32x32b.x16.b32 [%r9], {%r10, %r10, %r10, %r10, %r10, %r10, %r10, %r10, %r10, %r10, %r10, %r10, %r10, %r10, %r10, %r10};
    tcgen05.wait::st.sync.aligned;
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    shr.u32 %r11, %r3, 4; mov.u32 %r12, 0x4010;
    or.b32 %r11, %r11, 0x80000;
    mov.b64 %rd3, {%r11, %r12};
    add.u32 %r13, %r11, 256;
    mov.b64 %rd4, {%r13, %r12};
    @%p1 tcgen05.mma.cta_group::1.kind::f16 [%r8], %rd3, %rd4, %r6, %p3;
    @%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [barrier];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p4, [barrier], 0;
    @!%p4 bra WAIT;
    tcgen05.fence::after_thread_sync;
    tcgen05.ld.sync.aligned.32x32b.x16.b32 {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27, %r28, %r29, %r30, %r31, %r32, %r33, %r34, %r35}, [%r9];
    tcgen05.wait::ld.sync.aligned;
    st.global.b32 [%rd1], %r35;
    bar.sync 0;
    @%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, %r5;
    ret;
}
";

/// A device with a module, under all checks.
fn bench(body: &str) -> Bench {
    let checks = [Check::Mem, Check::Init, Check::Race, Check::Sync].into_iter().collect::<CheckSet>();
    Bench::with(&format!("{HEADER}{body}"), Config { checks, instruction_limit: 1 << 20, ..Config::default() })
}

#[test]
fn a_product_is_added_to_what_is_there() {
    let bench = bench(PRODUCT);
    let out = bench.zeros(1536);
    // Blocks that follow each other in the same memory.
    bench.run("k", 3, 128, &[out.into()]).unwrap();
    assert_eq!(u32s(&bench.download(out, 1536)), [17_f32.to_bits(); 384]);
    let found = bench.device.take_findings();
    assert!(found.is_empty(), "{}", found[0]);
}

/// Whether the product is added is a predicate, its negation, or a number.
#[test]
fn a_product_is_added_if_asked_to() {
    for (input, sum) in [("%p3", 17), ("!%p3", 16), ("1", 17), ("0", 16)] {
        let bench = bench(&PRODUCT.replace("%rd4, %r6, %p3;", &format!("%rd4, %r6, {input};")));
        let out = bench.zeros(512);
        bench.run("k", 1, 128, &[out.into()]).unwrap();
        assert_eq!(u32s(&bench.download(out, 512)), [(sum as f32).to_bits(); 128], "{input}");
    }
}

/// How a mistake is told.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Told {
    Fault(FaultKind),
    Finding(FindingKind),
}
use Told::{Fault, Finding};

/// A mistake: a piece of [`PRODUCT`] and what takes its place; how the mistake is told, in words, and at which line.
struct Mistake(&'static str, &'static str, Told, &'static str, &'static str);

const LD: &str = "tcgen05.ld.sync";
const MMA: &str = "tcgen05.mma";
const ALLOC: &str = "tcgen05.alloc";

#[rustfmt::skip]
const MISTAKES: &[Mistake] = &[
    // Allocations.
    Mistake("%r5, 32", "%r5, 48", Fault(FaultKind::InvalidInstruction),
        "a power of two from 32 to 512, not 48", ALLOC),
    Mistake("%r5, 32", "%r5, 1024", Fault(FaultKind::InvalidInstruction),
        "a power of two from 32 to 512, not 1024", ALLOC),
    Mistake("@%p2 tcgen05.alloc", "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n@%p2 tcgen05.alloc",
        Fault(FaultKind::InvalidInstruction), "given up the right to allocate tensor memory", ALLOC),
    Mistake("@%p2 tcgen05.alloc", "@%p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 512;\n@%p2 tcgen05.alloc",
        Fault(FaultKind::Deadlock), "none of them can go on", "[place], %r5"),
    Mistake("@%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, %r5;", "", Finding(FindingKind::UnfreedTensorMemory),
        "32 columns, from column 0 on, are allocated at the end of the block", ALLOC),
    Mistake(".b32 %r8, %r5;", ".b32 %r8, 64;", Fault(FaultKind::InvalidInstruction),
        "64 columns are freed of an allocation that has 32", "tcgen05.dealloc"),
    Mistake(".b32 %r8, %r5;", ".b32 %r7, %r5;", Fault(FaultKind::InvalidInstruction),
        "no allocation of tensor memory starts at column 15360", "tcgen05.dealloc"),
    // Addresses.
    Mistake("tcgen05.ld.sync", "bar.sync 0; @%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, %r5; bar.sync 0;\ntcgen05.ld.sync",
        Fault(FaultKind::IllegalAddress), "columns 0 to 15 of tensor memory, of which column 0 was freed", LD),
    Mistake("}, [%r9];\n    tcgen05.wait::ld", "}, [%r9+24];\n    tcgen05.wait::ld", Fault(FaultKind::IllegalAddress),
        "read of lanes 0 to 31 and columns 24 to 39 of tensor memory, of which column 32 is not allocated", LD),
    Mistake("}, [%r9];\n    tcgen05.wait::ld", "}, [%r9+504];\n    tcgen05.wait::ld", Fault(FaultKind::IllegalAddress),
        "columns 504 to 519 of tensor memory, which has 128 lanes and 512 columns", LD),
    Mistake("}, [%r9];\n    tcgen05.wait::ld", "}, [%r8];\n    tcgen05.wait::ld", Fault(FaultKind::IllegalAddress),
        "warp 1 can access lanes 32 to 63 of tensor memory, and the instruction names lanes 0 to 31", LD),
    Mistake("}, [%r9];\n    tcgen05.wait::ld", "}, [%r1];\n    tcgen05.wait::ld", Fault(FaultKind::InvalidInstruction),
        "the address of tensor memory differs between the lanes of the warp", LD),
    Mistake("%r6, 0x08040010", "%r6, 0x08100010", Fault(FaultKind::IllegalAddress),
        "write of lanes 0 to 127 and columns 0 to 63 of tensor memory, of which column 32 is not allocated", MMA),
    Mistake("add.u32 %r13, %r11, 256", "add.u32 %r13, %r11, 8192", Fault(FaultKind::IllegalAddress),
        "read of 16 bytes of shared memory", MMA),
    Mistake("    bar.sync 0;\n    @%p2 tcgen05.dealloc", "    @%p2 tcgen05.dealloc", Fault(FaultKind::IllegalAddress),
        "of which column 0 was freed", LD),
    // Descriptors.
    Mistake("%r6, 0x08040010", "%r6, 0x08060010", Fault(FaultKind::InvalidInstruction),
        "M = 128 and N = 24: M is 128 or 64, and N a multiple of 16 up to 256", MMA),
    Mistake("%r6, 0x08040010", "%r6, 0x08040110", Fault(FaultKind::InvalidInstruction),
        "names types 2 and 0 of the factors, which .kind::f16 does not have", MMA),
    Mistake("%r12, 0x4010", "%r12, 0x0010", Fault(FaultKind::InvalidInstruction),
        "has no 0b001 in bits 46 to 48", MMA),
    Mistake("%r12, 0x4010", "%r12, 0x60004010", Fault(FaultKind::InvalidInstruction),
        "has no valid swizzling mode in bits 61 to 63", MMA),
    Mistake("    @%p1 tcgen05.mma.cta_group::1", "    mov.u32 %r6, 0x10080010;\n    @%p1 tcgen05.mma.cta_group::2",
        Fault(FaultKind::InvalidInstruction), "block 0 of the cluster has no other block that it is a pair with", MMA),
    // Synchronisation.
    Mistake("fence.proxy.async.shared::cta;", "", Finding(FindingKind::MissingProxyFence), "shared memory", MMA),
    Mistake("    mbarrier.try_wait.parity.shared.b64 %p4, [barrier], 0;\n    @!%p4 bra WAIT;", "",
        Finding(FindingKind::PendingTensorOperation), "lane 0, column 0 of tensor memory", LD),
    Mistake("tcgen05.wait::st.sync.aligned;", "", Finding(FindingKind::PendingTensorOperation), "of tensor memory", MMA),
    Mistake("    tcgen05.fence::before_thread_sync;\n    bar.sync 0;", "", Finding(FindingKind::PendingTensorOperation),
        "of tensor memory", MMA),
    Mistake("tcgen05.wait::ld.sync.aligned;", "", Finding(FindingKind::PendingTensorLoad),
        "the warp has not waited for the load", "st.global"),
    Mistake("    bar.sync 0;\n    @%p2 tcgen05.dealloc", "    @%p1 tcgen05.mma.cta_group::1.kind::f16 [%r8], %rd3, %rd4, %r6, %p3;\n    bar.sync 0;\n    @%p2 tcgen05.dealloc",
        Finding(FindingKind::PendingTensorOperation), "of tensor memory", LD),
    Mistake("WAIT:\n", "st.shared.u32 [%r4], %r1;\nWAIT:\n", Finding(FindingKind::PendingProduct), "shared memory",
        "st.shared.u32"),
    Mistake("@%p1 tcgen05.commit", "// @%p1 tcgen05.commit", Fault(FaultKind::Deadlock), "", "mbarrier.try_wait"),
    Mistake("@%p1 mbarrier.init.shared.b64 [barrier], 1;", "", Fault(FaultKind::Synchronisation),
        "there is no mbarrier here", "tcgen05.commit"),
    Mistake("    tcgen05.ld.sync", "    @%p1 tcgen05.ld.sync", Fault(FaultKind::Deadlock), "", LD),
    Mistake("WAIT:\n", "    @%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 32;\n    exit;\nWAIT:\n",
        Finding(FindingKind::PendingTensorOperation), "lane 0, column 0 of tensor memory", "b32 %r8, 32"),
    // Values.
    Mistake("    tcgen05.st.sync", "    @%p4 tcgen05.st.sync", Finding(FindingKind::UnwrittenRegister), "", "tcgen05.st"),
    Mistake("    tcgen05.st.sync", "    setp.eq.u32 %p4, %r1, 9999; @%p4 tcgen05.st.sync", Finding(FindingKind::UnwrittenRead),
        "lane 0, column 0 of tensor memory", MMA),
];

/// The mistake's line, counted in the whole text.
fn line_of(text: &str, piece: &str) -> u32 {
    text.lines().position(|line| line.contains(piece)).unwrap() as u32 + 1
}

#[test]
fn mistakes_are_told() {
    let mut wrong = String::new();
    for Mistake(from, to, told, words, at) in MISTAKES {
        assert_eq!(PRODUCT.matches(from).count(), 1, "{from}");
        let body = PRODUCT.replacen(from, to, 1);
        let text = format!("{HEADER}{body}");
        let bench = bench(&body);
        let out = bench.zeros(512);
        let outcome = bench.run("k", 1, 128, &[out.into()]);
        let mut all: Vec<(Told, String, Vec<u32>)> = Vec::new();
        if let Err(LaunchFailure::Fault(fault)) = &outcome {
            let lines = std::iter::once(fault.ptx_line).chain(fault.live.iter().map(|live| live.ptx_line)).collect();
            all.push((Fault(fault.kind), fault.message.clone(), lines));
        }
        for finding in bench.device.take_findings() {
            let lines = finding.sides.iter().map(|side| side.ptx_line).collect();
            all.push((Finding(finding.kind), finding.place.clone(), lines));
        }
        let expected = line_of(&text, at);
        let is_expected = |(kind, place, lines): &(Told, String, Vec<u32>)| {
            kind == told && place.contains(words) && lines.contains(&expected)
        };
        if !all.iter().any(is_expected) {
            writeln!(wrong, "`{from}` -> `{to}`: {told:?} `{words}` at {expected} was expected, not {all:#?}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(MISTAKES.len() >= 15);
}

/// A warp that asks for more columns than are free waits until another warp of its block has freed some.
#[test]
fn an_allocation_waits_for_columns() {
    let bench = bench(
        "
        .visible .entry k(.param .u64 out) {
            .shared .align 4 .b8 place[64];
            .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
            ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
            shr.u32 %r2, %r1, 5; mov.u32 %r3, place; mad.lo.u32 %r3, %r2, 4, %r3;
            tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 256;
            bar.warp.sync -1;
            ld.shared.u32 %r4, [%r3];
            st.global.u32 [%rd1], %r4;
            tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 256;
            ret;
        }",
    );
    let out = bench.zeros(1024);
    bench.run("k", 1, 256, &[out.into()]).unwrap();
    let found = bench.device.take_findings();
    assert!(found.is_empty(), "{}", found[0]);
    // Two warps have columns at a time.
    let starts = u32s(&bench.download(out, 1024));
    assert!(starts.iter().all(|start| [0, 256].contains(start)), "{starts:?}");
}

/// What a load by one shape leaves in registers after a store by another one, whose registers hold their number and their
/// thread: the shapes reach the same cells.
#[test]
fn loads_and_stores_of_all_shapes_reach_the_cells_of_the_figures() {
    // The cell of register `r` of thread `t`: lane and column.
    type Place = fn(u32, u32) -> (u32, u32);
    let shapes: [(&str, u32, Place); 4] = [
        ("16x64b.x16", 16, |t, r| (t / 4 + t % 2 * 8, t / 2 % 2 + 2 * r)),
        ("16x128b.x8", 16, |t, r| (t / 4 + r % 2 * 8, t % 4 + r / 2 * 4)),
        ("16x256b.x4", 16, |t, r| (t / 4 + r / 2 % 2 * 8, t % 4 * 2 + r % 2 + r / 4 * 8)),
        ("16x32bx2.x16", 16, |t, r| (t % 16, r + t / 16 * 16)),
    ];
    let list = |first: u32, count: u32| {
        let names: Vec<_> = (first..first + count).map(|number| format!("%r{number}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    for (name, registers, place) in shapes {
        for half in [0, 16] {
            let split = if name.contains("bx2") { ", 16" } else { "" };
            let mut body = String::new();
            for register in 0..32 {
                // Cells hold their column and their lane.
                writeln!(
                    body,
                    "shl.b32 %r{}, %r1, 8; or.b32 %r{}, %r{}, {register};",
                    20 + register,
                    20 + register,
                    20 + register
                )
                .unwrap();
            }
            let kernel = format!(
                "{HEADER}.visible .entry k(.param .u64 out) {{
                    .shared .align 4 .b8 place[4]; .reg .b32 %r<99>; .reg .b64 %rd<9>;
                    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 64; add.u64 %rd1, %rd1, %rd2;
                    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 32;
                    ld.shared.u32 %r2, [place];
                    {body}
                    tcgen05.st.sync.aligned.32x32b.x32.b32 [%r2], {};
                    tcgen05.wait::st.sync.aligned;
                    add.u32 %r2, %r2, {};
                    tcgen05.ld.sync.aligned.{name}.b32 {}, [%r2]{split};
                    tcgen05.wait::ld.sync.aligned;
                    {}
                    tcgen05.st.sync.aligned.{name}.b32 [%r2]{split}, {};
                    tcgen05.wait::st.sync.aligned;
                    tcgen05.dealloc.cta_group::1.sync.aligned.b32 0, 32;
                    ret;
                }}",
                list(20, 32),
                half << 16,
                list(60, registers),
                (0..registers)
                    .fold(String::new(), |text, r| text + &format!("st.global.u32 [%rd1+{}], %r{};\n", 4 * r, 60 + r)),
                list(60, registers),
            );
            let bench = Bench::new(&kernel);
            let out = bench.zeros(2048);
            bench.run("k", 1, 32, &[out.into()]).unwrap_or_else(|error| panic!("{error}\n{kernel}"));
            let found = u32s(&bench.download(out, 2048));
            for thread in 0..32 {
                for register in 0..registers {
                    let (lane, column) = place(thread, register);
                    let value = found[(thread * 16 + register) as usize];
                    assert_eq!(value, (lane + half) << 8 | column, "{name}: register {register} of thread {thread}");
                }
            }
        }
    }
}

#[test]
fn forms_that_are_not_executed_are_refused_by_name() {
    let device = rumba_vm::Device::new(Config { memory_bytes: 64 << 20, workers: 1, ..Config::default() }).unwrap();
    let refusal = |target: &str, statement: &str| {
        let ptx = format!(
            ".version 8.8\n.target {target}\n.address_size 64\n.visible .entry k() {{ .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;\n{statement} ret; }}"
        );
        match device.load(&[rumba_vm::Source { name: "test.ptx", ptx: &ptx }]) {
            Err(error) => error.to_string(),
            Ok(module) => module.refusal("k").map(ToString::to_string).unwrap_or_default(),
        }
    };
    let wait = "tcgen05.wait::ld.sync.aligned;";
    assert_eq!(refusal("sm_100a", wait) + &refusal("sm_100f", wait), "");
    for target in ["sm_90a", "sm_100", "sm_120a"] {
        assert!(refusal(target, wait).contains("tcgen05.wait::ld"), "{target}");
    }
    for statement in [
        "tcgen05.mma.ws.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;",
        "tcgen05.shift.cta_group::1.down [%r1];",
        "tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], %rd1, %rd2, [%r3], %r2, %p1;",
    ] {
        let name = statement.split(' ').next().unwrap();
        let found = refusal("sm_100a", statement);
        assert!(found.contains(&format!("`{name}` is not executed by this device")), "{found}");
    }
    let wrong = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 48;";
    assert!(refusal("sm_100a", wrong).contains("a power of two from 32 to 512"));
}
