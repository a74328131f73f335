//! By warp groups, with `wgmma` on tiles that tensor copies bring: compute capability 9.0.

use cuda_std::float::approx::{ex2_ftz, rcp};
use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;
use cuda_std::tensor::{
    Accumulator, Columns, Element, Order, PerRow, ResidentPipeline, Swizzled, TensorMap4, TensorOutput4, TensorStaging,
    WeightedWidth, Weights, Width,
};

/// What a launch computes, beside its arrays.
#[derive(Clone, Copy, Debug)]
struct Task {
    /// How many keys row 0 sees; each further row sees one more. All of them, if these are as many.
    visible: i32,
    /// How many keys there are.
    keys: i32,
}

impl Task {
    /// How many keys a row sees.
    #[inline(always)]
    fn seen(self, row: u32) -> i32 {
        self.keys.min(self.visible.saturating_add(row as i32)).max(0)
    }

    /// How many blocks of keys the rows before `end` see; one at least, so that each part has products.
    #[inline(always)]
    fn blocks<const KEYS: usize>(self, end: u32) -> u32 {
        (self.seen(end - 1) as u32).div_ceil(KEYS as u32).max(1)
    }
}

/// The softmax of rows whose scores come in blocks.
#[derive(Clone, Copy)]
struct Softmax {
    scale: f32,
    /// What the weights of each row are relative to, as a power of 2: a score that was the largest, or is not much smaller.
    base: PerRow<f32>,
    /// The thread's part of the sum of weights.
    sum: PerRow<f32>,
}

impl Softmax {
    /// Weights grow up to 2 to this power before sums are scaled: FlashAttention-4's rule. Numbers of 16 bits hold them.
    const SLACK: f32 = 8.0;

    #[inline(always)]
    fn new(scale: f32) -> Self {
        Self {
            scale,
            // Of a row that has seen nothing: less than any score.
            base: PerRow::splat(-1e30),
            sum: PerRow::splat(0.0),
        }
    }

    /// Replaces scores by their weights, and gives the factors for the sums so far, if they change.
    #[inline(always)]
    fn add<const KEYS: usize>(&mut self, scores: &mut Accumulator<KEYS>) -> Option<PerRow<f32>>
    where
        Columns<KEYS>: Width,
    {
        let Self { scale, base, .. } = *self;
        let top = scores
            .fold_rows(PerRow::splat(f32::NEG_INFINITY), f32::NEG_INFINITY, f32::max)
            .across(f32::max)
            .map(|top| top * scale);
        let grows = base.with(top, |base, top| top > base + Self::SLACK).any();
        let mut factor = None;
        if warp::any_sync(warp::FULL_MASK, grows) {
            self.base = base.with(top, f32::max);
            let factors = base.with(self.base, |old, new| ex2_ftz(old - new));
            self.sum = self.sum.with(factors, |sum, factor| sum * factor);
            factor = Some(factors);
        }
        scores.map_rows(self.base, |base, score| ex2_ftz(score.mul_add(scale, -base)));
        self.sum = scores.fold_rows(self.sum, 0.0, |a, b| a + b);
        factor
    }

    /// One over the sums, and zero where nothing was seen.
    #[inline(always)]
    fn normalisation(self) -> PerRow<f32> {
        self.sum
            .across(|a, b| a + b)
            .map(|sum| if sum > 0.0 { rcp(sum) } else { 0.0 })
    }
}

/// `softmax(scale q kᵀ) v` for `ROWS` rows at a time, by `GROUPS` warp groups with 64 rows each, over `KEYS` keys at a time. Heads
/// have `SIZE` columns in `N` panels, and the output `WIDTH`.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel's parameters")]
fn attend<
    T: Element,
    const ROWS: u32,
    const TALL: usize,
    const KEYS: usize,
    const N: usize,
    const SIZE: usize,
    const WIDTH: usize,
    const RESIDENT: usize,
    const STAGES: usize,
    const GROUPS: u32,
    const LOW: u32,
    const HIGH: u32,
