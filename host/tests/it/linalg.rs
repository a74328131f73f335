//! Products of matrices against f64: every type, layout and shape, epilogues, errors; and the same under every check of the software
//! device.

use cuda_std::half::{bf16, e4m3, e5m2, f16};
use rumba::array::{Array, ArrayView, every};
use rumba::error::{ArrayError, LinalgError};
use rumba::linalg::{Activation, Linalg, Multiply, Precision, Product};
use rumba::{Device, Error};
use std::cell::Cell;
use std::sync::OnceLock;
use test_processes::alone;

/// A function of each result.
type Exact = fn(f64) -> f64;

fn linalg() -> &'static (Device, Linalg) {
    static LINALG: OnceLock<(Device, Linalg)> = OnceLock::new();
    LINALG.get_or_init(|| {
        let device = Device::new().expect("a device");
        let linalg = Linalg::new(&device);
        (device, linalg)
    })
}

thread_local! {
    /// The kind of kernel that computes the products of this test, where it can.
    static ONLY: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Elements that are compared as `f64`.
trait Number: bytemuck::Pod {
    /// Distance of 1 to the next number, times 2: how far results of this type may be from exact ones.
    const STEP: f64;

    fn of(value: f64) -> Self;
    fn exact(self) -> f64;
}

macro_rules! numbers {
    ($($ty:ty: $step:expr, $of:expr, $exact:expr;)*) => {$(
        impl Number for $ty {
            const STEP: f64 = $step;

            fn of(value: f64) -> Self {
                $of(value)
            }

            fn exact(self) -> f64 {
                $exact(self)
            }
        }
    )*};
}

numbers! {
    f16: 1.0 / 1024.0, f16::from_f64, f16::to_f64;
    bf16: 1.0 / 128.0, bf16::from_f64, bf16::to_f64;
    f32: f32::EPSILON as f64, |value| value as f32, f64::from;
    f64: f64::EPSILON, |value| value, |value| value;
    e4m3: 0.0, |value| e4m3::from_f32(value as f32), |value: e4m3| f64::from(value.to_f32());
    e5m2: 0.0, |value| e5m2::from_f32(value as f32), |value: e5m2| f64::from(value.to_f32());
    i8: 0.0, |value: f64| (20.0 * value) as i8, f64::from;
    i32: 0.0, |value| value as i32, f64::from;
}

/// Numbers between -2 and 2 that are the same each time: SplitMix64.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.word() % end as u64) as usize
    }

    fn array<T: Number, const N: usize>(&mut self, shape: [usize; N]) -> Array<T, N> {
        let count = shape.iter().product();
        let numbers: Vec<T> =
            (0..count).map(|_| T::of((self.word() >> 11) as f64 / (1_u64 << 51) as f64 - 2.0)).collect();
        Array::from_slice(&linalg().0, shape, &numbers).expect("memory")
    }
}

/// How a matrix lies in a larger array.
#[derive(Clone, Copy, Debug)]
enum Lies {
    /// In row-major order.
    Rows,
    /// Transposed.
    Columns,
    /// From an odd element on, in rows of an odd length.
    Unaligned,
    /// Every third element of every second row, backwards.
    Strided,
}

const ALL: [Lies; 4] = [Lies::Rows, Lies::Columns, Lies::Unaligned, Lies::Strided];

impl Lies {
    /// An array that has room for matrices of this shape.
    fn room(self, [batch, rows, columns]: [usize; 3]) -> [usize; 3] {
        match self {
            Lies::Rows => [batch, rows, columns],
            Lies::Columns => [batch, columns, rows],
            Lies::Unaligned => [batch, rows + 1, columns + 2 + columns % 2],
            Lies::Strided => [batch, 2 * rows, 3 * columns],
        }
    }

    /// The matrices in it.
    fn view<T: bytemuck::Pod>(self, array: &Array<T, 3>, [_, rows, columns]: [usize; 3]) -> ArrayView<'_, T, 3> {
        match self {
            Lies::Rows => array.view(),
            Lies::Columns => array.view().permute([0, 2, 1]),
            Lies::Unaligned => array.view().slice((.., 1..1 + rows, 1..1 + columns)),
            Lies::Strided => array.view().slice((.., every(.., 2), every(.., -3))),
        }
    }
}

