//! The source of a generator's choices: the bytes of a fuzzer, or the numbers that follow from a seed.

/// A sequence of choices.
#[derive(Debug, Clone)]
pub struct Choices(Source);

#[derive(Debug, Clone)]
enum Source {
    /// The remaining bytes.
    Bytes(std::vec::IntoIter<u8>),
    Seed(u64),
}

impl Choices {
    /// Takes the choices from bytes. Behind their end, each choice is the first of its possibilities.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Source::Bytes(Vec::from(bytes).into_iter()))
    }

    /// Takes the choices from the numbers that follow from a seed.
    pub fn of_seed(seed: u64) -> Self {
        Self(Source::Seed(seed))
    }

    /// Returns a number of 64 bits.
    pub fn wide(&mut self) -> u64 {
        self.take(8)
    }

    /// Returns a number below `limit`, or 0 if `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        let bytes = if limit <= 256 { 1 } else { 4 };
        // A byte of a seed would prefer small numbers.
        let number = match self.0 {
            Source::Bytes(_) => self.take(bytes),
            Source::Seed(_) => self.take(8) >> 16,
        };
        (number as usize).checked_rem(limit).unwrap_or(0)
    }

    /// Whether one of `of` equally likely events happens. Behind the end of the bytes it does not.
    pub fn once_in(&mut self, of: usize) -> bool {
        self.below(of) == of - 1
    }

    /// Chooses one of several values.
    ///
    /// # Panics
    /// If `values` is empty.
    pub fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// Chooses the index of one of several weights, in proportion to them.
    pub fn weighted(&mut self, weights: impl Iterator<Item = u32> + Clone) -> usize {
        let total = weights.clone().map(|weight| weight as usize).sum();
        let mut number = self.below(total);
        for (index, weight) in weights.enumerate() {
            match number.checked_sub(weight as usize) {
                None => return index,
                Some(rest) => number = rest,
            }
        }
        0
    }

    fn take(&mut self, count: usize) -> u64 {
        match &mut self.0 {
            Source::Bytes(bytes) => {
                let taken = bytes.take(count);
                taken.fold(0, |number, byte| number << 8 | u64::from(byte))
            }
            // SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
            Source::Seed(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut x = *state;
                x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                x ^ (x >> 31)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Choices;

    #[test]
    fn choices_follow_from_their_source() {
        let numbers = |mut choices: Choices| [(); 50].map(|()| choices.below(7));
        assert_eq!(numbers(Choices::of_seed(5)), numbers(Choices::of_seed(5)));
        assert_ne!(numbers(Choices::of_seed(5)), numbers(Choices::of_seed(6)));
        assert_eq!(numbers(Choices::of_bytes(&[])), [0; 50]);
        assert_eq!(numbers(Choices::of_bytes(&[9, 3]))[..3], [2, 3, 0]);
        let all: std::collections::BTreeSet<usize> = numbers(Choices::of_seed(1)).into();
        assert_eq!(all.len(), 7, "{all:?}");
    }

    #[test]
    fn weights_decide_how_often_a_choice_is_made() {
        let mut choices = Choices::of_seed(1);
        let mut counts = [0; 3];
        for _ in 0..1000 {
            counts[choices.weighted([1, 0, 9].into_iter())] += 1;
        }
        assert!(counts[0] > 50 && counts[0] < 200 && counts[1] == 0, "{counts:?}");
    }
}
