//! Arrays in shared memory under memcheck: accesses that leave the array of whose address they are made.

use crate::common::{Bench, kernel};
use rumba_vm::{Check, CheckSet, Config, FaultKind, LaunchFailure};

const ARRAYS: &str = ".shared .align 4 .b8 first[128]; .shared .align 4 .b8 second[128];";

fn run(body: &str, watched: bool) -> Result<(), LaunchFailure> {
    let checks = CheckSet::default();
    let config = Config {
        memory_bytes: 64 << 20,
        checks: if watched { checks.with(Check::Race) } else { checks },
        ..Config::default()
    };
    let bench = Bench::with(&kernel(ARRAYS, body), config);
    let out = bench.zeros(64);
    bench.run("k", 1, 32, &[out.into(), 0_u32.into()]).map(drop)
}

/// Stores in both arrays, and loads by way of `address`, which is in `%rd10`.
fn through(address: &str, access: &str) -> String {
    format!(
        "
    mul.wide.u32 %rd9, %r2, 4;
    mov.u64 %rd11, first; mov.u64 %rd12, second;
    add.u64 %rd13, %rd11, %rd9; add.u64 %rd14, %rd12, %rd9;
    st.shared.u32 [%rd13], %r2; st.shared.u32 [%rd14], %r2;
    setp.lt.u32 %p1, %r2, 16;
    bar.sync 0;
    {address}
    {access}"
    )
}

#[test]
fn an_access_stays_in_the_array_of_its_address() {
    let load = "ld.shared.u32 %r12, [%rd10];";
    let cases = [
        ("add.u64 %rd10, %rd13, 4;", load, "it ends 4 bytes after the end of `first`"),
        ("mov.u64 %rd10, %rd13;", "ld.shared.u32 %r12, [%rd10+4];", "after the end of `first`"),
        ("mov.u64 %rd10, %rd14;", "st.shared.u32 [%rd10+-4], 0;", "it begins 4 bytes before the start of `second`"),
        ("cvta.shared.u64 %rd10, %rd13;", "ld.u32 %r12, [%rd10+4];", "after the end of `first`"),
        ("mad.wide.u32 %rd10, %r2, 8, %rd11;", load, "after the end of `first`"),
        ("selp.b64 %rd15, %rd11, %rd13, %p1; add.u64 %rd10, %rd15, 124;", load, "of `first`"),
        ("", "ld.shared.u32 %r12, [first+128];", "it ends 4 bytes after the end of `first`"),
    ];
    for (address, access, place) in cases {
        let body = through(address, access);
        let Err(LaunchFailure::Fault(fault)) = run(&body, true) else {
            panic!("no fault: {body}");
        };
        assert_eq!(fault.kind, FaultKind::IllegalAddress, "{body}");
        assert!(fault.to_string().contains(place), "{body}\n{fault}");
        // Without a monitor only the bounds of shared memory count.
        assert!(run(&body, false).is_ok(), "{body}");
    }
}

#[test]
fn what_may_be_of_another_array_is_let_be() {
    for (address, access) in [
        ("mov.u64 %rd10, %rd13;", "ld.shared.u32 %r12, [%rd10];"),
        ("add.u64 %rd10, %rd13, 128;", "ld.shared.u32 %r12, [%rd10+-128];"),
        ("sub.u64 %rd10, %rd14, %rd9;", "ld.shared.u32 %r12, [%rd10+124];"),
        ("selp.b64 %rd10, %rd11, %rd12, %p1;", "ld.shared.u32 %r12, [%rd10+4];"),
        ("mov.u64 %rd10, %rd13; @%p1 mov.u64 %rd10, %rd14;", "ld.shared.u32 %r12, [%rd10];"),
        // The distance of two arrays is a number.
        ("sub.u64 %rd15, %rd12, %rd11; add.u64 %rd10, %rd13, %rd15;", "ld.shared.u32 %r12, [%rd10];"),
        ("", "ld.shared.u32 %r12, [second+124];"),
    ] {
        let body = through(address, access);
        run(&body, true).unwrap_or_else(|failure| panic!("{failure}: {body}"));
    }
}
