//! Where the elements of an array lie: offset, shape and strides, and what slicing, transposing, reshaping and
//! broadcasting make of them.
//!
//! All of this is arithmetic. Whose memory it is, and who may write it, is the views' business.

use crate::array::slice::Slices;

/// A shape with strides, in elements, and the place of the element at index 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout<const N: usize> {
    pub(crate) offset: usize,
    pub(crate) shape: [usize; N],
    pub(crate) strides: [isize; N],
}

/// Sets strides so that the last axis is the fastest. The stride of the last axis is 1 already.
pub(crate) fn set_row_major(shape: &[usize], strides: &mut [isize]) {
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].wrapping_mul(shape[axis] as isize);
    }
}

/// Whether the elements lie one after the other, in row-major order.
pub(crate) fn is_contiguous(shape: &[usize], strides: &[isize]) -> bool {
    let mut plain = 1_isize;
    let mut axes = shape.iter().zip(strides).rev();
    shape.contains(&0)
        || axes.all(|(&length, &stride)| {
            let is_plain = length == 1 || stride == plain;
            plain = plain.wrapping_mul(length as isize);
            is_plain
        })
}

impl<const N: usize> Layout<N> {
    /// The last axis is the fastest.
    pub(crate) fn row_major(offset: usize, shape: [usize; N]) -> Layout<N> {
        let mut strides = [1; N];
        set_row_major(&shape, &mut strides);
        Layout { offset, shape, strides }
    }

    /// How many elements there are.
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the elements lie one after the other, in row-major order.
    pub(crate) fn is_contiguous(&self) -> bool {
        is_contiguous(&self.shape, &self.strides)
    }

    /// The part that slices of each axis have in common.
    #[track_caller]
    pub(crate) fn slice(mut self, slices: impl Slices<N>) -> Layout<N> {
        for (axis, slice) in slices.slices().into_iter().enumerate() {
            let (first, length, step) = slice.within(axis, self.shape[axis]);
            self.offset = self.moved(axis, first);
            self.shape[axis] = length;
            // The distance of several elements is within the array; that of a single one is not used.
            if length > 1 {
                self.strides[axis] = self.strides[axis].wrapping_mul(step);
            }
        }
        self
    }

    /// The place of the first element after `steps` along an axis.
    fn moved(&self, axis: usize, steps: usize) -> usize {
        // Within the array, so neither wraps.
        self.offset.wrapping_add_signed(self.strides[axis].wrapping_mul(steps as isize))
    }

    /// The axes in another order.
    #[track_caller]
    pub(crate) fn permute(&self, axes: [usize; N]) -> Layout<N> {
        let mut seen = [false; N];
        for axis in axes {
            assert!(
                axis < N && !std::mem::replace(&mut seen[axis], true),
                "{axes:?} is no order of {N} axes: each of 0..{N} is there once"
            );
        }
        Layout {
            offset: self.offset,
            shape: axes.map(|axis| self.shape[axis]),
            strides: axes.map(|axis| self.strides[axis]),
        }
    }

    /// The axes in the opposite order.
    pub(crate) fn transpose(mut self) -> Layout<N> {
        self.shape.reverse();
        self.strides.reverse();
        self
    }

    /// Both sides of a cut through an axis.
    #[track_caller]
    pub(crate) fn split(&self, axis: usize, at: usize) -> (Layout<N>, Layout<N>) {
        self.has_axis(axis);
        let length = self.shape[axis];
        assert!(at <= length, "axis {axis} has {length} elements and cannot be split at {at}");
        let (mut left, mut right) = (*self, *self);
        left.shape[axis] = at;
        right.shape[axis] = length - at;
        if at < length {
            right.offset = self.moved(axis, at);
        }
        (left, right)
    }

    #[track_caller]
    fn has_axis(&self, axis: usize) {
        assert!(axis < N, "an array of {N} dimensions has no axis {axis}");
    }

