//! Launches that run at the same time and wait for each other through memory.

use std::time::{Duration, Instant};

use rumba_vm::{Check, CheckSet, Config, Finding, FindingKind, Launch, LaunchFailure, Statistics};

use crate::common::{Arg, Bench, HEADER, u32s};

/// A kernel of one warp per block with three addresses in `%rd1` to `%rd3`, a number in `%r1`, the number of the thread in `%r2` and that of
/// the block in `%r3`.
fn entry(name: &str, body: &str) -> String {
    format!(
        "
.visible .entry {name}(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{{
    .reg .pred %p<9>;
    .reg .b32 %r<20>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [c];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mul.wide.u32 %rd4, %r2, 4;
    add.s64 %rd5, %rd1, %rd4;
    setp.ne.u32 %p1, %r2, 0;
{body}
    ret;
}}
"
    )
}

/// A loop by the first thread until the word at an address is not 0, which the thread then leaves by `fence`.
fn wait(load: &str, address: &str, label: &str, fence: &str) -> String {
    format!(
        "
    @%p1 bra {label}_over;
{label}:
    {load} %r10, [{address}];
    setp.eq.u32 %p2, %r10, 0;
    @%p2 bra {label};
    {fence}
{label}_over:
    bar.sync 0;"
    )
}

/// Writes the words at `%rd1`, sets the flag at `%rd2` and waits for the answer at `%rd3`.
fn producer(before: &str, release: &str) -> String {
    let answer = wait("ld.relaxed.sys.global.u32", "%rd3", "answer", "");
    entry(
        "producer",
        &format!(
            "
    st.global.u32 [%rd5], 7;
    {before}
    bar.sync 0;
    @%p1 bra told;
    {release}
told:{answer}"
        ),
    )
}

/// Waits for the flag at `%rd2`, reads the words at `%rd1` and answers at `%rd3`. A fence is executed by the first thread that has seen
/// the flag, another one by all threads.
fn consumer(acquire: &str, fence: &str, after: &str) -> String {
    let flag = wait(acquire, "%rd2", "flag", fence);
    entry(
        "consumer",
        &format!(
            "{flag}
    {after}
    ld.global.u32 %r11, [%rd5];
    bar.sync 0;
    @%p1 exit;
    st.relaxed.sys.global.u32 [%rd3], 1;"
        ),
    )
}

fn bench(kernels: &str, config: Config) -> Bench {
    let config = Config { checks: CheckSet::default().with(Check::Race), ..config };
    Bench::with(&format!("{HEADER}{kernels}"), config)
}

/// Launches a kernel of one block.
fn launch(bench: &Bench, name: &str, device: u32, args: &[Arg]) -> Result<Statistics, LaunchFailure> {
    let launch = Launch {
        grid: [1; 3],
        block: [32, 1, 1],
        dynamic_shared: 0,
        parameters: &[],
        cooperative: false,
        cluster: None,
        device,
    };
    bench.launch_as(name, launch, args)
}

/// The findings in a producer and a consumer on these devices.
fn findings(producer: &str, consumer: &str, devices: [u32; 2]) -> Vec<Finding> {
    let bench = bench(&format!("{producer}{consumer}"), Config::default());
    let args: [Arg; 4] = [bench.zeros(128).into(), bench.zeros(4).into(), bench.zeros(4).into(), 0_u32.into()];
    let run = |name, device| launch(&bench, name, device, &args).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| run("producer", devices[0]));
        scope.spawn(|| run("consumer", devices[1]));
    });
    bench.device.take_findings()
}

const SET: &str = "st.release.sys.global.u32 [%rd2], 1;";
const SET_RELAXED: &str = "st.relaxed.sys.global.u32 [%rd2], 1;";
const ACQUIRE: &str = "ld.acquire.sys.global.u32";
const RELAXED: &str = "ld.relaxed.sys.global.u32";

#[test]
fn launches_synchronise_by_operations_of_the_systems_scope() {
    let pairs = [
        (producer("", SET), consumer(ACQUIRE, "", "")),
        (producer("", "red.release.sys.global.add.u32 [%rd2], 1;"), consumer(ACQUIRE, "", "")),
        (producer("", &format!("fence.acq_rel.sys; {SET_RELAXED}")), consumer(RELAXED, "fence.acq_rel.sys;", "")),
        (producer("", SET), consumer(RELAXED, "membar.sys;", "")),
        // All threads of the block fence, and one sets the flag.
        (producer("membar.sys;", SET_RELAXED), consumer(RELAXED, "", "membar.sys;")),
        (producer("", "membar.sys; st.volatile.global.u32 [%rd2], 1;"), consumer(ACQUIRE, "", "")),
    ];
    for (number, (producer, consumer)) in pairs.iter().enumerate() {
        for devices in [[0, 1], [0, 0]] {
            let found = findings(producer, consumer, devices);
            assert!(found.is_empty(), "pair {number} on {devices:?}: {}", found[0]);
        }
    }
}

