//! The same algorithms in CUDA C++, compiled by nvcc: tests/baseline. A baseline has the name and the parameters of our
//! kernel, so that a case launches and checks it like ours.

use std::sync::LazyLock;

use crate::Case;
use cuda_builder::inspect;

/// The baselines' PTX. `cargo xtask nvcc gallery` makes it.
pub const NVCC: &str = include_str!("../baseline/gallery.ptx");

static KERNELS: LazyLock<Vec<&str>> = LazyLock::new(|| inspect::kernels(NVCC));

/// The baselines of a case: the kernel of its name, or those that begin with it. Empty if it has none.
#[must_use]
pub fn baselines(case: &Case) -> Vec<&'static str> {
    let known = KERNELS.iter().copied();
    match KERNELS.contains(&case.name) {
        true => vec![case.name],
        false => known.filter(|kernel| kernel.starts_with(case.name)).collect(),
    }
}
