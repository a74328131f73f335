//! The texts of the parts become one text.
//!
//! LLVM printed the texts, so their layout is known: a head, declarations, variables (a line each), functions, files.
//! Items that several parts share (constants, functions that were not inlined, the crate's variables) are written once.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rumba_ptx::Target;

use super::symbols::CONSTANT;

/// Makes one text of the parts' texts, for an architecture and a version of PTX (times ten) that all parts may be read as.
/// Variables that are not among `statics` become private again.
pub(super) fn texts(parts: &[&str], target: Target, version: u32, statics: &BTreeSet<String>) -> String {
    let mut merged = Merged::default();
    for part in parts {
        merged.add(&Part::read(part), statics);
    }
    let head = parts.first().map_or("", |part| head(part));
    merged.write(&head_for(head, target, version))
}

/// The head of a text with another architecture and version.
fn head_for(head: &str, target: Target, version: u32) -> String {
    let lines = head.split_inclusive('\n').map(|line| match line.split_whitespace().next() {
        Some(".version") => format!(".version {}.{}\n", version / 10, version % 10),
        Some(".target") => format!(".target {target}\n"),
        _ => line.to_owned(),
    });
    lines.collect()
}

/// Version, target and address size, with the lines before them.
fn head(text: &str) -> &str {
    let size = text.find(".address_size").unwrap_or(0);
    let end = text[size..].find('\n').map_or(text.len(), |end| size + end + 1);
    &text[..end]
}

/// A part's text, taken apart.
#[derive(Default)]
struct Part<'t> {
    /// The symbols that other modules define.
    declarations: Vec<&'t str>,
    variables: Vec<Variable<'t>>,
    functions: Vec<Function<'t>>,
    /// Numbers and quoted names.
    files: Vec<(&'t str, &'t str)>,
}

struct Variable<'t> {
    name: &'t str,
    text: &'t str,
}

struct Function<'t> {
    name: &'t str,
    text: &'t str,
}

impl Function<'_> {
    fn is_kernel(&self) -> bool {
        self.text.contains(".entry ")
    }
}

impl<'t> Part<'t> {
    fn read(text: &'t str) -> Self {
        let mut part = Self::default();
        let mut declared = Vec::new();
        let mut rest = &text[head(text).len()..];
        while let Some(line) = rest.lines().next() {
            let trimmed = line.trim_start();
            let mut taken = line.len();
            if let Some(file) = trimmed.strip_prefix(".file") {
                part.files.extend(file.trim_start().split_once(' '));
            } else if is_function(trimmed) {
                taken = function_length(rest);
                let text = &rest[..taken];
                let name = function_name(text);
                if text.ends_with(';') {
                    declared.push((name, text));
                } else {
                    part.functions.push(Function { name, text });
                }
            } else if trimmed.starts_with('.') {
                let name = variable_name(trimmed);
                part.variables.push(Variable { name, text: trimmed });
            }
            rest = rest[taken..].strip_prefix('\n').unwrap_or(&rest[taken..]);
        }
        let defined: HashSet<_> = part.functions.iter().map(|function| function.name).collect();
        let foreign = declared.into_iter().filter(|(name, _)| !defined.contains(name));
        part.declarations = foreign.map(|(_, text)| text).collect();
        part
    }
}

fn is_function(line: &str) -> bool {
    let start = line.split(['(', '\t']).next().unwrap_or_default();
    start.split_whitespace().any(|word| matches!(word, ".func" | ".entry"))
}

