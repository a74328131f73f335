//! The clocks that atomic writes publish: release patterns, and the fences of sequential consistency before them.
//!
//! [`crate::check::race`] says when clocks are published and which threads acquire them.

use std::sync::Arc;

use crate::check::clock::VectorClock;
use crate::check::order::Scope;

/// The release patterns whose writes head the release sequence that ends in the last atomic write of an address (manual,
/// section 8.8, "Release and Acquire Patterns").
///
/// An acquire synchronizes with a release if the scope of each side includes the other thread, as morally strong
/// operations require (section 8.7). So releases are kept by block; releases of scope `.gpu` also together, since most
/// acquires have that scope, too.
pub(super) struct Published {
    /// All releases of scope `.gpu`.
    pub(super) all: Option<Arc<VectorClock>>,
    /// Each release by a block that still shares a scope with other blocks.
    pub(super) near: Vec<Release>,
    /// The clock of the fences of sequential consistency that precede the writes.
    pub(super) sequential: Option<Arc<VectorClock>>,
    /// The block and the scope of the last write.
    pub(super) writer: (u32, Scope),
    /// The asynchronous operations that the writing threads know to be over.
    pub(super) agents: Option<Arc<VectorClock>>,
}

/// The clock that threads of a block have released with one scope.
pub(super) struct Release {
    pub(super) block: u32,
    pub(super) scope: Scope,
    pub(super) known: Arc<VectorClock>,
}

/// The number of releases of an address beyond which releases of ended blocks are forgotten.
pub(super) const NEAR: usize = 16;

impl Published {
    /// A write by a block, with a scope, of no releases so far.
    pub(super) fn by(block: u32, scope: Scope) -> Self {
        Self { all: None, near: Vec::new(), sequential: None, writer: (block, scope), agents: None }
    }

    /// Adds the clock that a thread of a block releases.
    pub(super) fn add(&mut self, block: u32, scope: Scope, mut known: Arc<VectorClock>) {
        let same = |release: &&mut Release| (release.block, release.scope) == (block, scope);
        let before = match self.near.iter_mut().find(same) {
            Some(release) => {
                Arc::make_mut(&mut known).join(&release.known);
                Some(std::mem::replace(&mut release.known, Arc::clone(&known)))
            }
            None => {
                let known = Arc::clone(&known);
                self.near.push(Release { block, scope, known });
                None
            }
        };
        if scope < Scope::Device {
            return;
        }
        match &mut self.all {
            // Only this block has released so far.
            Some(all) if before.is_none_or(|before| !Arc::ptr_eq(all, &before)) => Arc::make_mut(all).join(&known),
            all => *all = Some(known),
        }
    }

    /// Adds the releases of later writes, which continue the release sequence.
    pub(super) fn join(&mut self, later: Self) {
        for release in later.near {
            self.add(release.block, release.scope, release.known);
        }
        for (place, known) in
            [(&mut self.all, later.all), (&mut self.sequential, later.sequential), (&mut self.agents, later.agents)]
        {
            if let Some(known) = known {
                gather(place, &known);
            }
        }
        self.writer = later.writer;
    }
}

/// Joins the clock `known` to a clock that may be empty.
pub(super) fn gather(place: &mut Option<Arc<VectorClock>>, known: &Arc<VectorClock>) {
    match place {
        Some(before) if Arc::ptr_eq(before, known) => {}
        Some(before) => Arc::make_mut(before).join(known),
        None => *place = Some(Arc::clone(known)),
    }
}
