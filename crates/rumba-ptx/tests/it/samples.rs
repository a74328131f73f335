//! PTX as compilers print it: read, printed, read again, and cut short.
//!
//! `samples/` holds one file per dialect. NVIDIA's assembler accepts all of them but `legacy.ptx` (for an
//! architecture that is long gone), and also the printer's output for them.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use rumba_ptx::ast::{Item, Module, StateSpace, Statement, Symbol, Type};
use rumba_ptx::{LineIndex, Position, Report, parse, parse_declarations};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// The PTX files of a folder with their contents, in order.
fn sources(name: &str) -> Vec<(PathBuf, String)> {
    let mut sources: Vec<_> = fs::read_dir(folder(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .map(|path| (path.clone(), fs::read_to_string(&path).unwrap()))
        .collect();
    sources.sort();
    assert!(!sources.is_empty());
    sources
}

fn sample(name: &str) -> String {
    fs::read_to_string(folder("samples").join(name)).unwrap()
}

#[track_caller]
fn read<'s>(path: &Path, source: &'s str) -> Module<'s> {
    match parse(source) {
        Ok(module) => module,
        Err(faults) => {
            let name = path.to_string_lossy();
            panic!("{}", Report::new(&name, source).render_all(&faults))
        }
    }
}

/// The statements of a function, those of inner blocks included.
fn statements<'m, 's>(module: &'m Module<'s>, function: &str) -> Vec<&'m Statement<'s>> {
    fn collect<'m, 's>(block: &'m [Statement<'s>], all: &mut Vec<&'m Statement<'s>>) {
        for statement in block {
            all.push(statement);
            if let Statement::Block(inner) = statement {
                collect(&inner.statements, all);
            }
        }
    }
    let mut all = Vec::new();
    for item in &module.items {
        if let Item::Function(candidate) = item
            && candidate.name == function
            && let Some(body) = &candidate.body
        {
            collect(&body.statements, &mut all);
        }
    }
    assert!(!all.is_empty(), "no function `{function}`");
    all
}

#[test]
fn what_is_printed_reads_back_as_the_same_tree() {
    for (path, source) in sources("samples") {
        let module = read(&path, &source);
        let printed = module.to_string();
        assert_eq!(read(&path, &printed), module, "{}", path.display());
        assert_eq!(read(&path, &printed).to_string(), printed, "{}", path.display());
    }
}

#[test]
fn declarations_are_those_of_the_whole_tree() {
    let mut bodies = 0;
    for (path, source) in sources("samples") {
        let mut module = read(&path, &source);
        for item in &mut module.items {
            if let Item::Function(function) = item
                && let Some(body) = &mut function.body
            {
                body.statements.clear();
                bodies += 1;
            }
        }
        assert_eq!(parse_declarations(&source).as_ref(), Ok(&module), "{}", path.display());
    }
    assert!(bodies > 20, "{bodies}");
}

#[test]
fn every_form_is_printed_as_expected() {
    let source = sample("forms.ptx");
    let printed = read(Path::new("forms.ptx"), &source).to_string();
    expect_file![folder("samples").join("forms.printed")].assert_eq(&printed);
}

#[test]
fn faults_are_reported_as_expected() {
    for (path, source) in sources("faults") {
        let Err(faults) = parse(&source) else {
            panic!("{} has no fault", path.display());
        };
        let name = path.file_name().unwrap().to_str().unwrap();
        let report = Report::new(name, &source);
        let text = format!("{}\n\n{}", report.render_all(&faults), report.short_log(&faults));
        expect_file![path.with_extension("expected")].assert_eq(&text);
    }
}

/// Wherever a source is cut off, there is a tree or an error, and the error has a place in it.
#[test]
fn a_source_cut_short_is_an_error_with_a_place() {
    for (path, source) in sources("samples") {
        let complete = read(&path, &source);
        let step = (source.len() / 400).max(1);
        for end in (0..source.len()).step_by(step) {
            let cut = &source[..source.floor_char_boundary(end)];
            if let Err(faults) = parse_declarations(cut) {
                assert!(faults.iter().all(|fault| fault.span.end as usize <= cut.len()) && !faults.is_empty());
            }
            match parse(cut) {
                // `.file 1 "a"` may have lost its timestamp and still be whole.
                Ok(module) => {
                    let whole = module.items.len().saturating_sub(1);
                    assert!(complete.items.starts_with(&module.items[..whole]));
                }
                Err(faults) => {
                    let report = Report::new("cut.ptx", cut);
                    assert!(!faults.is_empty());
                    for fault in &faults {
                        assert!(fault.span.end as usize <= cut.len());
                        assert!(report.render(fault).contains(&fault.message));
                    }
                }
            }
        }
    }
}

