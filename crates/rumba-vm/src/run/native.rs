//! When native code is made, and for which launches.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::base::engine::{Code, Compiler, Fingerprint, Recalled, Unit};
use crate::compile::function::{self, Text, is_wanted};
use crate::compile::record::{self, Record};
use crate::compile::{fingerprint, groups};
use crate::exec::native;
use crate::machine::program::{Compilation, Native, Program, Request, TierUp};

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
        let recalled = compiler.recall(&program.name, &fingerprint);
        recalled
            .and_then(|recalled| known(program, group, fingerprint, recalled, compiler))
            .unwrap_or_else(|| new(program, group, fingerprint, compiler))
    });
    TierUp::new(program, compiler, compilation)
}

/// The code of a text that was written before, or the request for it, if what is recalled can be read.
fn known(
    program: &Program,
    group: usize,
    fingerprint: Fingerprint,
    recalled: Recalled,
    compiler: &dyn Compiler,
) -> Option<Compilation> {
    let Ok(record) = record::decode(&recalled.record, program.kernel_ops) else { return None };
    let Some(Record { bytes, metadata, .. }) = record else { return Some(Compilation::without_text()) };
    Some(match recalled.code {
        Some(code) => Compilation::found(bytes, native::native(program, metadata, code)),
        None => {
            let write = move |program: &Program| written(program, group, fingerprint);
            Compilation::after(bytes, compiler.threshold(bytes), request(group, write))
        }
    })
}

/// Writes a text, and makes the request for its code.
fn new(program: &Program, group: usize, fingerprint: Fingerprint, compiler: &dyn Compiler) -> Compilation {
    let Some((unit, record)) = written(program, group, fingerprint) else {
        let (kernel, record, text) = (program.name.clone(), record::encode(None), String::new());
        compiler.note(&Unit { kernel, fingerprint, record, text });
        return Compilation::without_text();
    };
    compiler.note(&unit);
    let bytes = record.bytes;
    Compilation::after(bytes, compiler.threshold(bytes), request(group, move |_: &Program| Some((unit, record))))
}

/// The unit of a program.
fn written(program: &Program, group: usize, fingerprint: Fingerprint) -> Option<(Unit, Record)> {
    let Text { text, metadata } = function::write(program, group)?;
    let record = Record { bytes: text.len() as u64, text: Sha256::digest(&text).into(), metadata };
    let unit = Unit { kernel: program.name.clone(), fingerprint, record: record::encode(Some(&record)), text };
    Some((unit, record))
}

/// The request for the code of a unit.
fn request(group: usize, unit: impl FnOnce(&Program) -> Option<(Unit, Record)> + Send + 'static) -> Request {
    Box::new(move |program, compiler| {
        let promise = Promise { program: program.clone(), group };
        let Some((unit, record)) = unit(program) else { return };
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
