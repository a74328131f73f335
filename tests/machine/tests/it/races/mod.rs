//! Data races: kernels with a race, and near misses without a race.

mod asynchronous;
mod joint;
mod mbarriers;
mod patterns;
mod strong;

use crate::common::{Bench, kernel};
use rumba_vm::{Check, CheckSet, Config, Finding, FindingKind, Launch, Severity};

/// Runs a kernel under racecheck.
fn findings(declarations: &str, body: &str, grid: u32, block: u32) -> Vec<Finding> {
    let config = Config { memory_bytes: 64 << 20, checks: CheckSet::default().with(Check::Race), ..Config::default() };
    let bench = Bench::with(&kernel(declarations, body), config);
    let out = bench.zeros(4 * (grid * block).max(64) as usize);
    if let Err(error) = bench.run("k", grid, block, &[out.into(), 0_u32.into()]) {
        panic!("{error}");
    }
    bench.device.take_findings()
}

/// Shared memory for 128 threads, and each one's own element of it in `%r10`.
const TILE: &str = ".shared .align 4 .b8 tile[512];";
const OWN: &str = "
    mov.u32 %r9, tile;
    shl.b32 %r10, %r2, 2;
    add.u32 %r10, %r9, %r10;";

#[track_caller]
fn races(declarations: &str, body: &str, grid: u32, block: u32, kind: FindingKind) {
    let found = findings(declarations, body, grid, block);
    assert!(found.iter().any(|finding| finding.kind == kind), "{found:#?}");
}

#[track_caller]
fn is_clean(declarations: &str, body: &str, grid: u32, block: u32) {
    let found = findings(declarations, body, grid, block);
    assert!(found.is_empty(), "{}", found[0]);
}

/// Each thread writes its own element and reads the one of thread 127 - i, with `between` in between.
fn exchange(between: &str) -> String {
    format!(
        "{OWN}
    st.shared.u32 [%r10], %r2;
    {between}
    sub.u32 %r11, 508, %r10;
    add.u32 %r11, %r11, %r9;
    add.u32 %r11, %r11, %r9;
    ld.shared.u32 %r12, [%r11];
    st.global.u32 [%rd2], %r12;"
    )
}

#[test]
fn a_missing_barrier_is_a_race() {
    races(TILE, &exchange(""), 1, 128, FindingKind::DataRace);
    is_clean(TILE, &exchange("bar.sync 0;"), 1, 128);
}

#[test]
fn a_barrier_for_half_of_the_threads_orders_only_these() {
    // The threads of two warps each exchange with the other two.
    let half = "
    shr.u32 %r20, %r2, 6;
    bar.sync %r20, 64;";
    races(TILE, &exchange(half), 1, 128, FindingKind::DataRace);
}

#[test]
fn arriving_orders_what_was_before() {
    // The first warp produces, the second one consumes.
    let produce = |arrive: &str| {
        format!(
            "{OWN}
    setp.lt.u32 %p1, %r2, 32;
    @!%p1 bra consume;
    st.shared.u32 [%r10], %r2;
    {arrive}
    bra done;
consume:
    bar.sync 1, 64;
    ld.shared.u32 %r12, [%r10+-128];
    st.global.u32 [%rd2], %r12;
done:"
        )
    };
    is_clean(TILE, &produce("bar.arrive 1, 64;"), 1, 64);
    let late = "bar.arrive 1, 64;\n st.shared.u32 [%r10], %r3;";
    races(TILE, &produce(late), 1, 64, FindingKind::DataRace);
}

#[test]
fn the_lockstep_of_a_warp_orders_nothing() {
    let neighbour = |between: &str| {
        format!(
            "{OWN}
    st.shared.u32 [%r10], %r2;
    {between}
    xor.b32 %r11, %r10, 4;
    ld.shared.u32 %r12, [%r11];
    st.global.u32 [%rd2], %r12;"
        )
    };
    races(TILE, &neighbour(""), 1, 32, FindingKind::DataRace);
    is_clean(TILE, &neighbour("bar.warp.sync 0xffffffff;"), 1, 32);
    // Votes and shuffles exchange registers and order no memory.
    let vote = "setp.eq.u32 %p2, %r2, 0; vote.sync.ballot.b32 %r30, %p2, 0xffffffff;";
    races(TILE, &neighbour(vote), 1, 32, FindingKind::DataRace);
    // Each pair of neighbours on its own.
    let pairs = "and.b32 %r30, %r2, 30; shl.b32 %r31, 3, %r30; bar.warp.sync %r31;";
    is_clean(TILE, &neighbour(pairs), 1, 32);
}

