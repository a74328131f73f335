//! Imports run one way between the layers of a crate: ARCHITECTURE.md draws the layers, this test reads the imports from the sources.
//!
//! A layer is a folder or a file directly below `src`. It may name what lies in the layers before it in the list. Within a layer,
//! cycles of modules stay short. A module and the modules below it are one for this purpose: they may name each other.
//!
//! Imports are the paths that begin with `crate::`, `super::`, `self::` or the name of a module below, in `use` or elsewhere. A path to
//! an item that a module re-exports leads to the module that defines the item.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::common::{root, rust_files_below};

/// The layers of a crate, from the one that knows no other to the one that knows them all.
struct Crate {
    folder: &'static str,
    layers: &'static [&'static str],
    /// Modules in a cycle, at most.
    cycle: usize,
}

const CRATES: &[Crate] = &[
    Crate {
        folder: "crates/rumba-vm/src",
        layers: &[
            "base", "arith", "mem", "explore", "check", "machine", "exec", "lower", "isa", "load", "compile", "run",
            "device",
        ],
        cycle: 4,
    },
    Crate {
        folder: "host/src",
        layers: &[
            "cuda",
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
            "libraries",
            "performance",
            "cust",
            "interop",
        ],
        cycle: 4,
    },
    Crate {
        folder: "apps/rumba-nn/src",
        layers: &["error", "plan", "run", "weights", "layers", "models", "train"],
        cycle: 4,
    },
    Crate {
        folder: "crates/cuda_std/src",
        layers: &["device", "abi", "number", "mem", "array", "collective", "report", "launch", "algorithms", "facade"],
        cycle: 4,
    },
];

/// The code of a module, and the modules directly below it.
#[derive(Default)]
struct Module {
    /// Neither comments nor tests.
    code: String,
    children: Vec<String>,
}

type Modules = BTreeMap<String, Module>;

/// Modules by their path, such as `check::race`.
fn modules(folder: &str) -> Modules {
    let mut found = Modules::new();
    for path in rust_files_below(folder) {
        let within = path.strip_prefix(folder).expect("it lies there").with_extension("");
        let parts: Vec<_> = within.iter().map(|part| part.to_string_lossy()).collect();
        let name = parts.join("::");
        let name = name.strip_suffix("::mod").unwrap_or(&name).to_owned();
        let text = std::fs::read_to_string(root().join(&path)).expect("sources are UTF-8");
        if name != "lib" && !text.contains("#![cfg(test)]") {
            found.insert(name, Module { code: code(&text), children: Vec::new() });
        }
    }
    add_children(&mut found);
    assert!(!found.is_empty(), "{folder} has no modules");
    found
}

/// Tells each module which modules lie directly below it.
fn add_children(modules: &mut Modules) {
    for name in modules.keys().cloned().collect::<Vec<_>>() {
        if let Some((parent, child)) = name.rsplit_once("::")
            && let Some(parent) = modules.get_mut(parent)
        {
            parent.children.push(child.to_owned());
        }
    }
}

/// A file without comments and without its module of tests.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let lines = text[..end].lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A path from the crate's root, and whether it stands in a `pub use`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    path: String,
    is_passed_on: bool,
}

/// The paths of a module's code, from the crate's root.
fn paths(own: &str, module: &Module) -> Vec<Named> {
    let code = &module.code;
    let inline = inline_modules(code);
    let mut found = Vec::new();
    let starts = ["crate", "self", "super"].into_iter().chain(module.children.iter().map(String::as_str));
    for start in starts {
        for (at, _) in code.match_indices(&format!("{start}::")) {
            let before = &code[..at];
            let continues = before.ends_with(|c: char| is_name(c) || c == ':' || c == '$');
            let depth = inline.iter().filter(|range| range.contains(&at)).count();
            let is_child = !matches!(start, "crate" | "self" | "super");
            if continues || is_child && depth > 0 {
                continue;
            }
            let mut rest = &code[at + start.len() + 2..];
            let mut base: Vec<&str> = own.split("::").collect();
            match start {
                "crate" => base.clear(),
                "super" => {
                    let mut levels = 1;
                    while let Some(next) = rest.strip_prefix("super::") {
                        (rest, levels) = (next, levels + 1);
                    }
                    // Within an inline module, the first `super` is the file's own module.
                    base.truncate(base.len().saturating_sub(levels - depth.min(levels)));
                }
                "self" => {}
                child => base.push(child),
            }
            let opening = before.rfind([';', '{', '}']).map_or(before, |end| &before[end + 1..]);
            let is_passed_on = opening.trim_start().starts_with("pub") && opening.trim_end().ends_with("use");
            let mut spelled = Vec::new();
            spell("", rest, &mut spelled);
            found.extend(spelled.into_iter().map(|path| {
                let path = base.iter().copied().chain([&*path]).collect::<Vec<_>>().join("::");
                Named { path, is_passed_on }
            }));
        }
    }
    found
}

