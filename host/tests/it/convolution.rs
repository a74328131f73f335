//! Convolutions against sums in `f64`: every way to compute them, sizes that fit no tile, and operands that fit nothing.

use cuda_std::half::{bf16, f16};
use rumba::array::{Array, every};
use rumba::linalg::{Activation, ConvolutionElement, Linalg, LinalgError};
use rumba::{Device, Error};

/// A function of each result.
type Exact = fn(f64) -> f64;

trait Number: ConvolutionElement {
    fn of(value: f64) -> Self;
    fn value(self) -> f64;
}

macro_rules! numbers {
    ($($ty:ident: $of:expr, $value:expr;)*) => {$(
        impl Number for $ty {
            fn of(value: f64) -> Self {
                $of(value)
            }

            fn value(self) -> f64 {
                $value(self)
            }
        }
    )*};
}

numbers! {
    f16: f16::from_f64, f16::to_f64;
    bf16: bf16::from_f64, bf16::to_f64;
    f32: |value| value as f32, f64::from;
}

/// Small whole numbers, so that sums are exact until they are rounded.
fn numbers<T: Number>(length: usize, seed: usize) -> Vec<T> {
    let number = |i: usize| ((i * 7 + i / 5 * 3 + i / 31 + seed) % 7) as f64 - 3.0;
    (0..length).map(|i| T::of(number(i))).collect()
}

/// A convolution, by its definition.
struct Case {
    images: [usize; 4],
    /// Outputs, rows and columns.
    filter: [usize; 3],
    stride: [usize; 2],
    padding: [usize; 2],
}

impl Case {
    fn expected<T: Number>(&self, images: &[T], filter: &[T], bias: &[T]) -> Vec<f64> {
        let [count, rows, columns, channels] = self.images;
        let [outputs, down, right] = self.filter;
        let places = |axis: usize| {
            (self.images[axis + 1] + 2 * self.padding[axis] - self.filter[axis + 1]) / self.stride[axis] + 1
        };
        let mut expected = Vec::new();
        for image in 0..count {
            for p in 0..places(0) {
                for q in 0..places(1) {
                    for (output, bias) in bias.iter().enumerate().take(outputs) {
                        let mut sum = bias.value();
                        for r in 0..down {
                            for s in 0..right {
                                let row = (p * self.stride[0] + r).wrapping_sub(self.padding[0]);
                                let column = (q * self.stride[1] + s).wrapping_sub(self.padding[1]);
                                if row >= rows || column >= columns {
                                    continue;
                                }
                                let pixel = &images[((image * rows + row) * columns + column) * channels..][..channels];
                                let weights = &filter[((output * down + r) * right + s) * channels..][..channels];
                                sum += pixel.iter().zip(weights).map(|(a, b)| a.value() * b.value()).sum::<f64>();
                            }
                        }
                        expected.push(sum);
                    }
                }
            }
        }
        expected
    }

    fn check<T: Number>(&self, device: &Device, linalg: &Linalg) {
        let [outputs, down, right] = self.filter;
        let shape = [outputs, down, right, self.images[3]];
        let (images, filter) = (numbers::<T>(self.images.iter().product(), 1), numbers::<T>(shape.iter().product(), 4));
        let bias = numbers::<T>(outputs, 2);
        let expected = self.expected(&images, &filter, &bias);
        let images = Array::from_slice(device, self.images, &images).unwrap();
        let filter = Array::from_slice(device, shape, &filter).unwrap();
        let bias = Array::from_slice(device, [outputs], &bias).unwrap();
        let result = linalg
            .convolution(images.view(), filter.view())
            .stride(self.stride)
            .padding(self.padding)
            .bias(bias.view())
            .activation(Activation::Relu)
            .eval()
            .unwrap();
        let result = result.to_vec().unwrap();
        assert_eq!(result.len(), expected.len());
        for (i, (result, sum)) in result.into_iter().zip(expected).enumerate() {
            let wanted = T::of(sum.max(0.0)).value();
            assert_eq!(result.value(), wanted, "element {i} of images {:?} by {shape:?}", self.images);
        }
    }
}

#[test]
fn convolutions_are_those_in_f64() {
    let device = Device::new().expect("a device");
    let linalg = Linalg::new(&device);
    let case = |images, filter, stride, padding| Case { images, filter, stride: [stride; 2], padding: [padding; 2] };
    for case in [
        case([1, 9, 7, 8], [8, 3, 3], 1, 1),
        case([2, 6, 11, 72], [168, 3, 3], 2, 1),
        case([1, 17, 9, 64], [40, 1, 1], 2, 0),
        case([3, 5, 5, 24], [16, 1, 1], 1, 0),
        Case { images: [1, 8, 12, 16], filter: [8, 2, 3], stride: [1, 2], padding: [0, 2] },
    ] {
        case.check::<f16>(&device, &linalg);
        case.check::<bf16>(&device, &linalg);
        case.check::<f32>(&device, &linalg);
    }
    // No multiples of eight channels or outputs: by threads.
    case([2, 7, 5, 3], [5, 3, 3], 1, 1).check::<f16>(&device, &linalg);
    case([1, 4, 4, 8], [7, 3, 3], 2, 1).check::<bf16>(&device, &linalg);
}

