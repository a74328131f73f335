//! NVIDIA's libraries: on a GPU (`RUMBA_DEVICE=gpu`) results are compared with evaluations on the host, and on the software device each
//! library is refused with what to use instead.

use crate::common::device;
use cuda_std::complex::{Complex, Complex32, Complex64};
use cuda_std::half::{bf16, f16};
use rumba::array::{Array, ArrayView, every};
use rumba::cublas::{Blas, Element};
use rumba::cufft::Plan;
use rumba::curand::{Generator, Kind};
use rumba::error::LibraryError;
use rumba::test_kernels::{PTX, scale};
use rumba::{Device, DeviceSliceMut, Error, LaunchConfig};

type Result = rumba::Result<()>;

/// What a library is used with, or nothing on the software device, where the error says so.
#[track_caller]
fn on_a_gpu<T>(made: rumba::Result<T>, device: &Device, remedy: &str) -> Option<T> {
    if !device.name().contains("software") {
        return Some(made.unwrap_or_else(|error| panic!("{error}")));
    }
    match made.err().map(library_error) {
        Some(error @ LibraryError::SoftwareDevice { .. }) => assert!(error.to_string().contains(remedy), "{error}"),
        other => panic!("another error: {other:?}"),
    }
    None
}

#[track_caller]
fn library_error(error: Error) -> LibraryError {
    match error {
        Error::Library(error) => *error,
        other => panic!("another error: {other}"),
    }
}

#[track_caller]
fn refused(result: Result) -> LibraryError {
    library_error(result.expect_err("the call does not fit"))
}

fn blas(device: &Device) -> Option<Blas> {
    on_a_gpu(Blas::new(device), device, "`rumba::linalg`")
}

fn generator(device: &Device, kind: Kind) -> Option<Generator> {
    on_a_gpu(Generator::new(device, kind, 42), device, "`rumba::algorithms`")
}

/// Small numbers that every type of elements has.
fn numbers(seed: usize) -> impl FnMut(usize) -> f64 {
    move |i| ((i * 37 + seed * 11) % 17) as f64 / 8.0 - 1.0
}

/// Elements, as complex numbers of `f64` for comparisons.
trait Value: Element {
    const TOLERANCE: f64;
    fn of(number: Complex64) -> Self;
    fn scalar(number: f64) -> Self::Scalar;
    fn wide(self) -> Complex64;
}

macro_rules! values {
    ($($ty:ty, $tolerance:literal: |$number:ident| $of:expr, $scalar:expr, |$value:ident| $wide:expr;)*) => {$(
        impl Value for $ty {
            const TOLERANCE: f64 = $tolerance;
            fn of($number: Complex64) -> Self {
                $of
            }
            fn scalar($number: f64) -> Self::Scalar {
                $scalar
            }
            fn wide(self) -> Complex64 {
                let $value = self;
                $wide
            }
        }
    )*};
}

values! {
    f16, 2e-2: |number| f16::from_f64(number.re), number as f32, |value| value.to_f64().into();
    bf16, 2e-1: |number| bf16::from_f64(number.re), number as f32, |value| value.to_f64().into();
    f32, 1e-5: |number| number.re as f32, number as f32, |value| f64::from(value).into();
    f64, 1e-13: |number| number.re, number, |value| value.into();
    Complex32, 1e-5: |number| Complex::new(number.re as f32, number.im as f32), (number as f32).into(),
        |value| Complex::new(value.re.into(), value.im.into());
    Complex64, 1e-13: |number| number, number.into(), |value| value;
}

fn array<T: Value, const N: usize>(device: &Device, shape: [usize; N], seed: usize) -> Array<T, N> {
    let (mut re, mut im) = (numbers(seed), numbers(seed + 5));
    let length = shape.iter().product();
    let values: Vec<T> = (0..length).map(|i| T::of(Complex::new(re(i), im(i)))).collect();
    Array::from_slice(device, shape, &values).expect("there is room")
}

fn wide<T: Value>(view: ArrayView<'_, T, 2>) -> Vec<Complex64> {
    view.to_vec().expect("it can be read").into_iter().map(Value::wide).collect()
}

