//! The module around a body: what it declares, the numbers that registers start with, and the stores of what they hold at the end.
//! Registers and variables that the body does not name are left out.

use std::collections::HashSet;

use crate::area::{Area, Space};
use crate::functions;
use crate::template::REGISTERS;

/// The marks before and behind the lines of a body that may be left out.
pub(crate) const BODY: &str = "// body";
pub(crate) const END: &str = "// end of body";

/// Bytes in front of the areas of the buffer for results: the counters of the grid.
pub(crate) const COUNTERS: usize = 128;

/// Bytes of a thread's registers in the buffer for results.
pub(crate) const DUMP: usize = 288;

/// The initial values of registers of a kind: instructions for the register `X`, whose number is the position.
const STARTS: &[(char, &[&str])] = &[
    (
        'r',
        &[
            "mov.u32 X, %ltid;",
            "mul.lo.u32 X, %ltid, 2654435761;",
            "mul.lo.u32 X, %ltid, 2654435761; shr.u32 X, X, 16;",
            "mov.u32 X, %ty;",
            "sub.u32 X, 5, %lane;",
            "xor.b32 X, %ltid, 0x80000005;",
            "mov.u32 X, 0x80000000;",
            "mad.lo.u32 X, %tx, 3, %n;",
        ],
    ),
    (
        'i',
        &[
            "mov.u32 X, %tx;",
            "mov.u32 X, %lane;",
            "mov.u32 X, %ltid;",
            "mov.u32 X, %ty;",
            "sub.u32 X, 100, %tx;",
            "mov.u32 X, %n;",
        ],
    ),
    ('u', &["mov.u32 X, %n;", "mov.u32 X, 3;", "mov.u32 X, %ctaid.x;", "mov.u32 X, %full;"]),
    (
        'f',
        &[
            "cvt.rn.f32.s32 X, %ltid;",
            "mov.b32 X, 0fBFC00000;",
            "mul.lo.u32 X, %ltid, 2654435761; cvt.rn.f32.s32 X, X;",
            "mul.lo.u32 X, %ltid, 2654435761;",
        ],
    ),
    (
        'q',
        &[
            "mul.wide.u32 X, %ltid, 2654435761;",
            "mul.wide.s32 X, %ltid, 0x80000001; mul.lo.u64 X, X, X;",
            "cvt.u64.u32 X, %ltid; xor.b64 X, X, 21;",
            "mov.u64 X, 12345;",
            "cvt.s64.s32 X, %lane; sub.s64 X, 3, X; not.b64 X, X;",
            "ld.param.u64 X, [few+24];",
        ],
    ),
    (
        'j',
        &[
            "cvt.u64.u32 X, %tx;",
            "mul.wide.u32 X, %lane, 4;",
            "mul.wide.u32 X, %ltid, 12;",
            "cvt.u64.u32 X, %ty;",
            "mul.wide.u32 X, %n, 7;",
            "cvt.s64.s32 X, %tx; sub.s64 X, 50, X;",
        ],
    ),
    (
        'd',
        &[
            "cvt.rn.f64.s32 X, %ltid;",
            "mov.f64 X, 0d3FF8000000000000;",
            "mul.wide.s32 X, %ltid, 0x9E3779B9; cvt.rn.f64.s64 X, X;",
        ],
    ),
    (
        'h',
        &[
            "cvt.u16.u32 X, %ltid;",
            "mov.b16 X, 0x3C00;",
            "mul.wide.u16 %t0, 1, 2; cvt.u16.u32 X, %lane; mul.lo.u16 X, X, 2749;",
            "mov.b16 X, 65530;",
        ],
    ),
    ('b', &["cvt.u8.u32 X, %ltid;", "cvt.u8.u32 X, %lane;"]),
    (
        'w',
        &["mul.wide.u32 %a0, %ltid, 0x80000001; mov.b128 X, {%a0, %a0};", "mov.b64 %a0, 77; mov.b128 X, {%a0, %a0};"],
    ),
    (
        'p',
        &[
            "setp.lt.u32 X, %ltid, 40;",
            "setp.eq.u32 X, %lane, 5;",
            "and.b32 %t0, %ltid, 1; setp.ne.u32 X, %t0, 0;",
            "and.b32 %t0, %ltid, 8; setp.eq.u32 X, %t0, 0;",
            "setp.gt.u32 X, %ty, 0;",
            "setp.eq.u32 X, %ltid, %n;",
        ],
    ),
    ('k', &["setp.lt.u32 X, %n, 3;", "setp.lt.u32 X, %n, 6;"]),
    // Temporaries: some statements read what others wrote, or nothing.
    ('t', &["mov.u32 X, 0;"; 10]),
    ('c', &["mov.u32 X, 0;"; 5]),
    ('a', &["mov.u64 X, 0;"; 4]),
];

