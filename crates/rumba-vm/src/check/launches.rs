//! The launches that one detector observes: one, or several that run at the same time and are checked together. The number of a
//! block says which launch it belongs to ([`launch_of`]).
//!
//! A launch that begins after another one has ended comes after it: the host or a stream has seen the end. Launches that run at
//! the same time are ordered by nothing but what their threads do.

use std::sync::Arc;

use crate::check::clock::{MOST_BLOCKS, VectorClock, launch_of};
use crate::check::order::Scope;

/// The shape of a launch, and where it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaunchShape {
    /// The ordinal of the device.
    pub(crate) device: u32,
    /// Threads of a block, and blocks of a cluster.
    pub(crate) threads: u32,
    pub(crate) cluster: u32,
}

/// A launch.
struct OfLaunch {
    shape: LaunchShape,
    /// The clock with which its threads begin.
    before: Arc<VectorClock>,
    /// What the threads of its ended blocks knew.
    known: VectorClock,
    /// The clock that was added to `known` last.
    last: Option<Arc<VectorClock>>,
}

/// The launches, by their indices. There is at least one.
pub(super) struct Launches {
    all: Vec<OfLaunch>,
    /// The clock with which the next launch begins: all ended launches, and what their threads knew.
    ended: Arc<VectorClock>,
    /// The narrowest scope that includes all threads.
    whole: Scope,
}

impl Launches {
    pub(super) fn new(shape: LaunchShape) -> Self {
        let mut launches = Self { all: Vec::new(), ended: Arc::default(), whole: Scope::Device };
        launches.begin(shape);
        launches
    }

    /// A launch begins, beside those that have begun before.
    pub(super) fn begin(&mut self, shape: LaunchShape) {
        let before = Arc::clone(&self.ended);
        self.all.push(OfLaunch { shape, before, known: VectorClock::default(), last: None });
        if self.all.iter().any(|launch| launch.shape.device != shape.device) {
            self.whole = Scope::System;
        }
    }

    /// The narrowest scope that includes all threads.
    #[inline(always)]
    pub(super) fn whole(&self) -> Scope {
        self.whole
    }

    fn index(&self, block: u32) -> usize {
        // A launch alone may have more blocks than the numbers of one of several launches can tell apart.
        if self.all.len() == 1 { 0 } else { launch_of(block) as usize }
    }

    /// The shape of the launch of a block.
    pub(super) fn shape(&self, block: u32) -> LaunchShape {
        self.all[self.index(block)].shape
    }

    /// The device of the launch of a block.
    pub(super) fn device(&self, block: u32) -> u32 {
        self.shape(block).device
    }

    /// The clock with which the threads of a block begin.
    pub(super) fn before(&self, block: u32) -> &Arc<VectorClock> {
        &self.all[self.index(block)].before
    }

    /// Whether the launch of a block had ended when the launch of a later block began.
    pub(super) fn had_ended(&self, block: u32, later: u32) -> bool {
        self.before(later).has_launch_of(block)
    }

    /// Whether there are several launches.
    pub(super) fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// Threads of a block that ends have known this.
    pub(super) fn leave(&mut self, block: u32, known: &Arc<VectorClock>) {
        let index = self.index(block);
        let launch = &mut self.all[index];
        if !launch.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, known)) {
            launch.known.join(known);
            launch.last = Some(Arc::clone(known));
        }
    }

    /// A launch has ended, all of its blocks before.
    pub(super) fn end(&mut self, index: u32) {
        let launch = &mut self.all[index as usize];
        let known = std::mem::take(&mut launch.known);
        launch.last = None;
        let ended = Arc::make_mut(&mut self.ended);
        ended.join(&known);
        ended.advance_launch(index);
    }

    /// The narrowest scope around one block that includes the other block.
    pub(super) fn narrowest(&self, a: u32, b: u32) -> Scope {
        if a == b {
            return Scope::Block;
        }
        let (of_a, of_b) = (self.index(a), self.index(b));
        let shape = self.all[of_a].shape;
        if of_a != of_b {
            return if shape.device == self.all[of_b].shape.device { Scope::Device } else { Scope::System };
        }
        let first = of_a as u32 * MOST_BLOCKS;
        if (a - first) / shape.cluster == (b - first) / shape.cluster { Scope::Cluster } else { Scope::Device }
    }

    /// Whether a scope around each of two blocks includes the other block.
    pub(super) fn includes(&self, scope: Scope, a: u32, b: u32) -> bool {
        self.narrowest(a, b) <= scope
    }
}