#[test]
fn the_scope_of_a_device_does_not_reach_another_device() {
    let pairs = [
        (producer("", &SET.replace("sys", "gpu")), consumer(ACQUIRE, "", "")),
        (producer("", SET), consumer(&ACQUIRE.replace("sys", "gpu"), "", "")),
        (producer("", &format!("membar.gl; {SET_RELAXED}")), consumer(RELAXED, "", "membar.sys;")),
        (producer("", &format!("membar.sys; {SET_RELAXED}")), consumer(RELAXED, "", "membar.gl;")),
        (producer("membar.gl;", SET_RELAXED), consumer(RELAXED, "", "membar.sys;")),
    ];
    for (number, (producer, consumer)) in pairs.iter().enumerate() {
        let found = findings(producer, consumer, [0, 1]);
        assert!(found.iter().any(|finding| finding.kind == FindingKind::DataRace), "pair {number}: {found:#?}");
        let others = [FindingKind::DataRace, FindingKind::ScopedRace];
        assert!(found.iter().all(|finding| others.contains(&finding.kind)), "pair {number}: {found:#?}");
        let found = findings(producer, consumer, [1, 1]);
        assert!(found.is_empty(), "pair {number}: {}", found[0]);
    }
}

#[test]
fn a_race_between_launches_names_both() {
    let (producer, consumer) = (producer("", SET_RELAXED), consumer(ACQUIRE, "", ""));
    let text = format!("{HEADER}{producer}{consumer}");
    let line = |of: &str| text.lines().position(|line| line.contains(of)).unwrap() as u32 + 1;
    for devices in [[1, 0], [2, 2]] {
        let found = findings(&producer, &consumer, devices);
        assert_eq!(found.len(), 1, "{found:#?}");
        let finding = &found[0];
        assert_eq!((finding.kind, finding.kernel.as_deref()), (FindingKind::DataRace, Some("consumer")));
        let lines: Vec<u32> = finding.sides.iter().map(|side| side.ptx_line).collect();
        assert_eq!(lines, [line("ld.global.u32 %r11"), line("st.global.u32 [%rd5], 7")]);
        let named: Vec<_> = finding.sides.iter().map(|side| side.launch.clone().unwrap()).collect();
        assert_eq!([&*named[0].kernel, &*named[1].kernel], ["consumer", "producer"]);
        let differ = devices[0] != devices[1];
        assert_eq!([named[1].device, named[0].device], devices.map(|device| differ.then_some(device)));
        assert!(finding.sides.iter().all(|side| side.block == [0; 3] && side.thread == [0; 3]), "{finding}");
        let words =
            if differ { "in kernel `producer` on device 1 by thread" } else { "in kernel `producer` by thread" };
        assert!(finding.to_string().contains(words), "{finding}");
    }
}

#[test]
fn a_kernel_races_with_another_launch_of_itself() {
    // Both write the same words, and wait for each other only then.
    let meet = wait("ld.acquire.sys.global.u32", "%rd2", "flag", "");
    let kernel = entry(
        "k",
        &format!(
            "st.global.u32 [%rd5], %r1; bar.sync 0; @%p1 bra set; st.release.sys.global.u32 [%rd3], 1; set:{meet}"
        ),
    );
    let bench = bench(&kernel, Config::default());
    let (data, flags) = (bench.zeros(128), [bench.zeros(4), bench.zeros(4)]);
    std::thread::scope(|scope| {
        for rank in 0..2 {
            let (bench, device) = (&bench, 3);
            let args = [data.into(), flags[rank].into(), flags[1 - rank].into(), (rank as u32).into()];
            scope.spawn(move || launch(bench, "k", device, &args).unwrap());
        }
    });
    let found = bench.device.take_findings();
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, FindingKind::DataRace);
    let another: Vec<bool> = found[0].sides.iter().map(|side| side.launch.as_ref().unwrap().is_another).collect();
    assert_eq!(another, [false, true]);
}

