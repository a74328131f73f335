//! Arrays, views and buffers with lengths, steps and shapes at the ends of their numbers.

use cuda_std::prelude::*;

/// Copies an operand of any strides to an output of any strides, and counts how often each element is written.
#[kernel]
pub fn copy_counted(x: View<u32, 2>, mut y: Disjoint<u32, Array<2>>, counts: &[Atomic<u32>]) {
    let columns = y.shape()[1];
    y.each(|[row, column], y| {
        *y = x[[row, column]];
        counts[row * columns + column].fetch_add(1);
    });
}

/// Sums what a view shows to a thread.
#[kernel]
pub fn sum_of_view(x: View<u8, 2>, step: u64, sums: &[Atomic<u32>]) {
    let [rows, columns] = x.shape();
    let (mut row, mut sum) = (0_usize, 0_u32);
    while row < rows.min(100) {
        let at = [row, (row as u64).wrapping_mul(step) as usize];
        sum += x.get(at).map_or(0, |x| u32::from(*x));
        row += 1;
    }
    sums[0].fetch_add(sum + u32::from(columns == 0));
}

/// Attacks by these kernels, and by the host alone.
#[cfg(not(target_arch = "nvptx64"))]
pub mod attacks {
    use rumba::array::{Array, ArrayView, every};
    use rumba::{DeviceBuffer, LaunchConfig, Result};

    use crate::{Target, table::panics};

    /// Steps whose product with a stride has more than 64 bits: of an axis that has a single element left.
    pub fn steps_beyond_the_end(target: &Target) -> Result<()> {
        let a = Array::from_slice(&target.device, [2, 3], &[0_u32, 1, 2, 3, 4, 5])?;
        for step in [isize::MAX, isize::MAX - 1, 1 << 62, 1 << 32] {
            assert_eq!(a.slice((every(.., step), ..)).to_vec()?, [0, 1, 2]);
            assert_eq!(a.slice((every(.., -step), every(.., -step))).to_vec()?, [5]);
            assert_eq!(a.slice((every(..0, step), ..)).len(), 0);
        }
        assert_eq!(a.slice((every(.., isize::MIN), every(1..=2, isize::MIN))).to_vec()?, [5]);
        assert!(panics(|| a.slice((every(3.., 1), ..))));
        assert!(panics(|| a.slice((..=usize::MAX, ..))));
        assert!(panics(|| every(.., 0)));
        Ok(())
    }

    /// Shapes whose products wrap, and such that have no element.
    pub fn shapes_that_wrap(target: &Target) -> Result<()> {
        let device = &target.device;
        for shape in [[1 << 63, 2], [1 << 32, 1 << 32], [usize::MAX, 64], [1 << 61, 1], [1 << 40, 1 << 22]] {
            assert!(Array::<u64, 2>::zeros(device, shape).is_err(), "{shape:?}");
            assert!(Array::from_slice(device, shape, &[0_u64; 8]).is_err(), "{shape:?}");
        }
        let row = Array::<u32, 1>::arange(device, 0, 1, 8)?;
        for shape in [[1 << 63, 2], [1 << 62, 8], [usize::MAX, 8]] {
            assert!(row.view().reshape(shape).is_err(), "{shape:?}");
            let wide = row.view().broadcast(shape);
            assert!(wide.is_err() || wide?.to_vec().is_err(), "{shape:?}");
        }
        for shape in [[1 << 40, 0], [0, usize::MAX], [usize::MAX, 0]] {
            let empty = Array::<u32, 2>::zeros(device, shape)?;
            assert!(empty.is_empty() && empty.to_vec()?.is_empty());
            assert!(empty.transpose().to_vec()?.is_empty());
        }
        let empty = Array::<u32, 3>::zeros(device, [1 << 40, 0, 1 << 40])?;
        assert!(empty.slice((1_usize << 39.., .., ..)).to_vec()?.is_empty());
        // Refused: the first two lengths have a product that wraps.
        assert!(Array::<u32, 3>::zeros(device, [1 << 40, 1 << 40, 0]).is_err());
        Ok(())
    }

    /// More elements than any memory has, though a view has them.
    pub fn views_of_more_than_memory(target: &Target) -> Result<()> {
        let row = Array::<u32, 1>::arange(&target.device, 0, 1, 8)?;
        for rows in [1_usize << 40, 1 << 50, 1 << 58] {
            let many = row.view().broadcast([rows, 8])?;
            assert!(many.to_vec().is_err() && many.to_array().is_err());
            let mut counts = [0];
            let view = Array::full(&target.device, [1, 8], 1_u8)?;
            let wide: ArrayView<'_, u8, 2> = view.view().broadcast([rows, 8])?;
            let launched = target.module.launch((1, 1), super::sum_of_view(wide, 1, &mut counts));
            assert!(launched.is_err(), "a kernel was passed a view with an axis of {rows} elements");
        }
        Ok(())
    }