#[track_caller]
fn close<T: Value>(found: &[Complex64], wanted: &[Complex64], what: &str) {
    assert_eq!(found.len(), wanted.len());
    for (i, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let bound = T::TOLERANCE * (1.0 + wanted.norm_sqr().sqrt());
        assert!((found - wanted).norm_sqr().sqrt() <= bound, "{what}: element {i} is {found} instead of {wanted}");
    }
}

/// `alpha a b + beta c` on the host, of views in row-major order.
fn product(
    alpha: f64,
    (a, b): (&[Complex64], &[Complex64]),
    beta: f64,
    c: &[Complex64],
    [rows, terms, columns]: [usize; 3],
) -> Vec<Complex64> {
    let element = |(i, c): (usize, &Complex64)| {
        let (row, column) = (i / columns, i % columns);
        let sum: Complex64 = (0..terms).map(|term| a[row * terms + term] * b[term * columns + column]).sum();
        alpha * sum + if beta == 0.0 { Complex64::ZERO } else { beta * c }
    };
    assert_eq!(c.len(), rows * columns);
    c.iter().enumerate().map(element).collect()
}

const SIZES: [usize; 3] = [37, 53, 29];

/// Products of operands that lie by rows, by columns and in parts of larger arrays.
fn products_of<T: Value>(blas: &Blas, device: &Device, name: &str) -> Result {
    let [m, k, n] = SIZES;
    let (by_rows, by_columns) = (array::<T, 2>(device, [m, k], 1), array::<T, 2>(device, [k, m], 2));
    let large = array::<T, 2>(device, [m + 5, k + 9], 3);
    let lefts = [by_rows.view(), by_columns.transpose(), large.slice((2..m + 2, 3..k + 3))];
    let (by_rows, by_columns) = (array::<T, 2>(device, [k, n], 4), array::<T, 2>(device, [n, k], 5));
    let rights = [by_rows.view(), by_columns.transpose()];
    for (a, b) in lefts.iter().flat_map(|a| rights.iter().map(move |b| (*a, *b))) {
        let factors = (wide(a), wide(b));
        for beta in [0.0, -0.5] {
            let (mut c, mut d) = (array::<T, 2>(device, [m, n], 6), array::<T, 2>(device, [n + 3, m + 2], 7));
            let wanted = product(0.75, (&factors.0, &factors.1), beta, &wide(c.view()), SIZES);
            blas.gemm(T::scalar(0.75), a, b, T::scalar(beta), &mut c)?;
            close::<T>(&wide(c.view()), &wanted, name);
            // Into columns, in a part of an array.
            let part = || (1..n + 1, 1..m + 1);
            let wanted = product(0.75, (&factors.0, &factors.1), beta, &wide(d.slice(part()).transpose()), SIZES);
            blas.gemm(T::scalar(0.75), a, b, T::scalar(beta), d.slice_mut(part()).transpose())?;
            close::<T>(&wide(d.slice(part()).transpose()), &wanted, name);
        }
    }
    // Several matrices, of which one serves for all.
    let (a, b) = (array::<T, 3>(device, [4, m, k], 8), array::<T, 2>(device, [n, k], 9));
    let mut c = array::<T, 3>(device, [4, m, n], 10);
    blas.gemm(T::scalar(1.0), &a, b.transpose(), T::scalar(0.0), &mut c)?;
    for batch in 0..4 {
        let wanted = product(
            1.0,
            (&wide(a.view().index_axis(0, batch)), &wide(b.transpose())),
            0.0,
            &vec![Complex64::ZERO; m * n],
            SIZES,
        );
        close::<T>(&wide(c.view().index_axis(0, batch)), &wanted, name);
    }
    Ok(())
}

#[test]
fn products_of_matrices() -> Result {
    let device = device();
    let Some(blas) = blas(&device) else { return Ok(()) };
    products_of::<f16>(&blas, &device, "f16")?;
    products_of::<bf16>(&blas, &device, "bf16")?;
    products_of::<f32>(&blas, &device, "f32")?;
    products_of::<f64>(&blas, &device, "f64")?;
    products_of::<Complex32>(&blas, &device, "Complex32")?;
    products_of::<Complex64>(&blas, &device, "Complex64")?;

    // TensorFloat-32 rounds factors to 11 bits; sums of 4096 terms show it.
    let (a, b) =
        (Array::full(&device, [64, 4096], 1.0_f32 + 1.0 / 4096.0)?, Array::full(&device, [4096, 64], 1.0_f32)?);
    let mut c = Array::zeros(&device, [64, 64])?;
    blas.gemm(1.0, &a, &b, 0.0, &mut c)?;
    assert!((c.to_vec()?[0] - 4097.0).abs() < 0.1, "{}", c.to_vec()?[0]);
    blas.tf32().gemm(1.0, &a, &b, 0.0, &mut c)?;
    assert!((c.to_vec()?[0] - 4096.0).abs() < 0.5, "{}", c.to_vec()?[0]);
    Ok(())
}