/// How long the declaration or definition is that a text begins with.
fn function_length(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The name in `.func (RESULT) NAME(` or `.entry NAME(`.
fn function_name(text: &str) -> &str {
    let after = [".func", ".entry"].iter().find_map(|word| text.split_once(word));
    let mut rest = after.map_or("", |(_, rest)| rest).trim_start();
    if rest.starts_with('(') {
        rest = rest.split_once(')').map_or("", |(_, rest)| rest).trim_start();
    }
    let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
    &rest[..end]
}

/// The name in `.global .align 8 .b8 NAME[4] = {`.
fn variable_name(text: &str) -> &str {
    let end = text.find(['[', '=', ';']).unwrap_or(text.len());
    text[..end].split_whitespace().last().unwrap_or_default()
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// The merged text so far.
#[derive(Clone, Default)]
struct Merged {
    declarations: Vec<String>,
    variables: Vec<Merge>,
    /// Where in `variables` the ones with a name of their own are.
    named: HashMap<String, usize>,
    /// Where in `variables` constants are, by the beginning of their names and their texts without the name.
    contents: HashMap<(String, String), usize>,
    taken: HashSet<String>,
    kernels: BTreeMap<String, String>,
    functions: Vec<(String, String)>,
    files: Vec<String>,
}

/// A variable's text around its alignment, of which the largest that a part gave it counts.
#[derive(Clone)]
struct Merge {
    before: String,
    align: u64,
    after: String,
}

impl Merged {
    fn add(&mut self, part: &Part<'_>, statics: &BTreeSet<String>) {
        let mut names = HashMap::new();
        // A function that another part optimised differently gets a name of its own, which the texts that name it must
        // then have.
        loop {
            let mut tried = self.clone();
            let clashing = tried.try_to_add(part, statics, names.clone());
            if clashing.is_empty() {
                *self = tried;
                return;
            }
            for name in clashing {
                names.insert(name.to_owned(), self.free_name(name));
            }
        }
    }

    /// Adds a part whose functions are renamed as `names` says, or returns the functions whose names are taken.
    fn try_to_add<'t>(
        &mut self,
        part: &Part<'t>,
        statics: &BTreeSet<String>,
        mut names: HashMap<String, String>,
    ) -> Vec<&'t str> {
        for text in &part.declarations {
            // Another version of PTX may have other words for the same.
            let name = function_name(text);
            if !self.declarations.iter().any(|known| function_name(known) == name) {
                self.declarations.push((*text).to_owned());
            }
        }
        for variable in &part.variables {
            let name = self.add_variable(variable, statics, &names);
            names.insert(variable.name.to_owned(), name);
        }
        let files: HashMap<&str, usize> = part.files.iter().map(|(number, name)| (*number, self.file(name))).collect();
        let mut clashing = Vec::new();
        for function in &part.functions {
            let text = rewrite(function.text, &names, &files);
            let name = names.get(function.name).map_or(function.name, String::as_str);
            if function.is_kernel() {
                self.kernels.insert(name.to_owned(), text);
                continue;
            }
            match self.functions.iter().find(|(known, _)| known == name) {
                Some((_, known)) if *known == text => {}
                Some(_) => clashing.push(function.name),
                None => {
                    self.taken.insert(name.to_owned());
                    self.functions.push((name.to_owned(), text));
                }
            }
        }
        clashing
    }

    /// Adds a variable unless the merged text has it, and returns its name in the merged text.
    fn add_variable(
        &mut self,
        variable: &Variable<'_>,
        statics: &BTreeSet<String>,
        names: &HashMap<String, String>,
    ) -> String {
        let text = rewrite(variable.text, names, &HashMap::new());
        let is_named = text.starts_with(".visible") || text.starts_with(".extern");
        if is_named {
            let text = match text.strip_prefix(".visible ") {
                Some(private) if !statics.contains(variable.name) => private,
                _ => &text,
            };
            let merge = Merge::new(text);
            match self.named.get(variable.name).and_then(|&at| self.variables.get_mut(at)) {
                Some(known) => known.align = known.align.max(merge.align),
                None => {
                    self.named.insert(variable.name.to_owned(), self.variables.len());
                    self.taken.insert(variable.name.to_owned());
                    self.variables.push(merge);
                }
            }
            return variable.name.to_owned();
        }
        let stem = match variable.name.strip_prefix(CONSTANT) {
            Some(number) if number.bytes().all(|c| c.is_ascii_digit()) => CONSTANT,
            _ => variable.name,
        };
        let Merge { before, align, after } = Merge::new(&text);
        let without_name = after.replacen(variable.name, "", 1);
        let key = (stem.to_owned(), format!("{before}{without_name}"));
        if let Some(known) = self.contents.get(&key).and_then(|&at| self.variables.get_mut(at)) {
            known.align = known.align.max(align);
            return variable_name(&known.after).to_owned();
        }
        let name = self.free_name(stem);
        let after = after.replacen(variable.name, &name, 1);
        self.contents.insert(key, self.variables.len());
        self.taken.insert(name.clone());
        self.variables.push(Merge { before, align, after });
        name
    }

    /// The name, with the first number behind it that makes it unique if it is taken.
    fn free_name(&self, name: &str) -> String {
        let numbered = (1..).map(|number| format!("{name}{number}"));
        std::iter::once(name.to_owned()).chain(numbered).find(|name| !self.taken.contains(name)).unwrap_or_default()
    }

    /// The number of a file.
    fn file(&mut self, name: &str) -> usize {
        let known = self.files.iter().position(|file| file == name);
        known.unwrap_or_else(|| {
            self.files.push(name.to_owned());
            self.files.len() - 1
        }) + 1
    }

    fn write(&self, head: &str) -> String {
        let mut text = format!("{head}\n");
        let heads = self.functions.iter().map(|(_, text)| declaration(text));
        for declaration in self.declarations.iter().cloned().chain(heads) {
            text.push_str(&declaration);
            text.push('\n');
        }
        for Merge { before, align, after } in &self.variables {
            text.push_str(&format!("{before}{align}{after}\n"));
        }
        let functions = self.functions.iter().map(|(_, text)| text);
        for (index, function) in self.kernels.values().chain(functions).enumerate() {
            text.push('\n');
            text.push_str(&function.replace(LABEL, &format!("{LABEL}{index}_")));
            text.push('\n');
        }
        for (index, file) in self.files.iter().enumerate() {
            text.push_str(&format!("\t.file\t{} {file}\n", index + 1));
        }
        text
    }
}

