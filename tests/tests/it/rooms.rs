//! Imports between the layers of a crate run in one direction: ARCHITECTURE.md lists the layers, this test the imports.
//!
//! A layer (here a room) is a folder or a file directly below `src`. It may name items of earlier layers in the list,
//! by `use` or by a path that begins with `crate::`. Within a layer, import cycles stay short.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The layers of a crate, from the lowest to the highest.
struct House {
    folder: &'static str,
    rooms: &'static [&'static str],
    /// The largest allowed number of modules in an import cycle.
    knot: usize,
}

const HOUSES: &[House] = &[
    House {
        folder: "crates/rumba-vm/src",
        rooms: &[
            "base", "mem", "explore", "check", "machine", "exec", "lower", "isa", "load", "compile", "run", "device",
        ],
        knot: 4,
    },
    House {
        folder: "host/src",
        rooms: &[
            "base",
            "context",
            "modules",
            "buffers",
            "streams",
            "devices",
            "launch",
            "algorithms",
            "array",
            "linalg",
            "performance",
        ],
        knot: 4,
    },
    House {
        folder: "crates/rumba-nn/src",
        rooms: &["error", "plan", "run", "weights", "layers", "models", "train"],
        knot: 4,
    },
    House {
        folder: "crates/cuda_std/src",
        rooms: &["device", "abi", "number", "mem", "array", "collective", "report", "launch", "algorithms", "facade"],
        knot: 2,
    },
];

/// Modules by their path, such as `check::race`, with their code: neither comments nor tests.
fn modules(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).expect("the folder is part of the workspace") {
            let path: PathBuf = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let within = path.strip_prefix(folder).expect("it lies there").with_extension("");
                let parts: Vec<_> = within.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                let name = parts.join("::");
                let name = name.strip_suffix("::mod").unwrap_or(&name).to_owned();
                let text = std::fs::read_to_string(&path).expect("sources are UTF-8");
                if name != "lib" && !text.contains("#![cfg(test)]") {
                    found.insert(name, code(&text));
                }
            }
        }
    }
    assert!(!found.is_empty(), "{} has no modules", folder.display());
    found
}

/// A file without comments and without its module of tests.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let lines = text[..end].lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The paths behind each `crate::` of a text, those in braces one by one.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        spell("", &code[at + "crate::".len()..], &mut found);
    }
    found
}

/// Adds the paths that a text begins with, below `before`; returns what follows them.
fn spell<'a>(before: &str, text: &'a str, found: &mut Vec<String>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut inner) = text.strip_prefix('{') {
        loop {
            inner = inner.trim_start_matches([',', ' ', '\n']);
            if let Some(rest) = inner.strip_prefix('}') {
                return rest;
            }
            let rest = spell(before, inner, found);
            if rest.len() == inner.len() {
                return rest;
            }
            inner = rest;
        }
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let (name, rest) = text.split_at(text.find(|c| !is_name(c)).unwrap_or(text.len()));
    let path = if before.is_empty() { name.to_owned() } else { format!("{before}::{name}") };
    match rest.strip_prefix("::") {
        Some(rest) if rest.starts_with(|c| is_name(c) || c == '{') => spell(&path, rest, found),
        _ => {
            found.push(path);
            rest
        }
    }
}

/// The modules that each module names.
fn imports(modules: &BTreeMap<String, String>) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut all = BTreeMap::new();
    for (name, code) in modules {
        let named = paths(code).into_iter().filter_map(|path| {
            let mut path = path.as_str();
            loop {
                if let Some((known, _)) = modules.get_key_value(path) {
                    return (known != name).then_some(known.as_str());
                }
                path = path.rsplit_once("::")?.0;
            }
        });
        all.insert(name.as_str(), named.collect::<BTreeSet<_>>());
    }
    all
}

/// The first names of paths that lead to no module: items that `lib.rs` re-exports. Macros have no other path.
fn passed_on(code: &str, modules: &BTreeMap<String, String>) -> Vec<String> {
    let is_room = |path: &String| {
        let first = path.split("::").next().unwrap_or_default();
        modules.keys().any(|module| module.split("::").next() == Some(first))
    };
    let named = code.match_indices("crate::").filter(|(at, _)| !code[..*at].ends_with('$'));
    let mut found = Vec::new();
    for (at, _) in named {
        let mut paths = Vec::new();
        let rest = spell("", &code[at + "crate::".len()..], &mut paths);
        found.extend(paths.into_iter().filter(|path| !is_room(path) && !rest.starts_with('!')));
    }
    found
}

/// Every module that can be reached from one by imports.
fn reached<'a>(from: &'a str, imports: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        for named in &imports[module] {
            if seen.insert(*named) {
                next.push(named);
            }
        }
    }
    seen
}

#[test]
fn imports_run_one_way() {
    for House { folder, rooms, knot } in HOUSES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
        let modules = modules(&folder);
        let imports = imports(&modules);
        let room = |module: &str| {
            let room = module.split("::").next().unwrap_or_default();
            rooms.iter().position(|known| *known == room)
        };
        let mut wrong = String::new();
        for (module, named) in &imports {
            let Some(own) = room(module) else {
                let _ = writeln!(wrong, "{module} is in no room of the list");
                continue;
            };
            for named in named {
                if room(named).is_some_and(|other| other > own) {
                    let _ = writeln!(wrong, "{module} names {named}, which lies above it");
                }
            }
        }
        assert!(wrong.is_empty(), "{}:\n{wrong}", folder.display());

        let reached: BTreeMap<_, _> = imports.keys().map(|module| (*module, reached(module, &imports))).collect();
        for module in imports.keys() {
            let mutual: Vec<_> = reached[module].iter().filter(|other| reached[*other].contains(module)).collect();
            assert!(mutual.len() <= *knot, "{}: these need each other: {mutual:?}", folder.display());
        }
    }
}

/// A module that names an item through `lib.rs` hides the layer that it imports from.
#[test]
fn rooms_name_the_room_that_has_an_item() {
    let modules = modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cuda_std/src"));
    let through_lib: Vec<_> = modules
        .iter()
        .flat_map(|(module, code)| passed_on(code, &modules).into_iter().map(move |path| (module, path)))
        .collect();
    assert!(through_lib.is_empty(), "{through_lib:?}");
}

#[test]
fn paths_in_braces_are_found() {
    let text = "use crate::a::{self, b::{C, d}, e};\nlet f = crate::g::h::<u8>();";
    assert_eq!(paths(text), ["a::self", "a::b::C", "a::b::d", "a::e", "g::h"]);
}
