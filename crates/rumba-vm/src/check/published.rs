//! The clocks that atomic writes publish: release patterns, and the fences of sequential consistency before them.
//!
//! [`crate::check::race`] says when clocks are published and which threads acquire them.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::check::clock::VectorClock;
use crate::check::order::Scope;

/// The release patterns whose writes head the release sequence that ends in the last atomic write of an address (manual,
/// section 8.8, "Release and Acquire Patterns").
///
/// An acquire synchronizes with a release if the scope of each side includes the other thread, as morally strong
/// operations require (section 8.7). So releases are kept by block; releases of scope `.gpu` and `.sys` also together, since most
/// acquires have such a scope, too.
pub(super) struct Published {
    /// All releases of scope `.gpu` and `.sys`.
    pub(super) all: PublishedClocks,
    /// Each release by a block that still shares a scope with other blocks.
    pub(super) near: Vec<Release>,
    /// The clock of the fences of sequential consistency that precede the writes.
    pub(super) sequential: PublishedClocks,
    /// The block and the scope of the last write.
    pub(super) writer: (u32, Scope),
    /// The asynchronous operations that the writing threads know to be over.
    pub(super) agents: Option<Arc<VectorClock>>,
}

/// The clock that threads of a block have released with one scope.
pub(super) struct Release {
    pub(super) block: u32,
    /// The device of the block.
    device: u32,
    pub(super) scope: Scope,
    pub(super) known: Arc<VectorClock>,
}

/// The number of releases of an address beyond which releases of ended blocks are forgotten.
pub(super) const NEAR: usize = 16;

impl Published {
    /// A write by a block, with a scope, of no releases so far.
    pub(super) fn by(block: u32, scope: Scope) -> Self {
        Self {
            all: PublishedClocks::default(),
            near: Vec::new(),
            sequential: PublishedClocks::default(),
            writer: (block, scope),
            agents: None,
        }
    }

    /// Adds the clock that a thread of a block, on a device, releases.
    pub(super) fn add(&mut self, (block, device): (u32, u32), scope: Scope, mut known: Arc<VectorClock>) {
        let same = |release: &&mut Release| (release.block, release.scope) == (block, scope);
        let before = match self.near.iter_mut().find(same) {
            Some(release) => {
                Arc::make_mut(&mut known).join(&release.known);
                Some(std::mem::replace(&mut release.known, Arc::clone(&known)))
            }
            None => {
                let known = Arc::clone(&known);
                self.near.push(Release { block, device, scope, known });
                None
            }
        };
        if scope >= Scope::Device {
            replace(self.all.of_device(device), before.as_ref(), &known);
        }
        if scope == Scope::System {
            replace(&mut self.all.system, before.as_ref(), &known);
        }
    }

    /// Adds the releases of later writes, which continue the release sequence.
    pub(super) fn join(&mut self, later: Self) {
        for release in later.near {
            self.add((release.block, release.device), release.scope, release.known);
        }
        self.all.join(&later.all);
        self.sequential.join(&later.sequential);
        if let Some(known) = later.agents {
            gather(&mut self.agents, &known);
        }
        self.writer = later.writer;
    }
}

/// Adds the clock `known` to a clock that may be empty. `known` includes `before`, an earlier clock of the same block.
fn replace(place: &mut Option<Arc<VectorClock>>, before: Option<&Arc<VectorClock>>, known: &Arc<VectorClock>) {
    match place {
        // Only this block has released so far.
        Some(all) if before.is_none_or(|before| !Arc::ptr_eq(all, before)) => Arc::make_mut(all).join(known),
        all => *all = Some(Arc::clone(known)),
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

/// The clocks of releases, or of fences, of scope `.gpu` and `.sys`, as threads of one device know them.
#[derive(Debug, Clone, Default)]
pub(super) struct WideClocks {
    /// Of both scopes, by threads of the device.
    pub(super) device: Option<Arc<VectorClock>>,
    /// Of scope `.sys`, by threads of any device.
    pub(super) system: Option<Arc<VectorClock>>,
}

impl WideClocks {
    pub(super) fn is_empty(&self) -> bool {
        self.device.is_none() && self.system.is_none()
    }

    /// Adds a clock of a scope, by a thread of the device.
    pub(super) fn add(&mut self, scope: Scope, known: &Arc<VectorClock>) {
        if scope >= Scope::Device {
            gather(&mut self.device, known);
        }
        if scope == Scope::System {
            gather(&mut self.system, known);
        }
    }

    pub(super) fn join(&mut self, other: &Self) {
        for (place, known) in [(&mut self.device, &other.device), (&mut self.system, &other.system)] {
            if let Some(known) = known {
                gather(place, known);
            }
        }
    }
}

/// The same clocks, of threads of any device.
#[derive(Debug, Default)]
pub(super) struct PublishedClocks {
    /// Of both scopes, by the device.
    devices: SmallVec<[(u32, Option<Arc<VectorClock>>); 1]>,
    system: Option<Arc<VectorClock>>,
}

impl PublishedClocks {
    fn of_device(&mut self, device: u32) -> &mut Option<Arc<VectorClock>> {
        let place = self.devices.iter().position(|(known, _)| *known == device).unwrap_or_else(|| {
            self.devices.push((device, None));
            self.devices.len() - 1
        });
        &mut self.devices[place].1
    }

    /// Adds what threads of a device publish.
    pub(super) fn add(&mut self, device: u32, clocks: &WideClocks) {
        if let Some(known) = &clocks.device {
            gather(self.of_device(device), known);
        }
        if let Some(known) = &clocks.system {
            gather(&mut self.system, known);
        }
    }

    fn join(&mut self, other: &Self) {
        for (device, known) in &other.devices {
            self.add(*device, &WideClocks { device: known.clone(), system: None });
        }
        if let Some(known) = &other.system {
            gather(&mut self.system, known);
        }
    }

    /// What threads of a device may learn.
    pub(super) fn seen_on(&self, device: u32) -> WideClocks {
        let known = self.devices.iter().find(|(known, _)| *known == device);
        WideClocks { device: known.and_then(|(_, known)| known.clone()), system: self.system.clone() }
    }
}
