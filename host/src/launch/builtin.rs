//! Kernels that the runtime itself needs, each loaded into a context when it is first launched.
//!
//! They belong to the context and not to a module, which would keep the context alive.

use crate::base::error::{LaunchError, Result};
use crate::base::ptx::Pieces;
use crate::context::Entered;
use crate::launch::Launch;
use cuda_std::launch::PlannedCall;

/// Puts a call of a kernel in this text on the default stream.
pub(crate) fn launch(entered: &Entered<'_>, text: &Pieces, planned: PlannedCall<'_>) -> Result<()> {
    // SAFETY: the call is launched with its planned grid and block.
    let (mut call, grid, block) = unsafe { planned.into_parts() };
    let (context, kernel) = (entered.context, call.kernel());
    entered.not_captured(|| format!("launch `{}`, a kernel of arrays,", kernel.name))?;
    let function = context.builtin.function(entered, text, kernel.name)?;
    call.check(grid, block, 0).map_err(LaunchError::Contract)?;
    let launch = Launch {
        kernel,
        function,
        entered,
        queue: &context.queues.default,
        // The kernels that come with the library do not panic.
        bell: None,
        grid,
        block,
        shared: 0,
        dependent: false,
    };
    // SAFETY: they stay as they are; none of them is host memory.
    launch.enqueue(unsafe { call.arguments_mut() })
}
