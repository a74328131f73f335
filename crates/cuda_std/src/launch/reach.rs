//! Checks whether a launch reaches all elements of its outputs: whether it has enough threads or blocks.
//!
//! Whether a kernel then writes what its threads reach is its own affair.

use super::{Arguments, Extent, Kernel};
pub use crate::array::output::Reach;

/// An output of which a launch leaves elements untouched, unless the kernel strides: see [`Call::unreached`](super::Call::unreached).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreached {
    /// Its name.
    pub parameter: &'static str,
    /// Its elements.
    pub elements: usize,
    /// How many of them the launch reaches, one grid of threads after the other not counted.
    pub reached: usize,
    /// Whether it has a shape of two or three dimensions.
    pub is_shaped: bool,
    /// Whether a kernel may reach the others too, by steps of the grid's size. It then reads that size.
    pub may_stride: bool,
    /// Whether the output is host memory that is copied back, but not to the device: elements that are not reached come
    /// from unwritten memory.
    pub comes_back: bool,
}

/// The outputs of which a launch leaves elements untouched.
pub(super) fn unreached<'c>(
    kernel: &'static Kernel,
    arguments: &'c Arguments<'_>,
    grid: [u32; 3],
    block: [u32; 3],
) -> impl Iterator<Item = Unreached> + 'c {
    arguments.outputs().filter_map(move |output| {
        let (elements, shape) = match arguments.extents()[output.argument] {
            Extent::None => return None,
            Extent::Slice { elements } => (elements, None),
            Extent::Shaped { elements, shape } => (elements, Some(shape)),
        };
        let reached = reached(output.reach, elements, shape, grid, block);
        (reached < elements).then(|| Unreached {
            parameter: kernel.parameters[output.argument].name,
            elements,
            reached,
            is_shaped: shape.is_some(),
            may_stride: output.reach == Reach::OneOrStrided,
            comes_back: output.comes_back,
        })
    })
}

fn reached(reach: Reach, elements: usize, shape: Option<[usize; 3]>, grid: [u32; 3], block: [u32; 3]) -> usize {
    let blocks = grid.map(|blocks| blocks as usize);
    let threads = [0, 1, 2].map(|axis| blocks[axis].saturating_mul(block[axis] as usize));
    let all = |counts: [usize; 3]| counts.into_iter().fold(1, usize::saturating_mul);
    let [layers, rows, columns] = shape.unwrap_or([1, 1, elements]);
    let each = match reach {
        Reach::All => return elements,
        Reach::Block => return elements.min(all(blocks)),
        // The shape of a view is not known here.
        Reach::OneOrStrided => return elements.min(all(threads)),
        Reach::Thread(of) => [0, 1, 2].map(|axis| threads[axis].saturating_mul(of[axis])),
        Reach::Tile([columns, rows]) => [blocks[0].saturating_mul(columns), blocks[1].saturating_mul(rows), 1],
        Reach::TransposedTile([columns, rows]) => {
            [blocks[1].saturating_mul(columns), blocks[0].saturating_mul(rows), 1]
        }
    };
    all([columns.min(each[0]), rows.min(each[1]), layers.min(each[2])])
}

#[cfg(test)]
mod tests {
    use super::{Reach, reached};

    #[test]
    fn elements_that_a_launch_reaches() {
        let matrix = Some([1, 100, 70]);
        for (reach, shape, elements, grid, block, expected) in [
            (Reach::OneOrStrided, None, 1000, [4, 1, 1], [256, 1, 1], 1000),
            (Reach::OneOrStrided, None, 1000, [1, 1, 1], [64, 1, 1], 64),
            (Reach::Thread([4, 1, 1]), None, 1000, [2, 1, 1], [100, 1, 1], 800),
            (Reach::Thread([1, 1, 1]), matrix, 7000, [5, 7, 1], [16, 16, 1], 7000),
            // Rows and columns exchanged.
            (Reach::Thread([1, 1, 1]), matrix, 7000, [7, 5, 1], [16, 16, 1], 80 * 70),
            (Reach::Tile([32, 32]), matrix, 7000, [3, 4, 1], [32, 8, 1], 7000),
            (Reach::Tile([32, 32]), matrix, 7000, [4, 3, 1], [32, 8, 1], 96 * 70),
            (Reach::TransposedTile([32, 32]), matrix, 7000, [4, 3, 1], [32, 8, 1], 7000),
            (Reach::Thread([1, 1, usize::MAX]), Some([9, 2, 3]), 54, [1, 1, 1], [3, 2, 1], 54),
            (Reach::Thread([1, 1, 4]), Some([9, 2, 3]), 54, [1, 1, 2], [3, 2, 1], 48),
            (Reach::Block, None, 10, [2, 3, 1], [32, 1, 1], 6),
            (Reach::All, None, 1000, [1, 1, 1], [1, 1, 1], 1000),
            (Reach::OneOrStrided, None, 0, [1, 1, 1], [1, 1, 1], 0),
            (Reach::OneOrStrided, None, usize::MAX, [u32::MAX; 3], [u32::MAX; 3], usize::MAX),
        ] {
            assert_eq!(reached(reach, elements, shape, grid, block), expected, "{reach:?} {shape:?} {grid:?}");
        }
    }
}
