//! The hash of the PTX that a program is made from.

use rumba_ptx::ast::{Span, Statement};
use sha2::{Digest, Sha256};

use crate::lower::sources::SourceText;
use crate::lower::symbols::{FunctionId, Symbols};

/// The hash of the text of functions, less their positions in another language: an edit above a kernel moves all its `.loc`
/// directives, and leaves the kernel as it is.
pub(super) fn of(symbols: &Symbols<'_>, sources: &[SourceText<'_>], functions: &[FunctionId]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for id in functions {
        let function = &symbols.functions[*id];
        let Some(source) = sources.get(function.source) else { continue };
        let span = function.ast.span;
        let mut positions = Vec::new();
        if let Some(body) = &function.ast.body {
            find_positions(&body.statements, &mut positions);
        }
        let starts = std::iter::once(span.start).chain(positions.iter().map(|position| position.end));
        let ends = positions.iter().map(|position| position.start).chain([span.end]);
        for (start, end) in starts.zip(ends) {
            let text = source.text(Span { start, end }).trim_ascii();
            if !text.is_empty() {
                hash.update(text);
                hash.update(b"\n");
            }
        }
        hash.update(b"\0");
    }
    hash.finalize().into()
}

/// The spans of `.loc` directives, in the order of the text.
fn find_positions(statements: &[Statement<'_>], found: &mut Vec<Span>) {
    for statement in statements {
        match statement {
            Statement::Loc(position) => found.push(position.span),
            Statement::Block(block) => find_positions(&block.statements, found),
            Statement::Instruction(_)
            | Statement::Label(_)
            | Statement::Declaration(_)
            | Statement::Pragma(_)
            | Statement::BranchTargets(_)
            | Statement::CallTargets(_)
            | Statement::CallPrototype(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lower::sources::SourceText;
    use crate::lower::symbols::Symbols;

    /// The hash of the kernel and the function of a module, with these bodies.
    fn hash(kernel: &str, function: &str) -> [u8; 32] {
        let text = format!(
            ".version 9.0 .target sm_90 .address_size 64 .file 1 \"a.rs\"\n.func f() {{ {function} }}\n.entry k() {{ {kernel} }}"
        );
        let modules = [rumba_ptx::parse(&text).unwrap()];
        let symbols = Symbols::collect(&modules).unwrap();
        super::of(&symbols, &[SourceText::new(&text, &modules[0])], &[1, 0])
    }

    #[test]
    fn positions_do_not_count() {
        let at = |line: usize, add: &str| {
            format!(
                ".reg .u32 %r1;\n.loc 1 {line} 5\n{{\n.loc 1 {line} 7 {add} %r1, %r1, 1;\n}}\n.loc 1 {line} 9\nret;\n"
            )
        };
        let add = "add.u32";
        assert_eq!(hash(&at(3, add), "ret;"), hash(&at(1000, add), "ret;"));
        assert_ne!(hash(&at(3, add), "ret;"), hash(&at(3, "sub.u32"), "ret;"));
        assert_ne!(hash(&at(3, add), "ret;"), hash(&at(3, add), "exit;"));
        // Text does not move from one function to the other.
        assert_ne!(hash("ret; ret;", "ret;"), hash("ret;", "ret; ret;"));
    }
}
