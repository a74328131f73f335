//! The order of a memory operation, from its modifiers.

use crate::check::order::{Order, Scope, Semantics};
use crate::lower::notation::Matched;

impl Order {
    /// The order of a load or store.
    pub(crate) fn of_access(m: &Matched<'_>) -> Self {
        match m.get("sem") {
            None if m.has(".nc") => Self::NON_COHERENT,
            None | Some(".weak") => Self::WEAK,
            // Section 8.4.2: a volatile access is treated as relaxed, with the scope of the system.
            Some(".volatile") => Self { semantics: Semantics::Volatile, scope: Scope::System },
            Some(name) => Self::named(Some(name), m.get("scope")),
        }
    }

    /// Of `atom` or `red`.
    pub(crate) fn of_atomic(m: &Matched<'_>) -> Self {
        Self::named(m.get("sem"), m.get("scope"))
    }

    /// Of an operation on an mbarrier, given the semantics and the scope that it has unless it says so (manual, sections
    /// 9.7.13.16.13 and 9.7.13.16.16).
    pub(crate) fn of_mbarrier(m: &Matched<'_>, semantics: &str, scope: &str) -> Self {
        Self::named(m.get("sem").or(Some(semantics)), m.get("scope").or(Some(scope)))
    }
}