#[test]
fn a_tile_is_used_again_only_after_a_barrier() {
    let reuse = |last: &str| {
        format!(
            "{}
    {last}
    st.shared.u32 [%r10], 7;",
            exchange("bar.sync 0;")
        )
    };
    races(TILE, &reuse(""), 1, 128, FindingKind::DataRace);
    is_clean(TILE, &reuse("bar.sync 0;"), 1, 128);
}

/// Block 0 writes data and then a flag; block 1 waits for the flag and reads the data.
fn flag(release: &str, acquire: &str) -> String {
    format!(
        "
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra done;
    setp.ne.u32 %p2, %r3, 0;
    @%p2 bra wait;
    st.global.u32 [%rd1+16], 5;
    {release}
    bra done;
wait:
    {acquire}
    setp.eq.u32 %p3, %r12, 0;
    @%p3 bra wait;
    ld.global.u32 %r13, [%rd1+16];
done:"
    )
}

#[test]
fn flags_between_blocks_need_release_and_acquire() {
    let release = "st.release.gpu.global.u32 [%rd1], 1;";
    let acquire = "ld.acquire.gpu.global.u32 %r12, [%rd1];";
    is_clean("", &flag(release, acquire), 2, 32);
    let fenced = "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd1], 1;";
    let then_fence = "ld.relaxed.gpu.global.u32 %r12, [%rd1]; fence.acq_rel.gpu;";
    is_clean("", &flag(fenced, then_fence), 2, 32);
    is_clean("", &flag(fenced, acquire), 2, 32);
    let volatile = "membar.gl; st.volatile.global.u32 [%rd1], 1;";
    let volatile_read = "ld.volatile.global.u32 %r12, [%rd1]; membar.gl;";
    let found = findings("", &flag(volatile, volatile_read), 2, 32);
    assert!(found.iter().all(|finding| finding.kind == FindingKind::VolatileRace), "{found:#?}");
    let counted = "fence.acq_rel.gpu; atom.global.add.u32 %r14, [%rd1], 1;";
    is_clean("", &flag(counted, then_fence), 2, 32);

    let relaxed = "st.relaxed.gpu.global.u32 [%rd1], 1;";
    races("", &flag(relaxed, acquire), 2, 32, FindingKind::DataRace);
    let no_fence = "ld.relaxed.gpu.global.u32 %r12, [%rd1];";
    races("", &flag(release, no_fence), 2, 32, FindingKind::DataRace);
    let weak_flag = "fence.acq_rel.gpu; st.global.u32 [%rd1], 1;";
    races("", &flag(weak_flag, acquire), 2, 32, FindingKind::DataRace);
    let within_block = "fence.acq_rel.cta; st.relaxed.gpu.global.u32 [%rd1], 1;";
    races("", &flag(within_block, then_fence), 2, 32, FindingKind::DataRace);
}

