//! Random programs of two or three warps: the orders that are run come to all that all orders come to.

use super::{ONE_LANE, Outcome, Program, explore};
use rumba_vm::{Exploration, ExplorationBound};

/// An operation, and what it is about.
fn operation(kind: u32, what: u32, result: u32) -> String {
    let (global, shared, mbarrier) = (4 * (what % 2), 16 + 4 * (what % 2), 8 * (what % 2));
    let keep = format!("mul.lo.u32 %r40, %r40, 31; add.u32 %r40, %r40, %r{result};");
    match kind {
        0 => format!("atom.global.add.u32 %r{result}, [%rd1+{global}], 1; {keep}"),
        1 => format!("red.global.add.u32 [%rd1+{global}], 3;"),
        2 => format!("atom.global.cas.b32 %r{result}, [%rd1+{global}], 0, %r41; {keep}"),
        3 => format!("st.relaxed.gpu.global.u32 [%rd1+{global}], %r41;"),
        4 => format!("ld.relaxed.gpu.global.u32 %r{result}, [%rd1+{global}]; {keep}"),
        5 => format!("atom.shared.exch.b32 %r{result}, [%r42+{shared}], %r41; {keep}"),
        6 => format!("red.shared.max.u32 [%r42+{shared}], %r41;"),
        7 => format!("mbarrier.arrive.shared.b64 _, [%r42+{mbarrier}];"),
        8 => format!(
            "mbarrier.test_wait.parity.shared.b64 %p10, [%r42+{mbarrier}], 0; selp.u32 %r{result}, 1, 0, %p10; {keep}"
        ),
        9 => {
            format!("W{result}: mbarrier.try_wait.parity.shared.b64 %p11, [%r42+{mbarrier}], 0; @!%p11 bra W{result};")
        }
        10 => format!("bar.arrive {}, 64;", 1 + what % 2),
        11 => format!("bar.sync {}, 64;", 1 + what % 2),
        12 => format!(
            "L{result}: ld.relaxed.gpu.global.u32 %r{result}, [%rd1+{global}]; setp.eq.u32 %p12, %r{result}, 0; @%p12 bra L{result};"
        ),
        _ => format!(
            "mbarrier.expect_tx.relaxed.cta.shared.b64 [%r42+{mbarrier}], 16; mbarrier.complete_tx.relaxed.cta.shared.b64 [%r42+{mbarrier}], 16;"
        ),
    }
}

fn body(threads: &[Vec<(u32, u32)>]) -> String {
    let mut body = format!(
        "
    mov.u32 %r42, cells;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra READY;
    mbarrier.init.shared.b64 [%r42], 1;
    mbarrier.init.shared.b64 [%r42+8], 2;
    st.shared.u32 [%r42+16], 0;
    st.shared.u32 [%r42+20], 0;
READY:
    bar.sync 0;
    {ONE_LANE}
    mov.u32 %r40, 0;
    add.u32 %r41, %r50, 1;"
    );
    let mut result = 10;
    for (warp, operations) in threads.iter().enumerate() {
        body += &format!("\n setp.eq.u32 %p2, %r50, {warp};\n @!%p2 bra NOT{warp};\n");
        for (kind, what) in operations {
            body += &operation(*kind, *what, result);
            body += "\n";
            result += 1;
        }
        body += &format!("NOT{warp}:\n");
    }
    // What each has seen, and what the last values are, of those that nothing is under way to.
    body += "
    mul.wide.u32 %rd10, %r50, 4;
    add.u64 %rd11, %rd1, %rd10;
    st.global.u32 [%rd11+32], %r40;";
    body
}

fn come_to(threads: &[Vec<(u32, u32)>], exploration: &Exploration) -> Outcome {
    let body = body(threads);
    let program = Program {
        declarations: ".shared .align 8 .b8 cells[64];",
        body: &body,
        shape: (1, 32 * threads.len() as u32, 1),
    };
    explore(&program, exploration)
}

fn compare(threads: &[Vec<(u32, u32)>]) -> (u64, u64) {
    let bound = ExplorationBound {
        orders: 200_000,
        steps: 1000,
    };
    let plain = come_to(threads, &Exploration::plain(bound));
    let reduced = come_to(threads, &Exploration::new(bound));
    assert_eq!(reduced.report.limits, Vec::<String>::new(), "{}", body(threads));
    assert_eq!(plain.results, reduced.results, "{}", body(threads));
    let kinds = |outcome: &Outcome| outcome.found.keys().cloned().collect::<Vec<_>>();
    assert_eq!(kinds(&plain), kinds(&reduced), "{}", body(threads));
    assert!(reduced.report.orders <= plain.report.orders, "{}", body(threads));
    (plain.report.orders, reduced.report.orders)
}

#[test]
fn smoke() {
    let seed: u64 = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let count: u64 = std::env::var("COUNT").ok().and_then(|s| s.parse().ok()).unwrap_or(50);
    let (mut p, mut r) = (0, 0);
    let mut x = seed;
    let mut next = |n: u64| {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (x >> 33) % n
    };
    for _ in 0..count {
        let n = 2 + next(2);
        let threads: Vec<Vec<(u32, u32)>> = (0..n)
            .map(|_| {
                (0..2 + next(if n == 2 { 3 } else { 2 }))
                    .map(|_| (next(14) as u32, next(2) as u32))
                    .collect()
            })
            .collect();
        let (a, b) = compare(&threads);
        p += a;
        r += b;
    }
    eprintln!("plain {p} reduced {r}");
}
