//! When native code is made, and for which launches.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::base::engine::{Code, Compiler, Fingerprint, Recalled, Unit};
use crate::compile::function::{self, Text, is_wanted};
use crate::compile::record::{self, Record};
use crate::compile::{fingerprint, groups};
use crate::exec::native;
use crate::machine::program::{Compilation, Native, Program, Request, TierUp};

/// Bytes of text for each operation of a kernel: the median of the gallery's kernels, with and without checks, of which half have
/// between 1,040 and 1,630. To know the length of a text, one would have to write it, which takes longer than many a kernel runs.
const BYTES_PER_OPERATION: u64 = 1300;

/// The code of a program for blocks of this shape, as far as it is there. When it is first wanted, the compiler is asked for it, or
/// asked later.
pub(crate) fn of<'a>(program: &'a Arc<Program>, block: [u32; 3], compiler: &'a dyn Compiler) -> TierUp<'a> {
    let group = groups::group_of(block);
    let place = native::place(program, group);
    let compilation = place.get_or_init(|| {
        if !is_wanted(program) {
            return Compilation::without_text();
        }
        let fingerprint = fingerprint::of(program, group);
        let bytes = BYTES_PER_OPERATION * program.kernel_ops as u64;
        match recalled(program, &fingerprint, compiler) {
            Some(native) => Compilation::found(bytes, native),
            None => Compilation::after(bytes, compiler.threshold(bytes), request(group, fingerprint)),
        }
    });
    TierUp::new(program, compiler, compilation)
}

/// Code that the compiler already has.
fn recalled(program: &Program, fingerprint: &Fingerprint, compiler: &dyn Compiler) -> Option<Native> {
    let Recalled { record, code } = compiler.recall(&program.name, fingerprint)?;
    let Record { metadata, .. } = record::decode(&record, program.kernel_ops)?;
    Some(native::native(program, metadata, code))
}

/// The request for the code of a unit, which writes it.
fn request(group: usize, fingerprint: Fingerprint) -> Request {
    Box::new(move |program, compiler| {
        let promise = Promise { program: program.clone(), group };
        let Text { text, metadata } = match function::write(program, group) {
            Ok(text) => text,
            Err(reason) => return compiler.leave_out(&program.name, reason),
        };
        let record = Record { text: Sha256::digest(&text).into(), metadata };
        let unit = Unit { kernel: program.name.clone(), fingerprint, record: record::encode(&record), text };
        let done = move |code: Result<Code, String>| {
            let code = code.ok().map(|code| native::native(&promise.program, record.metadata, code));
            promise.settle(code);
        };
        compiler.compile(unit, Box::new(done));
    })
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