#[test]
fn both_sides_of_a_handshake_need_a_scope_with_the_other_in_it() {
    let device = "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd1], 1;";
    let (block, far) = (device.replace("rel.gpu", "rel.cta"), device.replace("relaxed.gpu", "relaxed.cta"));
    let then = "ld.relaxed.gpu.global.u32 %r12, [%rd1]; fence.acq_rel.gpu;";
    let (then_block, then_near) = (then.replace("rel.gpu", "rel.cta"), then.replace("relaxed.gpu", "relaxed.cta"));
    let acquire = "ld.acquire.gpu.global.u32 %r12, [%rd1];";
    let acquire_block = acquire.replace(".gpu", ".cta");
    let release = "st.release.gpu.global.u32 [%rd1], 1;";
    let is_racy = |release: &str, acquire: &str| {
        races("", &flag(release, acquire), 2, 32, FindingKind::DataRace);
    };
    for release in [device, release] {
        for acquire in [&then_block, &then_near, &acquire_block] {
            is_racy(release, acquire);
        }
        for acquire in [then, acquire] {
            is_clean("", &flag(release, acquire), 2, 32);
        }
    }
    for release in [&block, &far, &release.replace(".gpu", ".cta")] {
        is_racy(release, acquire);
        is_racy(release, then);
    }
    // Two warps of one block.
    let near = |release: &str, acquire: &str| {
        let both = flag(release, acquire).replace("%r2, 0;", "%r20, 0;").replace("%r3, 0;", "%r21, 0;");
        let body = format!("and.b32 %r20, %r2, 31;\n shr.u32 %r21, %r2, 5;\n {both}");
        is_clean("", &body, 1, 64);
    };
    for release in [device, &block, &far, release] {
        for acquire in [then, &then_block, &then_near, acquire, &acquire_block] {
            near(release, acquire);
        }
    }
}

/// Block 0 releases, block 1 hands the flag on, block 2 waits for it and reads the data.
fn handed_on(by: &str, acquire: &str) -> String {
    let body = flag("st.release.gpu.global.u32 [%rd1], 1;", acquire).replace("%r12, 0;\n", "%r12, 2;\n");
    let body = body.replace("setp.eq.u32 %p3", "setp.ne.u32 %p3");
    let middle = format!(
        "setp.ne.u32 %p4, %r3, 1;
    @%p4 bra wait;
first:
    {by}
    setp.ne.u32 %p5, %r14, 1;
    @%p5 bra first;
    bra done;
wait:"
    );
    body.replacen("wait:", &middle, 1).replace("@%p2 bra wait;", "@%p2 bra others;").replacen(
        "setp.ne.u32 %p4",
        "others:\n setp.ne.u32 %p4",
        1,
    )
}

#[test]
fn a_read_modify_write_hands_a_release_on() {
    let acquire = "ld.acquire.gpu.global.u32 %r12, [%rd1];";
    let by = |scope: &str| format!("atom.relaxed.{scope}.global.cas.b32 %r14, [%rd1], 1, 2;");
    is_clean("", &handed_on(&by("gpu"), acquire), 3, 32);
    // The one in between does not belong to the sequence of its reader or writer.
    races("", &handed_on(&by("cta"), acquire), 3, 32, FindingKind::DataRace);
    races("", &handed_on(&by("gpu"), &acquire.replace("gpu", "cta")), 3, 32, FindingKind::DataRace);
}

#[test]
fn a_fence_before_the_exit_releases_to_later_barriers() {
    let exits = |before: &str, after: &str| {
        format!(
            "{OWN}
    {before}
    st.shared.u32 [%r10], %r2;
    {after}
    setp.lt.u32 %p1, %r2, 32;
    @%p1 exit;
    bar.sync 0;
    xor.b32 %r11, %r2, 32;
    mad.lo.u32 %r11, %r11, 4, %r9;
    ld.shared.u32 %r12, [%r11];
    st.global.u32 [%rd2], %r12;"
        )
    };
    for fence in ["fence.acq_rel.cta;", "fence.sc.gpu;", "membar.cta;", "membar.sys;"] {
        is_clean(TILE, &exits("", fence), 1, 64);
        // Accesses after the last fence are not released.
        races(TILE, &exits(fence, ""), 1, 64, FindingKind::DataRace);
    }
    races(TILE, &exits("", ""), 1, 64, FindingKind::DataRace);
    races(TILE, &exits("", "fence.acquire.cta;"), 1, 64, FindingKind::DataRace);
    // Nor do those learn of it that meet at no barrier.
    let early = exits("", "membar.cta;").replace("bar.sync 0;", "bar.warp.sync 0xffffffff;");
    races(TILE, &early, 1, 64, FindingKind::DataRace);
}

