//! Repeatable random numbers, from which a run with a seed takes its order.

/// The finaliser of splitmix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014).
fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// A sequence of numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The sequence of a place in a run, which the parts name.
    pub(crate) fn new(seed: u64, parts: &[u64]) -> Self {
        Self(parts.iter().fold(mix(seed ^ 0x5bd1_e995), |state, part| {
            mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_add(*part))
        }))
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// The next random number below `bound`, which must not be 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// The position of `number` in a random permutation of `count` things.
pub(crate) fn shuffled(mut chance: Chance, number: u64, count: u64) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let start = chance.below(count);
    let mut step = chance.below(count).max(1);
    while divisor(step, count) != 1 {
        step = step % count + 1;
    }
    ((u128::from(number) * u128::from(step) + u128::from(start)) % u128::from(count)) as u64
}

#[cfg(test)]
mod tests {
    use super::{Chance, shuffled};
    use std::collections::HashSet;

    #[test]
    fn every_number_has_its_turn() {
        for count in 1..50 {
            for seed in 0..5 {
                let all: HashSet<u64> =
                    (0..count).map(|number| shuffled(Chance::new(seed, &[]), number, count)).collect();
                assert_eq!(all, (0..count).collect());
            }
        }
    }

    #[test]
    fn places_differ_and_repeat() {
        let first = |seed, parts: &[u64]| Chance::new(seed, parts).next();
        assert_eq!(first(1, &[2, 3]), first(1, &[2, 3]));
        let all = [first(1, &[2, 3]), first(2, &[2, 3]), first(1, &[3, 2]), first(1, &[2])];
        assert_eq!(all.into_iter().collect::<HashSet<_>>().len(), 4);
    }
}