/// The matrices of a view, one after the other, as f64.
fn exact<T: Number>(view: &ArrayView<'_, T, 3>) -> Vec<f64> {
    view.to_vec().expect("memory").into_iter().map(T::exact).collect()
}

/// Compares a product with all options with f64. `lie` describes the layout of both operands and the output.
fn check<T: Number + Multiply<U, Sum = S>, U: Number, S>(
    random: &mut Random,
    [batch, rows, columns, terms]: [usize; 4],
    lie: [Lies; 3],
    step: f64,
    with: impl for<'a> Fn(Product<'a, T, U>) -> Product<'a, T, U>,
    finish: impl Fn(f64, f64) -> f64,
) {
    let (_, linalg) = linalg();
    let linalg = ONLY.get().map_or(linalg.clone(), |only| linalg.only(only));
    let shapes = [[batch, rows, terms], [batch, terms, columns], [batch, rows, columns]];
    let (a, b): (Array<T, 3>, Array<T, 3>) =
        (random.array(lie[0].room(shapes[0])), random.array(lie[1].room(shapes[1])));
    let mut c: Array<U, 3> = random.array(lie[2].room(shapes[2]));
    let before = c.to_vec().expect("memory");
    let (a, b) = (lie[0].view(&a, shapes[0]), lie[1].view(&b, shapes[1]));
    let old = exact(&lie[2].view(&c, shapes[2]));
    let output = c.view_mut();
    let output = match lie[2] {
        Lies::Rows => output,
        Lies::Columns => output.permute([0, 2, 1]),
        Lies::Unaligned => output.slice_mut((.., 1..1 + rows, 1..1 + columns)),
        Lies::Strided => output.slice_mut((.., every(.., 2), every(.., -3))),
    };
    with(linalg.product(a, b)).eval_into(output).expect("the product");

    let what = || format!("{}, {:?} in {lie:?}", std::any::type_name::<(T, U)>(), [batch, rows, columns, terms]);
    let (a, b) = (exact(&a), exact(&b));
    let got = exact(&lie[2].view(&c, shapes[2]));
    for (i, got) in got.into_iter().enumerate() {
        let (matrix, row, column) = (i / columns / rows, i / columns % rows, i % columns);
        // A plain loop, which is fast in a build without optimization too.
        let (mut sum, mut size, mut at) = (0.0_f64, 0.0, matrix * terms * columns + column);
        for left in &a[(matrix * rows + row) * terms..][..terms] {
            let term = left * b[at];
            sum += term;
            size += term.abs();
            at += columns;
        }
        let expected = finish(sum, old[i]);
        let bound = step * size + U::STEP * (expected.abs() + old[i].abs() + 1.0);
        assert!((got - expected).abs() <= bound, "{}: element {i} is {got}, not {expected} within {bound}", what());
    }
    // Elements outside the output are unchanged.
    let count = before.len() - rows * columns * batch;
    let after = c.to_vec().expect("memory");
    let same = before.iter().zip(&after).filter(|(a, b)| bytemuck::bytes_of(*a) == bytemuck::bytes_of(*b)).count();
    assert!(same >= count, "{}: elements beside the output were written", what());
}

/// All types, in every way to lie, of a shape.
fn check_types(random: &mut Random, shape: [usize; 4], lie: [Lies; 3]) {
    // Sums of `f32` are as exact as their terms; `Tf32` rounds these to 11 bits.
    let (single, double) = (f64::from(f32::EPSILON) * 4.0, f64::EPSILON * 4.0);
    check::<f32, f32, _>(random, shape, lie, single, |p| p, |sum, _| sum);
    check::<f32, f32, _>(random, shape, lie, 1.0 / 1024.0, |p| p.precision(Precision::Tf32), |sum, _| sum);
    check::<f64, f64, _>(random, shape, lie, double, |p| p, |sum, _| sum);
    check::<f16, f16, _>(random, shape, lie, single, |p| p, |sum, _| sum);
    check::<f16, f32, _>(random, shape, lie, single, |p| p, |sum, _| sum);
    check::<bf16, bf16, _>(random, shape, lie, single, |p| p, |sum, _| sum);
    check::<bf16, f32, _>(random, shape, lie, single, |p| p, |sum, _| sum);
    check::<i8, i32, _>(random, shape, lie, 0.0, |p| p.accumulate(3), |sum, old| sum + 3.0 * old);
}

