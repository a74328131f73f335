//! Misuse of `#[kernel]` and of its launchers: each file in `ui` does not compile, and the message
//! beside it says what to write instead.
//!
//! Bless changed messages with `TRYBUILD=overwrite cargo test -p cuda_std --test it refused`. The
//! messages are those of the compiler that `rust-toolchain.toml` names.

use test_processes::{TRYBUILD, alone};

#[test]
fn misuse_is_refused_with_a_remedy() {
    alone(&[TRYBUILD], || {
        trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
        Ok(())
    });
}
