//! Attention: `softmax(scale q kᵀ) v`, without the matrix of scores in memory. Each file has one algorithm.

pub mod vectors;
pub mod warp;
pub mod warp_group;

/// The number of keys, and the mask of keys that each row of queries attends to.
#[derive(Clone, Copy, Debug)]
struct Keys {
    /// How many keys row 0 sees; each further row sees one more. If it equals `all`, every row sees all keys.
    visible: i32,
    /// How many keys there are.
    all: i32,
}

impl Keys {
    /// How many keys a row sees.
    #[inline(always)]
    fn seen(self, row: u32) -> i32 {
        self.all.min(self.visible.saturating_add(row as i32)).max(0)
    }

    /// How many blocks of keys the rows before `end` see; one at least, so that each part has products.
    #[inline(always)]
    fn blocks<const KEYS: usize>(self, end: u32) -> u32 {
        (self.seen(end - 1) as u32).div_ceil(KEYS as u32).max(1)
    }
}

/// Weights grow up to 2 to this power before sums are scaled: FlashAttention-4's rule. Numbers of 16 bits hold them.
const SLACK: f32 = 8.0;

/// The base of the weights in a row that has seen no key: less than any score.
const NOTHING: f32 = -1e30;