    /// Another shape of as many elements, or `None` if these strides cannot have it.
    ///
    /// Axes of the old and the new shape are matched in groups of the same product; within a group the old axes must lie
    /// like one (NumPy's rule for a reshape without copying).
    pub(crate) fn reshape<const M: usize>(&self, shape: [usize; M]) -> Option<Layout<M>> {
        if self.len() == 0 || self.is_contiguous() {
            return Some(Layout::row_major(self.offset, shape));
        }
        let mut strides = [1; M];
        let old: Vec<(usize, isize)> =
            (0..N).filter(|&axis| self.shape[axis] != 1).map(|axis| (self.shape[axis], self.strides[axis])).collect();
        let (mut from, mut to) = (0, 0);
        while from < old.len() {
            let (from_start, to_start) = (from, to);
            let (mut before, mut after) = (old[from].0, shape[to]);
            from += 1;
            to += 1;
            while before != after {
                if before < after {
                    before *= old[from].0;
                    from += 1;
                } else {
                    after *= shape[to];
                    to += 1;
                }
            }
            let like_one = |pair: &[(usize, isize)]| pair[0].1 == pair[1].1 * pair[1].0 as isize;
            if !old[from_start..from].windows(2).all(like_one) {
                return None;
            }
            let mut stride = old[from - 1].1;
            for axis in (to_start..to).rev() {
                strides[axis] = stride;
                stride *= shape[axis] as isize;
            }
        }
        Some(Layout { offset: self.offset, shape, strides })
    }

    /// Broadcasts to a larger shape: axes of length 1 and missing axes are repeated. `None` if the shapes do not fit.
    pub(crate) fn broadcast<const M: usize>(&self, shape: [usize; M]) -> Option<Layout<M>> {
        let missing = M.checked_sub(N)?;
        let mut strides = [0; M];
        for axis in 0..N {
            if self.shape[axis] == shape[missing + axis] {
                strides[missing + axis] = self.strides[axis];
            } else if self.shape[axis] != 1 {
                return None;
            }
        }
        Some(Layout { offset: self.offset, shape, strides })
    }
}

/// Methods that change the number of dimensions: stable Rust cannot compute a const parameter.
macro_rules! axes {
    ($($more:literal = $less:literal + 1;)*) => {$(
        impl Layout<$more> {
            /// The elements at one index of an axis.
            #[track_caller]
            pub(crate) fn index_axis(&self, axis: usize, index: usize) -> Layout<$less> {
                self.has_axis(axis);
                let length = self.shape[axis];
                assert!(index < length, "axis {axis} has {length} elements, and none at {index}");
                Layout {
                    offset: self.moved(axis, index),
                    shape: std::array::from_fn(|at| self.shape[at + usize::from(at >= axis)]),
                    strides: std::array::from_fn(|at| self.strides[at + usize::from(at >= axis)]),
                }
            }
        }

        impl Layout<$less> {
            /// A new axis of one element.
            #[track_caller]
            pub(crate) fn insert_axis(&self, axis: usize) -> Layout<$more> {
                assert!(axis <= $less, "an array of {} dimensions cannot get an axis {axis}", $less);
                let old = |at: usize| (at != axis).then(|| at - usize::from(at > axis));
                Layout {
                    offset: self.offset,
                    shape: std::array::from_fn(|at| old(at).map_or(1, |at| self.shape[at])),
                    strides: std::array::from_fn(|at| old(at).map_or(0, |at| self.strides[at])),
                }
            }
        }
    )*};
}

axes! {
    1 = 0 + 1;
    2 = 1 + 1;
    3 = 2 + 1;
    4 = 3 + 1;
    5 = 4 + 1;
    6 = 5 + 1;
}

#[cfg(test)]
mod tests {
    use super::super::slice::every;
    use super::Layout;

