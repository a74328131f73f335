//! Reads that the race detector keeps as patterns, and a later write to one of the words that were read, or beside them. Native
//! code adds to the patterns by itself: the findings are those of the interpreter.

use rumba_vm::{Check, CheckSet, Config, Engine, FindingKind};

use crate::common::compiler::native;
use crate::common::{Bench, kernel};

/// Times that a loop reads.
const TIMES: u32 = 40;

/// Reads of the first block.
struct Reads {
    name: &'static str,
    /// Computes the address in `%rd10`, given the number of the turn in `%r20`.
    address: &'static str,
    /// Says in `%p5` whether the thread reads.
    who: &'static str,
    times: u32,
    threads: u32,
    /// Whether the block reads a word.
    is_read: fn(u32) -> bool,
    /// Whether no two threads read the same word.
    is_by_one: bool,
}

/// All threads read.
const ALL: &str = "setp.ge.u32 %p5, %r2, 0;";

const READS: [Reads; 10] = [
    Reads {
        name: "a row of threads, one row after the other",
        address: "mad.lo.u32 %r21, %r20, 64, %r2; mul.wide.u32 %rd10, %r21, 4;",
        who: ALL,
        times: TIMES,
        threads: 64,
        is_read: |word| word < 64 * TIMES,
        is_by_one: true,
    },
    Reads {
        name: "rows from the last to the first",
        address: "sub.u32 %r22, 100, %r20; mad.lo.u32 %r21, %r22, 64, %r2; mul.wide.u32 %rd10, %r21, 4;",
        who: ALL,
        times: TIMES,
        threads: 64,
        is_read: |word| (61 * 64..101 * 64).contains(&word),
        is_by_one: true,
    },
    Reads {
        name: "one word for all threads",
        address: "mul.wide.u32 %rd10, %r20, 4;",
        who: ALL,
        times: TIMES,
        threads: 64,
        is_read: |word| word < TIMES,
        is_by_one: false,
    },
    Reads {
        name: "a row of words for each thread",
        address: "mad.lo.u32 %r21, %r2, 64, %r20; mul.wide.u32 %rd10, %r21, 4;",
        who: ALL,
        times: TIMES,
        threads: 64,
        is_read: |word| word < 64 * 64 && word % 64 < TIMES,
        is_by_one: true,
    },
    Reads {
        name: "warp after warp",
        address: "mul.wide.u32 %rd10, %r2, 4;",
        who: ALL,
        times: 1,
        threads: 1024,
        is_read: |word| word < 1024,
        is_by_one: true,
    },
    Reads {
        name: "an address with turns",
        address: "and.b32 %r21, %r20, 5; mad.lo.u32 %r21, %r21, 64, %r2; mul.wide.u32 %rd10, %r21, 4;",
        who: ALL,
        times: TIMES,
        threads: 64,
        is_read: |word| [0, 1, 4, 5].contains(&(word / 64)),
        is_by_one: true,
    },
    Reads {
        name: "a row of the first threads",
        address: "mad.lo.u32 %r21, %r20, 64, %r2; mul.wide.u32 %rd10, %r21, 4;",
        who: "setp.lt.u32 %p5, %r2, 45;",
        times: TIMES,
        threads: 64,
        is_read: |word| word < 64 * TIMES && word % 64 < 45,
        is_by_one: true,
    },
    Reads {
        name: "parts of rows, without some groups of eight lanes",
        address: "mad.lo.u32 %r21, %r20, 64, %r2; mul.wide.u32 %rd10, %r21, 4;",
        who: "and.b32 %r23, %r2, 12; setp.eq.u32 %p5, %r23, 4; and.b32 %r23, %r2, 32; setp.ne.or.u32 %p5, %r23, 0, %p5;",
        times: TIMES,
        threads: 64,
        is_read: |word| word < 64 * TIMES && (word & 12 == 4 || word & 32 != 0),
        is_by_one: true,
    },
    Reads {
        name: "a pair of words of every other thread",
        address: "mad.lo.u32 %r21, %r20, 128, %r2; add.u32 %r21, %r21, %r2; mul.wide.u32 %rd10, %r21, 4;",
        who: "and.b32 %r23, %r2, 1; setp.eq.u32 %p5, %r23, 1;",
        times: TIMES,
        threads: 64,
        is_read: |word| word < 128 * TIMES && word % 4 == 2,
        is_by_one: true,
    },
    Reads {
        name: "words here and there",
        address: "mad.lo.u32 %r21, %r2, 37, %r20; and.b32 %r21, %r21, 1023; mul.wide.u32 %rd10, %r21, 4;",
        who: "setp.ne.u32 %p5, %r2, 5;",
        times: TIMES,
        threads: 64,
        is_read: |word| {
            (0..64).any(|thread| thread != 5 && word < 1024 && word.wrapping_sub(37 * thread) % 1024 < TIMES)
        },
        is_by_one: false,
    },
];

