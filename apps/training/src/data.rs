//! The digits, which the program brings with it, and in which order they are learned.

/// Rows and columns of a digit.
pub const SIZE: usize = 28;

/// Pixels of a digit.
pub const PIXELS: usize = SIZE * SIZE;

/// How many digits of each class are not learned, but tested.
const TESTED: usize = 100;

/// Some digits and their classes.
#[derive(Clone, Debug, Default)]
pub struct Digits {
    /// From -1, which is white, to 1.
    pub pixels: Vec<f32>,
    /// 0 to 9.
    pub labels: Vec<u32>,
}

impl Digits {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether the set has no digits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The numbers of digits, and behind them the labels: what a step needs to know of its batch.
    #[must_use]
    pub fn batch(&self, numbers: &[usize]) -> Vec<u32> {
        let labels = numbers.iter().map(|&number| self.labels[number]);
        numbers.iter().map(|&number| number as u32).chain(labels).collect()
    }

    /// The digits of these numbers.
    #[must_use]
    pub fn select(&self, numbers: &[usize]) -> Digits {
        let pixels = numbers.iter().flat_map(|&number| &self.pixels[number * PIXELS..][..PIXELS]);
        Digits {
            pixels: pixels.copied().collect(),
            labels: numbers.iter().map(|&number| self.labels[number]).collect(),
        }
    }
}

/// Digits to learn and others to test: 400 and 100 of each class.
///
/// # Panics
/// Never: the picture is part of the program.
#[must_use]
pub fn digits() -> [Digits; 2] {
    let file = std::io::Cursor::new(include_bytes!("../digits/digits.png"));
    let mut decoder = png::Decoder::new(file);
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().expect("the picture is whole");
    let mut shades = vec![0; reader.output_buffer_size().expect("the picture is small")];
    let picture = reader.next_frame(&mut shades).expect("the picture is whole");
    let (across, down) = (picture.width as usize / SIZE, picture.height as usize / SIZE);
    let of_class = across * down / 10;
    let mut digits = [Digits::default(), Digits::default()];
    for number in 0..across * down {
        let part = &mut digits[usize::from(number % of_class >= of_class - TESTED)];
        part.labels.push((number / of_class) as u32);
        for row in 0..SIZE {
            let first = (number / across * SIZE + row) * picture.line_size + number % across * SIZE;
            let row = shades[first..][..SIZE].iter();
            part.pixels.extend(row.map(|&shade| f32::from(shade) / 127.5 - 1.0));
        }
    }
    digits
}

/// The order of so many digits in an epoch, which is the same on all ranks.
#[must_use]
pub fn order(count: usize, seed: u64, epoch: u64) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    // Neighbouring seeds give other sequences.
    fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ epoch).shuffle(&mut numbers);
    numbers
}

#[cfg(test)]
mod tests {
    use super::{PIXELS, SIZE, digits, order};

    #[test]
    fn there_are_as_many_of_each_class() {
        let [learned, tested] = digits();
        for (digits, count) in [(&learned, 400), (&tested, 100)] {
            for class in 0..10 {
                assert_eq!(digits.labels.iter().filter(|&&label| label == class).count(), count);
            }
            assert_eq!(digits.pixels.len(), digits.len() * PIXELS);
            assert!(digits.pixels.iter().all(|shade| (-1.0..=1.0).contains(shade)));
        }
        // The edges of all digits are white, as MNIST's are.
        let edge = learned.pixels.chunks(PIXELS).all(|digit| digit[..SIZE].iter().all(|&shade| shade == -1.0));
        assert!(edge);
        // A zero has a hole, a one has none.
        let middle = |class: u32| {
            let all: Vec<f32> = (0..learned.len())
                .filter(|&number| learned.labels[number] == class)
                .map(|number| learned.pixels[number * PIXELS + SIZE * SIZE / 2 + SIZE / 2])
                .collect();
            all.iter().sum::<f32>() / all.len() as f32
        };
        assert!(middle(0) < -0.7 && middle(1) > 0.0, "{} {}", middle(0), middle(1));
    }

    #[test]
    fn each_epoch_has_an_order_of_its_own() {
        let (one, two) = (order(100, 1, 0), order(100, 1, 1));
        assert_ne!(one, two);
        assert_eq!(one, order(100, 1, 0));
        let mut sorted = two;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..100));
    }
}
