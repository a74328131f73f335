//! Operands of the matrix instructions: how many registers of a thread hold its part of a matrix.

use super::operands::{Opcode, vector};

/// Rows, columns and depth of a shape such as `m16n8k32`.
fn shape(opcode: &Opcode<'_>) -> Option<(usize, usize, usize)> {
    opcode.modifiers.iter().find_map(|modifier| {
        let (m, rest) = modifier.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k').unwrap_or((rest, "0"));
        Some((m.parse().ok()?, n.parse().ok()?, k.parse().ok()?))
    })
}

/// The element types of a matrix instruction, in the order of the modifiers.
fn elements<'t>(opcode: &Opcode<'t>) -> Vec<&'t str> {
    let elements = opcode.modifiers.iter().copied();
    elements.filter(|modifier| element_bits(modifier).is_some()).collect()
}

fn element_bits(ty: &str) -> Option<usize> {
    Some(match ty {
        "b1" => 1,
        "s4" | "u4" => 4,
        "s8" | "u8" | "e4m3" | "e5m2" | "e3m2" | "e2m3" | "e2m1" => 8,
        "f16" | "bf16" => 16,
        "tf32" | "f32" | "s32" => 32,
        "f64" => 64,
        _ => return None,
    })
}

/// The registers of a thread for its part of `count` elements.
fn registers(first: usize, ty: &str, count: usize, dense: bool) -> String {
    let bits = if dense { 4 } else { element_bits(ty).unwrap_or(32) };
    if bits == 64 {
        return vector("b64", first, count / 32);
    }
    vector("b32", first, (count * bits / 32 / 32).max(1))
}

/// A complete statement of a matrix instruction.
pub(super) fn statement(opcode: &Opcode<'_>) -> Option<String> {
    let operands = match opcode.mnemonic {
        "ldmatrix" | "stmatrix" => {
            let tiles = [("x1", 1), ("x2", 2), ("x4", 4)];
            let tiles = tiles.iter().find(|(name, _)| opcode.has(name))?.1;
            // A tile of 16 × 16 bytes fills two registers.
            let count = if opcode.has("m16n16") { 2 * tiles } else { tiles };
            let list = vector("b32", 0, count);
            let place = if opcode.has("shared") { "[smem]" } else { "[%rd20]" };
            if opcode.mnemonic == "ldmatrix" { format!("{list}, {place}") } else { format!("{place}, {list}") }
        }
        "mma" => product(opcode)?,
        _ => by_warp(opcode)?,
    };
    Some(format!("{} {operands};", opcode.text))
}

fn product(opcode: &Opcode<'_>) -> Option<String> {
    let (m, n, k) = shape(opcode)?;
    let types = elements(opcode);
    let [d, a, b, c] = types[..] else { return None };
    let sparse = opcode.modifiers[0].starts_with("sp");
    // These kinds pack numbers of four bits; the others give each a byte.
    let dense = opcode.has("kind::mxf4") || opcode.has("kind::mxf4nvf4");
    let stored = if sparse { k / 2 } else { k };
    // Four threads share the work on an eight by eight by four tile, so each holds four times as much.
    let factor = if (m, n, k) == (8, 8, 4) && a == "f16" { 4 } else { 1 };
    let mut operands = vec![
        registers(0, d, m * n * factor, false),
        registers(20, a, m * stored * factor, dense),
        registers(40, b, n * k * factor, dense),
        registers(60, c, m * n * factor, false),
    ];
    if sparse {
        operands.push("%r80".into());
        operands.push("0x0".into());
    }
    if opcode.has("block_scale") {
        for register in ["%r81", "%r82"] {
            operands.push(register.into());
            operands.push("{0, 0}".into());
        }
    }
    Some(operands.join(", "))
}

