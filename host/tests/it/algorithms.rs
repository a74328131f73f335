//! The algorithms against plain Rust: every type and operator, sizes around every boundary, parts of buffers that are not
//! aligned, and the same under every check of the software device.

use rumba::algorithms::{Algorithms, And, Max, Min, Operation, Or, Product, Sum, Xor};
use rumba::{Device, Error};
use std::fmt::Debug;
use std::sync::OnceLock;
use test_processes::alone;

fn algorithms() -> &'static (Device, Algorithms) {
    static ALGORITHMS: OnceLock<(Device, Algorithms)> = OnceLock::new();
    ALGORITHMS.get_or_init(|| {
        let device = Device::new().expect("a device");
        let algorithms = Algorithms::new(&device);
        (device, algorithms)
    })
}

/// Elements around warps, blocks and tiles, and enough for several rounds of blocks that stay.
const SIZES: [usize; 16] = [0, 1, 2, 3, 5, 31, 32, 33, 1023, 1024, 1025, 4097, 9727, 9728, 16_385, 100_003];
/// More than the blocks of a software device take in three rounds of a scan.
const MANY: usize = 700_001;

/// Reproducible random numbers: SplitMix64.
fn words(n: usize, seed: u64) -> impl Iterator<Item = u64> {
    (0..n as u64).map(move |i| {
        let mut z = (i + seed.wrapping_mul(0x1000_0001)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    })
}

/// Reductions and scans of `x` by an operator whose results do not depend on the order.
fn check_operation<T: bytemuck::Pod + PartialEq + Debug, O: Operation<T> + Copy + Debug>(
    x: &[T],
    operation: O,
    combine: impl Fn(T, T) -> T,
) {
    let (device, algorithms) = algorithms();
    let n = x.len();
    let whole = x.iter().copied().reduce(&combine).unwrap_or(operation.of_nothing());
    assert_eq!(algorithms.reduce(x, operation).unwrap(), whole, "{operation:?} of {n}");

    let inclusive: Vec<T> = x
        .iter()
        .scan(None, |all, x| {
            *all = Some(all.map_or(*x, |all| combine(all, *x)));
            *all
        })
        .collect();
    let x = device.buffer_from(x).unwrap();
    let mut y = device.zeros(n).unwrap();
    algorithms.inclusive_scan(&x, operation, &mut y).unwrap();
    let got = y.to_vec().unwrap();
    if let Some(i) = (0..n).find(|&i| got[i] != inclusive[i]) {
        panic!("inclusive scan by {operation:?} of {n}: element {i} is {:?}, not {:?}", got[i], inclusive[i]);
    }

    let initial = operation.of_nothing();
    algorithms.exclusive_scan(&x, operation, initial, &mut y).unwrap();
    let got = y.to_vec().unwrap();
    let expected = |i: usize| {
        if i == 0 { initial } else { combine(initial, inclusive[i - 1]) }
    };
    if let Some(i) = (0..n).find(|&i| got[i] != expected(i)) {
        panic!("exclusive scan by {operation:?} of {n}: element {i} is {:?}, not {:?}", got[i], expected(i));
    }
}

macro_rules! integer_operations {
    ($($name:ident: $ty:ident;)*) => {$(
        #[test]
        fn $name() {
            for n in SIZES.into_iter().filter(|n| *n < 20_000) {
                let x: Vec<$ty> = words(n, 1).map(|word| word as $ty).collect();
                check_operation(&x, Sum, $ty::wrapping_add);
                check_operation(&x, Min, |a, b| a.min(b));
                check_operation(&x, Max, |a, b| a.max(b));
                check_operation(&x, Xor, |a, b| a ^ b);
                let odd: Vec<$ty> = x.iter().map(|x| x | 1).collect();
                check_operation(&odd, Product, $ty::wrapping_mul);
                let few_bits: Vec<$ty> = words(n, 2).map(|word| 1 << (word % 30)).collect();
                check_operation(&few_bits, Or, |a, b| a | b);
                let many_bits: Vec<$ty> = few_bits.iter().map(|x| !x).collect();
                check_operation(&many_bits, And, |a, b| a & b);
            }
        }
    )*};
}

integer_operations! {
    operations_on_u32: u32;
    operations_on_i32: i32;
    operations_on_u64: u64;
    operations_on_i64: i64;
}

macro_rules! float_operations {
    ($($name:ident: $ty:ident;)*) => {$(
        #[test]
        fn $name() {
            for n in SIZES.into_iter().filter(|n| *n < 20_000) {
                // Small whole numbers, whose sums are exact in any order, and signs, whose products are.
                let x: Vec<$ty> = words(n, 3).map(|word| (word % 17) as $ty - 8.0).collect();
                check_operation(&x, Sum, |a, b| a + b);
                check_operation(&x, Min, $ty::min);
                check_operation(&x, Max, $ty::max);
                let signs: Vec<$ty> = x.iter().map(|x| if *x < 0.0 { -1.0 } else { 1.0 }).collect();
                check_operation(&signs, Product, |a, b| a * b);
            }
        }
    )*};
}

float_operations! {
    operations_on_f32: f32;
    operations_on_f64: f64;
}

#[test]
fn large_reductions_and_scans() {
    let x: Vec<u32> = words(MANY, 4).map(|word| word as u32).collect();
    check_operation(&x, Sum, u32::wrapping_add);
    let x: Vec<i64> = words(MANY, 5).map(u64::cast_signed).collect();
    check_operation(&x, Max, i64::max);
}

#[test]
fn parts_that_are_not_aligned() {
    let (device, algorithms) = algorithms();
    let values: Vec<u32> = words(20_000, 6).map(|word| word as u32).collect();
    let x = device.buffer_from(&values).unwrap();
    let mut y = device.zeros::<u32>(20_001).unwrap();
    for (start, end) in [(1, 20_000), (3, 19_998), (2, 2), (2, 3), (5, 4099)] {
        let part = x.slice(start..end);
        let sum = values[start..end].iter().copied().fold(0, u32::wrapping_add);
        assert_eq!(algorithms.reduce(part, Sum).unwrap(), sum);
        y.clear().unwrap();
        algorithms.inclusive_scan(part, Sum, y.slice_mut(start + 1..end + 1)).unwrap();
        let got = y.to_vec().unwrap();
        assert_eq!(got[..=start], vec![0; start + 1], "before {start}..{end}");
        assert_eq!(got[end + 1..], vec![0; 20_000 - end], "behind {start}..{end}");
        assert!((start..end).all(|i| got[i + 1].wrapping_sub(got[i]) == values[i]), "{start}..{end}");
    }
}

#[test]
fn sums_of_floats_are_the_same_each_time() {
    let (device, algorithms) = algorithms();
    let mut x = device.zeros::<f32>(300_001).unwrap();
    algorithms.fill_uniform(&mut x, -1.0..1.0, 7).unwrap();
    let first = algorithms.reduce(&x, Sum).unwrap();
    for _ in 0..5 {
        assert_eq!(algorithms.reduce(&x, Sum).unwrap().to_bits(), first.to_bits());
    }
    let exact: f64 = x.to_vec().unwrap().into_iter().map(f64::from).sum();
    assert!((f64::from(first) - exact).abs() < 0.01, "{first} instead of {exact}");
}

/// Sorts keys made of random bits, of few different ones, of equal ones and of sorted ones, each with and without values.
macro_rules! sorts {
    ($($name:ident: $ty:ident, $make:expr, $compare:expr;)*) => {$(
        #[test]
        fn $name() {
            let (_, algorithms) = algorithms();
            let make: fn(u64) -> $ty = $make;
            let compare: fn(&$ty, &$ty) -> std::cmp::Ordering = $compare;
            let same = |a: &[$ty], b: &[$ty]| bytemuck::cast_slice::<$ty, u8>(a) == bytemuck::cast_slice::<$ty, u8>(b);
            for n in SIZES.into_iter().filter(|n| *n < 20_000) {
                for kind in 0..3 {
                    let keys: Vec<$ty> = words(n, 8)
                        .map(|word| make(match kind {
                            0 => word,
                            1 => word % 5,
                            _ => 0x0707_0707_0707_0707,
                        }))
                        .collect();
                    let mut expected = keys.clone();
                    expected.sort_by(compare);
                    let mut sorted = keys.clone();
                    algorithms.sort(&mut sorted).unwrap();
                    assert!(same(&sorted, &expected), "{n} keys of kind {kind}");
                    algorithms.sort_descending(&mut sorted).unwrap();
                    expected.reverse();
                    assert!(same(&sorted, &expected), "{n} keys of kind {kind}, descending");

                    // Equal keys keep their order.
                    let mut order: Vec<u32> = (0..n as u32).collect();
                    order.sort_by(|a, b| compare(&keys[*a as usize], &keys[*b as usize]));
                    let mut indices = vec![0; n];
                    algorithms.argsort(&keys, &mut indices).unwrap();
                    assert_eq!(indices, order, "indices of {n} keys of kind {kind}");
                    let (mut sorted, mut values) = (keys.clone(), (0..n as u64).map(|i| i << 32 | i).collect::<Vec<_>>());
                    algorithms.sort_by_key(&mut sorted, &mut values).unwrap();
                    assert!(values.iter().zip(&order).all(|(value, i)| *value == u64::from(*i) << 32 | u64::from(*i)));
                }
            }
        }
    )*};
}

sorts! {
    sorts_u32: u32, |word| word as u32, u32::cmp;
    sorts_i32: i32, |word| word as i32, i32::cmp;
    sorts_u64: u64, |word| word, u64::cmp;
    sorts_i64: i64, u64::cast_signed, i64::cmp;
    sorts_f32: f32, |word| f32::from_bits(word as u32), f32::total_cmp;
    sorts_f64: f64, f64::from_bits, f64::total_cmp;
}

#[test]
fn sorts_several_tiles() {
    let (device, algorithms) = algorithms();
    let keys: Vec<u32> = words(300_007, 9).map(|word| word as u32).collect();
    let mut buffer = device.buffer_from(&keys).unwrap();
    algorithms.sort(&mut buffer).unwrap();
    let mut expected = keys;
    expected.sort_unstable();
    assert!(buffer.to_vec().unwrap() == expected);
}

#[test]
fn histograms_of_every_type() {
    let (_, algorithms) = algorithms();
    for n in SIZES {
        for bins in [1, 2, 7, 100, 256, 1000, 9000, 60_000] {
            if n > 5000 && bins > 256 {
                continue;
            }
            let check = |what: &str, got: &[u32], bin: &dyn Fn(usize) -> Option<usize>| {
                let mut expected = vec![0; bins];
                (0..n).filter_map(bin).for_each(|bin| expected[bin] += 1);
                assert!(got == expected, "{what}: {n} elements in {bins} bins");
            };
            // The histogram overwrites earlier counts.
            let mut counts = vec![9; bins];
            let x: Vec<i32> = words(n, 10).map(|word| word as i32 >> 8).collect();
            algorithms.histogram(&x, -1_000_003..5_000_000, &mut counts).unwrap();
            check("i32", &counts, &|i| {
                let above = i64::from(x[i]) + 1_000_003;
                (0..6_000_003).contains(&above).then(|| (above * bins as i64 / 6_000_003) as usize)
            });
            let x: Vec<u64> = words(n, 11).collect();
            algorithms.histogram(&x, 12_345..u64::MAX - 5, &mut counts).unwrap();
            let range = u128::from(u64::MAX - 5 - 12_345);
            check("u64", &counts, &|i| {
                let above = u128::from(x[i]).checked_sub(12_345)?;
                (above < range).then(|| (above * bins as u128 / range) as usize)
            });
            let x: Vec<f32> = words(n, 12).map(|word| (word % 10_007) as f32 / 9_000.0).collect();
            algorithms.histogram(&x, 0.0..1.0, &mut counts).unwrap();
            check("f32", &counts, &|i| (x[i] < 1.0).then(|| ((x[i] * bins as f32) as usize).min(bins - 1)));
            let x: Vec<f64> = words(n, 13).map(|word| (word % 10_007) as f64 - 5000.0).collect();
            algorithms.histogram(&x, -5000.0..3.5, &mut counts).unwrap();
            let scale = bins as f64 / 5003.5;
            check("f64", &counts, &|i| (x[i] < 3.5).then(|| (((x[i] + 5000.0) * scale) as usize).min(bins - 1)));
            let x: Vec<u8> = words(n, 14).map(|word| word as u8).collect();
            algorithms.count_values(&x, &mut counts).unwrap();
            check("u8", &counts, &|i| (usize::from(x[i]) < bins).then_some(usize::from(x[i])));
            let x: Vec<u16> = words(n, 15).map(|word| word as u16).collect();
            algorithms.count_values(&x, &mut counts).unwrap();
            check("u16", &counts, &|i| (usize::from(x[i]) < bins).then_some(usize::from(x[i])));
        }
    }
}

#[test]
fn transposes() {
    let (_, algorithms) = algorithms();
    for [rows, columns] in [[0, 5], [1, 1], [3, 200], [64, 64], [65, 127], [130, 1]] {
        let input: Vec<u64> = words(rows * columns, 16).collect();
        let mut output = vec![0; rows * columns];
        algorithms.transpose(&input, [rows, columns], &mut output).unwrap();
        assert!((0..rows * columns).all(|i| output[i % columns * rows + i / columns] == input[i]));
    }
}

#[test]
fn random_numbers_are_the_host_s() {
    use cuda_std::random::{Generator, Philox4x32};
    let (_, algorithms) = algorithms();
    for n in [0, 1, 4, 1023, 5001] {
        let mut x = vec![0.0_f32; n];
        algorithms.fill_uniform(&mut x, 0.0..1.0, 99).unwrap();
        let mut random = Philox4x32::new(99, 0);
        assert!(x.iter().all(|x| *x == random.uniform_f32()), "{n} of f32");
        let mut x = vec![0.0_f64; n];
        algorithms.fill_uniform(&mut x, 0.0..1.0, 98).unwrap();
        let mut random = Philox4x32::new(98, 0);
        assert!(x.iter().all(|x| *x == random.uniform_f64()), "{n} of f64");
        algorithms.fill_normal(&mut x, 10.0, 2.0, 97).unwrap();
        let mut random = Philox4x32::new(97, 0);
        for pair in x.chunks(2) {
            let (a, b) = random.normal_pair_f64();
            let close = |x: f64, z: f64| (x - (10.0 + 2.0 * z)).abs() < 1e-12;
            assert!(close(pair[0], a) && pair.get(1).is_none_or(|x| close(*x, b)));
        }
    }
}

#[test]
fn streams_and_threads_share_the_work_memory() {
    let (device, algorithms) = algorithms();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            scope.spawn(move || {
                let stream = device.stream().unwrap();
                let on_stream = algorithms.on(&stream);
                for round in 0..5 {
                    let mut expected: Vec<u32> = words(10_000, seed * 10 + round).map(|word| word as u32).collect();
                    let mut keys = device.buffer_from(&expected).unwrap();
                    on_stream.sort(&mut keys).unwrap();
                    expected.sort_unstable();
                    assert!(keys.to_vec().unwrap() == expected);
                }
            });
        }
    });
}

