//! The steps of the book's chapter on the matrix product.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use cuda_std::half::f16;
use rumba::{Device, Module, Stream};
use serde::Deserialize;
use steps::{Product, STEPS};

use crate::Work;
use crate::numbers::{Number as _, Random, relative_error};

/// A step's product of square matrices.
#[derive(Debug, Deserialize)]
pub struct Step {
    name: String,
    n: usize,
}

/// How many elements of the result are compared.
const SAMPLE: usize = 1000;

struct Operands {
    module: Module,
    step: &'static steps::Step,
    n: usize,
    inputs: Arc<[Vec<f16>; 2]>,
    product: Product,
}

/// The inputs of one size, which all steps of that size share: to make them takes longer than to multiply them.
fn inputs(n: usize) -> Arc<[Vec<f16>; 2]> {
    static LAST: Mutex<Option<(usize, Arc<[Vec<f16>; 2]>)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((size, inputs)) = &*last
        && *size == n
    {
        return Arc::clone(inputs);
    }
    let mut random = Random(1);
    let inputs = Arc::new([random.normal::<f16>(n * n), random.normal::<f16>(n * n)]);
    *last = Some((n, Arc::clone(&inputs)));
    inputs
}

impl Step {
    pub fn prepare(self, device: &Device) -> Result<Box<dyn Work>> {
        let Self { name, n } = self;
        let step = STEPS
            .iter()
            .find(|step| step.name == name)
            .context("there is no such step")?;
        let inputs = inputs(n);
        Ok(Box::new(Operands {
            module: device.load(steps::PTX)?,
            step,
            n,
            product: Product::new(device, [n, n, n], &inputs[0], &inputs[1])?,
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
        let (n, c) = (self.n, self.product.result(self.step)?);
        let mut random = Random(2);
        let pairs: Vec<_> = (0..SAMPLE)
            .map(|_| {
                let (row, column) = (random.below(n), random.below(n));
                let (left, right) = (&self.inputs[0][row * n..][..n], &self.inputs[1][column * n..][..n]);
                let sum: f64 = left.iter().zip(right).map(|(a, b)| a.exact() * b.exact()).sum();
                (f64::from(c[row * n + column]), sum)
            })
            .collect();
        Ok(relative_error(&pairs))
    }
}