/// The words that are written.
const WORDS: [u32; 20] =
    [0, 1, 4, 8, 31, 36, 37, 39, 40, 44, 63, 64, 257, 1000, 1023, 1024, 2559, 2560, 61 * 64 - 1, 61 * 64 + 5];

impl Reads {
    /// The findings if the second block writes a word; with `turned`, if the first block writes and the second one reads.
    fn findings(&self, engine: Engine, checks: CheckSet, word: u32, turned: bool) -> Vec<String> {
        let Self { address, who, times, .. } = self;
        let (load, store) = ("ld.global.u32 %r31, ", "st.global.u32 ");
        let (first, first_end, second, second_end) =
            if turned { (store, ", %r20", load, "") } else { (load, "", store, ", 1") };
        let body = format!(
            "
    setp.ne.u32 %p1, %r3, 0;
    @%p1 bra write;
    mov.u32 %r20, 0;
    mov.u32 %r30, 0;
again:
    {address}
    add.s64 %rd11, %rd1, %rd10;
    {who}
    mov.u32 %r31, 0;
    @%p5 {first}[%rd11]{first_end};
    add.u32 %r30, %r30, %r31;
    add.u32 %r20, %r20, 1;
    setp.lt.u32 %p2, %r20, {times};
    @%p2 bra again;
    setp.eq.u32 %p3, %r30, 12345;
    @%p3 trap;
    bra done;
write:
    setp.ne.u32 %p4, %r2, 0;
    @%p4 bra done;
    mul.wide.u32 %rd12, %r1, 4;
    add.s64 %rd12, %rd1, %rd12;
    {second}[%rd12]{second_end};
done:"
        );
        let config = Config { memory_bytes: 64 << 20, checks, engine, ..Config::default() };
        let bench = Bench::with(&kernel("", &body), config);
        let out = bench.zeros(32 << 10);
        bench.run("k", 2, self.threads, &[out.into(), word.into()]).unwrap_or_else(|error| panic!("{error}"));
        let found = bench.device.take_findings();
        let races = found.iter().filter(|finding| finding.kind == FindingKind::DataRace).count();
        assert_eq!(races, usize::from((self.is_read)(word)), "{}, word {word}: {found:#?}", self.name);
        found.iter().map(ToString::to_string).collect()
    }
}

#[test]
fn a_write_races_with_the_reads_of_its_word_alone() {
    of_each_word(false);
}

#[test]
fn a_read_races_with_the_writes_of_its_word_alone() {
    of_each_word(true);
}

fn of_each_word(turned: bool) {
    let race = CheckSet::default().with(Check::Race);
    for checks in [race, race.with(Check::Init)] {
        for reads in READS.iter().filter(|reads| !turned || reads.is_by_one) {
            for word in WORDS {
                let of_interpreter = reads.findings(Engine::interpreter(), checks, word, turned);
                if let Some(native) = native() {
                    let found = reads.findings(native, checks, word, turned);
                    assert_eq!(found, of_interpreter, "{}, word {word}", reads.name);
                }
            }
        }
    }
}