/// Each kind of kernel, of whole tiles and of parts of them.
#[test]
fn each_way() {
    let mut random = Random(5);
    let (single, double, short) = (f64::from(f32::EPSILON) * 4.0, f64::EPSILON * 4.0, 1.0 / 400.0);
    for (shape, lie) in [
        ([1, 136, 72, 48], [Lies::Rows, Lies::Columns, Lies::Rows]),
        ([2, 40, 24, 80], [Lies::Columns, Lies::Rows, Lies::Columns]),
    ] {
        let random = &mut random;
        let by = |names: &[&'static str], check: &mut dyn FnMut()| {
            for name in names {
                ONLY.set(Some(name));
                check();
            }
        };
        by(&["elements", "threads", "small threads"], &mut || {
            check::<f32, f32, _>(random, shape, lie, single, |p| p, |sum, _| sum);
        });
        by(&["tf32 by warps", "large tf32", "stored tf32"], &mut || {
            check::<f32, f32, _>(random, shape, lie, short, |p| p.precision(Precision::Tf32), |sum, _| sum);
        });
        by(&["elements", "f64 by warps", "f64 by warps, small"], &mut || {
            check::<f64, f64, _>(random, shape, lie, double, |p| p, |sum, _| sum);
        });
        by(&["elements", "warps", "large", "small", "stored", "split"], &mut || {
            check::<f16, f16, _>(random, shape, lie, single, |p| p, |sum, _| sum);
        });
        by(&["warps", "stored", "split"], &mut || {
            check::<bf16, f32, _>(random, shape, lie, single, |p| p, |sum, _| sum);
        });
        by(&["elements", "warps", "stored"], &mut || {
            check::<i8, i32, _>(random, shape, lie, 0.0, |p| p, |sum, _| sum);
        });
    }
    ONLY.set(None);
}

/// Complete tiles, and tiles at the edges, in each order of both operands; outputs with rows that can be written as
/// vectors and others.
#[test]
fn whole_tiles() {
    let mut random = Random(7);
    let (single, double) = (f64::from(f32::EPSILON) * 4.0, f64::EPSILON * 4.0);
    for a in [Lies::Rows, Lies::Columns] {
        for b in [Lies::Rows, Lies::Columns] {
            for (shape, c) in [
                ([1, 256, 128, 16], Lies::Rows),
                ([2, 264, 132, 48], Lies::Columns),
                ([1, 257, 129, 32], Lies::Unaligned),
                // Sums that end within a step; of one edge's tiles, rows and columns that belong to others.
                ([1, 260, 136, 36], Lies::Rows),
                ([2, 300, 164, 41], Lies::Rows),
                ([1, 388, 192, 20], Lies::Unaligned),
            ] {
                for name in ["threads", "packed threads", "small threads"] {
                    ONLY.set(Some(name));
                    check::<f32, f32, _>(&mut random, shape, [a, b, c], single, |p| p.scale(-0.5), |sum, _| -0.5 * sum);
                }
                // With a `beta`, one block alone reads and writes each element.
                let beta = if shape[3] % 16 == 0 { 0.0 } else { 3.0 };
                for name in ["f64 by warps", "f64 by warps, packed", "f64 by warps, small"] {
                    ONLY.set(Some(name));
                    check::<f64, f64, _>(
                        &mut random,
                        shape,
                        [a, b, c],
                        double,
                        |p| p.accumulate(beta),
                        |sum, old| sum + beta * old,
                    );
                }
            }
        }
    }
    ONLY.set(None);
}

