//! The semantics and scopes of memory operations (PTX manual, sections 8.5 and 8.6), as instructions record them for
//! the checks. The machine itself does not need them to execute instructions.

use crate::base::report::AccessKind;

/// The threads for which an operation is atomic, or orders accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// `.cta`
    Block,
    /// `.cluster`
    Cluster,
    /// `.gpu`
    Device,
    /// `.sys`
    System,
}

/// The number of scopes.
pub(crate) const SCOPES: usize = 4;

/// The accesses that an operation orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Semantics {
    /// None, and no other thread may access the same memory meanwhile.
    Weak,
    /// None, but other threads may access the same memory meanwhile.
    Relaxed,
    /// The same as relaxed by the manual (section 8.4.2); programs often mean memory that no other thread accesses
    /// meanwhile.
    Volatile,
    /// None, by a load that need not see the kernel's writes: `.nc`.
    NonCoherent,
    /// Later accesses.
    Acquire,
    /// Earlier accesses.
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

/// The bits of an operation's `extra` that hold the order: 9 to 13. Zero stands for the default order of the kind of
/// access.
const SEMANTICS_SHIFT: u16 = 9;
const SCOPE_SHIFT: u16 = 12;
/// The mask of the order in `extra`.
pub(crate) const ORDER_BITS: u16 = 7 << SEMANTICS_SHIFT | 3 << SCOPE_SHIFT;

impl Order {
    pub(crate) const WEAK: Self = Self { semantics: Semantics::Weak, scope: Scope::Block };

    pub(crate) const NON_COHERENT: Self = Self { semantics: Semantics::NonCoherent, scope: Scope::Block };

    /// The order of the arrival by which an asynchronous copy signals an mbarrier that its bytes have come (manual,
    /// section 9.7.9.25.4).
    pub(crate) const COMPLETION: Self = Self { semantics: Semantics::Release, scope: Scope::Cluster };

    /// The order of an access without an order of its own.
    pub(crate) fn usual(kind: AccessKind) -> Self {
        match kind {
            AccessKind::Read | AccessKind::Write => Self::WEAK,
            AccessKind::Atomic => Self { semantics: Semantics::AcquireRelease, scope: Scope::Device },
        }
    }

    /// The order of a fence.
    pub(crate) fn of_fence(semantics: Option<&str>, scope: Option<&str>) -> Self {
        Self::named(semantics.or(Some(".acq_rel")), scope)
    }

    /// The order with these modifiers. Without a scope it is that of `.gpu`, which is the default of `atom` and `red` (manual, section
    /// 9.7.13.5); other instructions that the memory model orders have to state a scope.
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
                Some(".sys") => Scope::System,
                _ => Scope::Device,
            },
        }
    }

    /// The order as bits of an operation's `extra`.
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
            Scope::System => 3,
        };
        semantics << SEMANTICS_SHIFT | scope << SCOPE_SHIFT
    }

    /// The order in five bits.
    pub(crate) const fn packed(self) -> u8 {
        (self.bits() >> SEMANTICS_SHIFT) as u8
    }

    /// Decodes [`Self::packed`].
    pub(crate) fn from_packed(bits: u8) -> Self {
        Self::from_bits(u16::from(bits) << SEMANTICS_SHIFT, AccessKind::Read)
    }

    /// Decodes the order in an operation's `extra`.
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
            2 => Scope::Device,
            _ => Scope::System,
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
