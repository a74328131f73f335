//! A step of k-means: each point joins the nearest of the centres, which then move to the middle of their points.
//!
//! All threads read all centres, so a block has them in shared memory, where a warp that reads the same element is served
//! at once. There the block also adds up the points of each centre, with [`Atomic`]s, before it adds the sums to those of
//! the whole grid: as in the histogram, but with numbers instead of counts.

use cuda_std::prelude::*;
use cuda_std::vector::Vector4;

/// The most centres there may be, and threads of a block.
pub const CENTRES: usize = 128;
/// Numbers that are added up for a centre: the four coordinates of its points, and how many there are.
pub const SUMS: usize = 5;

/// `labels[i]` is the number of the centre nearest to `points[i]`; to `sums[5 * centre]` and following the points of each
/// centre are added, and their number.
///
/// Launch it in one dimension with blocks of [`CENTRES`] threads; a grid smaller than the input goes around several
/// times. There are at most [`CENTRES`] centres.
#[kernel(block = CENTRES, min_blocks = 8)]
pub fn kmeans(
    points: &[Vector4<f32>],
    centres: &[Vector4<f32>],
    mut labels: DisjointSlice<u32>,
    sums: &[Atomic<f32>],
    mut near: Shared<Tile<Vector4<f32>, CENTRES>>,
    mut local: Shared<Tile<Atomic<f32>, { CENTRES * SUMS }>>,
) {
    let thread = thread::thread_idx_x() as usize;
    if thread < centres.len() {
        *near.own() = centres[thread];
    }
    for (_, own) in local.own_strided() {
        *own.get_mut() = 0.0;
    }
    let (near, shared) = (near.sync(), local.sync());
    let near = &near[..centres.len()];
    let points = &points[..labels.len()];

    for (i, label) in labels.grid_stride() {
        let point = points[i];
        let centre = nearest(point, near);
        *label = centre as u32;
        for (k, coordinate) in point.iter().enumerate() {
            shared[SUMS * centre + k].fetch_add(*coordinate);
        }
        shared[SUMS * centre + 4].fetch_add(1.0);
    }

    let mut local = shared.sync();
    for (i, own) in local.own_strided() {
        if i < SUMS * centres.len() {
            sums[i].fetch_add(*own.get_mut());
        }
    }
}

/// The number of the centre nearest to the point, of several the first. The host calls it too.
#[must_use]
#[inline]
pub fn nearest(point: Vector4<f32>, centres: &[Vector4<f32>]) -> usize {
    let (mut nearest, mut least) = (0, f32::INFINITY);
    for (number, &Vector4(centre)) in centres.iter().enumerate() {
        let [x, y, z, w] = core::array::from_fn(|k| point[k] - centre[k]);
        let distance = x * x + y * y + z * z + w * w;
        if distance < least {
            (nearest, least) = (number, distance);
        }
    }
    nearest
}