/// Few tiles with long sums, which several partial products add up to; the total has the epilogue.
#[test]
fn sums_in_parts() {
    let (device, linalg) = linalg();
    ONLY.set(Some("split"));
    let mut random = Random(7);
    let single = f64::from(f32::EPSILON) * 4.0;
    for (shape, lie) in [
        ([1, 130, 70, 1024], [Lies::Rows, Lies::Columns, Lies::Rows]),
        ([1, 3, 131, 400], [Lies::Rows; 3]),
        ([1, 72, 40, 176], [Lies::Columns, Lies::Unaligned, Lies::Strided]),
    ] {
        let random = &mut random;
        check::<f16, f16, _>(random, shape, lie, single, |p| p, |sum, _| sum);
        check::<f16, f32, _>(random, shape, lie, single, |p| p.accumulate(2.0), |sum, old| sum + 2.0 * old);
        check::<bf16, bf16, _>(
            random,
            shape,
            lie,
            single,
            |p| p.scale(0.5).activation(Activation::Relu),
            |sum, _| (0.5 * sum).max(0.0),
        );
    }
    ONLY.set(None);
    if device.limits().compute_capability == (9, 0) {
        let a = Array::full(device, [64, 4096], f16::ONE).unwrap();
        let mut c = Array::full(device, [64, 64], f16::ONE).unwrap();
        let product = |stream: &rumba::Stream, c: &mut Array<f16, 2>| {
            linalg.on(stream).only("split").product(&a, a.transpose()).eval_into(c)
        };
        let graph = device.capture(|stream| product(stream, &mut c)).unwrap();
        assert_eq!(graph.kernels().collect::<Vec<_>>(), ["product_parts_nt_f16", "total_f16"]);
    }
}

#[test]
fn eight_bits() {
    let mut random = Random(6);
    // Tensor cores keep some 14 bits of such sums.
    let single = 1.0 / 4096.0;
    for (shape, lie) in
        [([1, 9, 7, 33], [Lies::Strided; 3]), ([1, 72, 40, 64], [Lies::Rows, Lies::Columns, Lies::Rows])]
    {
        check::<e4m3, f16, _>(&mut random, shape, lie, single, |p| p.scale(0.5), |sum, _| 0.5 * sum);
        check::<e4m3, f32, _>(&mut random, shape, lie, single, |p| p, |sum, _| sum);
        check::<e5m2, bf16, _>(&mut random, shape, lie, single, |p| p, |sum, _| sum);
    }
}

#[test]
fn types_and_shapes() {
    let mut random = Random(1);
    for shape in [[1, 1, 1, 1], [1, 3, 2, 5], [2, 33, 17, 9], [1, 65, 70, 33], [2, 40, 136, 48], [1, 130, 64, 100]] {
        check_types(&mut random, shape, [Lies::Rows; 3]);
    }
}

#[test]
fn any_layout() {
    let mut random = Random(2);
    let (single, double) = (f64::from(f32::EPSILON) * 4.0, f64::EPSILON * 4.0);
    for (i, a) in ALL.into_iter().enumerate() {
        for (j, b) in ALL.into_iter().enumerate() {
            let (shape, lie) = ([2, 34, 40, 24 + i], [a, b, ALL[(i + j) % 4]]);
            match (i + j) % 4 {
                _ if i == j => check_types(&mut random, shape, lie),
                1 => check::<f16, f16, _>(&mut random, shape, lie, single, |p| p, |sum, _| sum),
                2 => check::<f64, f64, _>(&mut random, shape, lie, double, |p| p, |sum, _| sum),
                _ => check::<f32, f32, _>(&mut random, shape, lie, single, |p| p, |sum, _| sum),
            }
        }
    }
}

#[test]
fn random_shapes_and_strides() {
    let mut random = Random(3);
    for _ in 0..4 {
        let shape = [1 + random.below(3), 1 + random.below(80), 1 + random.below(80), random.below(70)];
        let lie = [0; 3].map(|_| ALL[random.below(4)]);
        check_types(&mut random, shape, lie);
    }
}

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)).tanh())
}

