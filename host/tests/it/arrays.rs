//! Arrays and views: every operation against the same one on the host, and the order of streams that share an array.

use crate::common::device;
use rumba::array::{Array, ArrayError, ArrayView, every};
use rumba::test_kernels::{PTX, scale};
use rumba::{Device, Error, LaunchConfig};

/// Numbers from 0 in an array.
fn counted<const N: usize>(device: &Device, shape: [usize; N]) -> Array<u32, N> {
    let mut next = 0..;
    Array::from_fn(device, shape, |_| next.next().expect("there are enough numbers")).expect("there is memory")
}

#[test]
fn arrays_are_made_and_read() -> rumba::Result<()> {
    let device = device();
    assert_eq!(Array::<f32, 3>::zeros(&device, [2, 3, 4])?.to_vec()?, [0.0; 24]);
    assert_eq!(Array::full(&device, [3, 2], -1_i8)?.to_vec()?, [-1; 6]);
    assert_eq!(Array::arange(&device, 1.0_f64, 0.5, 4)?.to_vec()?, [1.0, 1.5, 2.0, 2.5]);
    assert_eq!(Array::arange(&device, 5_i32, -2, 3)?.to_vec()?, [5, 3, 1]);
    assert_eq!(Array::linspace(&device, 0.0_f32, 1.0, 5)?.to_vec()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
    assert_eq!(Array::linspace(&device, 2.0_f32, 3.0, 1)?.to_vec()?, [2.0]);
    let products = Array::from_fn(&device, [3, 3], |[row, column]| (row * column) as u64)?;
    assert_eq!(products.to_vec()?, [0, 0, 0, 0, 1, 2, 0, 2, 4]);
    let empty = Array::<u8, 2>::zeros(&device, [0, 7])?;
    assert!(empty.is_empty() && empty.transpose().to_vec()?.is_empty());
    let scalar = Array::full(&device, [], 7_u16)?;
    assert_eq!((scalar.len(), scalar.to_vec()?), (1, vec![7]));
    let clone = products.try_clone()?.reshape([9])?;
    assert_eq!((clone.shape(), clone.into_buffer().to_vec()?), ([9], products.to_vec()?));
    Ok(())
}

/// Elements of every size that has a word of its own, and of sizes that are several.
#[test]
fn elements_of_any_size_are_copied_and_filled() -> rumba::Result<()> {
    fn all<T: bytemuck::Pod + PartialEq + std::fmt::Debug>(device: &Device, of: impl Fn(u8) -> T) -> rumba::Result<()> {
        let values: Vec<T> = (0..35).map(&of).collect();
        let mut array = Array::from_slice(device, [5, 7], &values)?;
        let transposed: Vec<T> = (0..35).map(|i| values[i % 5 * 7 + i / 5]).collect();
        assert_eq!(array.transpose().to_vec()?, transposed);
        array.slice_mut((1..4, every(.., -3))).fill(of(99))?;
        for (i, value) in array.to_vec()?.into_iter().enumerate() {
            let hit = (1..4).contains(&(i / 7)) && i % 7 % 3 == 0;
            assert_eq!(value, if hit { of(99) } else { values[i] }, "{i}");
        }
        Ok(())
    }
    let device = device();
    all(&device, |i| i)?;
    all(&device, |i| i16::from(i) - 7)?;
    all(&device, |i| [i, 1, i])?;
    all(&device, f32::from)?;
    all(&device, |i| [u16::from(i), 1, 2])?;
    all(&device, f64::from)?;
    all(&device, |i| [f32::from(i), 1.0, 2.0])?;
    all(&device, |i| [u64::from(i), 1 << 40])?;
    all(&device, |i| [f64::from(i); 3])?;
    all(&device, |i| [u32::from(i); 8])?;
    all(&device, |_| ())
}

#[test]
fn views_of_views() -> rumba::Result<()> {
    let device = device();
    let array = counted(&device, [4, 5, 6]);
    let host = array.to_vec()?;
    let at = |layer: usize, row: usize, column: usize| host[30 * layer + 6 * row + column];

    let view = array.slice((1..4, every(.., 2), every(1.., -2))).permute([2, 0, 1]);
    assert_eq!(view.shape(), [3, 3, 3]);
    let expected: Vec<u32> = [5, 3, 1]
        .into_iter()
        .flat_map(|column| (1..4).flat_map(move |layer| [0, 2, 4].map(|row| at(layer, row, column))))
        .collect();
    assert_eq!(view.to_vec()?, expected);
    assert_eq!(view.index_axis(0, 1).to_vec()?, expected[9..18]);
    assert!(view.to_array()?.view().is_contiguous());

    // As large as to need many blocks, with sizes that fit none.
    let wide = counted(&device, [333, 1111]);
    let (back, forth) = (wide.transpose().to_array()?, wide.to_vec()?);
    assert_eq!(back.shape(), [1111, 333]);
    assert_eq!(back.transpose().to_vec()?, forth);
    let values = back.to_vec()?;
    assert!((0..values.len()).all(|i| values[i] == forth[i % 333 * 1111 + i / 333]));
    Ok(())
}

/// Six dimensions of which no two are joined, and one more for the words.
#[test]
fn many_dimensions() -> rumba::Result<()> {
    let device = device();
    let shape = [2, 3, 4, 3, 2, 5];
    let array = Array::from_fn(&device, shape, |index| index.map(|at| at as u8))?;
    let order = [5, 1, 4, 0, 3, 2];
    let permuted = array.view().permute(order);
    let values = permuted.to_vec()?;
    let expected = Array::from_fn(&device, permuted.shape(), |index| {
        let mut old = [0; 6];
        for (to, from) in order.into_iter().enumerate() {
            old[from] = index[to] as u8;
        }
        old
    })?;
    assert_eq!(values, expected.to_vec()?);
    Ok(())
}

#[test]
fn parts_are_written() -> rumba::Result<()> {
    let device = device();
    let mut array = Array::<u32, 2>::zeros(&device, [4, 6])?;
    let (mut left, right) = array.view_mut().split_at_mut(1, 2);
    left.copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8])?;
    let (top, mut bottom) = right.split_at_mut(0, 3);
    bottom.fill(9)?;
    top.transpose().index_axis_mut(0, 3).copy_from_slice(&[70, 80, 90])?;
    assert_eq!(array.to_vec()?, [1, 2, 0, 0, 0, 70, 3, 4, 0, 0, 0, 80, 5, 6, 0, 0, 0, 90, 7, 8, 9, 9, 9, 9]);
    // A row to all rows, a column to all columns, one view of an array to another's.
    let row = Array::from_slice(&device, [6], &[1, 2, 3, 4, 5, 6])?;
    array.copy_from(&row.view())?;
    assert_eq!(array.to_vec()?, [1, 2, 3, 4, 5, 6].repeat(4));
    let column = row.slice((1..5,)).insert_axis(1);
    array.slice_mut((.., 4..)).copy_from(&column)?;
    assert_eq!(array.column(5).to_vec()?, [2, 3, 4, 5]);
    assert_eq!(array.row(3).to_vec()?, [1, 2, 3, 4, 5, 5]);
    Ok(())
}

