//! Tensor stores and bulk stores under checks: their reads of shared memory, and stores to one place.

use crate::common::{Bench, u32s};
use crate::tensor::{kernel, launch, map};
use rumba_vm::tensor_map::{TensorElement, TensorMap};
use rumba_vm::{Check, CheckSet, Config, Finding, FindingKind, Severity};

const STORE: &str = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {0, 0}],";
const REDUCE: &str = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd1, {0, 0}],";
const WAIT: &str = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";

/// Runs a kernel with a tensor map of a buffer of 128 words, which is the other parameter as well: what the checks find, and
/// the buffer.
fn run(ptx: &str, check: Check, of: impl Fn(u64) -> TensorMap, cluster: Option<[u32; 3]>) -> (Vec<Finding>, Vec<u32>) {
    let config = Config { memory_bytes: 64 << 20, checks: CheckSet::default().with(check), ..Config::default() };
    let bench = Bench::with(ptx, config);
    let data = bench.zeros(512);
    if let Err(error) = launch(&bench, &of(data), data, cluster) {
        panic!("{error}");
    }
    let findings = bench.device.take_findings();
    (findings, u32s(&bench.download(data, 512)))
}

/// A map of a matrix of `columns` columns, each row of which is stored from a longer row of shared memory.
fn padded(columns: u64, rows: u64, extent: u32, swizzle: u32) -> impl Fn(u64) -> TensorMap {
    move |data| TensorMap { swizzle, ..map(data, TensorElement::U32, &[columns, rows], &[extent, rows as u32]) }
}

/// Each thread writes one element of the matrix to its place in `%r12`.
fn places(columns: u32, pitch: u32) -> String {
    format!(
        "div.u32 %r10, %r1, {columns}; rem.u32 %r11, %r1, {columns};
        mad.lo.u32 %r12, %r10, {pitch}, 0; mad.lo.u32 %r12, %r11, 4, %r12;"
    )
}

#[test]
fn a_store_reads_what_lies_in_the_tensor() {
    let swizzled = "and.b32 %r13, %r12, 128; shr.u32 %r13, %r13, 3; xor.b32 %r12, %r12, %r13;";
    let layouts = [
        (8, 48, padded(8, 4, 12, 0), ""),
        (8, 32, padded(8, 4, 8, 0), ""),
        (4, 32, padded(4, 8, 8, 1), swizzled),
        (4, 32, padded(4, 8, 4, 1), swizzled),
    ];
    for (columns, pitch, of, swizzle) in layouts {
        for operation in [STORE, REDUCE] {
            let ptx = |guard: &str| {
                let body = format!(
                    "{} {swizzle} add.u32 %r12, %r12, %r2;
                    and.b32 %r13, %r1, 30; setp.ne.u32 %p3, %r13, 4;
                    {guard} st.shared.u32 [%r12], %r1; fence.proxy.async.shared::cta; bar.sync 0;
                    @%p1 {operation} [%r2]; {WAIT}",
                    places(columns, pitch)
                );
                // Without what fills the memory first.
                kernel(&body).replace("st.shared.u32 [%r5], %r6;", "")
            };
            let (found, stored) = run(&ptx(""), Check::Init, &of, None);
            assert!(found.is_empty(), "{columns} of {pitch}: {}", found[0]);
            assert!((0..32).eq(stored[..32].iter().copied()), "{columns} of {pitch}: {stored:?}");
            let (found, _) = run(&ptx("@%p3"), Check::Init, &of, None);
            let kinds: Vec<_> = found.iter().map(|finding| finding.kind).collect();
            assert_eq!(kinds, [FindingKind::UnwrittenRead], "{columns} of {pitch}");
        }
    }
}

#[test]
fn what_lies_beyond_the_tensor_may_be_written_meanwhile() {
    let write = |column: u32| {
        let body = format!(
            "{} add.u32 %r12, %r12, %r2; st.shared.u32 [%r12], %r1; fence.proxy.async.shared::cta; bar.sync 0;
            @%p1 {STORE} [%r2];
            setp.lt.u32 %p3, %r1, 4; mad.lo.u32 %r14, %r1, 48, %r2; @%p3 st.shared.u32 [%r14+{}], 7;
            {WAIT}",
            places(8, 48),
            4 * column
        );
        run(&kernel(&body), Check::Race, padded(8, 4, 12, 0), None).0
    };
    assert!(write(8).is_empty() && write(11).is_empty(), "{:#?}", write(8));
    let found = write(7);
    assert!(found.iter().all(|finding| finding.kind == FindingKind::PendingCopy) && !found.is_empty(), "{found:#?}");
}

/// The worst of what is found in stores by the first two threads from tiles 1 KiB apart, all bytes of which are alike. Of each
/// 32 bytes it is told by itself whether both stores write the same there.
fn stores(before: &str, store: &str, cluster: Option<[u32; 3]>) -> Option<(Severity, FindingKind)> {
    let body = format!(
        "shl.b32 %r14, %r1, 10; add.u32 %r14, %r14, %r2; {before} fence.proxy.async.shared::cta; bar.sync 0;
        setp.lt.u32 %p3, %r1, 2; {store}"
    );
    let of = |data| map(data, TensorElement::U32, &[16, 8], &[8, 4]);
    let found = run(&kernel(&body), Check::Race, of, cluster).0;
    found.iter().map(|finding| (finding.severity, finding.kind)).max()
}

#[test]
fn stores_of_equal_bytes_are_as_other_writes_of_the_same_value() {
    let same = Some((Severity::Info, FindingKind::SameValueRace));
    let race = Some((Severity::Warning, FindingKind::DataRace));
    let tensor = format!("{STORE} [%r14];");
    let bulk = "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r14], 128;";
    // The second tile is another one.
    let other = "@%p1 st.shared.u32 [%r14+1028], 5;";
    for store in [tensor.as_str(), bulk] {
        let both = format!("@%p3 {store} {WAIT}");
        assert_eq!(stores("", &both, None), same, "{store}");
        assert_eq!(stores(other, &both, None), race, "{store}");
        // The first has arrived, and the second thread does not know of it.
        let later = format!("@%p1 {store} {WAIT} setp.eq.u32 %p2, %r1, 1; @%p2 {store} {WAIT}");
        assert_eq!(stores("", &later, None), same, "{store}");
        assert_eq!(stores(other, &later, None), race, "{store}");
        let ordered = format!("@%p1 {store} {WAIT} bar.sync 0; setp.eq.u32 %p2, %r1, 1; @%p2 {store} {WAIT}");
        assert_eq!(stores(other, &ordered, None), None, "{store}");
        // One thread that does not wait in between, with something else in the same tile or not.
        let again = |change: &str| format!("@%p1 {store} {change} @%p1 {store} {WAIT}");
        assert_eq!(stores("", &again(""), None), same, "{store}");
        assert_eq!(stores(other, &again("@%p1 add.u32 %r14, %r14, 1024;"), None), race, "{store}");
        assert_eq!(stores(other, &again(WAIT), None), None, "{store}");
        // Blocks that store the same, or not.
        let one = format!("@%p1 {store} {WAIT}");
        assert_eq!(stores("", &one, Some([2, 1, 1])), same, "{store}");
        let by_block = "mov.u32 %r15, %ctaid.x; @%p1 st.shared.u32 [%r14+4], %r15;";
        let error = Some((Severity::Error, FindingKind::DataRace));
        assert_eq!(stores(by_block, &one, Some([2, 1, 1])), error, "{store}");
    }
}