/// The findings of racecheck in a kernel whose first parameter is host memory.
fn findings_in_host_memory(body: &str, grid: u32) -> Vec<Finding> {
    let config = Config { checks: CheckSet::default().with(Check::Race), ..Config::default() };
    let bench = Bench::with(&kernel("", body), config);
    // Not at the start of a cell.
    let mut memory = vec![0_u32; 67];
    let address = memory[3..].as_mut_ptr() as u64;
    // SAFETY: the memory lives until the end of the function, and nothing else touches it.
    unsafe { bench.device.register(address, 256, None) };
    for _ in 0..2 {
        memory.fill(0);
        bench.run("k", grid, 32, &[address.into(), 0_u32.into()]).unwrap();
    }
    bench.device.unregister(address);
    bench.device.take_findings()
}

#[test]
fn registered_host_memory_is_like_any_other() {
    let (release, acquire) = ("st.release.sys.global.u32 [%rd1], 1;", "ld.acquire.sys.global.u32 %r12, [%rd1];");
    let found = findings_in_host_memory(&flag(release, acquire), 2);
    assert!(found.is_empty(), "{}", found[0]);
    let relaxed = release.replace("release", "relaxed");
    let found = findings_in_host_memory(&flag(&relaxed, acquire), 2);
    assert!(found.iter().all(|finding| finding.kind == FindingKind::DataRace) && !found.is_empty(), "{found:#?}");
    assert_eq!(findings_in_host_memory("st.global.u32 [%rd1], %r3;", 2)[0].kind, FindingKind::DataRace);
    assert!(findings_in_host_memory("st.global.u32 [%rd2], %r3;", 2).is_empty());
}

#[test]
fn the_barrier_of_a_grid_orders() {
    // What `cooperative_groups::this_grid().sync()` is compiled to: a counter in the workspace of the launch.
    let shift = |add: &str, load: &str| {
        format!(
            "
    ld.global.u32 %r20, [%rd2+4];
    mov.u32 %r21, %envreg2;
    mov.u32 %r22, %envreg1;
    mov.b64 %rd10, {{%r21, %r22}};
    barrier.sync 0;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra over;
    setp.eq.u32 %p2, %r3, 0;
    mov.u32 %r23, %nctaid.x;
    sub.u32 %r24, 0x80000001, %r23;
    selp.b32 %r25, %r24, 1, %p2;
    {add}.u32 %r26, [%rd10+4], %r25;
again:
    {load}.u32 %r27, [%rd10+4];
    xor.b32 %r28, %r27, %r26;
    setp.gt.s32 %p3, %r28, -1;
    @%p3 bra again;
over:
    barrier.sync 0;
    st.global.u32 [%rd2], %r20;"
        )
    };
    let found = |body: &str| {
        let config = Config { checks: CheckSet::default().with(Check::Race), ..Config::default() };
        let bench = Bench::with(&kernel("", body), config);
        let out = bench.zeros(4 * 129);
        let launch = Launch {
            grid: [4, 1, 1],
            block: [32, 1, 1],
            dynamic_shared: 0,
            parameters: &[],
            cooperative: true,
            cluster: None,
            device: 0,
        };
        bench.launch_as("k", launch, &[out.into(), 0_u32.into()]).unwrap();
        bench.device.take_findings()
    };
    let (add, load) = ("atom.add.release.gpu", "ld.acquire.gpu");
    let right = found(&shift(add, load));
    assert!(right.is_empty(), "{}", right[0]);
    for (add, load) in [("atom.add.relaxed.gpu", load), (add, "ld.relaxed.gpu")] {
        let found = found(&shift(add, load));
        assert!(!found.is_empty() && found.iter().all(|finding| finding.kind == FindingKind::DataRace));
    }
}

#[test]
fn atomic_operations_race_only_across_their_scopes() {
    is_clean("", "red.relaxed.gpu.global.add.u32 [%rd1], 1;", 4, 64);
    is_clean("", "red.relaxed.cta.global.add.u32 [%rd1], 1;", 1, 64);
    races("", "red.relaxed.cta.global.add.u32 [%rd1], 1;", 2, 64, FindingKind::ScopedRace);
    races("", "red.relaxed.gpu.global.add.u32 [%rd1], 1; ld.global.u32 %r12, [%rd1];", 1, 64, FindingKind::DataRace);
}

