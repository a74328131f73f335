//! Native code computes what the interpreter computes.

use crate::common::compiler;
use crate::lockstep::{compare, compare_gallery};
use rumba_vm::Config;

/// Native code; nothing on machines without LLVM, where there is nothing to test.
fn native() -> Option<Config> {
    Some(Config {
        engine: compiler::native()?,
        ..Config::default()
    })
}

#[test]
fn the_gallery_computes_the_same() {
    let Some(config) = native() else { return };
    compare_gallery(&config);
}

#[test]
fn random_kernels_compute_the_same() {
    let Some(config) = native() else { return };
    let mut ended = 0;
    for seed in 1..16 {
        match compare(seed, &config) {
            Ok(count) => ended += count,
            Err(message) => panic!("{message}"),
        }
    }
    // What ends with a fault in both says little.
    assert!(ended > 60, "only {ended} launches came to their end");
}
