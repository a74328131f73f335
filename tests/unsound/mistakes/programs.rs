//! Mistakes in programs that launch kernels, as the compiler reports them: each file of `programs` does not compile, and the message is
//! beside it.
//!
//! Bless changed messages with `TRYBUILD=overwrite cargo test -p unsound --test mistakes programs`.

use test_processes::{TRYBUILD, alone};

#[test]
fn mistakes_in_programs_are_reported_as_blessed() {
    alone(&[TRYBUILD], || {
        trybuild::TestCases::new().compile_fail("mistakes/programs/*.rs");
        Ok(())
    });
}
