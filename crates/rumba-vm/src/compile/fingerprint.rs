//! The fingerprint of a kernel's text: a hash of what the text is made from, which takes far less time than the text.
//!
//! What an operation means stands in the PTX that it was made from. To this come the decoded operations, without addresses of
//! this process, and the size of groups of lanes. Where fingerprints are the same, so are texts: the tests of the machine and
//! `RUMBA_ENGINE=compare` compare each text with the one that had its fingerprint before.

use std::hash::{Hash, Hasher};
use std::mem::discriminant;

use sha2::{Digest, Sha256};

use crate::base::engine::Fingerprint;
use crate::compile::kernel::is_address;
use crate::machine::op::Op;
use crate::machine::program::{Descriptor, Program};

/// The fingerprint of a program for blocks in which so many lanes are neighbours.
pub(crate) fn of(program: &Program, neighbours: usize) -> Fingerprint {
    let mut hash = Sha(Sha256::new());
    let Program { ops, descriptors, kernel_ops, entry, units, predicates, fixed, tables, .. } = program;
    hash.write(&program.ptx);
    (neighbours, kernel_ops, entry, units, predicates, tables).hash(&mut hash);
    (program.checks, program.shared_end, program.required_block).hash(&mut hash);
    (program.has_barriers, program.undefines).hash(&mut hash);
    for (slot, class, value) in fixed {
        // The text does not have the addresses of variables, either.
        (slot, class, (!is_address(*class, value)).then_some(value)).hash(&mut hash);
    }
    for (op, descriptor) in ops.iter().zip(descriptors) {
        let Op { handler: _, dst, a, b, c, d, extra, source: _, imm } = op;
        let Descriptor { opcode, flow, defines, conditional, classes, predicates } = descriptor;
        (dst, a, b, c, d, extra).hash(&mut hash);
        (discriminant(opcode), flow, defines, conditional, classes, predicates).hash(&mut hash);
        // Other operations are calls of their handlers, for which the number may be an address.
        opcode.attributes().is_compiled.then_some(imm).hash(&mut hash);
    }
    Fingerprint(hash.0.finalize().into())
}

/// SHA-256 as a hasher. Hashes are compared between processes of one build of the machine only.
struct Sha(Sha256);

impl Hasher for Sha {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("the whole hash is wanted")
    }
}
