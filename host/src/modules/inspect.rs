//! The code of a kernel of a loaded module, for this device: its PTX, and its machine code by NVIDIA's assembler and
//! disassembler, which `cargo xtask setup` installs. LLVM's assembly is written where the kernel crate is built
//! (`CudaBuilder::emit_llvm_ir`, `cargo xtask inspect --llvm`): the PTX does not contain it.

use crate::modules::module::Module;
use cuda_builder::inspect::InspectError;
use cuda_builder::{NvvmArch, inspect};

impl Module {
    /// The part of the PTX that defines a kernel, from its `.entry` to its closing brace. None if the PTX lacks the
    /// kernel.
    pub fn kernel_ptx(&self, kernel: &str) -> Option<&str> {
        inspect::kernel(self.ptx(), kernel)
    }

    /// The machine code (SASS) of a kernel for this device's architecture, or None if the module lacks the kernel. The
    /// software device has the architecture of the GPU that it models.
    ///
    /// # Errors
    /// [`InspectError`] if NVIDIA's tools are missing or refuse the text, as they refuse a module of several linked
    /// texts.
    pub fn kernel_sass(&self, kernel: &str) -> Result<Option<String>, InspectError> {
        let (major, minor) = self.context().limits.compute_capability;
        let arch: NvvmArch = match format!("sm_{major}{minor}").parse() {
            Ok(arch) => arch,
            Err(_) => return Ok(None),
        };
        let sass = inspect::sass(self.ptx(), arch)?;
        Ok(inspect::kernel_sass(&sass, kernel).map(str::to_owned))
    }
}
