//! The clusters of a grid, as workers take them: several neighbours at a time if there are many.

use crate::machine::context::Context;

/// Most clusters that a worker takes at once, and the least number of times that it comes for more.
const MAX_SHARE: u64 = 32;
const SHARES: u64 = 32;

/// The clusters that a worker has taken and not begun.
pub(super) struct Share {
    next: u64,
    end: u64,
    /// The coordinates of the next one.
    coordinates: [u32; 3],
    /// Clusters of the grid, in each dimension and all of them.
    clusters: [u32; 3],
    count: u64,
    /// How many are taken at once.
    size: u64,
}

impl Share {
    pub(super) fn new(context: &Context<'_>) -> Self {
        let count = context.blocks() / u64::from(context.cluster_size());
        Self {
            next: 0,
            end: 0,
            coordinates: [0; 3],
            clusters: context.clusters(),
            count,
            size: if context.native.is_some_and(|native| native.metadata.waits) {
                // A block that waits for an earlier block waits the shorter, the earlier that block has begun.
                1
            } else {
                (count / (context.workers as u64 * SHARES)).clamp(1, MAX_SHARE)
            },
        }
    }

    /// Whether the next cluster comes from the counter that all workers share.
    pub(super) fn is_used_up(&self) -> bool {
        self.next == self.end
    }

    /// The end of the clusters that the worker has taken.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The number and the coordinates of a cluster to begin, if one is left.
    pub(super) fn take(&mut self, context: &Context<'_>) -> Option<(u64, [u32; 3])> {
        if self.is_used_up() {
            let first = context.take(self.size);
            if first >= self.count {
                return None;
            }
            self.next = first;
            self.end = (first + self.size).min(self.count);
            self.coordinates = context.begun(first);
        }
        let taken = (self.next, self.coordinates);
        self.next += 1;
        if context.seed.is_some() && self.next < self.end {
            self.coordinates = context.begun(self.next);
            return Some(taken);
        }
        for (coordinate, size) in self.coordinates.iter_mut().zip(self.clusters) {
            *coordinate += 1;
            if *coordinate < size {
                break;
            }
            *coordinate = 0;
        }
        Some(taken)
    }
}