#[test]
fn what_does_not_fit_says_so() -> rumba::Result<()> {
    fn text<T>(result: rumba::Result<T>) -> String {
        match result {
            Err(Error::Array(error)) => error.to_string(),
            Err(error) => error.to_string(),
            Ok(_) => "no error".to_owned(),
        }
    }
    let device = device();
    let mut array = counted(&device, [3, 4]);
    assert_eq!(
        text(Array::from_slice(&device, [2, 2], &[1, 2, 3])),
        "3 elements have no shape [2, 2]; give a shape that multiplies up to 3"
    );
    assert!(text(array.transpose().reshape([12])).starts_with("a view of shape [4, 3] with strides [1, 4]"));
    assert!(text(array.view().reshape([5])).contains("12 elements"));
    assert!(
        text(array.view().broadcast([4, 4]))
            .starts_with("an array of shape [3, 4] cannot be broadcast to shape [4, 4]")
    );
    let row = counted(&device, [3]);
    let error = array.copy_from(&row.view()).expect_err("no row of it is as long");
    assert!(matches!(&error, Error::Array(error) if matches!(**error, ArrayError::Broadcast { .. })), "{error}");
    assert!(text(array.copy_from_slice(&[0; 11])).contains("the source has 11 elements"));
    assert!(text(Array::<u64, 2>::zeros(&device, [usize::MAX, 2])).contains("more bytes than can be addressed"));
    Ok(())
}

#[test]
#[should_panic(expected = "the range 2..5 is not in axis 1, which has 4 elements")]
fn a_range_outside_panics() {
    let array = counted(&device(), [3, 4]);
    let _ = array.slice((.., 2..5));
}

#[test]
#[should_panic(expected = "axis 0 has 3 elements, and none at 3")]
fn an_index_outside_panics() {
    let _ = counted(&device(), [3, 4]).row(3);
}

/// Parts of one array on two streams: each use waits for the one before, whichever part it is of.
#[test]
fn streams_that_share_an_array_keep_its_order() -> rumba::Result<()> {
    let device = device();
    let module = device.load(PTX)?;
    let (one, two) = (device.stream()?, device.stream()?);
    let n = 1 << 14;
    let mut array = Array::full(&device, [2, n], 1.0_f32)?;
    for step in 0..40_u32 {
        let stream = if step % 2 == 0 { &one } else { &two };
        let config = LaunchConfig::for_each(n).stream(stream);
        {
            let (top, bottom) = array.view_mut().split_at_mut(0, 1);
            // Two mutable parts in two launches; the streams take turns with both.
            module.launch(config, scale(2.0, rows(top)))?;
            module.launch(
                LaunchConfig::for_each(n).stream(if step % 3 == 0 { &one } else { &two }),
                scale(0.5, rows(bottom)),
            )?;
        }
        if step % 10 == 9 {
            // A copy on the default stream comes after both.
            let seen = array.transpose().to_vec()?;
            let expected = [2.0_f32.powi(step as i32 + 1), 0.5_f32.powi(step as i32 + 1)];
            assert!(seen.chunks(2).all(|pair| pair == expected), "step {step}: {:?}", &seen[..2]);
        }
    }
    Ok(())
}

/// The elements of a contiguous part as a slice.
fn rows<'a>(part: rumba::array::ArrayViewMut<'a, f32, 2>) -> rumba::DeviceSliceMut<'a, f32> {
    part.into_slice().expect("whole rows lie one after the other")
}

/// A view keeps its array borrowed, and reads it wherever it is sent.
#[test]
fn views_are_sent_to_threads() -> rumba::Result<()> {
    let device = device();
    let array = counted(&device, [64, 3]);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|column| {
                let view: ArrayView<'_, u32, 1> = array.column(column);
                scope.spawn(move || view.to_vec())
            })
            .collect();
        for (column, reader) in readers.into_iter().enumerate() {
            let values = reader.join().expect("no panic")?;
            assert!(values.iter().enumerate().all(|(row, &value)| value as usize == 3 * row + column));
        }
        Ok(())
    })
}
