//! Functions of the device library that take an index or a count, called with every number that might wrap around: no thread
//! reaches what is another's, none what is outside.

use std::collections::BTreeSet;

use crate::common::{root, rust_files_below};
use rumba::{Check, Checks, Error};
use test_kernels::indices::{Row, TABLE};

/// The factors of sizes in the library: threads, blocks, warps, rows, and their products with elements of a thread.
const FACTORS: [u64; 14] = [3, 5, 8, 9, 11, 16, 24, 33, 99, 128, 132, 264, 396, 1056];

/// The number whose product with an odd one is 1, modulo 2⁶⁴ (Newton's iteration: each step doubles the bits that are right).
fn inverse(odd: u64) -> u64 {
    (0..6).fold(odd, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse))))
}

fn numbers() -> BTreeSet<u64> {
    let mut centres: Vec<u64> = vec![0, u64::MAX];
    centres.extend((0..64).map(|bit| 1 << bit));
    for factor in FACTORS {
        let odd = factor >> factor.trailing_zeros();
        let one = inverse(odd);
        // The first number whose product is beyond 2⁶⁴ or 2³², and those whose product is 1, 2 or -1.
        centres.extend([u64::MAX / factor, u64::from(u32::MAX) / factor]);
        centres.extend([one, one.wrapping_mul(2), one.wrapping_neg(), one & u64::from(u32::MAX)]);
        // The same, of even sizes: the product is the lowest power of two in them.
        centres.push(one >> factor.trailing_zeros());
    }
    let neighbours = |centre: u64| [centre.wrapping_sub(1), centre, centre.wrapping_add(1)];
    centres.into_iter().flat_map(neighbours).collect()
}

#[test]
fn inverses_are_inverse() {
    for odd in [1, 3, 33, 1025, u64::MAX] {
        assert_eq!(odd.wrapping_mul(inverse(odd)), 1);
    }
}