#[test]
fn blocks_keep_their_coordinates_in_a_launch_that_has_joined() {
    // The last block of the second launch reads what the first launch writes, and nothing orders that.
    let first = entry(
        "first",
        &format!(
            "st.global.u32 [%rd5], 7; @%p1 bra set; st.relaxed.sys.global.u32 [%rd2], 1; set:{}",
            wait(RELAXED, "%rd3", "end", "")
        ),
    );
    let second = entry(
        "second",
        &format!(
            "{}
    mov.u32 %r4, %ctaid.y;
    mad.lo.u32 %r3, %r4, 2, %r3;
    setp.ne.u32 %p3, %r3, 5;
    @%p3 exit;
    setp.ne.u32 %p3, %r2, 9;
    @%p3 exit;
    ld.global.u32 %r11, [%rd5];
    st.relaxed.sys.global.u32 [%rd3], 1;",
            wait(RELAXED, "%rd2", "begun", "")
        ),
    );
    let bench = bench(&format!("{first}{second}"), Config::default());
    let args: [Arg; 4] = [bench.zeros(128).into(), bench.zeros(4).into(), bench.zeros(4).into(), 0_u32.into()];
    let shape = Launch {
        grid: [2, 3, 1],
        block: [32, 1, 1],
        dynamic_shared: 0,
        parameters: &[],
        cooperative: false,
        cluster: Some([2, 1, 1]),
        device: 1,
    };
    std::thread::scope(|scope| {
        scope.spawn(|| launch(&bench, "first", 0, &args).unwrap());
        bench.launch_as("second", shape, &args).unwrap();
    });
    let found = bench.device.take_findings();
    assert_eq!(found.len(), 1, "{found:#?}");
    let sides: Vec<_> = found[0].sides.iter().map(|side| (side.block, side.thread)).collect();
    assert_eq!(sides, [([1, 2, 0], [9, 0, 0]), ([0; 3], [9, 0, 0])]);
}

#[test]
fn a_launch_comes_after_those_that_have_ended() {
    // The first kernel runs all the time. The second one writes the same words in each launch.
    let holder = entry(
        "holder",
        &format!("@%p1 bra begun; st.relaxed.sys.global.u32 [%rd2], 1; begun:{}", wait(RELAXED, "%rd3", "end", "")),
    );
    let writer = entry(
        "writer",
        &format!(
            "{}
    st.global.u32 [%rd5], %r1;
    @%p1 exit;
    setp.eq.u32 %p3, %r1, 0;
    @%p3 exit;
    st.relaxed.sys.global.u32 [%rd3], 1;",
            wait(RELAXED, "%rd2", "begun", "")
        ),
    );
    let bench = bench(&format!("{holder}{writer}"), Config::default());
    let places = [bench.zeros(128), bench.zeros(4), bench.zeros(4)].map(Arg::from);
    let run = |name, device, n: u32| launch(&bench, name, device, &[&places[..], &[n.into()]].concat()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| run("holder", 0, 0));
        for (device, n) in [(1, 0), (2, 0), (1, 0), (0, 1)] {
            run("writer", device, n);
        }
    });
    let found = bench.device.take_findings();
    assert!(found.is_empty(), "{}", found[0]);
}

/// Two ranks that meet so many times. Each writes words at `%rd1`, which the other reads at once after they have met: in turns two
/// pieces of 32 words. The counter of the other rank is at `%rd2`; behind the own pieces lie the address of the other's pieces,
/// and that of the own counter.
fn exchange(rounds: u32, acquire: &str) -> String {
    entry(
        "exchange",
        &format!(
            "
    ld.global.u64 %rd6, [%rd3];
    ld.global.u64 %rd7, [%rd3+8];
    mov.u32 %r4, 1;
round:
    and.b32 %r5, %r4, 1;
    mad.lo.u32 %r5, %r5, 32, %r2;
    mul.wide.u32 %rd4, %r5, 4;
    add.s64 %rd5, %rd1, %rd4;
    st.global.u32 [%rd5], %r4;
    bar.sync 0;
    @%p1 bra met;
    red.release.sys.global.add.u32 [%rd2], 1;
again:
    {acquire}.sys.global.u32 %r6, [%rd7];
    setp.lt.u32 %p2, %r6, %r4;
    @%p2 bra again;
met:
    bar.sync 0;
    add.s64 %rd5, %rd6, %rd4;
    ld.global.u32 %r7, [%rd5];
    setp.ne.u32 %p3, %r7, %r4;
    @%p3 trap;
    add.u32 %r4, %r4, 1;
    setp.le.u32 %p4, %r4, {rounds};
    @%p4 bra round;"
        ),
    )
}

fn exchanged(kernel: &str) -> (Vec<Finding>, Duration) {
    let bench = bench(kernel, Config::default());
    let pieces = [0, 1].map(|_| bench.zeros(256));
    let counters = [0, 1].map(|_| bench.zeros(4));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for rank in 0..2 {
            let given = bench.upload(&[pieces[1 - rank], counters[rank]]);
            let args = [pieces[rank].into(), counters[1 - rank].into(), given.into(), 0_u32.into()];
            let bench = &bench;
            scope.spawn(move || launch(bench, "exchange", rank as u32, &args).unwrap());
        }
    });
    let took = start.elapsed();
    assert_eq!(u32s(&bench.download(counters[0], 4)), [100]);
    (bench.device.take_findings(), took)
}

#[test]
fn two_ranks_meet_a_hundred_times() {
    let (found, took) = exchanged(&exchange(100, "ld.acquire"));
    assert!(found.is_empty(), "{}", found[0]);
    assert!(took < Duration::from_secs(2), "{took:?}");
    let (found, _) = exchanged(&exchange(100, "ld.relaxed"));
    assert!(found.iter().any(|finding| finding.kind == FindingKind::DataRace), "{found:#?}");
}