/// Vectors with gaps and in reverse.
fn vectors_of<T: Value<Scalar = T> + rumba::cublas::Real>(blas: &Blas, device: &Device, name: &str) -> Result {
    let (long, dense) = (array::<T, 1>(device, [301], 1), array::<T, 1>(device, [100], 2));
    let host = |view: ArrayView<'_, T, 1>| -> rumba::Result<Vec<Complex64>> {
        Ok(view.to_vec()?.into_iter().map(Value::wide).collect())
    };
    let sources = [dense.view(), long.slice((every(..300, 3),)), long.slice((every(..200, -2),))];
    for x in sources {
        let from = host(x)?;
        let mut memory = array::<T, 1>(device, [400], 3);
        for steps in [every(..100, 1), every(..200, 2), every(..400, -4)].map(|steps| (steps,)) {
            let before = host(memory.slice(steps))?;
            blas.axpy(T::scalar(0.5), x, memory.slice_mut(steps))?;
            let wanted: Vec<_> = from.iter().zip(&before).map(|(x, y)| 0.5 * x + y).collect();
            close::<T>(&host(memory.slice(steps))?, &wanted, name);

            blas.scal(T::scalar(-2.0), memory.slice_mut(steps))?;
            let after = host(memory.slice(steps))?;
            close::<T>(&after, &wanted.iter().map(|x| -2.0 * x).collect::<Vec<_>>(), name);

            let dot: Complex64 = from.iter().zip(&after).map(|(x, y)| x * y).sum();
            close::<T>(&[blas.dot(x, memory.slice(steps))?.wide()], &[dot], name);
            let norm = from.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
            close::<T>(&[blas.nrm2(x)?.wide()], &[norm.into()], name);

            let (rows, columns) = (array::<T, 2>(device, [100, 100], 5), array::<T, 2>(device, [100, 100], 6));
            for a in [rows.view(), columns.transpose()] {
                let before = host(memory.slice(steps))?;
                let wanted = product(0.25, (&wide(a), &from), 2.0, &before, [100, 100, 1]);
                blas.gemv(T::scalar(0.25), a, x, T::scalar(2.0), memory.slice_mut(steps))?;
                close::<T>(&host(memory.slice(steps))?, &wanted, name);
            }
            memory = array::<T, 1>(device, [400], 4);
        }
    }
    Ok(())
}

#[test]
fn operations_on_vectors() -> Result {
    let device = device();
    let Some(blas) = blas(&device) else { return Ok(()) };
    vectors_of::<f32>(&blas, &device, "f32")?;
    vectors_of::<f64>(&blas, &device, "f64")?;

    // Buffers are vectors, and a result may stay on the device.
    let (x, mut y) = (device.buffer_from(&[1.0_f32, 2.0, 3.0])?, device.buffer_from(&[1.0_f32; 3])?);
    let mut results = device.zeros::<f32>(2)?;
    blas.axpy(2.0, &x, &mut y)?;
    blas.dot_into(&x, &y, results.slice_mut(..1))?;
    blas.nrm2_into(&y, results.slice_mut(1..))?;
    let [dot, norm] = results.to_vec()?[..] else { panic!("two results") };
    assert_eq!((dot, norm), (34.0, (9.0_f32 + 25.0 + 49.0).sqrt()));
    assert_eq!(blas.dot(x.slice(..0), y.slice(..0))?, 0.0);
    Ok(())
}

/// The frequencies of an array by the definition: a sum for each, with its angle.
fn frequencies(values: &[Complex64], shape: &[usize], sign: f64) -> Vec<Complex64> {
    let mut values = values.to_vec();
    let mut inner = 1;
    for &length in shape.iter().rev() {
        let mut next = vec![Complex64::ZERO; values.len()];
        for (i, next) in next.iter_mut().enumerate() {
            let (frequency, start) = (i / inner % length, i - i / inner % length * inner);
            *next = (0..length)
                .map(|place| {
                    let turns = (frequency * place % length) as f64 / length as f64;
                    let (sin, cos) = (sign * std::f64::consts::TAU * turns).sin_cos();
                    values[start + place * inner] * Complex64::new(cos, sin)
                })
                .sum();
        }
        values = next;
        inner *= length;
    }
    values
}

