//! Sorting: which bits of a key decide, and the launches of a radix sort.

use crate::algorithms::{Algorithms, Source, Target};
use crate::base::error::{Error, Result};
use crate::buffers::view::{DeviceSlice, DeviceSliceMut, same_length};
use crate::launch::config::LaunchConfig;
use bytemuck::Pod;
use cuda_std::launch::{Call, Elements};
use rumba_algorithms as kernels;
use rumba_algorithms::sort::{BITS, BLOCK, COUNTERS, DIGITS, MOST_KEYS, Order};

/// The type of sort keys: `u32`, `i32`, `u64`, `i64`, and `f32`, `f64` in their total order: -NaN, -∞, numbers, -0
/// before 0, ∞, NaN.
pub trait SortKey: Pod + sealed::Key {}

/// Words of device memory that keys and values are made of.
type Words<'a, K> = DeviceSliceMut<'a, K>;

mod sealed {
    use super::{Call, DeviceSlice, DeviceSliceMut, Order, Sweep, Words};

    /// A key as the kernels see it.
    pub trait Key {
        type Bits: Bits;
        const ASCENDING: Order<Self::Bits>;
        const DESCENDING: Order<Self::Bits>;
    }

    /// The kernels for words of a size.
    pub trait Bits: super::kernels::sort::Word {
        const NONE: Self;
        /// Keys of a tile, without and with values of 4 and of 8 bytes.
        const TILES: [usize; 3];
        fn counts<'c>(
            keys: DeviceSlice<'c, Self>,
            order: Order<Self>,
            counts: DeviceSliceMut<'c, u32>,
            copies: usize,
        ) -> Call<'c>;
        fn keys(sweep: Sweep<'_, Self>) -> Call<'_>;
        fn pairs_4<'c>(sweep: Sweep<'c, Self>, from: DeviceSlice<'c, u32>, to: Words<'c, u32>) -> Call<'c>;
        fn pairs_8<'c>(sweep: Sweep<'c, Self>, from: DeviceSlice<'c, u64>, to: Words<'c, u64>) -> Call<'c>;
    }
}
use sealed::Bits;

/// The arguments of a pass over the keys.
pub struct Sweep<'c, K> {
    keys: DeviceSlice<'c, K>,
    order: Order<K>,
    sorted: Words<'c, K>,
    order_out: Order<K>,
    shift: u32,
    starts: DeviceSliceMut<'c, u32>,
    states: DeviceSliceMut<'c, u32>,
}

macro_rules! keys {
    ($($ty:ident as $bits:ident: $negative:expr, $flip:expr;)*) => {$(
        impl SortKey for $ty {}
        impl sealed::Key for $ty {
            type Bits = $bits;
            const ASCENDING: Order<$bits> = Order { negative: $negative, flip: $flip };
            const DESCENDING: Order<$bits> = Order { negative: $negative, flip: !($flip) };
        }
    )*};
}

keys! {
    u32 as u32: 0, 0;
    i32 as u32: 0, 1 << 31;
    f32 as u32: u32::MAX >> 1, 1 << 31;
    u64 as u64: 0, 0;
    i64 as u64: 0, 1 << 63;
    f64 as u64: u64::MAX >> 1, 1 << 63;
}

macro_rules! bits {
    ($($ty:ident: $keys:literal, $pairs_4:literal, $pairs_8:literal;)*) => {$(
        impl Bits for $ty {
            const NONE: $ty = 0;
            const TILES: [usize; 3] = [$keys * BLOCK, $pairs_4 * BLOCK, $pairs_8 * BLOCK];

            fn counts<'c>(
                keys: DeviceSlice<'c, $ty>,
                order: Order<$ty>,
                counts: DeviceSliceMut<'c, u32>,
                copies: usize,
            ) -> Call<'c> {
                let local = Elements(copies * size_of::<$ty>() * DIGITS);
                kernels::sort::sort_counts::<$ty>(keys, order.negative, order.flip, counts, local)
            }

            fn keys(s: Sweep<'_, $ty>) -> Call<'_> {
                let (order, out) = (s.order, s.order_out);
                kernels::sort::sort_keys::<$ty, $keys>(
                    s.keys, order.negative, order.flip, s.sorted, out.negative, out.flip, s.shift, s.starts, s.states,
                    Elements(COUNTERS), Elements($keys * BLOCK),
                )
            }

            fn pairs_4<'c>(s: Sweep<'c, $ty>, from: DeviceSlice<'c, u32>, to: Words<'c, u32>) -> Call<'c> {
                let (order, out) = (s.order, s.order_out);
                kernels::sort::sort_pairs::<$ty, u32, $pairs_4>(
                    s.keys, order.negative, order.flip, s.sorted, out.negative, out.flip, s.shift, s.starts, s.states,
                    from, to, Elements(COUNTERS), Elements($pairs_4 * BLOCK), Elements($pairs_4 * BLOCK),
                )
            }

            fn pairs_8<'c>(s: Sweep<'c, $ty>, from: DeviceSlice<'c, u64>, to: Words<'c, u64>) -> Call<'c> {
                let (order, out) = (s.order, s.order_out);
                kernels::sort::sort_pairs::<$ty, u64, $pairs_8>(
                    s.keys, order.negative, order.flip, s.sorted, out.negative, out.flip, s.shift, s.starts, s.states,
                    from, to, Elements(COUNTERS), Elements($pairs_8 * BLOCK), Elements($pairs_8 * BLOCK),
                )
            }
        }
    )*};
}