/// The registers of a `wmma` fragment.
fn fragment(first: usize, which: char, ty: &str, (m, n, k): (usize, usize, usize)) -> String {
    let count = match which {
        'a' => m * k,
        'b' => k * n,
        _ => m * n,
    };
    // Of f16 a thread holds eight registers in every shape, some elements twice.
    let count = if ty == "f16" && matches!(which, 'a' | 'b') { 512 } else { count };
    registers(first, ty, count, false)
}

fn by_warp(opcode: &Opcode<'_>) -> Option<String> {
    let shape = shape(opcode)?;
    let types = elements(opcode);
    let place = if opcode.has("shared") {
        "[smem]"
    } else if opcode.has("global") {
        "[gmem]"
    } else {
        "[%rd20]"
    };
    Some(match opcode.modifiers[0] {
        "load" => {
            let which = opcode.modifiers[1].chars().next()?;
            format!("{}, {place}, %r90", fragment(0, which, types[0], shape))
        }
        "store" => format!("{place}, {}, %r90", fragment(0, 'd', types[0], shape)),
        _ => {
            // Of half precision products only the types of the results are given.
            let (d, a, b, c) = match types[..] {
                [d, a, b, c] => (d, a, b, c),
                [d, c] => (d, "f16", "f16", c),
                _ => return None,
            };
            [
                fragment(0, 'd', d, shape),
                fragment(20, 'a', a, shape),
                fragment(40, 'b', b, shape),
                fragment(60, 'c', c, shape),
            ]
            .join(", ")
        }
    })
}

/// A complete statement of an instruction of a warp group; `kind` is `rs` if the first factor lies in registers.
pub(super) fn by_group(opcode: &Opcode<'_>, kind: &str) -> Option<String> {
    let operands = match opcode.modifiers[0] {
        "mma_async" => {
            let (m, n, k) = shape(opcode)?;
            let types = elements(opcode);
            let [d, a, _] = types[..] else { return None };
            let is_sparse = opcode.has("sp");
            let mut operands = vec![registers(0, d, m * n / 4, false)];
            operands.push(if kind == "rs" {
                registers(140, a, m * k / if is_sparse { 8 } else { 4 }, false)
            } else {
                "%rd1".into()
            });
            operands.push("%rd2".into());
            if is_sparse {
                operands.extend(["%r150".into(), "0".into()]);
            }
            operands.push("%p1".into());
            if !matches!(a, "s8" | "u8" | "b1") {
                operands.extend(["1".into(), "-1".into()]);
            }
            if matches!(a, "f16" | "bf16") {
                let both = if kind == "rs" { 1 } else { 2 };
                operands.extend(std::iter::repeat_n("1".to_owned(), both));
            }
            operands.join(", ")
        }
        "wait_group" => "0".into(),
        _ => String::new(),
    };
    Some(format!("{} {operands};", opcode.text))
}

#[cfg(test)]
mod tests {
    use super::super::operands::statement;

    #[track_caller]
    fn registers(listed: &str, expected: &[usize]) {
        let statement = statement(listed).unwrap();
        let counts: Vec<_> =
            statement.split('{').skip(1).map(|part| part.split('}').next().unwrap().split(',').count()).collect();
        assert_eq!(counts, expected, "{statement}");
    }

    #[test]
    fn fragments_have_the_sizes_of_the_manual() {
        registers("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", &[4, 4, 2, 4]);
        registers("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", &[8, 2, 2, 8]);
        registers("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", &[2, 1, 1, 2]);
        registers("mma.sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16", &[2, 4, 4, 2]);
        registers("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", &[4, 4, 2, 4]);
        registers("wmma.load.a.sync.aligned.row.m16n16k16.f16", &[8]);
        registers("wmma.load.b.sync.aligned.row.m32n8k16.bf16", &[2]);
        registers("wmma.mma.sync.aligned.row.col.m8n32k16.f32.f32", &[8, 8, 8, 8]);
        registers("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", &[8, 4, 4, 8]);
        registers("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8", &[4]);
    }
}