/// The registers with names.
const NAMED: &[(&str, &str)] = &[
    ("%th", "mov.b16 %th, 1;"),
    ("%ti", "mov.b16 %ti, 2;"),
    ("%tj", "mov.b16 %tj, 3;"),
    ("%tp0", "setp.eq.u32 %tp0, %lane, 0;"),
    ("%tp1", "setp.eq.u32 %tp1, %lane, 1;"),
    ("%tp2", "setp.eq.u32 %tp2, %lane, 2;"),
    ("%sgen", "mov.u64 %sgen, scnt; cvta.shared.u64 %sgen, %sgen;"),
    ("%swide", "mov.u64 %swide, scnt;"),
    ("%scnt", "mov.u32 %scnt, scnt;"),
];

/// The registers that a text names.
fn registers_of(text: &str) -> HashSet<&str> {
    let mut found = HashSet::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let behind = &rest[at + 1..];
        let length = behind.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(behind.len());
        found.insert(&rest[at..=at + length]);
        rest = &behind[length..];
    }
    found
}

/// Writes the module of a body for blocks of so many threads.
pub(crate) fn module(body: &str, areas: &[Area], threads: u32, required: Option<[u32; 3]>) -> String {
    let named = registers_of(body);
    let shared: Vec<&Area> = areas.iter().filter(|area| area.space == Space::Shared).collect();
    let mut out = String::new();
    let mut write = |text: &str| {
        out.push_str(text.trim_end());
        out.push('\n');
    };
    write(
        ".version 9.1\n.target sm_100a\n.address_size 64\n\
         .const .align 16 .b32 table[32] = {1, 2, 3, 0xffffffff, 5, 0x80000000, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};\n\
         .global .align 16 .b32 buffer[16] = {3, 1, 4, 1, 5, 9, 2, 6};",
    );
    if body.contains("call") || body.contains("straight") {
        write(functions::TEXT);
    }
    write(".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n, .param .align 8 .b8 few[32])");
    if let Some([x, y, z]) = required {
        write(&format!(".reqntid {x}, {y}, {z}"));
    }
    write("{");
    for (kind, ty, count) in REGISTERS {
        write(&format!(".reg .{ty} %{kind}<{count}>;"));
    }
    write(
        ".reg .b32 %t<10>, %c<5>, %s<3>, %tx, %ty, %tz, %lane, %ltid, %nt, %row, %block, %n, %full, %scnt;\n\
         .reg .b64 %a<4>, %g<3>, %v<3>, %in, %out, %own, %sgen, %swide;\n.reg .b16 %th, %ti, %tj;\n.reg .pred %tp<3>, %lp<5>;\n\
         .local .align 16 .b8 loc[64];",
    );
    let counts = body.contains("scnt") || named.contains("%sgen") || named.contains("%swide");
    if counts {
        write(".shared .align 16 .b8 scnt[128];");
    }
    if body.contains("tile") {
        write(".shared .align 16 .b8 tile[512];");
    }
    for area in &shared {
        let bytes = (threads as usize + 1) * area.stride;
        write(&format!(".shared .align 16 .b8 cells{}[{bytes}];", area.number));
    }
    write(&format!(
        "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u32 %n, [n]; ld.param.u32 %full, [few+8];\n\
         cvta.to.global.u64 %in, %in; cvta.to.global.u64 %out, %out;\n\
         mov.u32 %tx, %tid.x; mov.u32 %ty, %tid.y; mov.u32 %tz, %tid.z; mov.u32 %lane, %laneid;\n\
         mov.u32 %t0, %ntid.y; mad.lo.u32 %row, %tz, %t0, %ty; mov.u32 %t1, %ntid.x; mad.lo.u32 %ltid, %row, %t1, %tx;\n\
         mul.lo.u32 %nt, %t0, %t1; mov.u32 %t0, %ntid.z; mul.lo.u32 %nt, %nt, %t0;\n\
         mov.u32 %t0, %ctaid.y; mov.u32 %t1, %nctaid.x; mov.u32 %t2, %ctaid.x; mad.lo.u32 %block, %t0, %t1, %t2;\n\
         mad.lo.u32 %t0, %block, %nt, %ltid; mul.wide.u32 %own, %t0, {DUMP}; add.s64 %own, %own, %out; add.s64 %own, %own, {COUNTERS};"
    ));
    for area in areas {
        write(&area.addresses());
    }
    for (kind, starts) in STARTS {
        for (number, start) in starts.iter().enumerate() {
            let register = format!("%{kind}{number}");
            if named.contains(register.as_str()) {
                write(&start.replace('X', &register));
            }
        }
    }
    for (register, start) in NAMED {
        if named.contains(register) {
            write(start);
        }
    }
    if body.contains("loc") {
        for offset in (0..64).step_by(16) {
            write(&format!("cvt.u64.u32 %a0, %ltid; st.local.v2.b64 [loc+{offset}], {{%a0, %a0}};"));
        }
    }
    if body.contains("tile") {
        for row in 0..32 {
            let words = format!("{{{row}, 0x3C00{row:04x}, %n, 0x4200}}");
            write(&format!("st.shared.v4.b32 [tile+{}], {words};", 16 * row));
        }
    }
    if counts {
        for offset in (0..128).step_by(16) {
            write(&format!("st.shared.v4.b32 [scnt+{offset}], {{%n, 0, 0, %n}};"));
        }
    }
    for area in &shared {
        write(&area.initialize());
    }
    // Blocks without shared memory and barriers are run in another way.
    let barrier = if counts || body.contains("tile") || !shared.is_empty() { "bar.sync 0;" } else { "" };
    write(barrier);
    write(BODY);
    write(body);
    write(END);
    write(&format!("{barrier}\nmov.u32 %t9, 0;"));
    for area in &shared {
        write(&area.collect());
    }
    if counts {
        for offset in (0..96).step_by(16) {
            write(&format!("ld.shared.v4.u32 {{%t0, %t1, %t2, %t3}}, [scnt+{offset}];"));
            write(
                "mad.lo.u32 %t9, %t9, 31, %t0; mad.lo.u32 %t9, %t9, 31, %t1; mad.lo.u32 %t9, %t9, 31, %t2; mad.lo.u32 %t9, %t9, 31, %t3;",
            );
        }
    }
    write("st.global.u32 [%own], %t9;\nLEAVE:");
    let registers = dump(&named);
    write(&registers);
    write("ret;");
    if body.contains("PANIC") {
        write(&format!("PANIC:\n{registers}setp.eq.u32 %tp0, %nt, 0;\n@%tp0 trap;\nexit;"));
    }
    write("}");
    out
}

