//! Stencils: each point becomes the mean of its neighbours, one step of Jacobi's method for Laplace's equation.
//!
//! Every point is read by its neighbours too, but only the first read comes from memory, the others from a cache. A thread
//! has four points in a row, which it reads and writes as one [`Vector4`]; of the neighbours to the left and to the right
//! it reads one number each. In three dimensions a thread computes four layers in turn: the layer ahead is still in the
//! cache when its turn comes. Points at the edges are given and stay unchanged.

use cuda_std::prelude::*;
use cuda_std::vector::Vector4;
use cuda_std::view::{View2, View3};

/// `after[y][x]` is the mean of the four neighbours of `before[y][x]`, and at the edges `before` itself.
///
/// Both have the same shape; a row is counted in fours. Launch it in two dimensions, with a thread for each four points.
#[kernel]
pub fn laplace_2d(before: &[Vector4<f32>], mut after: Disjoint<Vector4<f32>, PerThread<2>>) {
    let i = grid::<2>();
    let (rows, columns) = (after.rows(), after.columns());
    let (x, y) = (i.x(), i.y());
    if let Some(after) = after.get_mut(i) {
        let before = View2::new(before, [rows, columns]);
        let own = before[[y, x]];
        *after = if y > 0 && y + 1 < rows {
            let left = if x > 0 { before[[y, x - 1]][3] } else { 0.0 };
            let right = if x + 1 < columns { before[[y, x + 1]][0] } else { 0.0 };
            let row = across(own, left, right);
            let (up, down) = (before[[y - 1, x]], before[[y + 1, x]]);
            let mean = core::array::from_fn(|k| 0.25 * (row[k] + (up[k] + down[k])));
            inner(own, mean, x, columns)
        } else {
            own
        };
    }
}

/// [`laplace_2d`] in three dimensions, with six neighbours: `after[z][y][x]`.
///
/// Launch it in three dimensions, with a thread for each four points of four layers.
#[kernel(block = (32, 8))]
pub fn laplace_3d(before: &[Vector4<f32>], mut after: Disjoint<Vector4<f32>, Layers<4>>) {
    let i = grid::<3>();
    let [layers, rows, columns] = after.shape();
    let (x, y) = (i.x(), i.y());
    if let Some(mut after) = after.get_mut(i) {
        let before = View3::new(before, [layers, rows, columns]);
        after.each(|z, after| {
            let own = before[[z, y, x]];
            *after = if y > 0 && y + 1 < rows && z > 0 && z + 1 < layers {
                let left = if x > 0 { before[[z, y, x - 1]][3] } else { 0.0 };
                let right = if x + 1 < columns { before[[z, y, x + 1]][0] } else { 0.0 };
                let row = across(own, left, right);
                let (up, down) = (before[[z, y - 1, x]], before[[z, y + 1, x]]);
                let (front, back) = (before[[z - 1, y, x]], before[[z + 1, y, x]]);
                let mean =
                    core::array::from_fn(|k| (1.0 / 6.0) * (row[k] + ((up[k] + down[k]) + (front[k] + back[k]))));
                inner(own, mean, x, columns)
            } else {
                own
            };
        });
    }
}

/// For each of four points the sum of its neighbours to the left and to the right.
fn across(own: Vector4<f32>, left: f32, right: f32) -> [f32; 4] {
    [left + own[1], own[0] + own[2], own[1] + own[3], own[2] + right]
}

/// The new points, but the old one at the left edge and at the right edge.
fn inner(old: Vector4<f32>, new: [f32; 4], x: usize, columns: usize) -> Vector4<f32> {
    let [first, second, third, fourth] = new;
    Vector4([if x > 0 { first } else { old[0] }, second, third, if x + 1 < columns { fourth } else { old[3] }])
}