#[test]
fn what_threads_that_do_not_read_would_read_may_be_unwritten() {
    let checks = CheckSet::default().with(Check::Race).with(Check::Init);
    let engines = [Some(Engine::interpreter()), native()].into_iter().flatten();
    let who =
        "and.b32 %r23, %r2, 12; setp.eq.u32 %p5, %r23, 4; and.b32 %r23, %r2, 32; setp.ne.or.u32 %p5, %r23, 0, %p5;";
    let is_read = |word: u64| word & 12 == 4 || word & 32 != 0;
    let body = format!(
        "{who} mov.u32 %r30, 0; mul.wide.u32 %rd10, %r2, 4; add.s64 %rd10, %rd1, %rd10; @%p5 ld.global.u32 %r30, [%rd10];"
    );
    for engine in engines {
        // Without a missing word, without the first word that is read, and without the last word.
        for missing in [None, Some(4), Some(63)] {
            let config = Config { memory_bytes: 64 << 20, checks, engine: engine.clone(), ..Config::default() };
            let bench = Bench::with(&kernel("", &format!("{body} setp.eq.u32 %p6, %r30, 77; @%p6 trap;")), config);
            let out = bench.device.allocate(256).expect("there is memory");
            for word in (0..64).filter(|word| is_read(*word) && missing != Some(*word)) {
                bench.write(out + 4 * word, &[1; 4]).expect("it is inside");
            }
            bench.run("k", 1, 64, &[out.into(), 0_u32.into()]).unwrap_or_else(|error| panic!("{error}"));
            let found = bench.device.take_findings();
            let kinds: Vec<FindingKind> = found.iter().map(|finding| finding.kind).collect();
            assert_eq!(kinds, missing.map_or(vec![], |_| vec![FindingKind::UnwrittenRead]), "{missing:?}: {found:#?}");
        }
    }
}

/// Turns of the loop before the threads release what they have done.
const RELEASED: u32 = 10;

#[test]
fn reads_behind_a_release_race_with_a_write_behind_the_acquire() {
    let flags = 24 << 10;
    let body = format!(
        "
    add.s64 %rd20, %rd1, {flags};
    setp.ne.u32 %p1, %r3, 0;
    @%p1 bra write;
    mul.wide.u32 %rd21, %r2, 4;
    add.s64 %rd21, %rd20, %rd21;
    mov.u32 %r20, 0;
    mov.u32 %r30, 0;
again:
    mad.lo.u32 %r21, %r20, 64, %r2;
    mul.wide.u32 %rd10, %r21, 4;
    add.s64 %rd11, %rd1, %rd10;
    ld.global.u32 %r31, [%rd11];
    add.u32 %r30, %r30, %r31;
    add.u32 %r20, %r20, 1;
    setp.ne.u32 %p5, %r20, {RELEASED};
    @%p5 bra on;
    st.release.gpu.global.u32 [%rd21], 1;
on:
    setp.lt.u32 %p2, %r20, {TIMES};
    @%p2 bra again;
    setp.eq.u32 %p3, %r30, 12345;
    @%p3 trap;
    bra done;
write:
    setp.ne.u32 %p4, %r2, 0;
    @%p4 bra done;
    and.b32 %r22, %r1, 63;
    mul.wide.u32 %rd22, %r22, 4;
    add.s64 %rd22, %rd20, %rd22;
    ld.acquire.gpu.global.u32 %r23, [%rd22];
    mul.wide.u32 %rd12, %r1, 4;
    add.s64 %rd12, %rd1, %rd12;
    st.global.u32 [%rd12], 1;
done:"
    );
    for engine in std::iter::once(Engine::interpreter()).chain(native()) {
        for row in [0, RELEASED - 1, RELEASED, RELEASED + 1, TIMES - 1, TIMES] {
            let checks = CheckSet::default().with(Check::Race);
            let config = Config { memory_bytes: 64 << 20, checks, engine: engine.clone(), ..Config::default() };
            let bench = Bench::with(&kernel("", &body), config);
            let out = bench.zeros(32 << 10);
            bench.run("k", 2, 64, &[out.into(), (row * 64 + 5).into()]).unwrap_or_else(|error| panic!("{error}"));
            let found = bench.device.take_findings();
            let is_race = (RELEASED..TIMES).contains(&row);
            assert_eq!(found.len(), usize::from(is_race), "row {row}: {found:#?}");
        }
    }
}