/// Where a file's inline modules stand.
fn inline_modules(code: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("mod ") {
        let rest = &code[at + 4..];
        let name = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        if code[..at].ends_with(is_name) || !rest[name..].starts_with(" {") {
            continue;
        }
        let mut depth = 0;
        let end = rest[name..].char_indices().find(|(_, c)| {
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            *c == '}' && depth == 0
        });
        found.push(at..end.map_or(code.len(), |(end, _)| at + 4 + name + end));
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
fn imports(modules: &Modules) -> BTreeMap<&str, BTreeSet<&str>> {
    let named: BTreeMap<&str, Vec<Named>> =
        modules.iter().map(|(name, module)| (name.as_str(), paths(name, module))).collect();
    // What a module re-exports: the item's path there, and its path where it is defined.
    let mut passed_on = BTreeMap::new();
    for (module, named) in &named {
        for named in named.iter().filter(|named| named.is_passed_on) {
            let item = named.path.rsplit("::").next().unwrap_or_default();
            passed_on.insert(format!("{module}::{item}"), named.path.as_str());
        }
    }
    let mut all = BTreeMap::new();
    for (&module, named) in &named {
        let named = named.iter().filter(|named| !named.is_passed_on);
        let defined = named.filter_map(|named| defining(&named.path, modules, &passed_on));
        all.insert(module, defined.filter(|other| *other != module).collect::<BTreeSet<_>>());
    }
    all
}

/// The module that defines the item of a path.
fn defining<'a>(path: &str, modules: &'a Modules, passed_on: &BTreeMap<String, &str>) -> Option<&'a str> {
    let mut path = path.to_owned();
    // Modules pass items on that other modules pass on to them.
    for _ in 0..8 {
        let mut known = path.as_str();
        let next = loop {
            if let Some(next) = passed_on.get(known).filter(|next| **next != path) {
                break Some(format!("{next}{}", &path[known.len()..]));
            }
            if let Some((known, _)) = modules.get_key_value(known) {
                return Some(known);
            }
            let Some((shorter, _)) = known.rsplit_once("::") else { break None };
            known = shorter;
        };
        path = next?;
    }
    None
}

