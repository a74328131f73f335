//! When native code is made, and for which launches.

use std::sync::{Arc, OnceLock};

use crate::base::engine::Compiler;
use crate::compile::function;
use crate::exec::native;
use crate::machine::program::{Native, Program};

/// The code of a program for blocks of this shape, if it is there; when it is first wanted, the compiler is asked for it.
pub(crate) fn of<'a>(program: &'a Arc<Program>, block: [u32; 3], compiler: &dyn Compiler) -> Option<&'a Native> {
    let group = function::group_of(block);
    let place = native::place(program, group).get_or_init(|| {
        let place = Arc::new(OnceLock::new());
        if let Some(text) = function::write(program, group) {
            let (program, made) = (program.clone(), place.clone());
            let done = move |code| {
                if let Ok(code) = code {
                    // It is made once.
                    let _ = made.set(native::native(&program.ops, text.entry_at, text.layouts, code));
                }
            };
            compiler.compile(text.unit, Box::new(done));
        }
        place
    });
    place.get()
}
