//! Convolutions of images, by `rumba::linalg`.

use anyhow::{Result, bail};
use cuda_std::half::{bf16, f16};
use rumba::array::Array;
use rumba::linalg::{ConvolutionElement, Linalg};
use rumba::{Device, Stream};
use serde::Deserialize;

use crate::Work;
use crate::numbers::{Number, Random, relative_error};

/// A convolution of `[images, rows, columns, channels]` with `outputs` filters of `taps` rows and columns.
#[derive(Clone, Debug, Deserialize)]
pub struct Convolution {
    element: String,
    images: [usize; 4],
    outputs: usize,
    taps: usize,
    stride: usize,
    padding: usize,
}

/// How many elements of the result are compared.
const SAMPLE: usize = 500;

struct Operands<T: ConvolutionElement> {
    linalg: Linalg,
    convolution: Convolution,
    images: Array<T, 4>,
    filter: Array<T, 4>,
    output: Array<T, 4>,
}

impl Convolution {
    pub fn prepare(self, device: &Device) -> Result<Box<dyn Work>> {
        Ok(match &*self.element {
            "f16" => Box::new(Operands::<f16>::make(device, self)?),
            "bf16" => Box::new(Operands::<bf16>::make(device, self)?),
            "f32" => Box::new(Operands::<f32>::make(device, self)?),
            other => bail!("no convolutions of elements `{other}`"),
        })
    }
}

impl<T: ConvolutionElement + Number> Operands<T> {
    fn make(device: &Device, convolution: Convolution) -> Result<Self> {
        let Convolution { images: [count, rows, columns, channels], outputs, taps, stride, padding, .. } = convolution;
        let mut random = Random(1);
        let mut array = |shape: [usize; 4]| {
            let numbers = random.normal::<T>(shape.iter().product());
            Array::from_slice(device, shape, &numbers)
        };
        let places = |length: usize| (length + 2 * padding - taps) / stride + 1;
        Ok(Self {
            linalg: Linalg::new(device),
            images: array([count, rows, columns, channels])?,
            filter: array([outputs, taps, taps, channels])?,
            output: Array::zeros(device, [count, places(rows), places(columns), outputs])?,
            convolution,
        })
    }
}

impl<T: ConvolutionElement + Number> Work for Operands<T> {
    fn kernel(&self) -> String {
        String::from("rumba::linalg")
    }

    fn launch(&mut self, stream: &Stream) -> rumba::Result<()> {
        let Convolution { stride, padding, .. } = self.convolution;
        self.linalg
            .on(stream)
            .convolution(self.images.view(), self.filter.view())
            .stride([stride; 2])
            .padding([padding; 2])
            .eval_into(self.output.view_mut())
    }

    fn error(&self) -> Result<f64> {
        let Convolution { images: [_, rows, columns, channels], outputs, taps, stride, padding, .. } = self.convolution;
        let [_, down, right, _] = self.output.shape();
        let (images, filter, output) = (self.images.to_vec()?, self.filter.to_vec()?, self.output.to_vec()?);
        let mut random = Random(2);
        let pairs: Vec<_> = (0..SAMPLE)
            .map(|_| {
                let index = random.below(output.len());
                let (place, number) = (index / outputs, index % outputs);
                let (image, p, q) = (place / (down * right), place / right % down, place % right);
                let mut sum = 0.0;
                for tap in 0..taps * taps {
                    let row = (p * stride + tap / taps).wrapping_sub(padding);
                    let column = (q * stride + tap % taps).wrapping_sub(padding);
                    if row < rows && column < columns {
                        let pixel = &images[((image * rows + row) * columns + column) * channels..][..channels];
                        let weights = &filter[(number * taps * taps + tap) * channels..][..channels];
                        sum += pixel.iter().zip(weights).map(|(a, b)| a.exact() * b.exact()).sum::<f64>();
                    }
                }
                (output[index].exact(), sum)
            })
            .collect();
        Ok(relative_error(&pairs))
    }
}