/// Inside a body, the sentence says so, whatever word or line the cut hits.
#[test]
fn a_body_cut_short_says_that_the_source_ends() {
    let source = sample("llvm.ptx");
    let start = source.find("ld.param.b64").unwrap();
    let end = source.rfind("ret;").unwrap();
    for cut in (start..end).step_by(5) {
        let cut = &source[..cut];
        let faults = parse(cut).unwrap_err();
        let last = faults.last().unwrap();
        let told = last.message.starts_with("the source ends here");
        assert!(told || last.help.as_deref().is_some_and(|help| help.contains("cut off")), "{last:?}");
        let place = Report::new("cut.ptx", cut).position(last);
        let end = LineIndex::new(cut).position(u32::try_from(cut.trim_end().len()).unwrap());
        // Comments may follow the last word.
        assert!(place <= end && end.line - place.line <= 3, "{place} {end} {last:?}");
    }
}

#[test]
fn spans_lead_back_to_the_source() {
    for (path, source) in sources("samples") {
        let module = read(&path, &source);
        for item in &module.items {
            let Item::Function(function) = item else { continue };
            assert_eq!(&source[function.name_span.range()], function.name);
            let whole = &source[function.span.range()];
            assert!(whole.ends_with(['}', ';']), "{whole}");
            if function.body.is_none() {
                continue;
            }
            for statement in statements(&module, function.name) {
                let Statement::Instruction(instruction) = statement else {
                    continue;
                };
                let text = &source[instruction.span.range()];
                assert!(text.ends_with(';'), "{text}");
                let opcode = &source[instruction.opcode.span.range()];
                assert!(opcode.starts_with(instruction.opcode.mnemonic), "{opcode}");
                for operand in &instruction.operands {
                    assert!(text.contains(&source[operand.span.range()]), "{text}");
                }
            }
        }
    }
}

#[test]
fn inlined_functions_keep_their_names_and_places() {
    let source = sample("nvcc_lineinfo.ptx");
    let module = parse(&source).unwrap();
    let inlined: Vec<_> = statements(&module, "lines")
        .into_iter()
        .filter_map(|statement| match statement {
            Statement::Loc(loc) => loc.inlined_at.map(|at| (loc.line, loc.function_name, at)),
            _ => None,
        })
        .collect();
    let name = |name| Some(Symbol { name, generic: false, addend: 0, mask: None });
    assert_eq!(inlined[0], (2, name("$L__info_string0"), [1, 4, 3]));
    assert_eq!(inlined[2], (1, name("$L__info_string1"), [1, 2, 73]));
    assert!(module.items.iter().any(|item| matches!(
        item,
        Item::File(file) if file.index == 1 && file.name == "lines.cu"
    )));
    assert!(module.items.iter().any(|item| matches!(
        item,
        Item::Section(section) if section.name == ".debug_str" && section.contents.len() == 4
    )));
}

#[test]
fn jump_tables_and_prototypes_are_found_where_they_stand() {
    let source = sample("llvm.ptx");
    let module = parse(&source).unwrap();
    let all = statements(&module, "kern");
    let targets = all.iter().find_map(|statement| match statement {
        Statement::BranchTargets(list) => Some(list),
        _ => None,
    });
    let targets = targets.unwrap();
    assert_eq!(targets.label.name, "$L_brx_0");
    assert_eq!(targets.names.len(), 7);
    assert_eq!(targets.names[6].name, "$L__BB3_8");
    let prototype = all.iter().find_map(|statement| match statement {
        Statement::CallPrototype(prototype) => Some(prototype),
        _ => None,
    });
    let prototype = prototype.unwrap();
    assert_eq!(prototype.label.name, "prototype_0");
    assert_eq!(prototype.parameters[0].space, StateSpace::Param);
    assert_eq!(prototype.parameters[0].ty, Type::B32);
}

#[test]
fn an_instruction_has_a_line() {
    let source = sample("legacy.ptx");
    let module = parse(&source).unwrap();
    let lines = LineIndex::new(&source);
    let positions: Vec<_> = statements(&module, "scale")
        .into_iter()
        .filter_map(|statement| match statement {
            Statement::Instruction(each) if each.opcode.mnemonic == "bra" => {
                Some((lines.position(each.span.start), lines.position(each.opcode.span.start)))
            }
            _ => None,
        })
        .collect();
    let at = |column| Position { line: 52, column };
    assert_eq!(positions, [(at(2), at(7))]);
}
