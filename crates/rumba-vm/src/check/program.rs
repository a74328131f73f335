//! The facts of a program that the race detector uses.

use std::sync::Arc;

use crate::check::updates::UpdatePairs;

/// The facts of a program.
pub(crate) struct OfProgram<'a> {
    /// The number of its instructions.
    pub(crate) instructions: usize,
    pub(crate) updates: &'a Arc<UpdatePairs>,
    /// Whether there are mbarriers, or operations or fences of proxies other than the generic proxy.
    pub(crate) uses_proxies: bool,
}