    /// The places of all elements, in row-major order.
    fn places<const N: usize>(layout: Layout<N>) -> Vec<usize> {
        (0..layout.len())
            .map(|mut number| {
                let mut place = layout.offset as isize;
                for axis in (0..N).rev() {
                    place += (number % layout.shape[axis]) as isize * layout.strides[axis];
                    number /= layout.shape[axis];
                }
                usize::try_from(place).expect("inside")
            })
            .collect()
    }

    #[test]
    fn slices_of_slices() {
        let all = Layout::row_major(0, [3, 4]);
        assert_eq!(places(all.slice((1.., every(.., 2)))), [4, 6, 8, 10]);
        assert_eq!(places(all.slice((every(.., -1), 3..4))), [11, 7, 3]);
        assert_eq!(places(all.slice((.., every(.., -2))).slice((..1, ..))), [3, 1]);
        assert!(places(all.slice((3.., ..))).is_empty());
        assert_eq!(places(all.slice((1..=1, every(1..4, 2)))), [5, 7]);
    }

    #[test]
    fn axes_come_and_go() {
        let all = Layout::row_major(5, [2, 3, 4]);
        assert_eq!(places(all.index_axis(1, 2)), [13, 14, 15, 16, 25, 26, 27, 28]);
        assert_eq!(all.index_axis(0, 1).insert_axis(2).shape, [3, 4, 1]);
        assert_eq!(places(all.permute([2, 0, 1]).index_axis(0, 3)), [8, 12, 16, 20, 24, 28]);
        assert_eq!(all.transpose().shape, [4, 3, 2]);
        let (left, right) = all.split(2, 1);
        assert_eq!((left.shape, right.shape, right.offset), ([2, 3, 1], [2, 3, 3], 6));
    }

    #[test]
    fn reshapes_without_a_copy() {
        let all = Layout::row_major(0, [4, 6]);
        assert_eq!(places(all.reshape([2, 2, 3, 2]).expect("contiguous")), places(all));
        // A part of the columns: rows can be parted, not joined.
        let part = all.slice((.., 1..5));
        assert_eq!(places(part.reshape([2, 2, 2, 2]).expect("rows are parted")), places(part));
        assert_eq!(part.reshape([16]), None);
        // Every second row lies like one axis with the first.
        let rows = Layout::row_major(0, [2, 4, 3]).slice((.., every(.., 2), ..));
        assert_eq!(places(rows.reshape([4, 3]).expect("evenly apart")), places(rows));
        assert_eq!(all.transpose().reshape([24]), None);
        assert_eq!(all.transpose().reshape([6, 1, 2, 2]).map(places), Some(places(all.transpose())));
        assert!(part.index_axis(1, 0).reshape([1, 4, 1]).is_some());
    }

    #[test]
    fn broadcasts_repeat() {
        let row = Layout::row_major(2, [3]);
        assert_eq!(places(row.broadcast([2, 3]).expect("fits")), [2, 3, 4, 2, 3, 4]);
        assert_eq!(row.broadcast([3, 2]), None);
        assert_eq!(places(row.insert_axis(1).broadcast([3, 2]).expect("fits")), [2, 2, 3, 3, 4, 4]);
        assert_eq!(Layout::row_major(0, [2, 3]).broadcast([3]), None);
    }

    #[test]
    fn contiguous_or_not() {
        let all = Layout::row_major(0, [4, 6]);
        assert!(all.is_contiguous() && all.slice((1..3, ..)).is_contiguous());
        assert!(all.slice((1..2, 2..5)).is_contiguous());
        assert!(!all.slice((.., 2..5)).is_contiguous() && !all.transpose().is_contiguous());
        assert!(all.slice((.., 2..2)).is_contiguous());
    }

    #[test]
    #[should_panic(expected = "is no order of 2 axes")]
    fn an_axis_is_there_once() {
        let _ = Layout::row_major(0, [4, 6]).permute([0, 0]);
    }
}