/// Stores the registers that are named, each at its own place.
fn dump(named: &HashSet<&str>) -> String {
    let mut out = String::new();
    let mut offset = 8;
    let mut truths = String::new();
    for (kind, ty, count) in REGISTERS {
        let bytes = match *ty {
            "b64" => 8,
            "b128" => 16,
            "pred" => 0,
            "b32" => 4,
            _ => 2,
        };
        offset = offset.max(8_usize).next_multiple_of(bytes.max(1));
        for number in 0..*count {
            let register = format!("%{kind}{number}");
            let is_named = named.contains(register.as_str());
            if is_named && bytes > 0 {
                out.push_str(&match *ty {
                    "b8" => format!("cvt.u16.u8 %th, {register}; st.global.b16 [%own+{offset}], %th;\n"),
                    _ => format!("st.global.{ty} [%own+{offset}], {register};\n"),
                });
            } else if is_named {
                let bit = 1 << (number + if *kind == 'k' { 8 } else { 0 });
                truths.push_str(&format!("@{register} or.b32 %t0, %t0, {bit};\n"));
            }
            offset += bytes;
        }
    }
    if !truths.is_empty() {
        out.push_str("mov.u32 %t0, 0;\n");
        out.push_str(&truths);
        out.push_str("st.global.b32 [%own+4], %t0;\n");
    }
    debug_assert!(offset <= DUMP, "{offset} bytes of registers");
    out
}
