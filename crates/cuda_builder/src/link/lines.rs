//! Source positions in the PTX: the lines that people can act on, in files named the same on every
//! machine.

use std::path::{Path, PathBuf};

use crate::llvm::{Location, Module};

/// How the source files of a build are named.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources {
    /// Directories, and what stands for them. The first that matches is used.
    pub(crate) roots: Vec<(PathBuf, String)>,
    /// Beginnings of names (after that replacement) of code that is not the user's.
    pub(crate) libraries: Vec<String>,
}

impl Sources {
    /// The name of a file, which the compiler was given relative to `directory`.
    fn name(&self, directory: &str, file: &str) -> String {
        let path = Path::new(directory).join(file);
        for (root, name) in &self.roots {
            if let Ok(rest) = path.strip_prefix(root) {
                return Path::new(name).join(rest).display().to_string();
            }
        }
        path.display().to_string()
    }

    fn is_library(&self, location: Location<'_>) -> bool {
        let (directory, file) = location.file();
        let name = self.name(&directory, &file);
        self.libraries.iter().any(|library| name.starts_with(library.as_str()))
    }
}

/// Moves positions inside the standard library and the device library to the user's line that led
/// there. A fault in `x[i]` then names that line and not the file of `core` that indexes slices.
pub(super) fn attribute(module: &Module<'_>, sources: &Sources) {
    for function in module.functions() {
        for instruction in function.instructions() {
            let Some(mut location) = instruction.location() else {
                continue;
            };
            let innermost = location;
            while sources.is_library(location) {
                match location.inlined_at() {
                    Some(outer) => location = outer,
                    // A function of the library that was not inlined: its own lines are right.
                    None => location = innermost,
                }
                if location == innermost {
                    break;
                }
            }
            if location != innermost {
                instruction.set_location(location);
            }
        }
    }
}

/// Shortens the file names in `.file` directives, and drops an empty section and labels that LLVM adds for debuggers.
pub(super) fn clean(ptx: &str, sources: &Sources) -> String {
    let mut clean = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        let is_section = line.trim_start().starts_with(".section") && line.ends_with("{\t}");
        if is_section || is_label(line) {
            continue;
        }
        match file_directive(line) {
            Some((start, file, end)) => {
                clean.push_str(start);
                clean.push_str(&sources.name("", file));
                clean.push_str(end);
            }
            None => clean.push_str(line),
        }
        clean.push('\n');
    }
    clean
}

/// Whether a line is a label that no branch goes to.
fn is_label(line: &str) -> bool {
    const PREFIXES: [&str; 3] = ["$L__tmp", "$L__func_begin", "$L__func_end"];
    line.ends_with(':') && PREFIXES.iter().any(|prefix| line.starts_with(prefix))
}

/// Splits `.file N "NAME"` around the name.
fn file_directive(line: &str) -> Option<(&str, &str, &str)> {
    if !line.trim_start().starts_with(".file") {
        return None;
    }
    let start = line.find('"')? + 1;
    let end = start + line.get(start..)?.find('"')?;
    Some((line.get(..start)?, line.get(start..end)?, line.get(end..)?))
}

#[cfg(test)]
mod tests {
    use super::{Sources, clean};

    #[test]
    fn file_names_lose_the_machine() {
        let sources = Sources {
            roots: vec![("/home/me/project".into(), String::new()), ("/elsewhere/maths".into(), "maths".into())],
            libraries: Vec::new(),
        };
        let ptx = "\t.file\t1 \"/home/me/project/kernels/src/lib.rs\"\n\
                   \t.file\t2 \"/elsewhere/maths/src/lib.rs\"\n\
                   \t.file\t3 \"core/src/ptr/mut_ptr.rs\"\n\
                   $L__tmp1050:\n$L__func_end27:\n\
                   \t.section\t.debug_macinfo\t{\t}\n";
        assert_eq!(
            clean(ptx, &sources),
            "\t.file\t1 \"kernels/src/lib.rs\"\n\
             \t.file\t2 \"maths/src/lib.rs\"\n\
             \t.file\t3 \"core/src/ptr/mut_ptr.rs\"\n"
        );
    }
}