#[test]
fn no_index_reaches_another_threads_elements() {
    let numbers = numbers();
    let mut wrong = String::new();
    for row in TABLE {
        let found = findings(row, &numbers);
        if !found.is_empty() {
            wrong += &format!("{} ({}):\n{found}\n", row.name, row.functions.join(", "));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The findings in a row's kernel, called with each number. A panic is allowed, unless its message says `wrong`.
fn findings(row: &Row, numbers: &BTreeSet<u64>) -> String {
    let findings = Checks::default()
        .only([Check::Mem, Check::Race])
        .run(|device| {
            let module = device.load_named("indices.ptx", include_str!(env!("INDICES_PTX")))?;
            let x: Vec<u32> = (0..1024).collect();
            for &[grid, block] in row.launches {
                for &n in numbers {
                    let mut y = vec![0; 1024];
                    match module.launch((grid, block), (row.call)(n, &x, &mut y)) {
                        Ok(()) => {}
                        Err(Error::Panic(panic)) if !panic.message.starts_with("wrong") => {}
                        Err(error) => {
                            eprintln!("{} with {n:#x}", row.name);
                            return Err(error);
                        }
                    }
                }
            }
            Ok(())
        })
        .expect("nothing is wrong but what is found");
    if findings.is_empty() { String::new() } else { findings.to_string() }
}

/// Functions whose numbers are values: no memory is reached by them.
const VALUES: [&str; 14] = [
    "Atomic::fetch_inc",
    "Atomic::fetch_dec",
    "from_bits",
    "LookBack::wait",
    "Record::with_bell",
    "Xoroshiro128Plus::streams",
    "Xoroshiro128Plus::from_state",
    "all_sync",
    "any_sync",
    "ballot_sync",
    "match_any_sync",
    "match_all_sync",
    "sync_warp",
    "nanosleep",
];

/// Functions that are called with constants, or on the host alone.
const CONSTANT: [&str; 4] = ["barriers", "leave", "lop3", "padded_rows"];

/// Functions that take the number of a rank: `symmetric.rs` calls them.
const RANKS: [&str; 2] = ["Symmetric::each_on", "SymmetricView::rank"];

/// Functions of kernels for compute capability 9.0 alone: what a copy, a tile or a cluster does not have is asserted, or left out
/// by the copy (PTX manual, "Tensor: Out of bounds access").
const TENSOR: [&str; 12] = [
    "ClusterView::block",
    "Im2colMap::at",
    "Im2colRows::tap",
    "Panels::panels",
    "Panels::rows",
    "Products::add_all",
    "Products::add_rows",
    "Source4::column",
    "TensorMap::at",
    "TensorMap::at_batch",
    "TensorMap4::at",
    "TileRef::rows",
];

#[test]
fn every_function_that_takes_an_index_is_in_the_table() {
    let (mut all, mut found) = (BTreeSet::new(), BTreeSet::new());
    for path in rust_files_below("crates/cuda_std/src") {
        // The host's side of a launch, where nothing is indexed by a thread.
        if path.components().any(|part| part.as_os_str() == "launch") {
            continue;
        }
        let text = std::fs::read_to_string(root().join(&path)).expect("sources are UTF-8");
        for (name, takes_number) in functions(&text) {
            if takes_number {
                found.insert(name.clone());
            }
            all.insert(name);
        }
    }
    assert!(found.len() > 30, "functions were looked for in the wrong place: {found:?}");

    let of_table = TABLE.iter().flat_map(|row| row.functions);
    let listed: BTreeSet<&str> =
        of_table.chain(&VALUES).chain(&CONSTANT).chain(&RANKS).chain(&TENSOR).copied().collect();
    let missing: Vec<&String> = found.iter().filter(|name| !listed.contains(name.as_str())).collect();
    assert!(
        missing.is_empty(),
        "functions of cuda_std that take a number and have no line in tests/kernels/src/indices/mod.rs: {missing:?}"
    );
    let stale: Vec<&&str> = listed.iter().filter(|name| !all.contains(**name)).collect();
    assert!(stale.is_empty(), "there are no such functions in cuda_std: {stale:?}");
}

/// The public functions of a source, as `Type::function` or `function`, and whether they take a number or an array of some.
///
/// Sources are formatted, so an implementation begins with a line that does, and a `}` of the same depth ends it. Those that
/// macros make are seen where the macro says their names.
fn functions(source: &str) -> Vec<(String, bool)> {
    let mut functions = Vec::new();
    let mut blocks: Vec<(usize, Option<String>, bool)> = Vec::new();
    let code: Vec<&str> = source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    for (number, line) in code.iter().enumerate() {
        let (depth, text) = (line.len() - line.trim_start().len(), line.trim());
        blocks.retain(|(start, ..)| !(depth <= *start && text.starts_with('}')));
        let rest = code[number..].join(" ");
        if (text.starts_with("impl") && !text.ends_with("{}")) || text.starts_with("mod tests") {
            let head = rest.split('{').next().unwrap_or_default();
            let of_trait = head.contains(" for ");
            let indexes = head.contains(" Index<usize>") || head.contains(" IndexMut<usize>");
            let hidden = text.starts_with("mod") || (of_trait && !indexes);
            blocks.push((depth, type_of(head), hidden));
        }
        let is_public =
            text.starts_with("pub fn ") || text.starts_with("pub const fn ") || text.starts_with("pub unsafe fn ");
        let in_index =
            blocks.last().is_some_and(|(_, of, hidden)| of.is_some() && !hidden) && text.starts_with("fn index");
        if !(is_public || in_index) || blocks.iter().any(|(.., hidden)| *hidden) {
            continue;
        }
        let Some((_, rest)) = rest.split_once("fn ") else {
            continue;
        };
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '$').collect();
        let parameters = rest[name.len()..].split(" {").next().unwrap_or_default();
        let parameters = parameters.split(" -> ").next().unwrap_or_default();
        let parameters = &parameters[generics(parameters)..];
        let takes_number = ["usize", "u64", "u32"]
            .iter()
            .any(|ty| parameters.contains(&format!(": {ty}")) || parameters.contains(&format!(": [{ty}")));
        let of = blocks.last().and_then(|(_, of, _)| of.as_ref());
        functions.push((of.map_or(name.clone(), |of| format!("{of}::{name}")), takes_number));
    }
    functions
}

/// How long the generics are that a text begins with.
fn generics(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if c == '>' { at + 1 } else { at };
        }
    }
    0
}

/// The type of an implementation; `None` if a macro writes it.
fn type_of(head: &str) -> Option<String> {
    let head = head.split(" where").next()?;
    let head = head.trim_start_matches("impl");
    let head = head[generics(head)..].rsplit(" for ").next()?;
    // Methods of an output are named by its layout.
    let head = head.trim();
    let layout = head.strip_prefix("Disjoint<").and_then(|head| head.split(", ").nth(2));
    let name = layout.unwrap_or(head).split(['<', '>']).next()?.rsplit("::").next()?;
    (!name.is_empty() && !name.contains('$')).then(|| name.to_owned())
}
