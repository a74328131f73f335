//! Parts of axes: ranges, with a step or without.

use std::ops::{Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A part of an axis: the indices of a range, or every `step`-th of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    start: usize,
    /// None for the end of the axis.
    end: Option<usize>,
    step: isize,
}

/// Every `step`-th index of a range; with a negative step from its end on.
///
/// ```
/// use rumba::array::{Array, every};
///
/// let device = rumba::Device::new()?;
/// let numbers = Array::from_slice(&device, [6], &[0, 1, 2, 3, 4, 5])?;
/// assert_eq!(numbers.slice((every(1.., 2),)).to_vec()?, [1, 3, 5]);
/// assert_eq!(numbers.slice((every(..4, -1),)).to_vec()?, [3, 2, 1, 0]);
/// # Ok::<(), rumba::Error>(())
/// ```
///
/// # Panics
/// If the step is 0.
#[track_caller]
pub fn every(range: impl RangeBounds<usize>, step: isize) -> Slice {
    assert!(step != 0, "a step is not 0");
    Slice::of(&range, step)
}

impl Slice {
    fn of(range: &impl RangeBounds<usize>, step: isize) -> Self {
        Self {
            start: match range.start_bound() {
                Bound::Included(start) => *start,
                Bound::Excluded(before) => before.saturating_add(1),
                Bound::Unbounded => 0,
            },
            end: match range.end_bound() {
                Bound::Included(last) => Some(last.saturating_add(1)),
                Bound::Excluded(end) => Some(*end),
                Bound::Unbounded => None,
            },
            step,
        }
    }

    /// The first index, how many there are, and the step, of an axis of this length.
    #[track_caller]
    pub(super) fn within(self, axis: usize, length: usize) -> (usize, usize, isize) {
        let Slice { start, end, step } = self;
        let end = end.unwrap_or(length);
        assert!(
            start <= end && end <= length,
            "the range {start}..{end} is not in axis {axis}, which has {length} elements"
        );
        let count = (end - start).div_ceil(step.unsigned_abs());
        let first = match (count, step > 0) {
            (0, _) => 0,
            (_, true) => start,
            (_, false) => end - 1,
        };
        (first, count, step)
    }
}

macro_rules! ranges {
    ($($range:ty)*) => {$(
        impl From<$range> for Slice {
            fn from(range: $range) -> Slice {
                Slice::of(&range, 1)
            }
        }
    )*};
}

ranges! {
    Range<usize>
    RangeFrom<usize>
    RangeTo<usize>
    RangeInclusive<usize>
    RangeToInclusive<usize>
    RangeFull
}

/// A slice for each of `N` axes: a tuple of ranges and of what [`every`] makes of them, or an array.
pub trait Slices<const N: usize> {
    /// The slices, in the order of the axes.
    fn slices(self) -> [Slice; N];
}

impl<S: Into<Slice>, const N: usize> Slices<N> for [S; N] {
    fn slices(self) -> [Slice; N] {
        self.map(Into::into)
    }
}

macro_rules! tuples {
    ($($count:literal: $($name:ident)*;)*) => {$(
        #[allow(non_snake_case, reason = "one pattern for all lengths")]
        impl<$($name: Into<Slice>),*> Slices<$count> for ($($name,)*) {
            fn slices(self) -> [Slice; $count] {
                let ($($name,)*) = self;
                [$($name.into()),*]
            }
        }
    )*};
}

tuples! {
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
}