/// Transforms of arrays of a shape, in every kind.
macro_rules! transforms {
    ($name:ident, $real:ty) => {
        fn $name<const N: usize>(device: &Device, shape: [usize; N], batch: usize) -> Result {
            type C = Complex<$real>;
            let what = format!("{shape:?} times {batch}");
            let complex = Plan::<C, C>::new(device, shape, batch)?;
            let (to, back) =
                (Plan::<$real, C>::new(device, shape, batch)?, Plan::<C, $real>::new(device, shape, batch)?);
            let (size, last) = (shape.iter().product::<usize>(), shape[N - 1]);
            let half = last / 2 + 1;
            let length = size * batch;
            assert_eq!((complex.lengths(), to.lengths()), ([length; 2], [length, length / last * half]));

            let (mut re, mut im) = (numbers(1), numbers(2));
            let values: Vec<Complex64> = (0..length).map(|i| Complex::new(re(i * i), im(i))).collect();
            let narrow: Vec<C> = values.iter().map(|x| Value::of(*x)).collect();
            let scaled = |found: Vec<C>| found.into_iter().map(|x| x.wide() / (last as f64).sqrt()).collect::<Vec<_>>();
            let wanted = |values: &[Complex64], sign| {
                let all = values.chunks(size).flat_map(|values| frequencies(values, &shape, sign));
                all.map(|x| x / (last as f64).sqrt()).collect::<Vec<_>>()
            };

            let (mut x, mut y) = (device.buffer_from(&narrow)?, device.zeros::<C>(length)?);
            complex.forward(&x, &mut y)?;
            close::<C>(&scaled(y.to_vec()?), &wanted(&values, -1.0), &what);
            complex.inverse(&x, &mut y)?;
            close::<C>(&scaled(y.to_vec()?), &wanted(&values, 1.0), &what);
            complex.forward_in_place(&mut x)?;
            complex.inverse_in_place(&mut x)?;
            let back_again: Vec<_> = x.to_vec()?.into_iter().map(|x| x.wide() / size as f64).collect();
            close::<C>(&back_again, &values, &what);

            let reals: Vec<$real> = narrow.iter().map(|x| x.re).collect();
            let (x, mut y, mut z) =
                (device.buffer_from(&reals)?, device.zeros::<C>(to.lengths()[1])?, device.zeros::<$real>(length)?);
            to.forward(&x, &mut y)?;
            let whole = wanted(&values.iter().map(|x| x.re.into()).collect::<Vec<_>>(), -1.0);
            let halves: Vec<_> = whole.chunks(last).flat_map(|line| line[..half].to_vec()).collect();
            close::<C>(&scaled(y.to_vec()?), &halves, &what);
            back.inverse(&mut y, &mut z)?;
            let found: Vec<Complex64> = z.to_vec()?.into_iter().map(|x| (f64::from(x) / size as f64).into()).collect();
            close::<C>(&found, &values.iter().map(|x| x.re.into()).collect::<Vec<_>>(), &what);
            Ok(())
        }
    };
}

transforms!(transforms_of_f32, f32);
transforms!(transforms_of_f64, f64);

