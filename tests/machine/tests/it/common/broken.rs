//! A compiler that makes no code.

use rumba_vm::engine::{Compiler, Done, Unit};

/// A compiler that fails, or forgets what it was asked for.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) forgets: bool,
}

// SAFETY: it makes no code.
unsafe impl Compiler for Broken {
    fn compile(&self, _: Unit, done: Done) {
        if self.forgets {
            drop(done);
        } else {
            done(Err("nothing is compiled here".to_owned()));
        }
    }
}
