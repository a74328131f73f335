//! Products of matrices, `c = a bᵀ`.

use anyhow::{Result, bail};
use cuda_std::half::{bf16, f16};
use rumba::{Device, DeviceBuffer, Module, Stream};
use serde::Deserialize;
use rumba_linalg::product::warp_group::{product_large_nt, product_small_nt};

use crate::Work;
use crate::numbers::{Number, Random, relative_error};

/// A product of an `m` by `k` and a `k` by `n` matrix.
#[derive(Clone, Debug, Deserialize)]
pub struct Product {
    element: String,
    m: usize,
    n: usize,
    k: usize,
}

/// How many elements of the result are compared.
const SAMPLE: usize = 1000;

struct Operands<T> {
    module: Module,
    product: Product,
    a: DeviceBuffer<T>,
    b: DeviceBuffer<T>,
    c: DeviceBuffer<T>,
    is_large: bool,
}

impl Product {
    pub fn prepare(self, device: &Device) -> Result<Box<dyn Work>> {
        Ok(match &*self.element {
            "f16" => Operands::<f16>::make(device, self)?,
            "bf16" => Operands::<bf16>::make(device, self)?,
            other => bail!("no products of elements `{other}`"),
        })
    }
}

macro_rules! operands {
    ($($ty:ident)*) => {$(
        impl Operands<$ty> {
            fn make(device: &Device, product: Product) -> Result<Box<dyn Work>> {
                let Product { m, n, k, .. } = product;
                let mut random = Random(1);
                let is_large = m.div_ceil(128) * n.div_ceil(256) >= 100;
                Ok(Box::new(Self {
                    module: device.load(include_str!(env!("PRODUCTS_PTX")))?,
                    a: device.buffer_from(&random.normal::<$ty>(m * k))?,
                    b: device.buffer_from(&random.normal::<$ty>(n * k))?,
                    c: device.zeros(m * n)?,
                    is_large,
                    product,
                }))
            }
        }

        impl Work for Operands<$ty> {
            fn kernel(&self) -> String {
                String::from(if self.is_large { "large" } else { "small" })
            }

            fn launch(&mut self, stream: &Stream) -> rumba::Result<()> {
                let Product { m, n, k, .. } = self.product;
                let (a, b, c) = ((&self.a, [m, k]), (&self.b, [n, k]), (&mut self.c, [m, n]));
                if self.is_large {
                    let shape = rumba::LaunchConfig::new(132, 384).stream(stream);
                    self.module.launch(shape, product_large_nt::<$ty>(a, b, c))
                } else {
                    let shape = rumba::LaunchConfig::new(132, 256).stream(stream);
                    self.module.launch(shape, product_small_nt::<$ty>(a, b, c))
                }
            }

            fn error(&self) -> Result<f64> {
                let Product { m, n, k, .. } = self.product;
                let (a, b, c) = (self.a.to_vec()?, self.b.to_vec()?, self.c.to_vec()?);
                let mut random = Random(2);
                let pairs: Vec<_> = (0..SAMPLE).map(|_| {
                    let (row, column) = (random.below(m), random.below(n));
                    let (left, right) = (&a[row * k..][..k], &b[column * k..][..k]);
                    let sum: f64 = left.iter().zip(right).map(|(a, b)| a.exact() * b.exact()).sum();
                    (c[row * n + column].exact(), sum)
                }).collect();
                Ok(relative_error(&pairs))
            }
        }
    )*};
}

operands!(f16 bf16);
