//! Attention against sums in `f64`, on arrays of all layouts, and what is refused.

use crate::common::device;
use cuda_std::half::{bf16, f16};
use rumba::array::{Array, ArrayView, ArrayViewMut};
use rumba::linalg::{Attention, AttentionElement, Linalg, LinalgError, Mask};
use rumba::{Device, Error};
use std::cell::Cell;
use test_processes::alone;

trait Number: AttentionElement {
    /// How far a result may be off, relative to the largest value.
    const ERROR: f64;
    fn of(value: f32) -> Self;
    fn value(self) -> f64;
}

macro_rules! numbers {
    ($($ty:ident, $error:literal;)*) => {$(
        impl Number for $ty {
            const ERROR: f64 = $error;

            fn of(value: f32) -> Self {
                Self::from_f32(value)
            }

            fn value(self) -> f64 {
                self.to_f64()
            }
        }
    )*};
}

numbers! {
    f16, 2e-3;
    bf16, 1.6e-2;
}

/// Whether heads lie one after the other, or beside each other at each position.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    HeadsFirst,
    LengthFirst,
}

/// The logical shape, `[batch, heads, length, size]`, as it lies.
fn lies([batch, heads, length, size]: [usize; 4], order: Order) -> [usize; 4] {
    match order {
        Order::HeadsFirst => [batch, heads, length, size],
        Order::LengthFirst => [batch, length, heads, size],
    }
}

fn seen<T: Number>(array: &Array<T, 4>, order: Order) -> ArrayView<'_, T, 4> {
    match order {
        Order::HeadsFirst => array.view(),
        Order::LengthFirst => array.view().permute([0, 2, 1, 3]),
    }
}

fn written<T: Number>(array: &mut Array<T, 4>, order: Order) -> ArrayViewMut<'_, T, 4> {
    match order {
        Order::HeadsFirst => array.view_mut(),
        Order::LengthFirst => array.view_mut().permute([0, 2, 1, 3]),
    }
}

/// Numbers that look random, from -1 to 1.
fn numbers(seed: u64, length: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).take(length).collect()
}

