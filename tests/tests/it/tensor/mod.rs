//! The kernels of `rumba::linalg` by warp groups: their PTX, NVIDIA's assembler on it, and their numbers.
//!
//! The kernels run on the software device, or with `RUMBA_DEVICE=gpu` on a GPU of compute capability 9.0. Where the kernels cannot be built,
//! `TENSOR_PTX` names the file that this program wrote elsewhere (`TENSOR_PTX_TO`).

mod assembler;
mod attention;
mod products;

use std::sync::OnceLock;

use cuda_builder::CudaBuilder;

use crate::common::root;

fn ptx() -> &'static str {
    static PTX: OnceLock<String> = OnceLock::new();
    PTX.get_or_init(|| {
        if let Some(file) = std::env::var_os("TENSOR_PTX") {
            return std::fs::read_to_string(file).expect("the file that `TENSOR_PTX` names");
        }
        let text =
            CudaBuilder::new(root().join("crates/rumba-linalg")).build().unwrap_or_else(|error| panic!("{error}")).text;
        if let Some(file) = std::env::var_os("TENSOR_PTX_TO") {
            std::fs::write(file, &text).expect("the file that `TENSOR_PTX_TO` names");
        }
        text
    })
}

/// The text for devices of compute capability 9.0.
fn text() -> &'static str {
    rumba_ptx::set::choose(ptx(), (9, 0)).expect("a text for 9.0")
}
