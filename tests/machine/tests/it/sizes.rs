//! Modules of many parts load in a time that grows with their size, not with its square.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::common::{HEADER, kernel};
use rumba_vm::{Config, Device, Source};

/// How long a module of about a megabyte may take. A step that compares every part with every other takes minutes.
const LIMIT: Duration = Duration::from_secs(20);

fn joined(count: usize, mut part: impl FnMut(&mut String, usize)) -> String {
    let mut text = String::new();
    (0..count).for_each(|number| part(&mut text, number));
    text
}

/// Functions that call each other as `callees` says, and a kernel that calls the last one.
fn functions(count: usize, callees: impl Fn(usize) -> Vec<usize>) -> String {
    let mut text = format!("{HEADER}\n");
    for number in 0..count {
        writeln!(text, ".func f{number}();").unwrap();
    }
    for number in 0..count {
        let calls: String = callees(number).iter().map(|callee| format!("call f{callee}; ")).collect();
        writeln!(text, ".func f{number}() {{ .local .b8 frame[4]; {calls} ret; }}").unwrap();
    }
    format!("{text}.visible .entry k() {{ call f{}; ret; }}\n", count - 1)
}

#[test]
fn large_modules_load_in_time() {
    let modules = [
        ("a chain of calls", functions(20_000, |number| number.checked_sub(1).into_iter().collect())),
        ("a chain of calls that ends where it began", functions(10_000, |number| vec![(number + 9_999) % 10_000])),
        (
            "calls of what was called before",
            functions(10_000, |number| (1..=3).filter_map(|step| number.checked_sub(step)).collect()),
        ),
        ("calls of one function", {
            let calls = "call g; ".repeat(60_000);
            format!("{HEADER}\n.func g() {{ ret; }}\n.visible .entry k() {{ {calls} ret; }}\n")
        }),
        ("functions whose address is taken", {
            let functions = joined(10_000, |text, number| {
                writeln!(text, ".func f{number}() {{ ret; }}").unwrap();
            });
            let table = joined(10_000, |text, number| {
                write!(text, "{}f{number}", if number > 0 { ", " } else { "" }).unwrap();
            });
            let calls = "call %rd1, (), P; ".repeat(1000);
            format!(
                "{HEADER}\n{functions}.global .u64 table[10000] = {{{table}}};
                .visible .entry k() {{ .reg .b64 %rd<2>; P: .callprototype _ (); ld.global.u64 %rd1, [table]; {calls} ret; }}\n"
            )
        }),
        ("branches to anywhere", {
            let count = 60_000;
            let body = joined(count, |text, number| {
                let target = number * 7919 % count;
                writeln!(text, "L{number}: add.u32 %r1, %r1, 1; setp.eq.u32 %p1, %r1, {number}; @%p1 bra L{target};")
                    .unwrap();
            });
            kernel("", &body)
        }),
        ("loops within loops", {
            let heads = joined(3000, |text, number| {
                writeln!(text, "L{number}: add.u32 %r1, %r1, 1;").unwrap();
            });
            let ends = joined(3000, |text, number| {
                writeln!(text, "setp.lt.u32 %p1, %r1, 10; @%p1 bra L{};", 2999 - number).unwrap();
            });
            kernel("", &format!("{heads}{ends}"))
        }),
    ];
    let device = Device::new(Config { workers: 1, ..Config::default() }).unwrap();
    for (name, ptx) in &modules {
        let begin = Instant::now();
        let loaded = device.load(&[Source { name, ptx }]);
        let time = begin.elapsed();
        println!("{name}, {} KiB: {time:.2?}", ptx.len() >> 10);
        loaded.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(time < LIMIT, "{name}: {time:?}");
    }
}

/// A thread's stack is as deep as the deepest path of calls, or of the default size where calls form a cycle.
#[test]
fn stacks_are_as_deep_as_calls() {
    let bytes = |callees: [&[usize]; 3]| {
        let device = Device::new(Config::default()).unwrap();
        let ptx = functions(3, |number| callees[number].to_vec());
        let module = device.load(&[Source { name: "k", ptx: &ptx }]).unwrap_or_else(|error| panic!("{error}"));
        module.function("k").unwrap().attributes().local_bytes as u64
    };
    let two_deep = bytes([&[], &[], &[0, 1]]);
    let three_deep = bytes([&[], &[0], &[1]]);
    assert!(two_deep < three_deep && three_deep < 2048, "{two_deep}, {three_deep}");
    // Functions that come later, and more than one path.
    assert_eq!(bytes([&[], &[0], &[0, 1]]), three_deep);
    assert_eq!(bytes([&[1], &[], &[1, 0]]), three_deep);
    let cycles: [[&[usize]; 3]; 4] = [[&[0], &[0], &[1]], [&[], &[0], &[2]], [&[1], &[0], &[1]], [&[2], &[0], &[1]]];
    for callees in cycles {
        assert_eq!(bytes(callees), Config::default().stack_bytes, "{callees:?}");
    }
}