#[test]
fn wrong_arguments_say_what_is_wrong() {
    let (_, algorithms) = algorithms();
    let mut three = [0; 3];
    let error = algorithms.inclusive_scan(&[1, 2], Sum, &mut three).unwrap_err();
    assert_eq!(error.to_string(), "cannot scan: the source has 2 elements, the destination 3");
    let error = algorithms.histogram(&[1.0], 1.0..f32::NAN, &mut [0; 2]).unwrap_err();
    assert!(matches!(error, Error::NoRange { .. }));
    assert!(error.to_string().ends_with("the range is empty; its start must be below its end"));
    assert!(algorithms.transpose(&[1, 2, 3], [2, 2], &mut [0; 4]).is_err());
    assert!(algorithms.sort_by_key(&mut [1, 2], &mut three).is_err());
}

#[test]
fn nothing_is_wrong_under_every_check() {
    // A process of its own: one with a GPU has no checks.
    alone(&[("RUMBA_DEVICE", "soft")], || {
        let findings = rumba::check(|device| {
            let algorithms = Algorithms::new(device);
            let x: Vec<u32> = words(20_011, 18).map(|word| word as u32).collect();
            let sum = algorithms.reduce(&x, Sum)?;
            let mut sums = vec![0; x.len()];
            algorithms.inclusive_scan(&x, Sum, &mut sums)?;
            assert_eq!(sums.last(), Some(&sum));
            let (mut keys, mut values) = (x.clone(), x.clone());
            algorithms.sort_by_key(&mut keys, &mut values)?;
            assert!(keys.is_sorted() && keys == values);
            let mut counts = vec![0; 300];
            algorithms.histogram(&x, 0..u32::MAX, &mut counts)?;
            assert_eq!(algorithms.reduce(&counts, Sum)? as usize, x.len());
            let mut floats = vec![0.0_f64; 1001];
            algorithms.fill_normal(&mut floats, 0.0, 1.0, 1)?;
            algorithms.reduce(&floats, Max)?;
            let mut transposed = vec![0; 33 * 70];
            algorithms.transpose(&x[..33 * 70], [33, 70], &mut transposed)?;
            Ok(())
        });
        findings?.assert_none();
        Ok(())
    });
}