#[test]
fn fourier_transforms() -> Result {
    let device = device();
    if on_a_gpu(Plan::<f32, Complex32>::new(&device, [8], 1), &device, "kernel").is_none() {
        return Ok(());
    }
    // Lengths of small factors, primes, and 1031, for which cuFFT computes a convolution.
    transforms_of_f32(&device, [64], 3)?;
    transforms_of_f32(&device, [1031], 1)?;
    transforms_of_f32(&device, [12, 35], 2)?;
    transforms_of_f32(&device, [6, 7, 10], 2)?;
    transforms_of_f64(&device, [63], 3)?;
    transforms_of_f64(&device, [9, 16], 2)?;
    transforms_of_f64(&device, [4, 5, 6], 1)?;

    let plan = Plan::<f32, Complex32>::new(&device, [8], 1)?;
    let (x, mut y) = (device.zeros::<f32>(20)?, device.zeros(5)?);
    let error = refused(plan.forward(x.slice(..7), &mut y));
    assert!(matches!(&error, LibraryError::Shapes { shapes, .. } if shapes[2..] == [vec![7], vec![5]]), "{error}");
    let error = refused(plan.forward(x.slice(3..11), &mut y));
    assert!(matches!(error, LibraryError::Alignment { bytes: 8, .. }), "{error}");
    plan.forward(x.slice(2..10), &mut y)?;

    // Complex numbers may begin at any index.
    for length in [64, 1031, 4096] {
        let mut values = device.buffer_from(&vec![Complex32::ONE; length + 1])?;
        Plan::<Complex32, Complex32>::new(&device, [length], 1)?.forward_in_place(values.slice_mut(1..))?;
        let found = values.to_vec()?;
        assert_eq!((found[0].re, found[1].re.round()), (1.0, length as f32));
        let (x, mut y) = (device.buffer_from(&vec![1.0_f32; length + 2])?, device.zeros(length / 2 + 2)?);
        Plan::<f32, Complex32>::new(&device, [length], 1)?.forward(x.slice(2..), y.slice_mut(1..))?;
        assert_eq!(y.to_vec()?[1].re.round(), length as f32);
    }
    Ok(())
}

/// The mean and the variance.
fn moments(values: impl Iterator<Item = f64> + Clone) -> [f64; 2] {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    [mean, values.map(|x| (x - mean) * (x - mean)).sum::<f64>() / count]
}

const COUNT: usize = 200_000;

/// Numbers whose mean and variance are as they should be, up to five deviations of so many numbers or a little more.
#[track_caller]
fn distributed(values: impl Iterator<Item = f64> + Clone, mean: f64, variance: f64, what: &str) {
    let [found, spread] = moments(values);
    assert!((found - mean).abs() < 5.0 * (variance / COUNT as f64).sqrt(), "{what}: the mean is {found}");
    assert!((spread / variance - 1.0).abs() < 0.05, "{what}: the variance is {spread} instead of {variance}");
}

#[test]
fn random_numbers() -> Result {
    let device = device();
    for kind in [Kind::Xorwow, Kind::Mrg32k3a, Kind::Mtgp32, Kind::Mt19937, Kind::Philox] {
        let Some(generator) = generator(&device, kind) else { return Ok(()) };
        let what = format!("{kind:?}");
        let (mut x, mut y, mut bits) =
            (device.zeros::<f32>(COUNT)?, device.zeros::<f64>(COUNT)?, device.zeros::<u32>(COUNT)?);
        generator.uniform(&mut x)?;
        let first = x.to_vec()?;
        assert!(first.iter().all(|x| *x > 0.0 && *x <= 1.0), "{what}");
        distributed(first.iter().map(|x| f64::from(*x)), 0.5, 1.0 / 12.0, &what);
        generator.uniform(&mut y)?;
        distributed(y.to_vec()?.into_iter(), 0.5, 1.0 / 12.0, &what);
        generator.normal(&mut x, 3.0, 2.0)?;
        distributed(x.to_vec()?.iter().map(|x| f64::from(*x)), 3.0, 4.0, &what);
        generator.normal(&mut y, -1.0, 0.5)?;
        distributed(y.to_vec()?.into_iter(), -1.0, 0.25, &what);
        generator.log_normal(&mut x, 0.0, 0.5)?;
        distributed(x.to_vec()?.iter().map(|x| f64::from(x.ln())), 0.0, 0.25, &what);
        generator.log_normal(&mut y, 1.0, 0.5)?;
        distributed(y.to_vec()?.iter().map(|x| x.ln()), 1.0, 0.25, &what);
        generator.poisson(&mut bits, 7.5)?;
        distributed(bits.to_vec()?.into_iter().map(f64::from), 7.5, 7.5, &what);
        generator.bits(&mut bits)?;
        // MRG32k3a makes numbers below 2^32 - 209.
        distributed(bits.to_vec()?.into_iter().map(|x| f64::from(x) / 4_294_967_296.0), 0.5, 1.0 / 12.0, &what);

        // The same seed gives the same numbers, and another seed others.
        let mut again = device.zeros::<f32>(COUNT)?;
        Generator::new(&device, kind, 42)?.uniform(&mut again)?;
        assert!(again.to_vec()? == first, "{what}");
        Generator::new(&device, kind, 43)?.uniform(&mut again)?;
        assert!(again.to_vec()? != first, "{what}");
        let seek = generator.seek(42, 0);
        if matches!(kind, Kind::Mtgp32 | Kind::Mt19937) {
            let error = refused(seek);
            assert!(error.to_string().contains("CURAND_STATUS_TYPE_ERROR"), "{error}");
        } else {
            seek?;
            generator.uniform(&mut again)?;
            assert!(again.to_vec()? == first, "{what}");
            generator.seek(42, 1000)?;
            generator.uniform(again.slice_mut(..8192))?;
            assert!(again.to_vec()?[..8192] != first[..8192], "{what}");
        }

        let error = refused(generator.normal(again.slice_mut(..7), 0.0, 1.0));
        assert!(matches!(error, LibraryError::Shapes { .. }), "{error}");
        let error = refused(generator.normal(again.slice_mut(1..9), 0.0, 1.0));
        assert!(matches!(error, LibraryError::Alignment { bytes: 8, .. }), "{error}");
        let error = refused(generator.poisson(&mut bits, -1.0));
        assert!(error.to_string().contains("cuRAND answers CURAND_STATUS_"), "{error}");
        generator.uniform(again.slice_mut(..0))?;

        // Elements may begin anywhere, those in pairs where a pair may.
        for start in [1, 2, 3] {
            generator.uniform(x.slice_mut(start..))?;
            generator.uniform(y.slice_mut(start..))?;
            generator.bits(bits.slice_mut(start..))?;
            generator.poisson(bits.slice_mut(start..), 3.0)?;
        }
        generator.normal(x.slice_mut(2..), 0.0, 1.0)?;
        generator.normal(y.slice_mut(2..), 0.0, 1.0)?;
        device.synchronize()?;
    }
    Ok(())
}

