//! Reference of `cuda/print.cu`: what stands on standard output, which the harness compares with `ptx/print.txt`.

use anyhow::Result;

use crate::{Gpu, args};

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    let name = gpu.buffer(b"the host\0")?;
    gpu.launch("print", [2, 1, 1], [7, 1, 1], 0, args![2.0_f32, &name])?;
    gpu.synchronize()
}