impl Merge {
    fn new(text: &str) -> Self {
        const ALIGN: &str = ".align ";
        let number = text.find(ALIGN).map(|at| at + ALIGN.len());
        let (before, rest) = text.split_at(number.unwrap_or(0));
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (align, after) = rest.split_at(digits);
        Self { before: before.to_owned(), align: align.parse().unwrap_or(1), after: after.to_owned() }
    }
}

/// Declares a function as its definition does.
fn declaration(definition: &str) -> String {
    let head = definition.split('{').next().unwrap_or_default();
    format!("{};", head.trim_end())
}

/// How LLVM's labels of basic blocks begin; the function's number and the block's follow.
const LABEL: &str = "$L__BB";

/// A text with other names and other numbers of files, and without the numbers of functions in labels.
fn rewrite(text: &str, names: &HashMap<String, String>, files: &HashMap<&str, usize>) -> String {
    let mut written = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let position = line.trim_start().strip_prefix(".loc\t");
        if let Some((file, rest)) = position.and_then(|position| position.split_once(' '))
            && let Some(number) = files.get(file)
        {
            written.push_str(&format!("\t.loc\t{number} {rest}"));
            continue;
        }
        rewrite_names(line, names, &mut written);
    }
    written
}

fn rewrite_names(line: &str, names: &HashMap<String, String>, written: &mut String) {
    let mut rest = line;
    let mut before = None;
    while let Some(start) = rest.find(is_name) {
        let (between, word) = rest.split_at(start);
        let (word, after) = word.split_at(word.find(|c| !is_name(c)).unwrap_or(word.len()));
        before = between.chars().last().or(before);
        written.push_str(between);
        if let Some(label) = word.strip_prefix(LABEL) {
            written.push_str(LABEL);
            written.push_str(label.split_once('_').map_or(label, |(_, block)| block));
        } else {
            // A name behind a dot or a percent sign is a modifier or a register.
            let renamed = names.get(word).filter(|_| !matches!(before, Some('.' | '%')));
            written.push_str(renamed.map_or(word, String::as_str));
        }
        rest = after;
    }
    written.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::texts;
    use std::collections::BTreeSet;

    fn part(body: &str) -> String {
        format!("//\n// LLVM\n//\n\n.version 7.0\n.target sm_80\n.address_size 64\n\n{body}")
    }

    fn merge(parts: &[&str]) -> String {
        let parts: Vec<String> = parts.iter().map(|body| part(body)).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let target = "sm_80".parse().expect("an architecture");
        let text = texts(&parts, target, 70, &BTreeSet::from(["LIMIT".to_owned()]));
        text.strip_prefix(&part("")).expect("the head").to_owned()
    }

    #[test]
    fn parts_for_older_architectures_are_read_as_newer() {
        let old = part(".extern .func f(\n)\n;\n.visible .entry a(\n)\n{\n\tret;\n}\n");
        let new = part(".extern .func f(\n)\n.noreturn;\n.visible .entry b(\n)\n{\n\tret;\n}\n");
        let target = "sm_90a".parse().expect("an architecture");
        let text = texts(&[&old, &new], target, 80, &BTreeSet::new());
        assert!(text.contains("\n.version 8.0\n.target sm_90a\n.address_size 64\n"), "{text}");
        assert_eq!(text.matches(" f(").count(), 1, "{text}");
        assert_eq!(text.matches(".entry").count(), 2, "{text}");
    }

    #[test]
    fn constants_with_one_content_are_one() {
        let text = merge(&[
            ".global .align 1 .b8 constant[1] = {7};\n.visible .entry a(\n)\n{\n\tmov.b64 \t%rd1, constant;\n}\n",
            ".global .align 1 .b8 constant[1] = {8};\n.global .align 4 .b8 constant1[1] = {7};\n\
             .global .align 8 .u64 constant2[1] = {generic(constant1)};\n\
             .visible .entry b(\n)\n{\n\tmov.b64 \t%rd1, constant;\n\tmov.b64 \t%rd1, constant2;\n}\n",
        ]);
        assert_eq!(
            text,
            ".global .align 4 .b8 constant[1] = {7};\n.global .align 1 .b8 constant1[1] = {8};\n\
             .global .align 8 .u64 constant2[1] = {generic(constant)};\n\
             \n.visible .entry a(\n)\n{\n\tmov.b64 \t%rd1, constant;\n}\n\
             \n.visible .entry b(\n)\n{\n\tmov.b64 \t%rd1, constant1;\n\tmov.b64 \t%rd1, constant2;\n}\n"
        );
    }

    #[test]
    fn variables_are_one_by_name() {
        let variables = ".visible .const .align 4 .b8 LIMIT[4];\n.visible .global .align 4 .b8 counter[4];\n";
        let text = merge(&[variables, variables]);
        assert_eq!(text, ".visible .const .align 4 .b8 LIMIT[4];\n.global .align 4 .b8 counter[4];\n");
    }

    #[test]
    fn functions_are_one_if_they_are_the_same() {
        let function = |index: u32, result: u32| {
            format!(
                ".func  (.param .b32 func_retval0) f(\n)\n{{\n$L__BB{index}_1:\n\tst.param.b32 \t[func_retval0], {result};\n\t{{ bra.uni $L__BB{index}_1; }}\n}}\n"
            )
        };
        let kernel = |name: &str| format!(".visible .entry {name}(\n)\n{{\n\tcall.uni (retval0), f, (\n\t);\n}}\n");
        let text = merge(&[
            &(kernel("a") + &function(1, 1)),
            &(kernel("b") + &function(1, 1)),
            &(kernel("c") + &function(1, 2)),
        ]);
        assert_eq!(text.matches("\n.func  (.param .b32 func_retval0) f(\n)\n{").count(), 1);
        assert_eq!(text.matches("\n.func  (.param .b32 func_retval0) f1(\n)\n{").count(), 1);
        assert_eq!(text.matches(", f, (").count(), 2);
        assert_eq!(text.matches(", f1, (").count(), 1);
        assert_eq!(text.matches("$L__BB3_1").count(), 2);
        assert_eq!(text.matches("$L__BB4_1").count(), 2);
    }

    #[test]
    fn files_are_numbered_anew() {
        let kernel = |name: &str, file: &str| {
            format!(".visible .entry {name}(\n)\n{{\n\t.loc\t1 2 3\n\tret;\n}}\n\t.file\t1 \"{file}\"\n")
        };
        let text = merge(&[&kernel("a", "a.rs"), &kernel("b", "b.rs"), &kernel("c", "a.rs")]);
        assert!(text.contains("b(\n)\n{\n\t.loc\t2 2 3\n"), "{text}");
        assert!(text.contains("c(\n)\n{\n\t.loc\t1 2 3\n"), "{text}");
        assert!(text.ends_with("\t.file\t1 \"a.rs\"\n\t.file\t2 \"b.rs\"\n"), "{text}");
    }
}