/// The elements of an array one after the other.
fn lines(array: &mut Array<f32, 2>) -> DeviceSliceMut<'_, f32> {
    array.view_mut().into_slice().expect("an array lies in row-major order")
}

#[test]
fn work_is_ordered_with_kernels_on_all_streams() -> Result {
    let device = device();
    let Some(blas) = blas(&device) else { return Ok(()) };
    let module = device.load(PTX)?;
    let (one, other) = (device.stream()?, device.stream()?);
    const SIZE: usize = 512;
    let length = SIZE * SIZE;
    let identity = Array::from_fn(&device, [SIZE, SIZE], |[row, column]| f32::from(u8::from(row == column)))?;
    let (mut x, mut y) = (Array::full(&device, [SIZE, SIZE], 1.0_f32)?, Array::<f32, 2>::zeros(&device, [SIZE, SIZE])?);
    for _ in 0..20 {
        // y = 2x, x = y / 2 * 3, on four streams.
        blas.on(&one).gemm(1.0, &x, &identity, 0.0, &mut y)?;
        module.launch(LaunchConfig::for_each(length).stream(&other), scale(2.0, lines(&mut y)))?;
        blas.on(&other).gemm(0.5, &identity, &y, 0.0, &mut x)?;
        module.launch(LaunchConfig::for_each(length), scale(3.0, lines(&mut x)))?;
        blas.scal(1.0 / 3.0, lines(&mut x))?;
    }
    assert!(x.to_vec()?.iter().all(|x| (x - 1.0).abs() < 1e-4));
    // Handles and plans may be dropped before their work is done, and used from several threads.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (blas, device, identity) = (blas.clone(), device.clone(), &identity);
            scope.spawn(move || {
                let x = Array::full(&device, [SIZE, SIZE], 2.0_f32).expect("there is room");
                let mut y = Array::<f32, 2>::zeros(&device, [SIZE, SIZE]).expect("there is room");
                let stream = device.stream().expect("a stream");
                for _ in 0..20 {
                    blas.on(&stream).gemm(1.0, &x, identity, 0.0, &mut y).expect("they fit");
                }
                assert_eq!(y.to_vec().expect("it can be read"), vec![2.0; length]);
            });
        }
    });
    let mut values = device.buffer_from(&vec![Complex32::ONE; 1 << 20])?;
    let plan = Plan::<Complex32, Complex32>::new(&device, [1 << 20], 1)?;
    plan.on(&one).forward_in_place(&mut values)?;
    drop(plan);
    assert_eq!(values.slice(..2).to_vec()?, [Complex32::new(1_048_576.0, 0.0), Complex32::ZERO]);
    Ok(())
}

