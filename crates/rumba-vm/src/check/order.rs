//! What a memory operation orders, and for whom: the semantics and scopes of PTX (manual, sections 8.5 and 8.6), as
//! instructions leave them for the checks. The machine itself needs none of this to execute them.

use crate::base::report::AccessKind;

/// For whom an operation is atomic, or orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// `.cta`
    Block,
    /// `.cluster`
    Cluster,
    /// `.gpu` and `.sys`
    Device,
}

/// How many scopes there are.
pub(crate) const SCOPES: usize = 3;

/// What an operation orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Semantics {
    /// Nothing, and others must not touch the same memory meanwhile.
    Weak,
    /// Nothing, but others may.
    Relaxed,
    /// The same, as manuals have it (section 8.4.2); programs often mean an access that nothing else touches meanwhile.
    Volatile,
    /// Nothing, by a load that may not see what the kernel writes: `.nc`.
    NonCoherent,
    /// What follows.
    Acquire,
    /// What precedes.
    Release,
    /// Both.
    AcquireRelease,
}

/// The order of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) semantics: Semantics,
    pub(crate) scope: Scope,
}

/// Where an operation's `extra` holds the order: bits 9 to 13. Without one, it is what is usual for the kind of access.
const SEMANTICS_SHIFT: u16 = 9;
const SCOPE_SHIFT: u16 = 12;
/// The bits of `extra` that hold it.
pub(crate) const ORDER_BITS: u16 = 7 << SEMANTICS_SHIFT | 3 << SCOPE_SHIFT;

impl Order {
    pub(crate) const WEAK: Self = Self { semantics: Semantics::Weak, scope: Scope::Block };

    pub(crate) const NON_COHERENT: Self = Self { semantics: Semantics::NonCoherent, scope: Scope::Block };

    /// Of the arrival by which an asynchronous copy tells an mbarrier that its bytes have come (manual, section 9.7.9.25.4).
    pub(crate) const COMPLETION: Self = Self { semantics: Semantics::Release, scope: Scope::Cluster };

    /// Of an access that says nothing about it.
    pub(crate) fn usual(kind: AccessKind) -> Self {
        match kind {
            AccessKind::Read | AccessKind::Write => Self::WEAK,
            AccessKind::Atomic => Self { semantics: Semantics::AcquireRelease, scope: Scope::Device },
        }
    }

    /// Of a fence.
    pub(crate) fn of_fence(semantics: Option<&str>, scope: Option<&str>) -> Self {
        Self::named(semantics.or(Some(".acq_rel")), scope)
    }

    pub(crate) fn named(semantics: Option<&str>, scope: Option<&str>) -> Self {
        Self {
            semantics: match semantics {
                Some(".acquire") => Semantics::Acquire,
                Some(".release") => Semantics::Release,
                Some(".acq_rel" | ".sc") => Semantics::AcquireRelease,
                _ => Semantics::Relaxed,
            },
            scope: match scope {
                Some(".cta") => Scope::Block,
                Some(".cluster") => Scope::Cluster,
                _ => Scope::Device,
            },
        }
    }

    /// For an operation's `extra`.
    pub(crate) const fn bits(self) -> u16 {
        let semantics = match self.semantics {
            Semantics::Weak => 1,
            Semantics::Relaxed => 2,
            Semantics::Acquire => 3,
            Semantics::Release => 4,
            Semantics::AcquireRelease => 5,
            Semantics::NonCoherent => 6,
            Semantics::Volatile => 7,
        };
        let scope = match self.scope {
            Scope::Block => 0,
            Scope::Cluster => 1,
            Scope::Device => 2,
        };
        semantics << SEMANTICS_SHIFT | scope << SCOPE_SHIFT
    }

    /// In five bits.
    pub(crate) const fn packed(self) -> u8 {
        (self.bits() >> SEMANTICS_SHIFT) as u8
    }

    /// From [`Self::packed`].
    pub(crate) fn from_packed(bits: u8) -> Self {
        Self::from_bits(u16::from(bits) << SEMANTICS_SHIFT, AccessKind::Read)
    }

    /// From an operation's `extra`.
    pub(crate) fn from_bits(extra: u16, kind: AccessKind) -> Self {
        let semantics = match extra >> SEMANTICS_SHIFT & 7 {
            1 => Semantics::Weak,
            2 => Semantics::Relaxed,
            3 => Semantics::Acquire,
            4 => Semantics::Release,
            5 => Semantics::AcquireRelease,
            6 => Semantics::NonCoherent,
            7 => Semantics::Volatile,
            _ => return Self::usual(kind),
        };
        let scope = match extra >> SCOPE_SHIFT & 3 {
            0 => Scope::Block,
            1 => Scope::Cluster,
            _ => Scope::Device,
        };
        Self { semantics, scope }
    }

    pub(crate) fn is_strong(self) -> bool {
        !matches!(self.semantics, Semantics::Weak | Semantics::NonCoherent)
    }

    pub(crate) fn acquires(self) -> bool {
        matches!(self.semantics, Semantics::Acquire | Semantics::AcquireRelease)
    }

    pub(crate) fn releases(self) -> bool {
        matches!(self.semantics, Semantics::Release | Semantics::AcquireRelease)
    }
}