/// The first names of paths that lead to no module: what `lib.rs` passes on. Macros have no other path.
fn through_lib(code: &str, modules: &Modules) -> Vec<String> {
    let is_layer = |path: &String| {
        let first = path.split("::").next().unwrap_or_default();
        modules.keys().any(|module| module.split("::").next() == Some(first))
    };
    let named = code.match_indices("crate::").filter(|(at, _)| !code[..*at].ends_with('$'));
    let mut found = Vec::new();
    for (at, _) in named {
        let mut paths = Vec::new();
        let rest = spell("", &code[at + "crate::".len()..], &mut paths);
        found.extend(paths.into_iter().filter(|path| !is_layer(path) && !rest.starts_with('!')));
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

/// The imports without those of a module by the modules below it.
fn without_parents<'a>(imports: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let is_below = |module: &str, parent: &str| module.strip_prefix(parent).is_some_and(|rest| rest.starts_with("::"));
    imports
        .iter()
        .map(|(module, named)| (*module, named.iter().copied().filter(|named| !is_below(module, named)).collect()))
        .collect()
}

/// What stands in the way of a crate's layers, in words.
fn violations(modules: &Modules, layers: &[&str], cycle: usize) -> String {
    let imports = imports(modules);
    let layer = |module: &str| {
        let layer = module.split("::").next().unwrap_or_default();
        layers.iter().position(|known| *known == layer)
    };
    let mut wrong = String::new();
    for (module, named) in &imports {
        let Some(own) = layer(module) else {
            let _ = writeln!(wrong, "{module} is in no layer of the list");
            continue;
        };
        for named in named {
            if layer(named).is_some_and(|other| other > own) {
                let _ = writeln!(wrong, "{module} names {named}, which lies above it");
            }
        }
    }
    let imports = without_parents(&imports);
    let reached: BTreeMap<_, _> = imports.keys().map(|module| (*module, reached(module, &imports))).collect();
    let mut cycles = BTreeSet::new();
    for module in imports.keys() {
        let mutual: Vec<_> = reached[module].iter().filter(|other| reached[*other].contains(module)).collect();
        if mutual.len() > cycle {
            cycles.insert(mutual);
        }
    }
    for modules in cycles {
        let _ = writeln!(wrong, "a cycle of more than {cycle} modules: {modules:?}");
    }
    wrong
}

#[test]
fn imports_run_one_way() {
    for Crate { folder, layers, cycle } in CRATES {
        let wrong = violations(&modules(folder), layers, *cycle);
        assert!(wrong.is_empty(), "{folder}:\n{wrong}");
    }
}

/// A module that names an item through `lib.rs` hides which layer it needs.
#[test]
fn modules_name_the_layer_that_has_an_item() {
    let modules = modules("crates/cuda_std/src");
    let through_lib: Vec<_> = modules
        .iter()
        .flat_map(|(name, module)| through_lib(&module.code, &modules).into_iter().map(move |path| (name, path)))
        .collect();
    assert!(through_lib.is_empty(), "{through_lib:?}");
}

/// Modules of which each has this code.
fn written(modules: &[(&str, &str)]) -> Modules {
    let mut all: Modules = modules
        .iter()
        .map(|(name, code)| ((*name).to_owned(), Module { code: (*code).to_owned(), children: Vec::new() }))
        .collect();
    add_children(&mut all);
    all
}

#[test]
fn paths_are_found_from_the_root_of_the_crate() {
    let module = Module {
        code: "use crate::a::{self, b::{C, d}, e};\nlet f = crate::g::h::<u8>();\nuse super::super::i::J;\npub use k::{L, self};\n\
               mod inline {\n    use super::M;\n}\nlet n = self::N;"
            .to_owned(),
        children: vec!["k".to_owned()],
    };
    let (passed_on, named): (Vec<_>, Vec<_>) =
        paths("own::below", &module).into_iter().partition(|named| named.is_passed_on);
    let names = |named: Vec<Named>| named.into_iter().map(|named| named.path).collect::<Vec<_>>();
    let expected = ["a::self", "a::b::C", "a::b::d", "a::e", "g::h", "own::below::N", "i::J", "own::below::M"];
    assert_eq!(names(named), expected);
    assert_eq!(names(passed_on), ["own::below::k::L", "own::below::k::self"]);
}

#[test]
fn imports_against_the_order_and_cycles_are_found() {
    let layers = ["low", "high"];
    for (code, found) in [
        ("use super::high::Item;", "low names high::defined, which lies above it"),
        ("use crate::high::{Item};", "low names high::defined, which lies above it"),
        ("mod inline { use super::super::high::Item; }", "low names high::defined"),
        ("use super::low;", ""),
    ] {
        let modules = written(&[("low", code), ("high", "pub use defined::Item;"), ("high::defined", "")]);
        let wrong = violations(&modules, &layers, 1);
        assert!(wrong.contains(found) && wrong.is_empty() == found.is_empty(), "{code}: {wrong}");
    }
    let cycle = |cycle| {
        let all = [
            ("low", "mod a;"),
            ("low::a", "use super::b::B;"),
            ("low::b", "use super::{c::C, a::d::D};"),
            ("low::c", "use crate::low::a::A;"),
            ("low::a::d", "use super::A;"),
        ];
        violations(&written(&all), &["low"], cycle)
    };
    assert_eq!(cycle(3), "");
    assert_eq!(cycle(2), "a cycle of more than 2 modules: [\"low::a\", \"low::b\", \"low::c\"]\n");
}

/// The modules of the machine that may ask an operation for its opcode: native code and its analyses, and the table of attributes,
/// which all others read.
const OPCODE_READERS: &[&str] = &["machine::op", "compile"];

#[test]
fn passes_read_the_attributes_of_opcodes() {
    let is_reader = |name: &str| {
        OPCODE_READERS
            .iter()
            .any(|reader| name.strip_prefix(reader).is_some_and(|rest| rest.is_empty() || rest.starts_with("::")))
    };
    // An operation is made with its opcode.
    let is_made =
        |line: &str| ["with_opcode(", "opcode: Opcode::", "const OPCODE"].iter().any(|made| line.contains(made));
    let modules = modules("crates/rumba-vm/src");
    let asked: Vec<_> = modules
        .iter()
        .filter(|(name, _)| !is_reader(name))
        .flat_map(|(name, module)| module.code.lines().map(move |line| (name, line)))
        .filter(|(_, line)| line.contains("Opcode::") && !is_made(line))
        .collect();
    assert!(asked.is_empty(), "these match on opcodes instead of reading `Opcode::attributes`: {asked:#?}");
    assert!(modules.contains_key("machine::op::opcode"), "the table of attributes is elsewhere now");
}
