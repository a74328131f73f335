//! What atomic writes publish: release patterns, and the fences of sequential consistency that come before them.
//!
//! When it is published and who takes it in is told in [`crate::check::race`].

use std::sync::Arc;

use crate::check::clock::VectorClock;
use crate::check::order::Scope;

/// The release patterns whose writes head the release sequence that ends in the last atomic write of an address (manual,
/// section 8.8, "Release and Acquire Patterns").
///
/// An acquire synchronises with those of them of which the scopes of both sides include the other thread, which is what
/// morally strong asks for (section 8.7). So releases are kept by block; those of scope `.gpu` also together, since most
/// acquires have that scope, too.
pub(super) struct Published {
    /// All releases of scope `.gpu`.
    pub(super) all: Option<Arc<VectorClock>>,
    /// Each release by a block that others can still share a scope with.
    pub(super) near: Vec<Release>,
    /// What fences of sequential consistency precede the writes.
    pub(super) sequential: Option<Arc<VectorClock>>,
    /// The block and the scope of the last write.
    pub(super) writer: (u32, Scope),
    /// Which asynchronous operations are over, as those know who wrote.
    pub(super) agents: Option<Arc<VectorClock>>,
}

/// What threads of a block have released with one scope.
pub(super) struct Release {
    pub(super) block: u32,
    pub(super) scope: Scope,
    pub(super) known: Arc<VectorClock>,
}

/// Releases of an address after which those of blocks that have ended are forgotten.
pub(super) const NEAR: usize = 16;

impl Published {
    /// A write by a block, with a scope, of no releases so far.
    pub(super) fn by(block: u32, scope: Scope) -> Self {
        Self { all: None, near: Vec::new(), sequential: None, writer: (block, scope), agents: None }
    }

    /// Adds what a thread of a block releases.
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
            // This block alone has released so far.
            Some(all) if before.is_none_or(|before| !Arc::ptr_eq(all, &before)) => Arc::make_mut(all).join(&known),
            all => *all = Some(known),
        }
    }

    /// Adds what later writes have published, which continue the release sequence.
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

/// Joins what `known` has to a place that may be empty.
pub(super) fn gather(place: &mut Option<Arc<VectorClock>>, known: &Arc<VectorClock>) {
    match place {
        Some(before) if Arc::ptr_eq(before, known) => {}
        Some(before) => Arc::make_mut(before).join(known),
        None => *place = Some(Arc::clone(known)),
    }
}
