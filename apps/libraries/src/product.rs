//! Products of matrices by `rumba::linalg`.

use anyhow::{Result, bail};
use cuda_std::half::{bf16, e4m3, e5m2, f16};
use rumba::array::{Array, ArrayView};
use rumba::linalg::{Activation, Float, Linalg, Multiply, Precision};
use rumba::{Device, Stream};
use serde::Deserialize;

use crate::numbers::{Number, Random, relative_error};
use crate::{Work, only};

/// A product of an `m` by `k` and a `k` by `n` matrix.
#[derive(Clone, Debug, Deserialize)]
pub struct Product {
    element: String,
    m: usize,
    n: usize,
    k: usize,
    /// Whether a and b lie in row-major order (n) or transposed (t).
    #[serde(default = "sums_along_rows")]
    layout: String,
    /// The epilogue: `bias`, a number for each column; `relu`, `gelu` or `silu`; `residual`, a number for each element.
    #[serde(default)]
    epilogue: Vec<String>,
    /// Restricts the case to one kind of kernel.
    #[serde(default)]
    only: Option<String>,
}

fn sums_along_rows() -> String {
    "nt".to_owned()
}

/// How many elements of the result are compared.
const SAMPLE: usize = 1000;

struct Operands<T, U> {
    linalg: Linalg,
    product: Product,
    a: Array<T, 2>,
    b: Array<T, 2>,
    c: Array<U, 2>,
    bias: Option<Array<U, 1>>,
    residual: Option<Array<U, 2>>,
    activation: Activation,
}

/// Operations that depend on the element types of a product.
type With<T, U> = for<'a> fn(rumba::linalg::Product<'a, T, U>, Activation) -> rumba::linalg::Product<'a, T, U>;

/// The activation of a product of numbers that have one.
fn activated<T: Float<U>, U: Number>(
    product: rumba::linalg::Product<'_, T, U>,
    activation: Activation,
) -> rumba::linalg::Product<'_, T, U> {
    product.activation(activation)
}

impl Product {
    pub fn prepare(self, device: &Device) -> Result<Box<dyn Work>> {
        Ok(match &*self.element {
            "f16" => Operands::<f16, f16>::make(device, self, activated)?,
            "bf16" => Operands::<bf16, bf16>::make(device, self, activated)?,
            "f32" => Operands::<f32, f32>::make(device, self, activated)?,
            "tf32" => Operands::<f32, f32>::make(device, self, |product, activation| {
                activated(product, activation).precision(Precision::Tf32)
            })?,
            "f64" => Operands::<f64, f64>::make(device, self, activated)?,
            "e4m3" => Operands::<e4m3, f16>::make(device, self, activated)?,
            "e5m2" => Operands::<e5m2, f16>::make(device, self, activated)?,
            "s8" => Operands::<i8, i32>::make(device, self, |product, _| product)?,
            other => bail!("no products of elements `{other}`"),
        })
    }

    fn has(&self, part: &str) -> bool {
        self.epilogue.iter().any(|own| own == part)
    }

    fn activation(&self) -> Activation {
        let named = [("relu", Activation::Relu), ("gelu", Activation::Gelu), ("silu", Activation::Silu)];
        let found = named.into_iter().find(|(name, _)| self.has(name));
        found.map_or(Activation::Identity, |(_, activation)| activation)
    }

    /// The shape in which an operand of `rows` by `columns` lies.
    fn stored(&self, operand: usize, [rows, columns]: [usize; 2]) -> [usize; 2] {
        if self.is_transposed(operand) { [columns, rows] } else { [rows, columns] }
    }

    fn is_transposed(&self, operand: usize) -> bool {
        self.layout.as_bytes().get(operand) == Some(&b't')
    }

    fn view<'a, T: Number>(&self, operand: usize, array: &'a Array<T, 2>) -> ArrayView<'a, T, 2> {
        if self.is_transposed(operand) { array.transpose() } else { array.view() }
    }
}

impl<T: Number + Multiply<U>, U: Number> Operands<T, U> {
    fn make(device: &Device, product: Product, with: With<T, U>) -> Result<Box<dyn Work>> {
        let Product { m, n, k, .. } = product;
        let mut random = Random(1);
        let mut operand =
            |shape: [usize; 2]| Array::from_slice(device, shape, &random.normal::<T>(shape[0] * shape[1]));
        let (a, b) = (operand(product.stored(0, [m, k]))?, operand(product.stored(1, [k, n]))?);
        // As large as the sums, about.
        let mut beside = |count: usize| -> Vec<U> {
            let size = (k as f64).sqrt();
            random.normal::<f64>(count).into_iter().map(|x| U::rounded(size * x)).collect()
        };
        let bias = product.has("bias").then(|| Array::from_slice(device, [n], &beside(n)));
        let residual = product.has("residual").then(|| Array::from_slice(device, [m, n], &beside(m * n)));
        let operands = Self {
            linalg: only(Linalg::new(device), product.only.as_deref()),
            a,
            b,
            c: Array::zeros(device, [m, n])?,
            bias: bias.transpose()?,
            residual: residual.transpose()?,
            activation: product.activation(),
            product,
        };
        Ok(Box::new((operands, with)))
    }
}

impl<T: Number + Multiply<U>, U: Number> Work for (Operands<T, U>, With<T, U>) {
    fn kernel(&self) -> String {
        String::from("rumba::linalg")
    }

    fn launch(&mut self, stream: &Stream) -> rumba::Result<()> {
        let (Operands { linalg, product, a, b, c, bias, residual, activation }, with) = self;
        let linalg = linalg.on(stream);
        let mut work = with(linalg.product(product.view(0, a), product.view(1, b)), *activation);
        if let Some(bias) = bias {
            work = work.bias(&*bias);
        }
        if let Some(residual) = residual {
            work = work.residual(&*residual);
        }
        work.eval_into(c.view_mut())
    }

    fn error(&self) -> Result<f64> {
        let Operands { product, a, b, c, bias, residual, activation, .. } = &self.0;
        let Product { m, n, k, .. } = *product;
        let at = |operand: usize, [row, column]: [usize; 2], [rows, columns]: [usize; 2]| {
            if product.is_transposed(operand) { column * rows + row } else { row * columns + column }
        };
        let (a, b, c) = (a.to_vec()?, b.to_vec()?, c.to_vec()?);
        let bias = bias.as_ref().map(Array::to_vec).transpose()?;
        let residual = residual.as_ref().map(Array::to_vec).transpose()?;
        let mut random = Random(2);
        let pairs = (0..SAMPLE).map(|_| {
            let (row, column) = (random.below(m), random.below(n));
            let term = |i: usize| a[at(0, [row, i], [m, k])].exact() * b[at(1, [i, column], [k, n])].exact();
            let sum = (0..k).map(term).sum::<f64>() + bias.as_ref().map_or(0.0, |bias| bias[column].exact());
            let residual = residual.as_ref().map_or(0.0, |residual| residual[row * n + column].exact());
            (c[row * n + column].exact(), function(*activation, sum) + residual)
        });
        Ok(relative_error(&pairs.collect::<Vec<_>>()))
    }
}

/// An activation in f64.
fn function(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Identity => x,
        Activation::Relu => x.max(0.0),
        Activation::Gelu => 0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)).tanh()),
        Activation::Silu => x / (1.0 + (-x).exp()),
    }
}