bits! {
    u32: 19, 19, 12;
    u64: 10, 10, 9;
}

/// Values that go with the keys.
enum Values<'a> {
    None,
    Four(DeviceSliceMut<'a, u32>),
    Eight(DeviceSliceMut<'a, u64>),
}

impl Algorithms {
    /// Sorts in ascending order. Equal elements keep their order.
    ///
    /// A radix sort, in work memory of the size of `keys` and a hundredth more.
    ///
    /// # Errors
    /// [`Error::TooManyElements`] from 2³⁰ elements on; [`Error::OutOfMemory`] and the driver's.
    ///
    /// # Examples
    /// ```
    /// # use rumba::algorithms::Algorithms;
    /// # fn main() -> rumba::Result<()> {
    /// # let algorithms = Algorithms::new(&rumba::Device::new()?);
    /// let mut x = [0.5, f64::INFINITY, -2.0, 0.0, -0.0];
    /// algorithms.sort(&mut x)?;
    /// assert_eq!(x, [-2.0, -0.0, 0.0, 0.5, f64::INFINITY]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn sort<'a, K: SortKey>(&self, keys: impl Target<'a, K>) -> Result<()> {
        keys.on_device(self.device(), |keys| self.sort_on_device(keys, K::ASCENDING, Values::None))
    }

    /// Sorts in descending order. Equal elements keep their order.
    ///
    /// # Errors
    /// As [`Algorithms::sort`].
    pub fn sort_descending<'a, K: SortKey>(&self, keys: impl Target<'a, K>) -> Result<()> {
        keys.on_device(self.device(), |keys| self.sort_on_device(keys, K::DESCENDING, Values::None))
    }

    /// Sorts `keys` in ascending order and takes `values`, which have 4 or 8 bytes, along. Equal keys keep their order.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the lengths of `keys` and `values` differ; otherwise as [`Algorithms::sort`].
    ///
    /// # Examples
    /// ```
    /// # use rumba::algorithms::Algorithms;
    /// # fn main() -> rumba::Result<()> {
    /// # let algorithms = Algorithms::new(&rumba::Device::new()?);
    /// let (mut keys, mut values) = ([3, 1, 3, -7], [*b"wxyz", *b"abcd", *b"efgh", *b"ijkl"]);
    /// algorithms.sort_by_key(&mut keys, &mut values)?;
    /// assert_eq!((keys, values), ([-7, 1, 3, 3], [*b"ijkl", *b"abcd", *b"wxyz", *b"efgh"]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn sort_by_key<'a, 'b, K: SortKey, V: Pod>(
        &self,
        keys: impl Target<'a, K>,
        values: impl Target<'b, V>,
    ) -> Result<()> {
        self.sort_pairs(keys, values, K::ASCENDING)
    }

    /// Sorts `keys` in descending order and takes `values` along. Equal keys keep their order.
    ///
    /// # Errors
    /// As [`Algorithms::sort_by_key`].
    pub fn sort_by_key_descending<'a, 'b, K: SortKey, V: Pod>(
        &self,
        keys: impl Target<'a, K>,
        values: impl Target<'b, V>,
    ) -> Result<()> {
        self.sort_pairs(keys, values, K::DESCENDING)
    }

    /// The indices of `keys` in the order of the keys, ascending: `keys[indices[0]]` is the smallest. Equal keys keep
    /// their order.
    ///
    /// # Errors
    /// As [`Algorithms::sort_by_key`].
    ///
    /// # Examples
    /// ```
    /// # use rumba::algorithms::Algorithms;
    /// # fn main() -> rumba::Result<()> {
    /// # let algorithms = Algorithms::new(&rumba::Device::new()?);
    /// let mut indices = [0; 3];
    /// algorithms.argsort(&[2.5_f32, -1.0, 0.0], &mut indices)?;
    /// assert_eq!(indices, [1, 2, 0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn argsort<'a, 'b, K: SortKey>(&self, keys: impl Source<'a, K>, indices: impl Target<'b, u32>) -> Result<()> {
        indices.on_device(self.device(), |mut indices| {
            keys.on_device(self.device(), |keys| {
                same_length("sort indices", keys.len(), indices.len())?;
                let mut copy = self.library.work(keys.len() * size_of::<K>() / 4)?;
                let mut copy = copy.slice().cast::<K>();
                copy.copy_from_device(&keys)?;
                self.launch(LaunchConfig::for_each(indices.len()), kernels::count_up(indices.reborrow()))?;
                self.sort_on_device(copy, K::ASCENDING, Values::Four(indices))
            })
        })
    }

    fn sort_pairs<'a, 'b, K: SortKey, V: Pod>(
        &self,
        keys: impl Target<'a, K>,
        values: impl Target<'b, V>,
        order: Order<K::Bits>,
    ) -> Result<()> {
        const { assert!(size_of::<V>() == 4 || size_of::<V>() == 8, "values of 4 or 8 bytes") };
        keys.on_device(self.device(), |keys| {
            values.on_device(self.device(), |values| {
                same_length("sort by key", keys.len(), values.len())?;
                let values = match size_of::<V>() {
                    4 => Values::Four(values.cast()),
                    _ => Values::Eight(values.cast()),
                };
                self.sort_on_device(keys, order, values)
            })
        })
    }

    fn sort_on_device<K: SortKey>(
        &self,
        keys: DeviceSliceMut<'_, K>,
        order: Order<K::Bits>,
        values: Values<'_>,
    ) -> Result<()> {
        let n = keys.len();
        if n > MOST_KEYS {
            return Err(Error::TooManyElements { operation: "sort", length: n, limit: MOST_KEYS });
        }
        if n < 2 {
            return Ok(());
        }
        let (passes, [alone, with_4, with_8]) = (size_of::<K>(), K::Bits::TILES);
        let (tile, value_words) = match values {
            Values::None => (alone, 0),
            Values::Four(_) => (with_4, 1),
            Values::Eight(_) => (with_8, 2),
        };
        let tiles = n.div_ceil(tile);

        let mut counters = self.cleared(passes * DIGITS * (1 + tiles))?;
        let (mut starts, mut states) = counters.slice().split_at_mut(passes * DIGITS);
        let mut other_keys = self.library.work(n * passes / 4)?;
        let mut other_values = self.library.work(n * value_words)?;
        let mut a = keys.cast::<K::Bits>();
        let mut b = other_keys.slice().cast::<K::Bits>();

        // As many copies of the counts as 32 KiB hold.
        let counts = K::Bits::counts(a.as_slice(), order, starts.reborrow(), 32 / passes);
        let full = self.full_grid(None, &counts, BLOCK, 32 << 10)?;
        self.launch(self.config(full, BLOCK), counts)?;
        self.launch(self.config(passes, DIGITS), kernels::sort::sort_starts(starts.reborrow()))?;

        let mut values = match values {
            Values::None => None,
            Values::Four(values) => Some((Values::Four(values), Values::Four(other_values.slice()))),
            Values::Eight(values) => Some((Values::Eight(values), Values::Eight(other_values.slice().cast()))),
        };
        let as_it_is = Order { negative: K::Bits::NONE, flip: K::Bits::NONE };
        // An even number of passes: the last one writes where the first one read.
        for pass in 0..passes {
            let part = |words: usize| pass * words..(pass + 1) * words;
            let sweep = Sweep {
                keys: a.as_slice(),
                order: if pass == 0 { order } else { as_it_is },
                sorted: b.reborrow(),
                order_out: if pass == passes - 1 { order } else { as_it_is },
                shift: BITS * pass as u32,
                starts: starts.reborrow().slice_mut(part(DIGITS)),
                states: states.reborrow().slice_mut(part(tiles * DIGITS)),
            };
            let call = match &mut values {
                Some((Values::Four(from), Values::Four(to))) => Bits::pairs_4(sweep, from.as_slice(), to.reborrow()),
                Some((Values::Eight(from), Values::Eight(to))) => Bits::pairs_8(sweep, from.as_slice(), to.reborrow()),
                _ => Bits::keys(sweep),
            };
            self.launch(self.config(tiles, BLOCK), call)?;
            std::mem::swap(&mut a, &mut b);
            if let Some((from, to)) = &mut values {
                std::mem::swap(from, to);
            }
        }
        Ok(())
    }
}