#[test]
fn epilogues() {
    let mut random = Random(4);
    let single = f64::from(f32::EPSILON) * 8.0;
    for shape in [[1, 5, 7, 9], [2, 40, 33, 16]] {
        let lie = [Lies::Rows; 3];
        check::<f32, f32, _>(
            &mut random,
            shape,
            lie,
            single,
            |p| p.scale(0.5).accumulate(2.0),
            |sum, old| 0.5 * sum + 2.0 * old,
        );
        let activations: [(Activation, Exact); 3] = [
            (Activation::Relu, |x| x.max(0.0)),
            (Activation::Gelu, gelu),
            (Activation::Silu, |x| x / (1.0 + (-x).exp())),
        ];
        for (activation, function) in activations {
            check::<f32, f32, _>(&mut random, shape, lie, single, |p| p.activation(activation), |sum, _| function(sum));
            check::<f16, f16, _>(&mut random, shape, lie, single, |p| p.activation(activation), |sum, _| function(sum));
            check::<f64, f64, _>(&mut random, shape, lie, single, |p| p.activation(activation), |sum, _| function(sum));
        }
    }
}

/// Products of all types with every epilogue by warp groups: whole tiles and parts, operands that are packed before, outputs that lie
/// anyhow.
#[test]
fn epilogues_by_warp_groups() {
    let mut random = Random(7);
    let (single, short, eight) = (f64::from(f32::EPSILON) * 8.0, 1.0 / 400.0, 1.0 / 4096.0);
    let silu: Exact = |x| x / (1.0 + (-x).exp());
    for (shape, lie) in [
        ([1, 136, 264, 72], [Lies::Rows, Lies::Columns, Lies::Rows]),
        ([2, 33, 40, 80], [Lies::Columns, Lies::Strided, Lies::Unaligned]),
    ] {
        let random = &mut random;
        for way in ["fused", "small fused", "stored"] {
            ONLY.set(Some(way));
            check::<f16, f16, _>(
                random,
                shape,
                lie,
                single,
                |p| p.scale(0.5).activation(Activation::Silu),
                |sum, _| silu(0.5 * sum),
            );
            check::<bf16, bf16, _>(
                random,
                shape,
                lie,
                single,
                |p| p.activation(Activation::Relu),
                |sum, _| sum.max(0.0),
            );
        }
        ONLY.set(Some("fused"));
        check::<e4m3, bf16, _>(
            random,
            shape,
            lie,
            eight,
            |p| p.scale(0.25).activation(Activation::Gelu),
            |sum, _| gelu(0.25 * sum),
        );
        ONLY.set(Some("stored"));
        check::<f16, f16, _>(
            random,
            shape,
            lie,
            single,
            |p| p.scale(0.5).activation(Activation::Silu).accumulate(2.0),
            |sum, old| silu(0.5 * sum) + 2.0 * old,
        );
        check::<bf16, f32, _>(random, shape, lie, single, |p| p.activation(Activation::Gelu), |sum, _| gelu(sum));
        check::<e4m3, f16, _>(random, shape, lie, eight, |p| p.activation(Activation::Relu), |sum, _| sum.max(0.0));
        check::<e5m2, f32, _>(random, shape, lie, eight, |p| p.scale(-1.0).accumulate(1.0), |sum, old| old - sum);
        check::<i8, i32, _>(random, shape, lie, 0.0, |p| p.scale(-2).accumulate(3), |sum, old| 3.0 * old - 2.0 * sum);
        ONLY.set(Some("stored tf32"));
        check::<f32, f32, _>(
            random,
            shape,
            lie,
            short,
            |p| p.precision(Precision::Tf32).activation(Activation::Silu).accumulate(-1.0),
            |sum, old| silu(sum) - old,
        );
    }
    ONLY.set(None);
}

/// A number for each column, for each row, or for each element, wherever they lie.
#[test]
fn bias_and_residual_by_warp_groups() {
    for columns in [261, 264] {
        for way in ["stored", "fused", "small fused"] {
            bias_and_residual_by(way, columns);
        }
    }
}

