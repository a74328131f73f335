//! Launches that do not reach all elements of an output, for want of threads or of blocks.
//!
//! Where host memory would bring back elements that nothing has written, such a launch is refused. Elsewhere the elements stay
//! as they are, which may be meant, and the program is warned. A kernel that reads the size of its grid is taken to go
//! around, a grid further each time, and to reach everything: without that size none can.

use crate::base::error::{LaunchError, Result};
use crate::base::warning;
use crate::base::warning::Warning;
use crate::context::function::Function;
use crate::launch::config::{Extent, LaunchConfig};
use crate::modules::module::Module;
use cuda_std::launch::{Kernel, Parameter, Role, Unreached};
use std::panic::Location;
use std::sync::atomic::Ordering;

impl Module {
    /// The reaction to an output that the launch does not reach completely.
    #[cold]
    pub(super) fn unreached(
        &self,
        kernel: &'static Kernel,
        function: &Function,
        config: &LaunchConfig<'_>,
        (grid, block): ([u32; 3], [u32; 3]),
        output: Unreached,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let strides = || *function.strides.get_or_init(|| reads_grid_size(self.ptx(), kernel.name));
        if output.may_stride && strides() {
            return Ok(());
        }
        let Unreached { parameter, elements, reached, is_shaped, comes_back, .. } = output;
        let is_per_block = || {
            let same = |known: &&Parameter| known.name == parameter;
            kernel.parameters.iter().find(same).is_some_and(|known| known.role == Role::PerBlock)
        };
        // A number of elements was asked for, or as many blocks as there happens to be room for.
        let is_meant = match config.extent {
            Extent::Elements(_) => !is_shaped,
            Extent::AtOnce => is_per_block(),
            Extent::Blocks(_) | Extent::Threads(_) => false,
        };
        let kernel = kernel.name;
        if comes_back {
            let error = LaunchError::Unreached { kernel, parameter, grid, block, reached, elements };
            return Err(error.into());
        }
        if !is_meant && !function.has_warned.swap(true, Ordering::Relaxed) {
            warning::warn(&Warning::Unreached {
                file: at.file(),
                line: at.line(),
                kernel,
                parameter,
                grid,
                block,
                reached,
                elements,
            });
        }
        Ok(())
    }
}

/// Whether a kernel reads the number of blocks of its grid. If the text lacks the kernel, the answer is true.
fn reads_grid_size(ptx: &str, kernel: &str) -> bool {
    // `%nctaid`, and `%nclusterid` with `%cluster_nctaid`.
    let reads = |text: &str| text.contains("nctaid") || text.contains("nclusterid");
    let start = ptx.match_indices(kernel).map(|(at, _)| at).find(|&at| {
        let ends = !ptx[at + kernel.len()..].starts_with(|next: char| next.is_alphanumeric() || "_$".contains(next));
        ends && ptx[..at].trim_end().ends_with(".entry")
    });
    let Some(start) = start else { return true };
    let length = ptx[start..].find("\n}").unwrap_or(ptx.len() - start);
    let body = &ptx[start..start + length];
    // A function that the kernel calls may read the number.
    reads(body) || body.contains("call") && reads(ptx)
}

#[cfg(test)]
mod tests {
    use super::reads_grid_size;

    #[test]
    fn the_size_of_the_grid_is_found_in_the_kernel_or_its_functions() {
        let text = ".func f()\n{\n mov.u32 %r, %nctaid.x;\n}\n\
                    .visible .entry plain(.param .u64 p)\n{\n mov.u32 %r, %ctaid.x;\n ret;\n}\n\
                    .entry strided (.param .u64 p)\n{\n mov.u32 %r, %nctaid.x;\n}\n\
                    .entry\n calls(.param .u64 p)\n{\n call f, ();\n}\n";
        assert!(!reads_grid_size(text, "plain"));
        assert!(reads_grid_size(text, "strided"));
        assert!(reads_grid_size(text, "calls"));
        assert!(reads_grid_size(text, "plai"), "a kernel that is not there is not known");
        let without = text.replace("%nctaid.x", "%ntid.x");
        assert!(!reads_grid_size(&without, "calls") && !reads_grid_size(&without, "strided"));
    }
}
