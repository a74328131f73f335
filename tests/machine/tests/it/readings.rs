//! Every form of the scalar instructions in both engines: on edges and random numbers, which differ by lane, are the same in
//! all lanes, or are constants; in full warps, and in one that lacks lanes.
//!
//! The forms are those of the lists in `coverage`, so a new form is compared without a change here.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rumba_vm::{Config, Device, Engine, Launch, Source};

use crate::common::warps::Warps;
use crate::common::words::Words;
use crate::coverage;

/// Instructions that are no functions of registers of a lane, or whose operands are more than registers.
const OTHERS: &[&str] = &[
    "activemask",
    "alloca",
    "applypriority",
    "atom",
    "bar",
    "barrier",
    "bra",
    "brkpt",
    "brx",
    "call",
    "clusterlaunchcontrol",
    "cp",
    "createpolicy",
    "cvta",
    "discard",
    "elect",
    "exit",
    "fence",
    "getctarank",
    "griddepcontrol",
    "isspacep",
    "ld",
    "ldmatrix",
    "ldu",
    "mapa",
    "match",
    "mbarrier",
    "membar",
    "mma",
    "movmatrix",
    "multimem",
    "nanosleep",
    "pmevent",
    "prefetch",
    "prefetchu",
    "red",
    "redux",
    "ret",
    "setmaxnreg",
    "shfl",
    "st",
    "stackrestore",
    "stacksave",
    "stmatrix",
    "tcgen05",
    "tensormap",
    "trap",
    "vote",
    "wgmma",
    "wmma",
];

/// Statements of a kernel.
const BATCH: usize = 24;

/// The most registers that a statement names.
const REGISTERS: usize = 8;

/// How the sources are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    /// Each lane has its own.
    ByLane,
    /// All lanes have the same.
    Uniform,
    /// The last source is a constant.
    Constant(u64),
}