>(
    q: TensorMap4<Swizzled<T, TALL, 64>>,
    k: TensorMap4<Swizzled<T, KEYS, 64>>,
    v: TensorMap4<Swizzled<T, KEYS, 64>>,
    o: TensorOutput4<Swizzled<T, 16, 64>>,
    scale: f32,
    visible: i32,
    together: u32,
    stages: ResidentPipeline<[Swizzled<T, TALL, 64>; N], [Swizzled<T, KEYS, 64>; N], RESIDENT, STAGES, GROUPS>,
    mut staging: TensorStaging<Swizzled<T, 16, 64>, GROUPS>,
) where
    Columns<KEYS>: Width,
    Columns<WIDTH>: WeightedWidth,
{
    q.prefetch();
    k.prefetch();
    v.prefetch();
    o.prefetch();
    let [_, _, rows] = q.shape();
    let [_, _, keys] = k.shape();
    let task = Task {
        visible,
        keys: keys as i32,
    };
    let bands = o.bands::<ROWS>(Order {
        together,
        last_first: visible < keys as i32,
    });
    let places = bands.places();
    let blocks = move |row: u32| task.blocks::<KEYS>((row + ROWS).min(rows));
    stages.roles::<LOW, HIGH>(
        |queries, stages| {
            for [outer, inner, row] in places {
                let at = |block: u32| [outer, inner, block * KEYS as u32];
                let last = blocks(row) - 1;
                queries.acquire().fill(q.at([outer, inner, row]));
                stages.acquire().fill(k.at(at(last)));
                for block in (0..last).rev() {
                    stages.acquire().fill(k.at(at(block)));
                    stages.acquire().fill(v.at(at(block + 1)));
                }
                stages.acquire().fill(v.at(at(0)));
            }
        },
        |queries, stages, turns| {
            let first = 64 * queries.rank();
            let mut scores = Accumulator::<KEYS>::zero();
            let mut output = Accumulator::<WIDTH>::zero();
            let mut weights = Weights::<T, KEYS>::zero();
            for band in bands {
                let [_, _, row] = band.place();
                let own = row + first;
                let last = blocks(row) - 1;
                let seen = PerRow::of(|row| task.seen(own + row));
                let least = task.seen(own);
                let hide = |scores: &mut Accumulator<KEYS>, block: u32| {
                    let start = (block * KEYS as u32) as i32;
                    if start + KEYS as i32 > least {
                        scores.truncate_rows(seen.map(|seen| seen - start), f32::NEG_INFINITY);
                    }
                };
                let mut softmax = Softmax::new(scale);
                let query = queries.wait();
                let left = query.panels().rows::<64>(first);
                scores.product::<T, N, SIZE, STAGES>(left, stages.wait());
                hide(&mut scores, last);
                let _ = softmax.add(&mut scores);
                weights.take(&scores);
                output.map(|_, _, _| 0.0);
                let mut next = stages.wait();
                for block in (0..last).rev() {
                    let (right, values) = (next, stages.wait());
                    let factor;
                    (factor, next) = output.add_weighted_while::<T, _, N, SIZE, KEYS, STAGES, GROUPS>(
                        &weights,
                        values,
                        &mut scores,
                        left,
                        right,
                        stages,
                        turns,
                        |scores| {
                            hide(scores, block);
                            softmax.add(scores)
                        },
                    );
                    weights.take(&scores);
                    if let Some(factor) = factor {
                        output.map_rows(factor, |factor, sum| sum * factor);
                    }
                }
                drop(query);
                output.add_weighted(&weights, next);
                output.map_rows(softmax.normalisation(), |factor, sum| sum * factor);
                staging.write(queries, band, &output);
            }
        },
    );
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $threads:literal threads, $groups:literal x 64 rows = $tall:literal, $keys:literal keys,
       $size:literal columns in $panels:literal panels, $width:literal written, $resident:literal + $stages:literal stages, registers $low:literal $high:literal;)*) => {$(
        $(#[$doc])*
        #[kernel(block = $threads, min_blocks = 1, arch = ["sm_90a"], T = [f16, bf16])]
        #[allow(clippy::too_many_arguments, reason = "a kernel's parameters")]
        pub fn $name<T: Element>(
            q: TensorMap4<Swizzled<T, $tall, 64>>,
            k: TensorMap4<Swizzled<T, $keys, 64>>,
            v: TensorMap4<Swizzled<T, $keys, 64>>,
            o: TensorOutput4<Swizzled<T, 16, 64>>,
            scale: f32,
            visible: i32,
            together: u32,
            stages: ResidentPipeline<[Swizzled<T, $tall, 64>; $panels], [Swizzled<T, $keys, 64>; $panels], $resident, $stages, $groups>,
            staging: TensorStaging<Swizzled<T, 16, 64>, $groups>,
        ) {
            attend::<T, $tall, $tall, $keys, $panels, $size, $width, $resident, $stages, $groups, $low, $high>(
                q, k, v, o, scale, visible, together, stages, staging,
            );
        }
    )*};
}

kernels! {
    /// For heads of up to 64 numbers.
    attention_64: 512 threads, 3 x 64 rows = 192, 128 keys, 64 columns in 1 panels, 64 written, 1 + 4 stages, registers 32 160;
    /// For heads of up to 128 numbers.
    attention_128: 384 threads, 2 x 64 rows = 128, 128 keys, 128 columns in 2 panels, 128 written, 1 + 4 stages, registers 40 232;
}
