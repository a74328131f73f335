//! When native code is made, and for which launches.

use std::sync::Arc;

use crate::base::engine::{Code, Compiler};
use crate::compile::function::{self, Text};
use crate::exec::native;
use crate::machine::program::{Compilation, Program, Request, TierUp};

/// The code of a program for blocks of this shape, as far as it is there. When it is first wanted, the compiler is asked for it, or
/// asked later.
pub(crate) fn of<'a>(program: &'a Arc<Program>, block: [u32; 3], compiler: &'a dyn Compiler) -> TierUp<'a> {
    let group = function::group_of(block);
    let place = native::place(program, group);
    let compilation = place.get_or_init(|| match function::write(program, group) {
        Some(text) => compilation_of(program, group, text, compiler),
        None => Compilation::default(),
    });
    TierUp::new(program, compiler, compilation)
}

/// Finds the code of a text, or makes the request for it.
fn compilation_of(program: &Program, group: usize, text: Text, compiler: &dyn Compiler) -> Compilation {
    let Text { unit, facts } = text;
    if let Some(code) = compiler.find(&unit) {
        return Compilation::found(native::native(program, facts, code));
    }
    let threshold = compiler.threshold(&unit);
    let request: Request = Box::new(move |program, compiler| {
        let program = program.clone();
        let done = move |code: Result<Code, String>| {
            if let (Ok(code), Some(compilation)) = (code, native::place(&program, group).get()) {
                // The code is set only once.
                let _ = compilation.code.set(native::native(&program, facts, code));
            }
        };
        compiler.compile(unit, Box::new(done));
    });
    Compilation::after(threshold, request)
}
