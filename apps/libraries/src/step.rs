//! The steps of the book's chapter on the matrix product.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use cuda_std::half::f16;
use rumba::{Device, Module, Stream};
use serde::Deserialize;
use test_kernels::steps::launches::{self, Product, STEPS};

use crate::Work;
use crate::numbers::{Number as _, Random, relative_error};

/// The kernels.
const PTX: &str = include_str!(env!("STEPS_PTX"));

/// A shape, and the numbers of its operands.
type Numbers = ([usize; 3], Arc<[Vec<f16>; 2]>);

/// A step's product of an `m` by `k` and a `k` by `n` matrix.
#[derive(Debug, Deserialize)]
pub struct Step {
    name: String,
    m: usize,
    n: usize,
    k: usize,
}

/// How many elements of the result are compared.
const SAMPLE: usize = 1000;

struct Operands {
    module: Module,
    step: &'static launches::Step,
    shape: [usize; 3],
    inputs: Arc<[Vec<f16>; 2]>,
    product: Product,
}

/// The inputs of one shape, which all steps share: to make them takes longer than to multiply them.
fn inputs(shape: [usize; 3]) -> Arc<[Vec<f16>; 2]> {
    static LAST: Mutex<Option<Numbers>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, inputs)) = &*last
        && *known == shape
    {
        return Arc::clone(inputs);
    }
    let ([m, n, k], mut random) = (shape, Random(1));
    let inputs = Arc::new([random.normal::<f16>(m * k), random.normal::<f16>(n * k)]);
    *last = Some((shape, Arc::clone(&inputs)));
    inputs
}

impl Step {
    pub fn prepare(self, device: &Device) -> Result<Box<dyn Work>> {
        let Self { name, m, n, k } = self;
        let step = STEPS.iter().find(|step| step.name == name).context("there is no such step")?;
        let inputs = inputs([m, n, k]);
        Ok(Box::new(Operands {
            module: device.load(PTX)?,
            step,
            shape: [m, n, k],
            product: Product::new(device, [m, n, k], &inputs[0], &inputs[1])?,
            inputs,
        }))
    }
}

impl Work for Operands {
    fn kernel(&self) -> String {
        String::from(self.step.name)
    }

    fn launch(&mut self, stream: &Stream) -> rumba::Result<()> {
        self.step.launch(&self.module, stream, &mut self.product)
    }

    fn error(&self) -> Result<f64> {
        let ([m, n, k], c) = (self.shape, self.product.result(self.step)?);
        let mut random = Random(2);
        let pairs: Vec<_> = (0..SAMPLE)
            .map(|_| {
                let (row, column) = (random.below(m), random.below(n));
                let (left, right) = (&self.inputs[0][row * k..][..k], &self.inputs[1][column * k..][..k]);
                let sum: f64 = left.iter().zip(right).map(|(a, b)| a.exact() * b.exact()).sum();
                (f64::from(c[row * n + column]), sum)
            })
            .collect();
        Ok(relative_error(&pairs))
    }
}