/// By one kind of kernel, or by another where it can't: an odd number of columns is not made of pairs.
fn bias_and_residual_by(way: &'static str, columns: usize) {
    let (device, linalg) = linalg();
    let mut random = Random(8);
    let (rows, terms) = (70, 40);
    let a: Array<f16, 2> = random.array([rows, terms]);
    let b: Array<f16, 2> = random.array([columns, terms]);
    let beside: [Array<f16, 2>; 4] = [
        random.array([1, columns]),
        random.array([rows, 1]),
        random.array([rows, columns]),
        random.array([columns, rows]),
    ];
    let views = [beside[0].view(), beside[1].view(), beside[2].view(), beside[3].view().permute([1, 0])];
    let numbers = |view: &ArrayView<'_, f16, 2>| -> Vec<f64> {
        let all = view.broadcast([rows, columns]).unwrap().to_vec().unwrap();
        all.into_iter().map(f16::to_f64).collect()
    };
    let read = |array: &Array<f16, 2>| -> Vec<f64> { array.to_vec().unwrap().into_iter().map(f16::to_f64).collect() };
    let (left, right) = (read(&a), read(&b));
    for bias in &views {
        for residual in &views {
            let mut c = Array::full(device, [rows, columns], f16::NAN).unwrap();
            let product = linalg.only(way);
            let product = product.product(&a, b.transpose()).bias(*bias).residual(*residual);
            product.activation(Activation::Relu).eval_into(&mut c).unwrap();
            let (bias, residual) = (numbers(bias), numbers(residual));
            for (i, got) in read(&c).into_iter().enumerate() {
                let (row, column) = (i / columns, i % columns);
                let sum: f64 = (0..terms).map(|k| left[row * terms + k] * right[column * terms + k]).sum();
                let expected = (sum + bias[i]).max(0.0) + residual[i];
                assert!((got - expected).abs() <= 0.02 + expected.abs() / 500.0, "{got} instead of {expected}");
            }
        }
    }
}

#[test]
fn bias_and_residual_broadcast() {
    let (device, linalg) = linalg();
    let number = |shape: [usize; 2], from: f32| {
        let array = Array::arange(device, from, 1.0, shape[0] * shape[1]).unwrap();
        array.view().reshape(shape).unwrap().to_array().unwrap()
    };
    let (a, b) = (number([3, 2], 0.0), number([2, 4], 1.0));
    let row = Array::arange(device, 100.0_f32, 100.0, 4).unwrap();
    let column = number([3, 1], -9.0);
    let mut c = Array::zeros(device, [3, 4]).unwrap();
    linalg.product(&a, &b).bias(&row).residual(&column).eval_into(&mut c).unwrap();
    let expected: Vec<f32> = (0..12)
        .map(|i| {
            let (row, column) = ((i / 4) as f32, (i % 4) as f32);
            let sum = 2.0 * row * (1.0 + column) + (2.0 * row + 1.0) * (5.0 + column);
            sum + 100.0 * (column + 1.0) + row - 9.0
        })
        .collect();
    assert_eq!(c.to_vec().unwrap(), expected);
}

/// An operand with one matrix serves for all.
#[test]
fn one_matrix_times_many() {
    let (device, linalg) = linalg();
    let many = Array::arange(device, 0_i32, 1, 12).unwrap().to_vec().unwrap();
    let many: Vec<i8> = many.into_iter().map(|x| x as i8).collect();
    let many = Array::from_slice(device, [3, 2, 2], &many).unwrap();
    let one = Array::from_slice(device, [2, 1], &[1_i8, 2]).unwrap();
    let mut c = Array::zeros(device, [3, 2, 1]).unwrap();
    linalg.product(&many, &one).eval_into(&mut c).unwrap();
    assert_eq!(c.to_vec().unwrap(), [2, 8, 14, 20, 26, 32]);
}

