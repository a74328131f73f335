//! When native code is made, and for which launches.

use std::sync::Arc;

use crate::base::engine::{Code, Compiler};
use crate::compile::function::{self, Text};
use crate::compile::groups;
use crate::exec::native;
use crate::machine::program::{Compilation, Native, Program, Request, TierUp};

/// The code of a program for blocks of this shape, as far as it is there. When it is first wanted, the compiler is asked for it, or
/// asked later.
pub(crate) fn of<'a>(program: &'a Arc<Program>, block: [u32; 3], compiler: &'a dyn Compiler) -> TierUp<'a> {
    let group = groups::group_of(block);
    let place = native::place(program, group);
    let compilation = place.get_or_init(|| match function::write(program, group) {
        Some(text) => compilation_of(program, group, text, compiler),
        None => Compilation::without_text(),
    });
    TierUp::new(program, compiler, compilation)
}

/// Finds the code of a text, or makes the request for it.
fn compilation_of(program: &Program, group: usize, text: Text, compiler: &dyn Compiler) -> Compilation {
    let Text { unit, metadata } = text;
    let bytes = unit.text.len() as u64;
    if let Some(code) = compiler.find(&unit) {
        return Compilation::found(bytes, native::native(program, metadata, code));
    }
    let threshold = compiler.threshold(&unit);
    let request: Request = Box::new(move |program, compiler| {
        let promise = Promise { program: program.clone(), group };
        let done = move |code: Result<Code, String>| {
            let code = code.ok().map(|code| native::native(&promise.program, metadata, code));
            promise.settle(code);
        };
        compiler.compile(unit, Box::new(done));
    });
    Compilation::after(bytes, threshold, request)
}

/// The place for the result of a compilation. A compiler that drops the place without a result has failed, so a launch that
/// waits for the code goes on.
struct Promise {
    program: Arc<Program>,
    group: usize,
}

impl Promise {
    fn settle(&self, code: Option<Native>) {
        if let Some(compilation) = native::place(&self.program, self.group).get() {
            compilation.settle(code);
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.settle(None);
    }
}