#[test]
fn activations_follow_the_bias() {
    let device = Device::new().expect("a device");
    let linalg = Linalg::new(&device);
    let x = [-3.0, -1.0, -0.25, 0.0, 0.5, 1.0, 2.0, 6.0];
    // The identity: what comes out is the activation of each number and its bias.
    fn identity<T: Number>(device: &Device, images: &[f64]) -> [Array<T, 4>; 2] {
        let one = |i: usize| T::of(f64::from(u8::from(i.is_multiple_of(9))));
        let images: Vec<T> = images.iter().map(|x| T::of(*x)).collect();
        let eye: Vec<T> = (0..64).map(one).collect();
        [
            Array::from_slice(device, [1, 1, 1, 8], &images).unwrap(),
            Array::from_slice(device, [8, 1, 1, 8], &eye).unwrap(),
        ]
    }
    let functions: [(Activation, Exact); 4] = [
        (Activation::Identity, |x| x),
        (Activation::Relu, |x| x.max(0.0)),
        (Activation::Silu, |x| x / (1.0 + (-x).exp())),
        (Activation::Gelu, |x| 0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)).tanh())),
    ];
    fn check<T: Number>(device: &Device, linalg: &Linalg, x: &[f64], functions: &[(Activation, Exact)], error: f64) {
        let [images, eye] = identity::<T>(device, x);
        let bias = Array::full(device, [8], T::of(0.25)).unwrap();
        for (activation, function) in functions {
            let result =
                linalg.convolution(images.view(), eye.view()).bias(bias.view()).activation(*activation).eval().unwrap();
            for (x, y) in x.iter().zip(result.to_vec().unwrap()) {
                let wanted = function(x + 0.25);
                assert!((y.value() - wanted).abs() <= error * wanted.abs() + error / 8.0, "{activation:?} of {x}");
            }
        }
    }
    check::<f16>(&device, &linalg, &x, &functions, 1e-3);
    check::<f32>(&device, &linalg, &x, &functions, 1e-5);
}

#[test]
fn views_are_convolved_and_written_where_they_lie() {
    let device = Device::new().expect("a device");
    let linalg = Linalg::new(&device);
    let numbers: Vec<f32> = numbers(2 * 6 * 6 * 2, 3);
    let images = Array::from_slice(&device, [2, 6, 6, 2], &numbers).unwrap();
    let filter = Array::full(&device, [1, 2, 2, 2], 1.0_f32).unwrap();
    // Every other column, from the right.
    let part = images.view().slice((.., 1..5, every(.., -2), ..));
    let mut output = Array::full(&device, [2, 3, 3, 2], -7.0_f32).unwrap();
    let half = output.view_mut().slice_mut((.., .., ..2, 1..));
    linalg.convolution(part, filter.view()).eval_into(half).unwrap();
    let output = output.to_vec().unwrap();
    let at = |image: usize, row: usize, column: usize| {
        let pixel = ((image * 6 + row + 1) * 6 + 5 - 2 * column) * 2;
        numbers[pixel] + numbers[pixel + 1]
    };
    for (i, number) in output.into_iter().enumerate() {
        let (image, row, column, channel) = (i / 18, i / 6 % 3, i / 2 % 3, i % 2);
        let wanted = if channel == 1 && column < 2 {
            at(image, row, column)
                + at(image, row, column + 1)
                + at(image, row + 1, column)
                + at(image, row + 1, column + 1)
        } else {
            -7.0
        };
        assert_eq!(number, wanted, "image {image}, row {row}, column {column}");
    }
}

/// The error of linear algebra.
#[track_caller]
fn refused<T>(result: rumba::Result<T>) -> LinalgError {
    match result {
        Err(Error::Linalg(error)) => *error,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("not refused"),
    }
}

#[test]
fn operands_that_do_not_fit_are_refused_with_their_shapes() {
    let device = Device::new().expect("a device");
    let linalg = Linalg::new(&device);
    let zeros = |shape| Array::<f32, 4>::zeros(&device, shape).unwrap();
    let (images, filter) = (zeros([1, 4, 4, 8]), zeros([2, 3, 3, 8]));
    let other = zeros([2, 3, 3, 4]);
    let error = refused(linalg.convolution(images.view(), other.view()).eval());
    assert!(matches!(error, LinalgError::Filter { filter: [2, 3, 3, 4], .. }));

    let large = zeros([2, 7, 3, 8]);
    let with_padding = |padding| linalg.convolution(images.view(), large.view()).padding(padding).shape();
    assert!(matches!(refused(with_padding([1, 0])), LinalgError::NoPlace { .. }));
    assert_eq!(with_padding([2, 0]).unwrap(), [1, 2, 2, 2]);
    let still = linalg.convolution(images.view(), filter.view()).stride([1, 0]).shape();
    assert!(matches!(refused(still), LinalgError::NoPlace { .. }));

    let bias = Array::<f32, 1>::zeros(&device, [3]).unwrap();
    let error = refused(linalg.convolution(images.view(), filter.view()).bias(bias.view()).eval());
    assert!(matches!(error, LinalgError::Operand { operand: "bias", .. }));

    let mut output = zeros([1, 2, 3, 2]);
    let error = refused(linalg.convolution(images.view(), filter.view()).eval_into(output.view_mut()));
    let LinalgError::Operand { operand, shape, wanted } = error else {
        panic!("{error}");
    };
    assert_eq!((operand, shape, wanted), ("output", vec![1, 2, 3, 2], vec![1, 2, 2, 2]));

    // Without channels the sums are zero.
    let (none, taps) = (zeros([1, 4, 4, 0]), zeros([2, 3, 3, 0]));
    let sums = linalg.convolution(none.view(), taps.view()).eval().unwrap();
    assert_eq!(sums.to_vec().unwrap(), [0.0; 8]);
    // A convolution of no images computes nothing.
    let none = zeros([0, 4, 4, 8]);
    assert_eq!(linalg.convolution(none.view(), filter.view()).eval().unwrap().shape(), [0, 2, 2, 2]);
}
