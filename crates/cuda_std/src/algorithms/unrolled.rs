//! Work on a fixed number of items, written out one after the other.

/// The results of `f` for `N` items, unrolled so that they stay in registers: the compiler would keep a loop of this
/// length, and the loop would index local memory.
///
/// ```
/// use cuda_std::algorithms::{Each, Items};
/// use cuda_std::prelude::*;
///
/// /// The sum of 16 elements of each thread, which are all on their way before the first is needed.
/// #[kernel]
/// pub fn sums(x: &[u32], mut y: DisjointSlice<u32>) {
///     let first = 16 * grid::<1>().get();
///     let own: [u32; 16] = Items::each(|k| x[first + k]);
///     if let Some(y) = y.own() {
///         *y = own.iter().sum();
///     }
/// }
///
/// # fn main() {
/// let x: Vec<u32> = (0..32).collect();
/// let mut y = [0; 2];
/// examples::launch((1, 2), sums(&x, &mut y));
/// assert_eq!(y, [120, 376]);
/// # }
/// ```
pub trait Each<const N: usize> {
    /// Calls `f` with 0 to `N - 1`.
    fn each<R>(f: impl FnMut(usize) -> R) -> [R; N];
}

/// Items of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Items;

macro_rules! items {
    ($($count:literal: $($i:literal)*;)*) => {$(
        impl Each<$count> for Items {
            #[inline(always)]
            fn each<R>(mut f: impl FnMut(usize) -> R) -> [R; $count] {
                [$(f($i)),*]
            }
        }
    )*};
}

items! {
    9: 0 1 2 3 4 5 6 7 8;
    10: 0 1 2 3 4 5 6 7 8 9;
    12: 0 1 2 3 4 5 6 7 8 9 10 11;
    16: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15;
    19: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18;
}