/// The registers that a statement names, in their order and without repetitions.
fn registers(statement: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in statement.match_indices('%') {
        let rest = &statement[at..];
        let end = rest[1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(rest.len(), |end| end + 1);
        let name = rest[..end].to_owned();
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The statements of scalar instructions.
fn statements() -> BTreeSet<String> {
    let forms = coverage::LISTS.iter().flat_map(coverage::List::forms);
    let scalar =
        forms.filter(|form| coverage::out_of_scope(form).is_none() && !OTHERS.contains(&coverage::family(form)));
    let statements = scalar.flat_map(|form| coverage::statements(&form)).flatten();
    statements
        .filter(|statement| {
            let names = registers(statement);
            let is_plain = |name: &String| ["%p", "%b", "%h", "%r"].iter().any(|prefix| name.starts_with(prefix));
            !statement.contains("mem") && names.len() <= REGISTERS && !names.is_empty() && names.iter().all(is_plain)
        })
        .collect()
}

/// Replaces a register by another.
fn renamed(statement: &str, from: &str, to: &str) -> String {
    let mut text = String::new();
    let mut rest = statement;
    while let Some(at) = rest.find(from) {
        let (before, after) = (&rest[..at], &rest[at + from.len()..]);
        text.push_str(before);
        text.push_str(if after.starts_with(|c: char| c.is_ascii_alphanumeric()) { from } else { to });
        rest = after;
    }
    text + rest
}

/// A kernel that loads the registers of each statement, executes it, and stores the registers. They lie in shared memory meanwhile: its
/// accesses are compared with its bounds once for all statements, and those of global memory one by one, in far more code.
fn kernel(statements: &[&String], given: Given) -> String {
    let mut body = String::new();
    let mut constants = String::new();
    for (index, statement) in statements.iter().enumerate() {
        let mut statement = (*statement).clone();
        let mut names = registers(&statement);
        if let Given::Constant(bits) = given
            && names.len() > 1
            && let Some(last) = names.pop()
        {
            let prefix = last.trim_end_matches(|c: char| c.is_ascii_digit());
            let constant = format!("{prefix}9{index:03}");
            match prefix {
                "%rd" => writeln!(constants, "    .reg .b64 {constant}; mov.b64 {constant}, {bits};").unwrap(),
                "%r" => writeln!(constants, "    .reg .b32 {constant}; mov.b32 {constant}, {};", bits as u32).unwrap(),
                "%h" => writeln!(constants, "    .reg .b16 {constant}; mov.b16 {constant}, {};", bits as u16).unwrap(),
                // A byte or a predicate has no constant of its own.
                _ => names.push(last.clone()),
            }
            if names.last() != Some(&last) {
                statement = renamed(&statement, &last, &constant);
            }
        }
        let offset = |position: usize| (index * REGISTERS + position) * 256;
        for (position, name) in names.iter().enumerate() {
            let from = if given == Given::Uniform { "%rd93" } else { "%rd94" };
            writeln!(body, "    ld.shared.u64 %rd95, [{from}+{}];", offset(position)).unwrap();
            let load = match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
                "%rd" => format!("mov.b64 {name}, %rd95;"),
                "%r" => format!("cvt.u32.u64 {name}, %rd95;"),
                "%h" => format!("cvt.u16.u64 {name}, %rd95;"),
                "%b" => format!("cvt.u16.u64 %h95, %rd95; mov.b16 {{{name}, %b95}}, %h95;"),
                _ => format!("and.b64 %rd95, %rd95, 1; setp.ne.u64 {name}, %rd95, 0;"),
            };
            writeln!(body, "    {load}").unwrap();
        }
        writeln!(body, "    {}", statement.trim_end().trim_end_matches(';').to_owned() + ";").unwrap();
        for (position, name) in names.iter().enumerate() {
            let store = match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
                "%rd" => format!("mov.b64 %rd95, {name};"),
                "%r" => format!("cvt.u64.u32 %rd95, {name};"),
                "%h" => format!("cvt.u64.u16 %rd95, {name};"),
                "%b" => format!("mov.b16 %h95, {{{name}, 0}}; cvt.u64.u16 %rd95, %h95;"),
                _ => format!("selp.u64 %rd95, 1, 0, {name};"),
            };
            writeln!(body, "    {store} st.shared.u64 [%rd94+{}], %rd95;", offset(position)).unwrap();
        }
    }
    format!(
        ".version 9.1
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
    .reg .pred %p<10>;
    .reg .b8 %b<100>;
    .reg .b16 %h<100>;
    .reg .b32 %r<160>;
    .reg .b64 %rd<100>;
    .shared .align 8 .b8 words[{bytes}];
{constants}
    ld.param.u64 %rd90, [in]; ld.param.u64 %rd91, [out];
    mov.u32 %r150, %ctaid.x; cvt.u64.u32 %rd93, %r150; mov.u64 %rd92, words; add.u64 %rd93, %rd93, %rd92;
    mov.u32 %r150, %tid.x; mul.wide.u32 %rd92, %r150, 8; add.u64 %rd94, %rd93, %rd92;
    add.u64 %rd90, %rd90, %rd92; add.u64 %rd91, %rd91, %rd92;
    mov.u32 %r150, 0;
in_loop:
    cvt.u64.u32 %rd92, %r150; add.u64 %rd96, %rd90, %rd92; add.u64 %rd97, %rd94, %rd92;
    ld.global.u64 %rd95, [%rd96]; st.shared.u64 [%rd97], %rd95;
    add.u32 %r150, %r150, 256; setp.lt.u32 %p9, %r150, {bytes}; @%p9 bra in_loop;
{body}
    mov.u32 %r150, 0;
out_loop:
    cvt.u64.u32 %rd92, %r150; add.u64 %rd96, %rd91, %rd92; add.u64 %rd97, %rd94, %rd92;
    ld.shared.u64 %rd95, [%rd97]; st.global.u64 [%rd96], %rd95;
    add.u32 %r150, %r150, 256; setp.lt.u32 %p9, %r150, {bytes}; @%p9 bra out_loop;
    ret;
}}
",
        bytes = BATCH * REGISTERS * 256
    )
}

