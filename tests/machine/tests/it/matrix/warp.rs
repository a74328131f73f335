//! Kernels for `wmma`, `ldmatrix`, `stmatrix` and `movmatrix`, each with the bytes that a warp reads and writes.

use std::fmt::Write;

use super::form::{Element, Form, HEADER, KINDS, TILES, mix};
use super::group;

/// A kernel in which every warp reads its bytes of the input and writes its bytes of the output.
pub(crate) struct Kernel {
    pub(crate) ptx: String,
    /// Threads of a block, and blocks.
    pub(crate) threads: usize,
    pub(crate) tiles: usize,
    pub(crate) input_bytes: usize,
    pub(crate) output_bytes: usize,
    /// The elements that the input consists of.
    pub(crate) elements: Vec<(Element, usize)>,
}

impl Kernel {
    /// The input of the warps for a kind of operands.
    pub(crate) fn input(&self, name: &str, kind: &str, tiles: usize) -> Vec<u8> {
        let seed = name.bytes().chain(kind.bytes()).fold(23, |seed, byte| mix(seed ^ u64::from(byte)));
        let mut bytes = Vec::new();
        let mut count = 0;
        for _ in 0..tiles {
            for (element, number) in &self.elements {
                let packed = (8 / element.bits).max(1);
                for _ in 0..number / packed {
                    let unit = (0..packed).fold(0, |unit, position| {
                        count += 1;
                        unit | element.random(kind, mix(seed ^ count)) << (position * element.bits)
                    });
                    bytes.extend_from_slice(&unit.to_le_bytes()[..element.bits.div_ceil(8)]);
                }
            }
        }
        assert_eq!(bytes.len(), tiles * self.input_bytes, "{name} {kind} {}", KINDS.len());
        bytes
    }
}

/// The kernel of a line.
pub(crate) fn kernel(text: &str) -> Kernel {
    match text.split('.').next() {
        Some("wmma") => wmma(text),
        Some("ldmatrix") => ldmatrix(text),
        Some("stmatrix") => stmatrix(text),
        Some("movmatrix") => movmatrix(text),
        Some("wgmma") => group::kernel(text),
        _ => mma(text),
    }
}

fn mma(text: &str) -> Kernel {
    let form = Form::parse(text);
    Kernel {
        ptx: form.kernel(),
        threads: 32,
        tiles: TILES,
        input_bytes: form.input_bytes(),
        output_bytes: form.output_bytes(),
        elements: Vec::new(),
    }
}

