//! Attacks that do not compile: each file of `refused`, with the compiler's message beside it.
//!
//! `TRYBUILD=overwrite cargo test -p unsound --test refused` blesses changed messages. The messages are those of the
//! compiler that `rust-toolchain.toml` names.

use test_processes::{TRYBUILD, alone};

#[test]
fn attacks_are_refused_by_the_compiler() {
    alone(&[TRYBUILD], || {
        trybuild::TestCases::new().compile_fail("refused/*.rs");
        Ok(())
    });
}
