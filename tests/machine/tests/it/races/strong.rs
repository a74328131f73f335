//! Atomic operations that the race detector logs, and an ordinary access to one of their words or beside them. The findings of native
//! code are those of the interpreter.

use rumba_vm::{Check, CheckSet, Config, Engine, FindingKind};

use crate::common::compiler::native;
use crate::common::{Bench, kernel};

const COUNTS: &str = ".shared .align 4 .b8 counts[512];";

/// Where threads count.
struct Counts {
    name: &'static str,
    /// Adds 1 to the word at the offset `%r21`.
    count: &'static str,
    blocks: u32,
    /// Comes before the ordinary access.
    between: &'static str,
    /// Accesses the word at the offset `%r23`.
    access: &'static str,
    races: bool,
}

const SHARED: Counts = Counts {
    name: "a load from shared memory",
    count: "add.u32 %r21, %r21, %r9; red.shared.add.u32 [%r21], 1;",
    blocks: 1,
    between: "",
    access: "add.u32 %r23, %r23, %r9; ld.shared.u32 %r24, [%r23];",
    races: true,
};

const GLOBAL: Counts = Counts {
    name: "a load from global memory",
    count: "cvt.u64.u32 %rd10, %r21; add.s64 %rd10, %rd1, %rd10; red.global.add.u32 [%rd10], 1;",
    blocks: 2,
    between: "",
    access: "cvt.u64.u32 %rd11, %r23; add.s64 %rd11, %rd1, %rd11; ld.global.u32 %r24, [%rd11];",
    races: true,
};

const CASES: [Counts; 6] = [
    SHARED,
    Counts { name: "a store to shared memory", access: "add.u32 %r23, %r23, %r9; st.shared.u32 [%r23], 5;", ..SHARED },
    Counts { name: "a load behind a barrier", between: "bar.sync 0;", races: false, ..SHARED },
    Counts {
        name: "a strong load",
        access: "add.u32 %r23, %r23, %r9; ld.relaxed.gpu.shared.u32 %r24, [%r23];",
        races: false,
        ..SHARED
    },
    GLOBAL,
    Counts {
        name: "a store to global memory behind a barrier",
        between: "bar.sync 0;",
        access: "cvt.u64.u32 %rd11, %r23; add.s64 %rd11, %rd1, %rd11; st.global.u32 [%rd11], 5;",
        ..GLOBAL
    },
];

impl Counts {
    /// The findings if the last thread accesses a word. All threads count in the even words of the first 64.
    fn findings(&self, engine: Engine, checks: CheckSet, word: u32) -> Vec<String> {
        let Self { count, blocks, between, access, .. } = self;
        let body = format!(
            "
    mov.u32 %r9, counts;
    mov.u32 %r20, 0;
again:
    mad.lo.u32 %r21, %r2, 7, %r20;
    and.b32 %r21, %r21, 31;
    shl.b32 %r21, %r21, 3;
    {count}
    add.u32 %r20, %r20, 1;
    setp.lt.u32 %p2, %r20, 20;
    @%p2 bra again;
    {between}
    mad.lo.u32 %r22, %r3, 64, %r2;
    setp.ne.u32 %p3, %r22, {};
    @%p3 bra done;
    shl.b32 %r23, %r1, 2;
    {access}
done:",
            blocks * 64 - 1
        );
        let config = Config { memory_bytes: 64 << 20, checks, engine, ..Config::default() };
        let bench = Bench::with(&kernel(COUNTS, &body), config);
        let out = bench.zeros(512);
        bench.run("k", *blocks, 64, &[out.into(), word.into()]).unwrap_or_else(|error| panic!("{error}"));
        let found = bench.device.take_findings();
        let races = found.iter().filter(|finding| finding.kind == FindingKind::DataRace).count();
        let is_race = self.races && word < 64 && word.is_multiple_of(2);
        assert_eq!(races, usize::from(is_race), "{}, word {word}: {found:#?}", self.name);
        found.iter().map(ToString::to_string).collect()
    }
}

#[test]
fn an_ordinary_access_races_with_the_atomic_operations_on_its_word_alone() {
    let race = CheckSet::default().with(Check::Race);
    for checks in [race, race.with(Check::Init)] {
        for counts in &CASES {
            for word in [0, 1, 2, 31, 62, 63, 64, 100] {
                let of_interpreter = counts.findings(Engine::interpreter(), checks, word);
                if let Some(native) = native() {
                    assert_eq!(counts.findings(native, checks, word), of_interpreter, "{}, word {word}", counts.name);
                }
            }
        }
    }
}