thread_local! {
    /// The kind of kernel that computes the attentions of this test, where it can.
    static ONLY: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// One attention, compared with the same in `f64`.
fn compare<T: Number>(
    device: &Device,
    [batch, heads, rows, keys, size]: [usize; 5],
    mask: Mask,
    scale: Option<f32>,
    order: Order,
) -> rumba::Result<()> {
    let linalg = Linalg::new(device);
    let linalg = ONLY.get().map_or(linalg.clone(), |only| linalg.only(only));
    let make = |seed, length| {
        let shape = lies([batch, heads, length, size], order);
        let numbers: Vec<T> = numbers(seed, shape.iter().product()).into_iter().map(|x| T::of(2.0 * x)).collect();
        Array::from_slice(device, shape, &numbers)
    };
    let (q, k, v) = (make(1, rows)?, make(2, keys)?, make(3, keys)?);
    let shape = lies([batch, heads, rows, size], order);
    let mut output = Array::full(device, shape, T::of(f32::NAN))?;
    linalg.attention(
        seen(&q, order),
        seen(&k, order),
        seen(&v, order),
        written(&mut output, order),
        Attention { mask, scale },
    )?;
    let scale = scale.map_or((size as f64).sqrt().recip(), f64::from);
    let read = |array: &Array<T, 4>| -> rumba::Result<Vec<f64>> {
        Ok(seen(array, order).to_vec()?.into_iter().map(T::value).collect())
    };
    let (q, k, v, output) = (read(&q)?, read(&k)?, read(&v)?, read(&output)?);
    for (row, got) in output.chunks(size).enumerate() {
        let (head, i) = (row / rows, row % rows);
        let visible = match mask {
            Mask::Causal => (i + 1).min(keys),
            Mask::CausalFromEnd => (i + 1 + keys).saturating_sub(rows),
            _ => keys,
        };
        let query = &q[row * size..][..size];
        let scores: Vec<f64> = (0..visible)
            .map(|j| {
                let key = &k[(head * keys + j) * size..][..size];
                scale * query.iter().zip(key).map(|(q, k)| q * k).sum::<f64>()
            })
            .collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - top).exp()).collect();
        let sum: f64 = weights.iter().sum();
        for (column, got) in got.iter().enumerate() {
            let values = weights.iter().enumerate().map(|(j, weight)| weight * v[(head * keys + j) * size + column]);
            let wanted = if visible == 0 { 0.0 } else { values.sum::<f64>() / sum };
            assert!(
                (got - wanted).abs() <= 2.0 * T::ERROR,
                "{got} instead of {wanted}: row {i}, column {column} of head {head}, {rows} x {keys} x {size}, {mask:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn attention_is_that_in_f64() -> rumba::Result<()> {
    let device = device();
    use Mask::{Causal, CausalFromEnd, None as All};
    use Order::{HeadsFirst, LengthFirst};
    // Several blocks of keys and parts of queries, of which the last ones are ragged.
    compare::<f16>(&device, [1, 2, 200, 270, 64], All, None, LengthFirst)?;
    compare::<f16>(&device, [2, 1, 130, 130, 128], Causal, None, HeadsFirst)?;
    compare::<bf16>(&device, [1, 1, 140, 260, 128], CausalFromEnd, Some(0.25), LengthFirst)?;
    compare::<bf16>(&device, [2, 3, 70, 70, 64], Causal, None, LengthFirst)?;
    // Heads that no tile fits.
    compare::<f16>(&device, [1, 2, 33, 150, 40], All, None, LengthFirst)?;
    compare::<bf16>(&device, [1, 2, 65, 65, 80], Causal, None, HeadsFirst)?;
    compare::<f16>(&device, [1, 1, 70, 90, 160], All, Some(1.0), LengthFirst)?;
    compare::<f16>(&device, [1, 1, 70, 70, 512], Causal, None, LengthFirst)?;
    compare::<bf16>(&device, [1, 1, 5, 70, 320], All, None, HeadsFirst)?;
    // One query and one key.
    compare::<f16>(&device, [1, 1, 1, 1, 64], All, None, HeadsFirst)?;
    compare::<f16>(&device, [3, 2, 1, 77, 8], CausalFromEnd, None, HeadsFirst)
}

/// By warps, as on devices before compute capability 9.0: heads that lie in vectors, and the same by single numbers.
#[test]
fn by_warps_it_is_that_in_f64() -> rumba::Result<()> {
    use Mask::{Causal, CausalFromEnd, None as All};
    use Order::{HeadsFirst, LengthFirst};
    let device = device();
    for way in ["vectors", "warps"] {
        ONLY.set(Some(way));
        // More queries than a block has, and parts of blocks of keys.
        compare::<f16>(&device, [1, 2, 100, 150, 64], All, None, LengthFirst)?;
        compare::<bf16>(&device, [2, 1, 70, 70, 64], Causal, None, HeadsFirst)?;
        compare::<f16>(&device, [1, 2, 70, 100, 128], CausalFromEnd, None, HeadsFirst)?;
        compare::<bf16>(&device, [1, 1, 20, 65, 128], All, Some(0.5), LengthFirst)?;
        // Heads that no tile fits, and queries that see nothing.
        compare::<f16>(&device, [1, 2, 33, 50, 40], Causal, None, LengthFirst)?;
        compare::<bf16>(&device, [1, 1, 65, 33, 80], CausalFromEnd, None, HeadsFirst)?;
        compare::<f16>(&device, [3, 2, 1, 1, 8], All, None, HeadsFirst)?;
    }
    ONLY.set(None);
    Ok(())
}

/// Arrays that tensor copies cannot have: rows of sizes or at places that are no multiples of 16 bytes, elements apart.
#[test]
fn arrays_of_any_strides_are_served() -> rumba::Result<()> {
    let device = device();
    compare::<f16>(&device, [1, 2, 70, 90, 20], Mask::None, None, Order::LengthFirst)?;
    compare::<bf16>(&device, [2, 1, 65, 65, 33], Mask::Causal, None, Order::HeadsFirst)?;
    compare::<f16>(&device, [1, 1, 10, 70, 133], Mask::CausalFromEnd, Some(0.5), Order::HeadsFirst)?;
    // A head of one number, with its elements two apart.
    let numbers =
        |value: fn(usize) -> f32| Array::from_fn(&device, [1, 1, 4, 2], |[_, _, j, _]| f16::from_f32(value(j)));
    let (k, v) = (numbers(|_| 1.0)?, numbers(|j| j as f32)?);
    let mut output = Array::zeros(&device, [1, 1, 4, 2])?;
    let half = (.., .., .., ..1);
    Linalg::new(&device).attention(
        k.view().slice(half),
        k.view().slice(half),
        v.view().slice(half),
        output.view_mut().slice_mut(half),
        Attention::default(),
    )?;
    assert_eq!(output.to_vec()?, [1.5, 0.0, 1.5, 0.0, 1.5, 0.0, 1.5, 0.0].map(f16::from_f32));
    Ok(())
}

/// The first queries see no key where there are more queries than keys, and get zeros.
#[test]
fn queries_without_keys_get_zeros() -> rumba::Result<()> {
    let device = device();
    compare::<f16>(&device, [1, 1, 150, 20, 64], Mask::CausalFromEnd, None, Order::HeadsFirst)?;
    let linalg = Linalg::new(&device);
    let q = Array::full(&device, [1, 1, 3, 64], f16::ONE)?;
    let none = Array::zeros(&device, [1, 1, 0, 64])?;
    let mut output = Array::full(&device, [1, 1, 3, 64], f16::NAN)?;
    linalg.attention(&q, &none, &none, &mut output, Attention::default())?;
    assert_eq!(output.to_vec()?, [f16::ZERO; 192]);
    linalg.attention(
        q.view().slice((.., .., ..0, ..)),
        q.view(),
        q.view(),
        output.view_mut().slice_mut((.., .., ..0, ..)),
        Attention::default(),
    )
}

/// The score of a late key is much larger than earlier scores, so the earlier sums are scaled to nothing.
#[test]
fn late_large_scores_win() -> rumba::Result<()> {
    let device = device();
    let (keys, size) = (300, 64);
    let at = |j: usize| if j == 290 { 1.0 } else { (j % 7) as f32 / 70.0 };
    let array = |value: &dyn Fn(usize) -> f32| {
        Array::from_fn(&device, [1, 1, keys, size], |[_, _, j, _]| f16::from_f32(value(j)))
    };
    let (k, v) = (array(&at)?, array(&|j| j as f32)?);
    let q = Array::full(&device, [1, 1, 2, size], f16::ONE)?;
    let mut output = Array::zeros(&device, [1, 1, 2, size])?;
    let attention = Attention { scale: Some(4.0), ..Attention::default() };
    Linalg::new(&device).attention(&q, &k, &v, &mut output, attention)?;
    assert_eq!(output.to_vec()?, [f16::from_f32(290.0); 128]);
    Ok(())
}

#[test]
fn shapes_and_scales_that_do_not_fit_are_refused() -> rumba::Result<()> {
    let device = device();
    let linalg = Linalg::new(&device);
    let zeros = |shape| Array::<f16, 4>::zeros(&device, shape);
    let (q, k) = (zeros([2, 3, 5, 64])?, zeros([2, 3, 7, 64])?);
    let mut output = zeros([2, 3, 5, 64])?;
    let mut attend =
        |k: &Array<f16, 4>, v: &Array<f16, 4>, attention| match linalg.attention(&q, k, v, &mut output, attention) {
            Err(Error::Linalg(error)) => *error,
            other => panic!("not refused, but {other:?}"),
        };
    for (k, v) in [([2, 3, 7, 64], [2, 3, 6, 64]), ([2, 1, 7, 64], [2, 1, 7, 64]), ([2, 3, 7, 32], [2, 3, 7, 32])] {
        let error = attend(&zeros(k)?, &zeros(v)?, Attention::default());
        assert!(matches!(error, LinalgError::Attention { keys, values, .. } if keys == k && values == v));
        assert!(error.to_string().contains("[2, 3, 5, 64]"), "{error}");
    }
    for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let attention = Attention { scale: Some(scale), ..Attention::default() };
        assert!(matches!(attend(&k, &k, attention), LinalgError::AttentionScale { .. }));
    }
    let large = zeros([1, 1, 2, 520])?;
    let error = linalg.attention(&large, &large, &large, &mut zeros([1, 1, 2, 520])?, Attention::default());
    assert!(matches!(error, Err(Error::Linalg(error)) if matches!(*error, LinalgError::AttentionSize { .. })));
    Ok(())
}

/// The kernels as they run on a GPU, under every check.
#[test]
fn the_checks_find_nothing_in_attention() {
    // A process of its own: one with a GPU has no checks.
    alone(&[("RUMBA_DEVICE", "soft")], || {
        let findings = rumba::check(|device| {
            compare::<f16>(device, [1, 2, 200, 270, 64], Mask::None, None, Order::LengthFirst)?;
            compare::<bf16>(device, [1, 1, 130, 150, 128], Mask::Causal, None, Order::HeadsFirst)?;
            compare::<f16>(device, [1, 1, 40, 90, 160], Mask::None, None, Order::LengthFirst)?;
            compare::<f16>(device, [1, 1, 40, 70, 512], Mask::Causal, None, Order::LengthFirst)?;
            compare::<bf16>(device, [1, 2, 70, 90, 20], Mask::Causal, None, Order::LengthFirst)?;
            ONLY.set(Some("vectors"));
            compare::<f16>(device, [1, 2, 70, 150, 64], Mask::Causal, None, Order::LengthFirst)?;
            compare::<bf16>(device, [1, 1, 70, 90, 128], Mask::None, None, Order::HeadsFirst)?;
            ONLY.set(None);
            Ok(())
        });
        findings?.assert_none();
        Ok(())
    });
}
