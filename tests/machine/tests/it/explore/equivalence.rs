//! Random programs of two or three warps: the orders that are run come to all that all orders come to.

use std::collections::BTreeSet;

use super::{ONE_LANE, Outcome, Program, explore};
use rumba_vm::{Exploration, ExplorationBound};

/// The number of kinds of operations.
const KINDS: u64 = 15;

/// The PTX of an operation of a kind, on the object that `what` chooses.
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
    // Stores the values that each thread has seen, and the last values of memory that no copy is under way to.
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

/// The largest number of orders that are run without reduction: programs with more orders are not compared.
const MOST: u64 = 2000;

/// Numbers that look random (Knuth, The Art of Computer Programming, volume 2, 3.3.4).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// The operations of two threads, up to four of each, or of three threads, up to three of each.
    fn program(&mut self) -> Vec<Vec<(u32, u32)>> {
        let threads = 2 + self.below(2);
        let most = if threads == 2 { 3 } else { 2 };
        let mut operations = || {
            let count = 2 + self.below(most);
            (0..count).map(|_| (self.below(KINDS) as u32, u32::from(self.below(4) == 0))).collect()
        };
        (0..threads).map(|_| operations()).collect()
    }
}

#[test]
fn no_result_is_left_out() {
    let numbers =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    // More programs, and others: RUMBA_TEST_PROGRAMS=1000 RUMBA_TEST_SEED=2.
    let (count, seed) = (numbers("RUMBA_TEST_PROGRAMS", 50), numbers("RUMBA_TEST_SEED", 1));
    let mut numbers = Numbers(seed);
    let (mut all, mut run, mut compared, mut several) = (0, 0, 0, 0);
    for _ in 0..count {
        let threads = numbers.program();
        let plain = come_to(&threads, &Exploration::plain(ExplorationBound { orders: MOST, steps: 1000 }));
        let reduced = come_to(&threads, &Exploration::new(ExplorationBound::default()));
        assert_eq!(reduced.report.limits, Vec::<String>::new(), "{}", body(&threads));
        let kinds = |outcome: &Outcome| outcome.found.keys().cloned().collect::<BTreeSet<_>>();
        if plain.report.limits.is_empty() {
            assert_eq!(plain.results, reduced.results, "{}", body(&threads));
            assert_eq!(kinds(&plain), kinds(&reduced), "{}", body(&threads));
            assert!(reduced.report.orders <= plain.report.orders, "{}", body(&threads));
            (all, run, compared) = (all + plain.report.orders, run + reduced.report.orders, compared + 1);
            several += u32::from(plain.results.len() + plain.found.len() > 1);
        } else {
            assert!(plain.results.is_subset(&reduced.results), "{}", body(&threads));
            assert!(kinds(&plain).is_subset(&kinds(&reduced)), "{}", body(&threads));
        }
    }
    println!("{compared} programs, {several} with several outcomes: {all} orders, {run} of them run");
    assert!(compared * 2 > count && several > 5);
}

#[test]
fn what_exits_is_not_waited_for_at_a_barrier_for_some() {
    // The thread that adds first has exited when the others meet, and could also add behind them.
    let threads = [vec![(1, 0), (11, 0), (1, 1)], vec![(0, 1), (12, 0)], vec![(11, 0)]];
    let outcome = come_to(&threads, &Exploration::new(ExplorationBound::default()));
    assert_eq!(outcome.results.len(), 2, "{outcome:?}");
}

#[test]
fn a_look_comes_before_and_behind_the_end_of_a_phase() {
    // In each of these cases the other thread may read the flag before and behind the store that follows the arrival.
    let threads = [vec![(1, 0), (8, 0)], vec![(6, 0), (4, 1)], vec![(7, 0), (3, 1)]];
    let outcome = come_to(&threads, &Exploration::new(ExplorationBound::default()));
    assert_eq!(outcome.results.len(), 4, "{outcome:?}");
}
