//! By warp groups, with `wgmma` on tiles that tensor copies bring: compute capability 9.0.

use cuda_std::float::approx::{ex2_ftz, rcp};
use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;
use cuda_std::tensor::{
    Accumulator, Columns, Element, PerRow, ResidentPipeline, Swizzled, TensorMap4, TensorOutput4, TensorStaging,
    WeightedWidth, Weights, Width,
};

use super::{Keys, NOTHING, SLACK};

/// The softmax of rows whose scores come in blocks.
#[derive(Clone, Copy)]
struct Softmax {
    scale: f32,
    /// The exponent of 2 that the weights of each row are relative to: a score that was the largest, or is not much
    /// smaller.
    base: PerRow<f32>,
    /// The thread's part of the sum of weights.
    sum: PerRow<f32>,
}

impl Softmax {
    #[inline(always)]
    fn new(scale: f32) -> Self {
        Self { scale, base: PerRow::splat(NOTHING), sum: PerRow::splat(0.0) }
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
        let grows = base.with(top, |base, top| top > base + SLACK).any();
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

    /// The reciprocals of the sums, and zero for rows that have seen no key.
    #[inline(always)]
    fn normalisation(self) -> PerRow<f32> {
        self.sum.across(|a, b| a + b).map(|sum| if sum > 0.0 { rcp(sum) } else { 0.0 })
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
    o: TensorOutput4<Swizzled<T, 16, 64>, ROWS>,
    scale: f32,
    visible: i32,
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
    let task = Keys { visible, all: keys as i32 };
    let bands = o.bands();
    let places = bands.places();
    let blocks = move |row: u32| task.blocks::<KEYS>((row + ROWS).min(rows));
    // SAFETY: all threads of the grid come here, with parts and blocks of keys of the same parameters.
    let stages = unsafe { stages.assume_equal() };
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
                let hide = |scores: &mut Accumulator<KEYS>, block: u32| {
                    let start = (block * KEYS as u32) as i32;
                    if start + KEYS as i32 > task.seen(own) {
                        let ends = PerRow::of(|row| task.seen(own + row) - start);
                        scores.truncate_rows(ends, f32::NEG_INFINITY);
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

/// The same for heads that are wider than an accumulator: scores are sums over `PARTS` stages of 256 columns, and a launch computes up
/// to 256 columns of the output, of which it is passed those of `v` and `o` alone.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "what the kernel is passed")]
fn attend_wide<T: Element, const STAGES: usize>(
    q: TensorMap4<Swizzled<T, 64, 64>>,
    k: TensorMap4<Swizzled<T, 64, 64>>,
    v: TensorMap4<Swizzled<T, 64, 64>>,
    o: TensorOutput4<Swizzled<T, 16, 64>, 64>,
    scale: f32,
    visible: i32,
    stages: ResidentPipeline<[Swizzled<T, 64, 64>; 8], [Swizzled<T, 64, 64>; 4], 1, STAGES, 1>,
    mut staging: TensorStaging<Swizzled<T, 16, 64>, 1>,
) {
    const KEYS: u32 = 64;
    q.prefetch();
    k.prefetch();
    v.prefetch();
    o.prefetch();
    let [_, _, rows] = q.shape();
    let [_, _, keys] = k.shape();
    let task = Keys { visible, all: keys as i32 };
    let bands = o.bands();
    let places = bands.places();
    let blocks = move |row: u32| task.blocks::<64>((row + 64).min(rows));
    // SAFETY: as in `attend`.
    let stages = unsafe { stages.assume_equal() };
    stages.roles::<40, 232>(
        |queries, stages| {
            for [outer, inner, row] in places {
                queries.acquire().fill(q.at([outer, inner, row]));
                for block in (0..blocks(row)).rev() {
                    let at = [outer, inner, block * KEYS];
                    stages.acquire().fill(k.at(at));
                    stages.acquire().fill(k.at(at).column(256));
                    stages.acquire().fill(v.at(at));
                }
            }
        },
        |queries, stages, _| {
            let mut scores = Accumulator::<64>::zero();
            let mut output = Accumulator::<256>::zero();
            let mut weights = Weights::<T, 64>::zero();
            for band in bands {
                let [_, _, row] = band.place();
                let mut softmax = Softmax::new(scale);
                let query = queries.wait();
                output.map(|_, _, _| 0.0);
                for block in (0..blocks(row)).rev() {
                    scores.product::<T, 4, 256, STAGES>(query.panels().panels::<4>(0), stages.wait());
                    scores.add_product::<T, 4, 256, STAGES>(query.panels().panels::<4>(4), stages.wait());
                    let start = (block * KEYS) as i32;
                    if start + KEYS as i32 > task.seen(row) {
                        let ends = PerRow::of(|own| task.seen(row + own) - start);
                        scores.truncate_rows(ends, f32::NEG_INFINITY);
                    }
                    let factor = softmax.add(&mut scores);
                    weights.take(&scores);
                    if let Some(factor) = factor {
                        output.map_rows(factor, |factor, sum| sum * factor);
                    }
                    output.add_weighted(&weights, stages.wait());
                }
                drop(query);
                output.map_rows(softmax.normalisation(), |factor, sum| sum * factor);
                staging.write(queries, band, &output);
            }
        },
    );
}

/// For heads of up to 512 numbers: see `attend_wide`.
#[kernel(block = 256, min_blocks = 1, arch = ["sm_90a"], T = [f16, bf16])]
pub fn attention_512<T: Element>(
    q: TensorMap4<Swizzled<T, 64, 64>>,
    k: TensorMap4<Swizzled<T, 64, 64>>,
    v: TensorMap4<Swizzled<T, 64, 64>>,
    o: TensorOutput4<Swizzled<T, 16, 64>, 64>,
    scale: f32,
    visible: i32,
    stages: ResidentPipeline<[Swizzled<T, 64, 64>; 8], [Swizzled<T, 64, 64>; 4], 1, 4, 1>,
    staging: TensorStaging<Swizzled<T, 16, 64>, 1>,
) {
    attend_wide(q, k, v, o, scale, visible, stages, staging);
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
            o: TensorOutput4<Swizzled<T, 16, 64>, $tall>,
            scale: f32,
            visible: i32,
            stages: ResidentPipeline<[Swizzled<T, $tall, 64>; $panels], [Swizzled<T, $keys, 64>; $panels], $resident, $stages, $groups>,
            staging: TensorStaging<Swizzled<T, 16, 64>, $groups>,
        ) {
            attend::<T, $tall, $tall, $keys, $panels, $size, $width, $resident, $stages, $groups, $low, $high>(
                q, k, v, o, scale, visible, stages, staging,
            );
        }
    )*};
}

kernels! {
    /// For heads of up to 64 numbers.
    attention_64: 512 threads, 3 x 64 rows = 192, 128 keys, 64 columns in 1 panels, 64 written, 2 + 6 stages, registers 32 160;
    /// For heads of up to 128 numbers.
    attention_128: 384 threads, 2 x 64 rows = 128, 128 keys, 128 columns in 2 panels, 128 written, 1 + 4 stages, registers 40 232;
    /// For heads of up to 192 numbers.
    attention_192: 384 threads, 2 x 64 rows = 128, 64 keys, 192 columns in 3 panels, 192 written, 1 + 4 stages, registers 40 232;
}