    /// Turned and reversed operands and outputs: each element is read where it lies, and written once.
    pub fn turned_views(target: &Target) -> Result<()> {
        let numbers: Vec<u32> = (0..35).collect();
        let x = Array::from_slice(&target.device, [7, 5], &numbers)?;
        let mut y = Array::from_slice(&target.device, [9, 14], &[u32::MAX; 9 * 14])?;
        let mut counts = target.device.zeros::<u32>(35)?;
        let output = y.slice_mut((every(1..8, -1), every(2..12, 2)));
        let operand = x.slice((every(.., -1), every(.., -1)));
        target.module.launch(((2, 3), (3, 2)), super::copy_counted(operand, output, &mut counts))?;
        assert_eq!(counts.to_vec()?, [1; 35]);
        let y = y.to_vec()?;
        for (i, y) in y.iter().enumerate() {
            let (row, column) = (i / 14, i % 14);
            let is_written = (1..8).contains(&row) && (2..12).contains(&column) && column % 2 == 0;
            let expected = if is_written { (row - 1) as u32 * 5 + 4 - (column as u32 - 2) / 2 } else { u32::MAX };
            assert_eq!(*y, expected, "at {row}, {column}");
        }
        Ok(())
    }

    /// Parts of outputs have no element in common, wherever they are cut.
    pub fn halves_of_an_array(target: &Target) -> Result<()> {
        let x = Array::full(&target.device, [4, 6], 3_u32)?;
        let mut y = Array::<u32, 2>::zeros(&target.device, [4, 6])?;
        for (axis, at) in [(0, 0), (0, 4), (1, 3), (1, 6)] {
            let mut counts = target.device.zeros::<u32>(24)?;
            let (left, right) = y.view_mut().split_at_mut(axis, at);
            for half in [left, right] {
                let [rows, columns] = half.shape();
                if half.is_empty() {
                    continue;
                }
                let operand = x.slice((..rows, ..columns));
                target.module.launch(((1, 1), (8, 8)), super::copy_counted(operand, half, &mut counts))?;
            }
        }
        assert_eq!(y.to_vec()?, [3; 24]);
        for (axis, at) in [(2, 0), (usize::MAX, 0), (0, 5), (1, usize::MAX)] {
            assert!(panics(|| y.view_mut().split_at_mut(axis, at)), "{axis}, {at}");
        }
        for axes in [[0, 0], [1, 2], [usize::MAX, 0]] {
            assert!(panics(|| x.view().permute(axes)), "{axes:?}");
        }
        assert!(panics(|| x.row(4)) && panics(|| x.column(usize::MAX)));
        Ok(())
    }

    /// Buffers cut and read as other types: in parts that lie in them, and are aligned.
    pub fn parts_of_buffers(target: &Target) -> Result<()> {
        let mut bytes = target.device.buffer_from(&[1_u8; 64])?;
        assert_eq!(bytes.slice(4..8).cast::<u32>().to_vec()?, [0x0101_0101]);
        for range in [1..5, 4..7, 0..3, 63..64] {
            assert!(panics(|| bytes.slice(range.clone()).cast::<u32>().len()), "{range:?}");
        }
        assert!(panics(|| bytes.slice(..).cast::<()>().len()));
        assert!(panics(|| bytes.slice(60..70).len()) && panics(|| bytes.slice(..=usize::MAX).len()));
        assert!(panics(|| bytes.as_slice_mut().split_at_mut(65)));
        assert!(panics(|| bytes.as_slice_mut().chunks_mut(0).len()));
        let parts: Vec<usize> = bytes.as_slice_mut().chunks_mut(usize::MAX).map(|part| part.len()).collect();
        assert_eq!(parts, [64]);
        for length in [usize::MAX, usize::MAX / 8 + 2, 1 << 61] {
            assert!(target.device.zeros::<u64>(length).is_err() && target.device.pinned::<u64>(length).is_err());
        }
        let nothing: DeviceBuffer<[u32; 0]> = target.device.zeros(5)?;
        assert_eq!(nothing.to_vec()?.len(), 5);
        Ok(())
    }

    /// Arrays of counts that a type does not reach.
    pub fn ranges_that_wrap(target: &Target) -> Result<()> {
        let device = &target.device;
        let bytes = Array::<u8, 1>::arange(device, 250, 3, 6)?.to_vec()?;
        assert_eq!(bytes, [250, 253, 0, 3, 6, 9]);
        assert!(Array::<u64, 1>::arange(device, 0, 1, usize::MAX).is_err());
        assert!(Array::<f32, 1>::linspace(device, 0.0, 1.0, 0)?.is_empty());
        assert_eq!(Array::<f32, 1>::linspace(device, 2.0, 9.0, 1)?.to_vec()?, [2.0]);
        Ok(())
    }

    /// A launch of more threads than an array has elements, with shapes that grids have not.
    pub fn grids_beyond_an_array(target: &Target) -> Result<()> {
        let x = Array::full(&target.device, [3, 2], 5_u32)?;
        let mut y = Array::<u32, 2>::zeros(&target.device, [3, 2])?;
        for grid in [(1_u32, 1_u32), (70_000, 1), (1, 65_535)] {
            let mut counts = target.device.zeros::<u32>(6)?;
            target.module.launch((grid, (1, 1)), super::copy_counted(&x, &mut y, &mut counts))?;
            assert_eq!(counts.to_vec()?, [1; 6], "{grid:?}");
        }
        let mut counts = target.device.zeros::<u32>(6)?;
        for config in [
            LaunchConfig::new((1, 70_000), (1, 1)),
            LaunchConfig::new((0, 1), (1, 1)),
            LaunchConfig::new((1, 1), (1, 2000)),
        ] {
            let launched = target.module.launch(config, super::copy_counted(&x, &mut y, &mut counts));
            assert!(launched.is_err());
        }
        target.device.synchronize()
    }
}