/// The registers of all statements and lanes after a launch of one warp with so many threads; an error for a module that is refused.
fn run(device: &Device, ptx: &str, input: &[u8], threads: u32) -> Result<Vec<u64>, String> {
    let module = device.load(&[Source { name: "readings.ptx", ptx }]).map_err(|error| format!("{error}\n{ptx}"))?;
    let [from, to] = [(); 2].map(|()| device.allocate(input.len()).unwrap());
    let mut output = vec![0; input.len()];
    // SAFETY: no launch runs meanwhile, and the places have as many bytes.
    unsafe {
        device.write(from, input).unwrap();
        device.write(to, &output).unwrap();
    }
    let parameters: Vec<u8> = [from, to].iter().flat_map(|place| place.to_le_bytes()).collect();
    let function = module.function("k").ok_or("the kernel is missing")?;
    let launch = Launch {
        grid: [1, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared: 0,
        parameters: &parameters,
        cooperative: false,
        cluster: None,
        device: 0,
    };
    device.launch(&function, &launch).map_err(|error| format!("{error}\n{ptx}"))?;
    // SAFETY: as above.
    unsafe { device.read(to, &mut output).unwrap() };
    device.free(from).unwrap();
    device.free(to).unwrap();
    Ok(output.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect())
}

/// Compares the engines about each fourth kernel, from this one on.
#[track_caller]
fn compare(part: usize) {
    let (Some(full), Some(partial)) = (Warps::Full.native(), Warps::Partial.native()) else { return };
    let device = |vector_instructions, engine| {
        let config = Config { memory_bytes: 64 << 20, workers: 1, vector_instructions, engine, ..Config::default() };
        Device::new(config).unwrap()
    };
    let (baseline, vectors) = (device(false, Engine::interpreter()), device(true, Engine::interpreter()));
    let (full, partial) = (device(true, full), device(true, partial));
    let statements = statements();
    assert!(statements.len() > 1000, "only {} statements were found", statements.len());
    let all: Vec<&String> = statements.iter().collect();
    let mut words = Words::new(0x2545_f491_4f6c_dd1d);
    let constants = [0x3f80_0001, 3, u64::MAX, 0x7f80_0000, 0x3ff8_0000_0000_0000];
    let mut differences = Vec::new();
    for (batch, statements) in all.chunks(BATCH).enumerate().skip(part).step_by(4) {
        let constant = constants[batch % constants.len()];
        // Each kernel runs once more: with the same sources in all lanes, with a constant, or in a warp that lacks lanes.
        let (other, threads) = match batch / 4 % 4 {
            1 => (Given::Uniform, 32),
            3 => (Given::Constant(constant), 32),
            _ => (Given::ByLane, 29),
        };
        for (given, threads) in [(Given::ByLane, 32), (other, threads)] {
            let ptx = kernel(statements, given);
            let numbers = (0..BATCH * REGISTERS * 32).map(|_| words.word());
            let input: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
            let of = |name, device| match run(device, &ptx, &input, threads) {
                Ok(results) => results,
                Err(error) => panic!("{name}: {error}"),
            };
            let expected = of("baseline", &baseline);
            let native = if threads == 32 { &full } else { &partial };
            for (name, device) in [("vectors", &vectors), ("native", native)] {
                for (place, (result, expected)) in of(name, device).iter().zip(&expected).enumerate() {
                    if result != expected {
                        let statement = statements[place / (REGISTERS * 32)];
                        differences.push(format!(
                            "{statement} ({name}, {given:?}, {threads} threads): {result:#x} instead of {expected:#x}"
                        ));
                    }
                }
            }
        }
    }
    differences.truncate(40);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn engines_agree_about_a_fourth_of_the_scalar_forms() {
    compare(0);
}

#[test]
fn engines_agree_about_another_fourth() {
    compare(1);
}

#[test]
fn engines_agree_about_a_third_fourth() {
    compare(2);
}

#[test]
fn engines_agree_about_the_last_fourth() {
    compare(3);
}