fn begin(text: &mut String, input_bytes: usize, output_bytes: usize) {
    write!(
        text,
        "{HEADER}.visible .entry k(.param .u64 in, .param .u64 out)
{{
.reg .b64 %in, %out, %t; .reg .b32 %lane, %warp, %s, %r<16>; .shared .align 16 .b8 buffer[4096];
ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x; mov.u32 %warp, %ctaid.x;
mad.wide.u32 %in, %warp, {input_bytes}, %in; mad.wide.u32 %out, %warp, {output_bytes}, %out;
"
    )
    .unwrap();
}

/// Stores registers of all lanes behind `at` bytes of the output; gives the end.
fn dump(text: &mut String, registers: &[String], bits: usize, mut at: usize) -> usize {
    writeln!(text, "mad.wide.u32 %t, %lane, {}, %out;", bits / 8).unwrap();
    for register in registers {
        writeln!(text, "st.global.b{bits} [%t+{at}], {register};").unwrap();
        at += 4 * bits;
    }
    at
}

/// Registers of a `wmma` fragment.
fn fragment(operand: char, element: Element, [m, n, k]: [usize; 3]) -> usize {
    let elements = match operand {
        'a' => m * k,
        'b' => k * n,
        _ => m * n,
    };
    match (operand, element.name) {
        ('a' | 'b', "f16") => 8,
        _ => elements * element.bits / (32 * element.register_bits()),
    }
}

/// Loads three fragments, multiplies, stores the result. Output: the matrix, then the registers of `a`, `b`, `c`, `d`.
/// The line has the layouts of `c` and `d` behind the instruction.
fn wmma(line: &str) -> Kernel {
    let mut words = line.split(' ');
    let text = words.next().unwrap();
    let outer: Vec<&str> = words.collect();
    let form = Form::parse(text);
    let [m, n, k] = form.shape;
    // The types of `f16` forms are those of `d` and `c`.
    let types = match form.types[..] {
        [d, c] => [d, Element::named("f16"), Element::named("f16"), c],
        [d, a, b, c] => [d, a, b, c],
        _ => panic!("{text} has an odd number of types"),
    };
    let layouts: Vec<&str> = text.split('.').filter(|part| ["row", "col"].contains(part)).collect();
    let shape = text.split('.').find(|part| part.starts_with('m') && part.contains('k')).unwrap();
    let operands = [
        ('d', types[0], outer[1], m, n),
        ('a', types[1], layouts[0], m, k),
        ('b', types[2], layouts[1], k, n),
        ('c', types[3], outer[0], m, n),
    ];
    // Rows are 16 bytes apart from where the next would start.
    let stride = |element: Element, layout: &str, rows: usize, columns: usize| {
        let (minor, major) = if layout == "row" { (columns, rows) } else { (rows, columns) };
        let stride = minor + 128 / element.bits;
        (stride, stride * major)
    };
    let bytes = |index: usize| {
        let (_, element, layout, rows, columns) = operands[index];
        stride(element, layout, rows, columns).1 * element.bits / 8
    };
    let input_bytes = bytes(1) + bytes(2) + bytes(3);
    let registers = |index: usize| -> Vec<String> {
        let (name, element, ..) = operands[index];
        (0..fragment(name, element, form.shape)).map(|register| format!("%{name}{register}")).collect()
    };
    let output_bytes =
        bytes(0) + (0..4).map(|index| registers(index).len() * 4 * operands[index].1.register_bits()).sum::<usize>();
    let mut ptx = String::new();
    begin(&mut ptx, input_bytes, output_bytes);
    for (name, element, ..) in operands {
        writeln!(ptx, ".reg .b{} %{name}<9>;", element.register_bits()).unwrap();
    }
    let list = |index: usize| format!("{{{}}}", registers(index).join(", "));
    let mut at = 0;
    for (index, operand) in operands.into_iter().enumerate().skip(1) {
        let (name, element, layout, rows, columns) = operand;
        let (stride, _) = stride(element, layout, rows, columns);
        writeln!(ptx, "add.u64 %t, %in, {at};").unwrap();
        writeln!(
            ptx,
            "wmma.load.{name}.sync.aligned.{layout}.{shape}.global.{} {}, [%t], {stride};",
            element.name,
            list(index)
        )
        .unwrap();
        at += bytes(index);
    }
    writeln!(ptx, "{text} {}, {}, {}, {};", list(0), list(1), list(2), list(3)).unwrap();
    let (_, element, layout, rows, columns) = operands[0];
    let (stride, _) = stride(element, layout, rows, columns);
    writeln!(ptx, "wmma.store.d.sync.aligned.{layout}.{shape}.global.{} [%out], {}, {stride};", element.name, list(0))
        .unwrap();
    let mut at = bytes(0);
    for index in [1, 2, 3, 0] {
        at = dump(&mut ptx, &registers(index), operands[index].1.register_bits(), at);
    }
    ptx.push_str("ret;\n}\n");
    Kernel {
        ptx,
        threads: 32,
        tiles: TILES,
        input_bytes,
        output_bytes,
        elements: (1..4).map(|index| (operands[index].1, bytes(index) * 8 / operands[index].1.bits)).collect(),
    }
}

/// How many matrices `.x4` and its like stand for.
fn matrices(text: &str) -> usize {
    let count = text.split('.').find_map(|part| part.strip_prefix('x')?.parse().ok());
    count.unwrap_or(1)
}

/// Copies 4096 bytes between shared memory and `%from` or `%to`.
fn copy(text: &mut String, to_shared: bool) {
    for part in 0..32 {
        if to_shared {
            writeln!(text, "ld.global.b32 %r0, [%t+{}]; st.shared.b32 [%s+{}], %r0;", part * 128, part * 128).unwrap();
        } else {
            writeln!(text, "ld.shared.b32 %r0, [%s+{}]; st.global.b32 [%t+{}], %r0;", part * 128, part * 128).unwrap();
        }
    }
}

/// Rows in shared memory for each lane: scattered, no two the same.
const ROW: &str = "mul.lo.u32 %s, %lane, 80; add.u32 %s, %s, 32; and.b32 %r15, %lane, 3; mad.lo.u32 %s, %r15, 16, %s;
mov.u32 %r15, buffer; add.u32 %s, %s, %r15;";

fn ldmatrix(text: &str) -> Kernel {
    let mut ptx = String::new();
    let registers: Vec<String> = (0..matrices(text)).map(|index| format!("%r{index}")).collect();
    let output_bytes = registers.len() * 128;
    begin(&mut ptx, 4096, output_bytes);
    ptx.push_str("mad.wide.u32 %t, %lane, 4, %in; mov.u32 %s, buffer; mad.lo.u32 %s, %lane, 4, %s;\n");
    copy(&mut ptx, true);
    ptx.push_str("bar.sync 0;\n");
    writeln!(ptx, "{ROW}\n{text} {{{}}}, [%s];", registers.join(", ")).unwrap();
    dump(&mut ptx, &registers, 32, 0);
    ptx.push_str("ret;\n}\n");
    Kernel {
        ptx,
        threads: 32,
        tiles: TILES,
        input_bytes: 4096,
        output_bytes,
        elements: vec![(Element::named("b16"), 2048)],
    }
}

fn stmatrix(text: &str) -> Kernel {
    let mut ptx = String::new();
    let registers: Vec<String> = (1..=matrices(text)).map(|index| format!("%r{index}")).collect();
    begin(&mut ptx, 4096, 4096);
    ptx.push_str("mad.wide.u32 %t, %lane, 4, %in; mov.u32 %s, buffer; mad.lo.u32 %s, %lane, 4, %s;\n");
    copy(&mut ptx, true);
    for (index, register) in registers.iter().enumerate() {
        writeln!(ptx, "ld.global.b32 {register}, [%t+{}];", index * 128).unwrap();
    }
    ptx.push_str("bar.sync 0;\n");
    writeln!(ptx, "{ROW}\n{text} [%s], {{{}}};\nbar.sync 0;", registers.join(", ")).unwrap();
    ptx.push_str("mad.wide.u32 %t, %lane, 4, %out; mov.u32 %s, buffer; mad.lo.u32 %s, %lane, 4, %s;\n");
    copy(&mut ptx, false);
    ptx.push_str("ret;\n}\n");
    Kernel {
        ptx,
        threads: 32,
        tiles: TILES,
        input_bytes: 4096,
        output_bytes: 4096,
        elements: vec![(Element::named("b16"), 2048)],
    }
}

fn movmatrix(text: &str) -> Kernel {
    let mut ptx = String::new();
    begin(&mut ptx, 128, 128);
    writeln!(ptx, "mad.wide.u32 %t, %lane, 4, %in; ld.global.b32 %r1, [%t]; {text} %r0, %r1;").unwrap();
    dump(&mut ptx, &["%r0".to_owned()], 32, 0);
    ptx.push_str("ret;\n}\n");
    Kernel {
        ptx,
        threads: 32,
        tiles: TILES,
        input_bytes: 128,
        output_bytes: 128,
        elements: vec![(Element::named("b16"), 64)],
    }
}