#[test]
fn the_last_block_may_read_what_all_have_written() {
    // Each block's first thread writes its part, counts itself, and the last one reads them all.
    let last = |fence: &str| {
        format!(
            "
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra done;
    shl.b32 %r11, %r3, 2;
    cvt.u64.u32 %rd10, %r11;
    add.s64 %rd10, %rd1, %rd10;
    st.global.u32 [%rd10+64], %r3;
    {fence}
    atom.global.add.u32 %r14, [%rd1], 1;
    mov.u32 %r15, %nctaid.x;
    sub.u32 %r15, %r15, 1;
    setp.ne.u32 %p2, %r14, %r15;
    @%p2 bra done;
    {fence}
    ld.global.u32 %r16, [%rd1+64];
    ld.global.u32 %r17, [%rd1+68];
    ld.global.u32 %r18, [%rd1+72];
done:"
        )
    };
    is_clean("", &last("membar.gl;"), 3, 32);
    races("", &last(""), 3, 32, FindingKind::DataRace);
}

#[test]
fn fences_of_a_whole_block_release_by_the_operation_of_one_thread() {
    // All threads write, fence and meet; the first one counts the block, and all of the last block read.
    let last = |before: &str, after: &str| {
        format!(
            "
    st.global.u32 [%rd2], %r4;
    {before}
    bar.sync 0;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra met;
    mov.u64 %rd10, counter;
    atom.global.add.u32 %r14, [%rd10], 1;
    mov.u32 %r15, %nctaid.x;
    sub.u32 %r15, %r15, 1;
    setp.eq.u32 %p2, %r14, %r15;
    selp.u32 %r16, 1, 0, %p2;
    st.shared.u32 [last], %r16;
met:
    bar.sync 0;
    ld.shared.u32 %r17, [last];
    setp.eq.u32 %p3, %r17, 0;
    @%p3 bra done;
    {after}
    sub.u32 %r18, 191, %r4;
    mul.wide.u32 %rd11, %r18, 4;
    add.s64 %rd11, %rd1, %rd11;
    ld.global.u32 %r19, [%rd11];
done:"
        )
    };
    let declarations = ".global .align 4 .u32 counter; .shared .align 4 .u32 last;";
    for fence in ["membar.gl;", "membar.sys;", "fence.sc.gpu;"] {
        is_clean(declarations, &last(fence, fence), 3, 64);
    }
    // Without the other one, of block scope, or of no order among fences.
    for (before, after) in [
        ("membar.gl;", ""),
        ("", "membar.gl;"),
        ("membar.cta;", "membar.gl;"),
        ("membar.gl;", "membar.cta;"),
        ("fence.acq_rel.gpu;", "fence.acq_rel.gpu;"),
    ] {
        races(declarations, &last(before, after), 3, 64, FindingKind::DataRace);
    }
    // Fences order nothing by themselves.
    let unseen = "
    setp.ne.u32 %p1, %r3, 0;
    @%p1 bra read;
    st.global.u32 [%rd1], 1;
    membar.gl;
    bra done;
read:
    membar.gl;
    ld.global.u32 %r10, [%rd1];
done:";
    races("", unseen, 2, 32, FindingKind::DataRace);
}

#[test]
fn bytes_of_one_word_are_separate() {
    let bytes = "
    cvt.u64.u32 %rd10, %r4;
    add.s64 %rd10, %rd1, %rd10;
    st.global.u8 [%rd10], 1;";
    is_clean("", bytes, 2, 64);
}