#[test]
fn graphs_repeat_calls() -> Result {
    let device = device();
    let Some(blas) = blas(&device) else { return Ok(()) };
    let random = Generator::new(&device, Kind::Philox, 1)?;
    let module = device.load(PTX)?;
    let two = Array::full(&device, [2, 2], 2.0_f32)?;
    let (mut x, mut y) = (Array::full(&device, [2, 2], 1.0_f32)?, Array::<f32, 2>::zeros(&device, [2, 2])?);
    let mut noise = device.zeros::<f32>(64)?;
    let graph = device.capture(|stream| {
        let threads = LaunchConfig::for_each(4).stream(stream);
        module.launch(threads, scale(10.0, lines(&mut x)))?;
        blas.on(stream).gemm(1.0, &x, &two, 0.0, &mut y)?;
        random.on(stream).uniform(&mut noise)?;
        module.launch(threads, scale(0.5, lines(&mut y)))
    })?;
    assert_eq!((graph.len(), graph.calls(), graph.exchanges()), (2, 2, 0));
    // Nothing has run yet.
    assert_eq!(y.to_vec()?, [0.0; 4]);
    graph.launch()?;
    assert_eq!(y.to_vec()?, [20.0; 4]);
    let first = noise.to_vec()?;
    graph.launch_on(&device.stream()?)?;
    assert_eq!(y.to_vec()?, [200.0; 4]);
    assert!(first != noise.to_vec()?, "each launch makes new numbers");

    // A number for the host cannot be a part of a graph, and neither can work on the default stream.
    let error = device.capture(|stream| blas.on(stream).dot(x.as_slice(), x.as_slice()).map(drop));
    assert!(matches!(error, Err(Error::Graph(_))), "{error:?}");
    let error = device.capture(|_| blas.gemm(1.0, &x, &two, 0.0, &mut y));
    assert!(matches!(error, Err(Error::Graph(_))), "{error:?}");
    // The graph keeps the memory and the handles.
    drop((x, y, two, noise, blas, random));
    graph.launch()?;
    device.synchronize()
}

#[test]
fn operands_that_do_not_fit() -> Result {
    let device = device();
    let Some(blas) = blas(&device) else { return Ok(()) };
    let (a, b) = (Array::<f32, 2>::zeros(&device, [2, 3])?, Array::<f32, 2>::zeros(&device, [4, 5])?);
    let mut c = Array::<f32, 2>::zeros(&device, [2, 5])?;
    let error = refused(blas.gemm(1.0, &a, &b, 0.0, &mut c));
    assert!(error.to_string().contains("[2, 3], [4, 5], [2, 5]"), "{error}");
    let gaps = b.slice((..3, every(.., 2)));
    let error = refused(blas.gemm(1.0, &a, gaps, 0.0, c.slice_mut((.., ..3))));
    assert!(error.to_string().contains("b of shape [3, 3] has strides [5, 2]"), "{error}");
    let error = refused(blas.axpy(1.0, a.row(0), c.slice_mut((..1, ..)).into_slice().expect("a row")));
    assert!(matches!(error, LibraryError::Shapes { .. }), "{error}");
    Ok(())
}

#[test]
fn handles_do_not_survive_a_reset() {
    test_processes::alone(&[], || {
        let device = device();
        let Some(blas) = blas(&device) else { return Ok(()) };
        let generator = Generator::new(&device, Kind::Philox, 1)?;
        let mut x = device.buffer_from(&[1.0_f32; 4])?;
        device.reset()?;
        for error in [blas.scal(2.0, &mut x), generator.uniform(&mut x)].map(|result| result.expect_err("a reset")) {
            assert!(matches!(error, Error::ContextDestroyed { .. }), "{error}");
        }
        drop((blas, generator, x));
        let (blas, mut x) = (Blas::new(&device)?, device.buffer_from(&[1.0_f32; 4])?);
        blas.scal(2.0, &mut x)?;
        assert_eq!(x.to_vec()?, [2.0; 4]);
        Ok(())
    });
}
