//! Random numbers for whole slices: each is a function of the seed and of its place.
//!
//! Together they are the stream 0 of [`Philox4x32`], so the host has the same numbers without a device.

use bytemuck::Pod;
use cuda_std::prelude::*;
use cuda_std::random::{Generator, Philox4x32};

/// Floating-point numbers; one block of the generator gives `V` of them.
pub trait Real<const V: usize>: Pod {
    /// The next numbers from 0 to below 1.
    fn uniform(random: &mut Philox4x32) -> [Self; V];
    /// The next numbers of mean 0 and variance 1.
    fn normal(random: &mut Philox4x32) -> [Self; V];
    /// `number * scale + offset`.
    #[must_use]
    fn scaled(self, scale: Self, offset: Self) -> Self;
}

impl Real<4> for f32 {
    #[inline(always)]
    fn uniform(random: &mut Philox4x32) -> [f32; 4] {
        core::array::from_fn(|_| random.uniform_f32())
    }

    #[inline(always)]
    fn normal(random: &mut Philox4x32) -> [f32; 4] {
        let ((a, b), (c, d)) = (random.normal_pair_f32(), random.normal_pair_f32());
        [a, b, c, d]
    }

    #[inline(always)]
    fn scaled(self, scale: f32, offset: f32) -> f32 {
        self * scale + offset
    }
}

impl Real<2> for f64 {
    #[inline(always)]
    fn uniform(random: &mut Philox4x32) -> [f64; 2] {
        core::array::from_fn(|_| random.uniform_f64())
    }

    #[inline(always)]
    fn normal(random: &mut Philox4x32) -> [f64; 2] {
        random.normal_pair_f64().into()
    }

    #[inline(always)]
    fn scaled(self, scale: f64, offset: f64) -> f64 {
        self * scale + offset
    }
}

/// Calls `work` with each round and the generator at the place of the thread's vector.
#[inline(always)]
fn each_vector<T: Pod, const V: usize>(
    seed: u64,
    x: &mut Disjoint<T, Rounds<[VectorOf<V>; 1]>>,
    mut make: impl FnMut(&mut Philox4x32) -> [T; V],
) {
    for round in 0..x.rounds() {
        let block = x.indices(round)[0] / V;
        x.store(round, [make(&mut Philox4x32::new(seed, 0).at(4 * block as u64))]);
    }
}

/// Random bits.
#[kernel]
pub fn random_bits(seed: u64, mut x: Disjoint<u32, Rounds<[VectorOf<4>; 1]>>) {
    each_vector(seed, &mut x, Philox4x32::next_block);
}

/// Numbers from `low` to below `low + width`, evenly distributed.
#[kernel((T, V) = [(f32, 4), (f64, 2)])]
pub fn random_uniform<T: Real<V>, const V: usize>(
    seed: u64,
    low: T,
    width: T,
    mut x: Disjoint<T, Rounds<[VectorOf<V>; 1]>>,
) {
    each_vector(seed, &mut x, |random| T::uniform(random).map(|u| u.scaled(width, low)));
}

/// Numbers of the normal distribution.
#[kernel((T, V) = [(f32, 4), (f64, 2)])]
pub fn random_normal<T: Real<V>, const V: usize>(
    seed: u64,
    mean: T,
    deviation: T,
    mut x: Disjoint<T, Rounds<[VectorOf<V>; 1]>>,
) {
    each_vector(seed, &mut x, |random| T::normal(random).map(|z| z.scaled(deviation, mean)));
}