#[test]
fn products_in_a_graph() {
    let (device, linalg) = linalg();
    let a = Array::full(device, [40, 40], 1.0_f32).unwrap();
    let b = Array::full(device, [40, 40], 2.0_f32).unwrap();
    let mut c = Array::zeros(device, [40, 40]).unwrap();
    let graph =
        device.capture(|stream| linalg.on(stream).product(&a, &b).accumulate(1.0).eval_into(c.view_mut())).unwrap();
    for _ in 0..3 {
        graph.launch().unwrap();
    }
    drop(graph);
    assert!(c.to_vec().unwrap().iter().all(|&c| c == 240.0));
}

#[test]
fn what_does_not_fit() {
    let (device, linalg) = linalg();
    let (a, b) = (Array::<f32, 2>::zeros(device, [3, 4]).unwrap(), Array::<f32, 2>::zeros(device, [5, 6]).unwrap());
    let mut c = Array::<f32, 2>::zeros(device, [3, 6]).unwrap();
    let error = linalg.product(&a, &b).eval_into(&mut c).unwrap_err();
    let Error::Linalg(problem) = &error else { panic!("{error}") };
    let (left, right, output) = (vec![3, 4], vec![5, 6], vec![3, 6]);
    assert_eq!(**problem, LinalgError::Product { left, right, output });
    assert!(error.to_string().contains("[3, 4] and [5, 6] does not fit into [3, 6]"), "{error}");

    let batches = Array::<f32, 3>::zeros(device, [2, 4, 6]).unwrap();
    let mut three = Array::<f32, 3>::zeros(device, [3, 3, 6]).unwrap();
    let error = linalg.product(&a, &batches).eval_into(&mut three).unwrap_err();
    assert!(matches!(&error, Error::Linalg(_)), "{error}");

    let line = Array::<f32, 1>::zeros(device, [4]).unwrap();
    let error = linalg.product(&a, &line).eval_into(&mut c).unwrap_err();
    assert!(error.to_string().contains("shape [4] is no matrix"), "{error}");

    let right = Array::<f32, 2>::zeros(device, [4, 6]).unwrap();
    let error = linalg.product(&a, &right).bias(&line).eval_into(&mut c).unwrap_err();
    assert!(matches!(&error, Error::Array(e) if matches!(**e, ArrayError::Broadcast { .. })), "{error}");

    // Nothing to compute, and sums of nothing.
    let mut none = Array::<f32, 2>::zeros(device, [3, 0]).unwrap();
    linalg.product(&a, Array::<f32, 2>::zeros(device, [4, 0]).unwrap().view()).eval_into(&mut none).unwrap();
    let (a, b) = (Array::<f32, 2>::zeros(device, [3, 0]).unwrap(), Array::<f32, 2>::zeros(device, [0, 6]).unwrap());
    c.fill(7.0).unwrap();
    linalg.product(&a, &b).eval_into(&mut c).unwrap();
    assert_eq!(c.to_vec().unwrap(), [0.0; 18]);
}