#[test]
fn both_sides_are_named() {
    let found = findings(TILE, &exchange(""), 1, 128);
    let finding = &found[0];
    let [side, other] = finding.sides.as_slice() else {
        panic!("a race has two sides: {finding}");
    };
    assert!(side.ptx_line != 0 && other.ptx_line != 0);
    assert_ne!(side.ptx_line, other.ptx_line, "{finding}");
    assert_ne!(side.thread, other.thread);
    let text = finding.to_string();
    assert!(text.starts_with("error: data race in kernel `k`"), "{text}");
    assert!(text.contains("read of 4 bytes of shared memory by thread"), "{text}");
    assert!(text.contains("write of 4 bytes of shared memory by thread"), "{text}");
}

/// The only finding of a kernel.
#[track_caller]
fn only(declarations: &str, body: &str, block: u32) -> Finding {
    let mut found = findings(declarations, body, 1, block);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

#[test]
fn the_same_value_twice_is_information() {
    let kind_of = |body: &str| {
        let finding = only("", body, 64);
        (finding.kind, finding.severity)
    };
    let same = (FindingKind::SameValueRace, Severity::Info);
    // One instruction, of lanes of one warp and of two.
    assert_eq!(kind_of("st.global.u32 [%rd1], 7;"), same);
    assert_eq!(kind_of("st.global.v2.u32 [%rd1], {%r3, %r3};"), same);
    // The address is computed once for a group of lanes, in a register that held another number of each lane before.
    let address =
        "cvt.u64.u32 %rd10, %r2; xor.b64 %rd10, %rd10, 5; cvt.u32.u64 %r10, %rd10; st.global.u32 [%rd2], %r10;
        mov.u64 %rd10, tile; st.shared.u32 [%rd10], 7;";
    let finding = only(TILE, address, 64);
    assert_eq!((finding.kind, finding.severity), same);
    let other = only(TILE, &address.replace(", 7", ", %r2"), 64);
    assert_eq!(other.kind, FindingKind::DataRace);
    // One instruction per warp.
    let leader = "and.b32 %r10, %r2, 31;\n setp.eq.u32 %p1, %r10, 0;\n @%p1 st.global.u32 [%rd1], 7;";
    assert_eq!(kind_of(leader), same);
    assert_eq!(kind_of(&leader.replace(", 7", ", %r2")), (FindingKind::DataRace, Severity::Error));
    is_clean("", &leader.replace("%r2, 31", "%r2, 63"), 1, 64);
}

#[test]
fn the_same_value_again_in_a_loop_is_information() {
    // In each turn a lane writes another of 32 bytes; all lanes write the same to each.
    let turns = |value: &str| {
        format!(
            "
    mov.u32 %r10, 0;
again:
    add.u32 %r11, %r10, %r2;
    and.b32 %r11, %r11, 31;
    cvt.u64.u32 %rd10, %r11;
    add.s64 %rd10, %rd1, %rd10;
    {value}
    st.global.u8 [%rd10], %r12;
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p1, %r10, 8;
    @%p1 bra again;"
        )
    };
    let finding = only("", &turns("mul.lo.u32 %r12, %r11, 3;"), 32);
    assert_eq!((finding.kind, finding.severity), (FindingKind::SameValueRace, Severity::Info));
    // By lane, or by turn, it is another one each time.
    for value in ["mov.u32 %r12, %r2;", "add.u32 %r12, %r10, 1;"] {
        assert_eq!(only("", &turns(value), 32).kind, FindingKind::DataRace);
    }
    is_clean("", &turns("mov.u32 %r12, 3; cvt.u64.u32 %rd10, %r2; add.s64 %rd10, %rd1, %rd10;"), 1, 32);
}

#[test]
fn unordered_volatile_accesses_are_information() {
    let neighbour = |store: &str, between: &str, load: &str| {
        format!(
            "{OWN}\n {store}.shared.u32 [%r10], %r2;\n {between}\n xor.b32 %r11, %r10, 4;\n {load}.shared.u32 %r12, [%r11];"
        )
    };
    let volatile = ["st.volatile", "ld.volatile"];
    let finding = only(TILE, &neighbour(volatile[0], "", volatile[1]), 32);
    assert_eq!((finding.kind, finding.severity), (FindingKind::VolatileRace, Severity::Info));
    let barrier = "bar.warp.sync 0xffffffff;";
    is_clean(TILE, &neighbour(volatile[0], barrier, volatile[1]), 1, 32);
    is_clean(TILE, &neighbour("st.relaxed.cta", "", "ld.relaxed.cta"), 1, 32);
    is_clean(TILE, &neighbour("st.relaxed.cta", "", volatile[1]), 1, 32);
    is_clean(TILE, "ld.volatile.global.u32 %r12, [%rd1];", 2, 32);
    // With a plain one it is a race.
    assert_eq!(only(TILE, &neighbour(volatile[0], "", "ld"), 32).kind, FindingKind::DataRace);
    assert_eq!(only(TILE, &neighbour("st", "", volatile[1]), 32).kind, FindingKind::DataRace);
}

#[test]
fn one_instruction_races_with_itself() {
    let finding = only("", "st.global.u32 [%rd1], %r2;", 32);
    assert_eq!((finding.kind, finding.severity), (FindingKind::DataRace, Severity::Warning));
    assert_eq!(finding.sides[0].ptx_line, finding.sides[1].ptx_line);
    is_clean("", "st.global.u32 [%rd2], %r2;", 1, 32);
}

#[test]
fn races_within_a_warp_are_warnings() {
    let neighbour = |distance: u32| {
        format!(
            "{OWN}\n st.shared.u32 [%r10], %r2;\n xor.b32 %r11, %r10, {distance};\n ld.shared.u32 %r12, [%r11];\n st.global.u32 [%rd2], %r12;"
        )
    };
    assert_eq!(only(TILE, &neighbour(4), 64).severity, Severity::Warning);
    assert_eq!(only(TILE, &neighbour(128), 64).severity, Severity::Error);
}

#[test]
fn copies_are_waited_for() {
    let copy = |before: &str, then: &str| {
        format!(
            "{OWN}
    cp.async.ca.shared.global [%r10], [%rd2], 4;
    {before}
    {then}"
        )
    };
    let read = "ld.shared.u32 %r12, [%r10];";
    let wait = "cp.async.wait_all;";
    for before in ["", "cp.async.commit_group;", "bar.sync 0;", "cp.async.commit_group; cp.async.wait_group 1;"] {
        let finding = only(TILE, &copy(before, read), 64);
        assert_eq!(finding.kind, FindingKind::PendingCopy, "{finding}");
        assert!(finding.sides[1].ptx_line < finding.sides[0].ptx_line, "{finding}");
    }
    is_clean(TILE, &copy(wait, read), 1, 64);
    is_clean(TILE, &copy("cp.async.commit_group; cp.async.wait_group 0;", read), 1, 64);
    // Others come after a barrier, but the copying thread has not waited before it.
    let other = "xor.b32 %r11, %r10, 128;\n ld.shared.u32 %r12, [%r11];";
    assert_eq!(only(TILE, &copy("bar.sync 0;", other), 64).kind, FindingKind::PendingCopy);
    is_clean(TILE, &copy(&format!("{wait} bar.sync 0;"), other), 1, 64);
    races(TILE, &copy(wait, other), 1, 64, FindingKind::DataRace);
    // A write to the source.
    races(TILE, &copy("", "st.global.u32 [%rd2], %r2;"), 1, 64, FindingKind::PendingCopy);
    is_clean(TILE, &copy(wait, "st.global.u32 [%rd2], %r2;"), 1, 64);
    // Two halves of a buffer take turns.
    let double = "
    cp.async.commit_group;
    cp.async.ca.shared.global [%r10+256], [%rd2], 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.u32 %r12, [%r10];";
    is_clean(TILE, &copy("", double), 1, 64);
    let early = format!("{double}\n ld.shared.u32 %r13, [%r10+256];");
    assert_eq!(only(TILE, &copy("", &early), 64).kind, FindingKind::PendingCopy);
}

#[test]
fn read_only_loads_read_what_no_thread_writes() {
    let body = |load: &str| format!("st.global.u32 [%rd2], %r2;\n bar.sync 0;\n {load} %r10, [%rd2];");
    let finding = only("", &body("ld.global.nc.u32"), 64);
    assert_eq!(finding.kind, FindingKind::StaleLoad, "{finding}");
    is_clean("", &body("ld.global.u32"), 1, 64);
    // A thread overwrites memory that it has read before.
    let later = |load: &str, place: &str| {
        format!(
            "add.u32 %r10, %r2, 1; and.b32 %r10, %r10, 63; mul.wide.u32 %rd10, %r10, 4; add.u64 %rd10, %rd10, %rd1;
            {load}
            bar.sync 0;
            st.global.u32 [{place}], %r11;"
        )
    };
    let own = "ld.global.nc.u32 %r11, [%rd2];";
    for (load, place, severity) in [
        (own, "%rd2", Severity::Info),
        (own, "%rd10", Severity::Error),
        ("ld.global.nc.u32 %r11, [%rd1];", "%rd2", Severity::Error),
        // The thread reads the memory again.
        (&format!("{own} st.global.u32 [%rd2], %r2; {own}"), "%rd2", Severity::Error),
    ] {
        let found = findings("", &later(load, place), 1, 64);
        let worst = found.iter().map(|finding| finding.severity).max();
        assert_eq!(worst, Some(severity), "{load} {place}: {found:#?}");
        assert!(found.iter().all(|finding| finding.kind == FindingKind::StaleLoad), "{found:#?}");
    }
    is_clean("", &later("ld.global.u32 %r11, [%rd2];", "%rd2"), 1, 64);
    // Memory that the previous launch has written.
    let config = Config { memory_bytes: 64 << 20, checks: CheckSet::default().with(Check::Race), ..Config::default() };
    let read = "ld.global.nc.u32 %r10, [%rd2];\n setp.ne.u32 %p1, %r1, 0;\n @%p1 st.global.u32 [%rd2+256], %r10;";
    let bench = Bench::with(&kernel("", read), config);
    let out = bench.zeros(512);
    for _ in 0..2 {
        bench.run("k", 1, 64, &[out.into(), 1_u32.into()]).unwrap();
    }
    assert!(bench.device.take_findings().is_empty());
}

/// How often accesses at two places of the source race, by finding of a kind.
fn at_places(access: &str, kind: FindingKind, places: [&str; 2]) -> Vec<u64> {
    let [first, second] = places;
    let body = format!(".loc {first}\n {access}\n .loc {second}\n {access}\n .loc 1 1 1\n mov.u32 %r10, 0;");
    let declarations =
        ".file 1 \"src/kernel.rs\"\n .file 2 \"src/library.rs\"\n .section .debug_str\n {\nname:\n .b8 97,0\n }";
    let found = findings(declarations, &body, 1, 64);
    let found = found.iter().filter(|finding| finding.kind == kind);
    found.map(|finding| finding.count).collect()
}

#[test]
fn findings_at_one_place_are_one() {
    let inlined = |line: u32| format!("2 7 9, function_name name, inlined_at 1 {line} 3");
    let volatile =
        ("ld.volatile.global.u32 %r10, [%rd1]; st.volatile.global.u32 [%rd1], %r10;", FindingKind::VolatileRace);
    let plain = ("st.global.u32 [%rd1], %r2;", FindingKind::DataRace);
    // Unrolled loops produce several instructions for one source line.
    for (access, kind) in [volatile, plain] {
        let apart = at_places(access, kind, ["1 5 1", "1 6 1"]);
        let together = at_places(access, kind, ["1 5 1", "1 5 1"]);
        assert!(apart.len() > 1, "{access}: {apart:?}");
        assert_eq!(together, [apart.iter().sum::<u64>()], "{access}");
        // A function that is inlined twice, into one line.
        let twice = at_places(access, kind, [&inlined(20), &inlined(20)]);
        assert_eq!(twice, together, "{access}");
    }
    // A function that is inlined into two lines: one piece of information, and mistakes of each of its callers.
    let callers = |(access, kind)| at_places(access, kind, [&inlined(20), &inlined(30)]).len();
    assert_eq!(callers(volatile), 1);
    assert!(callers(plain) > 1);
}
