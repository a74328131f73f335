//! Replaces the crate of this name, by which the build scripts of `cust` and `cust_raw` look for an installed CUDA and
//! fail without one.
//!
//! A program on Rumba needs none: every driver call of `cust` is a function of `rumba-driver`, which loads NVIDIA's library
//! when the program runs, where there is one. So there is nothing to find and nothing to link. A workspace takes this crate by
//!
//! ```toml
//! [patch.crates-io]
//! find_cuda_helper = { git = "…" } # Rumba's repository, or its path
//! ```
//!
//! It has what those build scripts call, and no more: a crate that links CUDA's own libraries by the original needs CUDA and
//! the original, and then nothing has to stand in for it.

/// Called by the build scripts. There is nothing to tell cargo but when to call them again.
pub fn include_cuda() {
    println!("cargo::rerun-if-changed=build.rs");
}