#[test]
fn nothing_is_wrong_under_every_check() {
    // A process of its own: one with a GPU has no checks.
    alone(&[("RUMBA_DEVICE", "soft")], || {
        let findings = rumba::check(|device| {
            for name in ["elements", "threads", "small threads", "warps", "f64 by warps"] {
                let linalg = Linalg::new(device).only(name);
                let single = Array::full(device, [9, 20], 1.0_f32)?;
                let mut c = Array::zeros(device, [9, 9])?;
                linalg.product(&single, single.transpose()).bias(single.slice((.., ..1))).eval_into(&mut c)?;
                assert_eq!(c.to_vec()?, [21.0; 81]);
                // Whole tiles, of which some lie along the sum and others do not.
                let (left, right) =
                    (Array::full(device, [256, 24], 2.0_f32)?, Array::full(device, [24, 128], 0.5_f32)?);
                for (left, right) in [(left.view(), right.view()), (right.transpose(), left.transpose())] {
                    let mut c = Array::zeros(device, [left.shape()[0], right.shape()[1]])?;
                    linalg.product(left, right).eval_into(&mut c)?;
                    assert!(c.to_vec()?.iter().all(|sum| *sum == 24.0));
                }
                let double = Array::full(device, [256, 32], 2.0_f64)?;
                let mut c = Array::<f64, 2>::zeros(device, [256, 256])?;
                linalg.product(&double, double.transpose()).eval_into(&mut c)?;
                assert!(c.to_vec()?.iter().all(|sum| *sum == 128.0));
                let half = Array::full(device, [9, 20], f16::ONE)?;
                let mut c = Array::<f32, 2>::zeros(device, [9, 9])?;
                linalg.product(&half, half.transpose()).eval_into(&mut c)?;
                assert_eq!(c.to_vec()?, [20.0_f32; 81]);
            }
            // By warp groups: two tiles of a cluster, packed operands, and all that an epilogue reads.
            for name in ["fused", "small fused"] {
                let linalg = Linalg::new(device).only(name);
                let half = Array::full(device, [136, 24], f16::ONE)?;
                let row = Array::full(device, [136], f16::ONE)?;
                let all = Array::full(device, [136, 136], f16::ONE)?;
                let mut c = Array::full(device, [136, 136], f16::NAN)?;
                linalg
                    .product(&half, half.transpose())
                    .bias(&row)
                    .residual(&all)
                    .activation(Activation::Relu)
                    .eval_into(&mut c)?;
                assert!(c.to_vec()?.iter().all(|c| c.to_f32() == 26.0));
            }
            let linalg = Linalg::new(device).only("stored");
            let half = Array::full(device, [130, 20], f16::ONE)?;
            let mut c = Array::full(device, [130, 130], f16::ONE)?;
            linalg
                .product(&half, half.transpose())
                .bias(half.slice((.., ..1)))
                .residual(half.slice((..1, ..1)))
                .activation(Activation::Relu)
                .accumulate(2.0)
                .eval_into(&mut c)?;
            assert!(c.to_vec()?.iter().all(|c| c.to_f32() == 24.0));
            Ok(())
        });
        findings?.assert_none();
        Ok(())
    });
}

#[test]
fn sizes_beyond_31_bits_are_refused() {
    let (device, linalg) = linalg();
    // Arrays of one element, broadcast: shapes of any size take no memory.
    let one = Array::full(device, [1, 1], f16::from_f32(1.0)).unwrap();
    let mut c = Array::<f16, 2>::zeros(device, [1, 1]).unwrap();
    for terms in [(1_usize << 31), (1 << 32) + 5, 1 << 40, 1 << 60, isize::MAX as usize] {
        let (a, b) = (one.view().broadcast([1, terms]).unwrap(), one.view().broadcast([terms, 1]).unwrap());
        let error = linalg.product(a, b).eval_into(&mut c).unwrap_err();
        assert!(matches!(&error, Error::Linalg(e) if matches!(**e, LinalgError::Lengths { .. })), "{terms}: {error}");
    }

    let image = Array::full(device, [1, 1, 1, 1], 1.0_f32).unwrap();
    let of = |filter: [usize; 4], stride: [usize; 2], padding: [usize; 2]| {
        let filter = image.view().broadcast(filter).unwrap();
        linalg.convolution(image.view(), filter).stride(stride).padding(padding).eval()
    };
    // The filter sees padding only, at places that 32 bits cannot count.
    for (stride, padding) in [
        ([1, 1], [1 << 63, 1 << 63]),
        ([1, 1], [usize::MAX, 0]),
        ([1 << 33, 1 << 33], [1 << 32, 1 << 32]),
        ([usize::MAX, 1], [1 << 31, 0]),
        ([1, 1], [1 << 31, 1 << 31]),
    ] {
        let error = of([1, 1, 1, 1], stride, padding).unwrap_err();
        assert!(
            matches!(&error, Error::Linalg(e) if matches!(**e, LinalgError::Lengths { .. })),
            "{padding:?}: {error}"
        );
    }
    // An output that no memory holds.
    let error = of([1 << 20, 1, 1, 1], [1, 1], [1 << 29, 1 << 29]).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. } | Error::OutOfMemory { .. }), "{error}");
    // A stride beyond the image leaves one place.
    let far = of([1, 1, 1, 1], [usize::MAX, usize::MAX], [0, 0]).unwrap();
    assert_eq!(far.to_vec().unwrap(), [1.0]);
}
