//! Products of matrices by `rumba::linalg`.

use anyhow::{Result, bail};
use cuda_std::half::{bf16, f16};
use rumba::array::{Array, ArrayView};
use rumba::linalg::{Linalg, Multiply, Precision};
use rumba::{Device, Stream};
use serde::Deserialize;

use crate::Work;
use crate::numbers::{Number, Random, relative_error};

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
}

/// What is special about the elements of a product.
type With<T, U> = for<'a> fn(rumba::linalg::Product<'a, T, U>) -> rumba::linalg::Product<'a, T, U>;

impl Product {
    pub fn prepare(self, device: &Device) -> Result<Box<dyn Work>> {
        Ok(match &*self.element {
            "f16" => Operands::<f16, f16>::make(device, self, |product| product)?,
            "bf16" => Operands::<bf16, bf16>::make(device, self, |product| product)?,
            "f32" => Operands::<f32, f32>::make(device, self, |product| product)?,
            "tf32" => Operands::<f32, f32>::make(device, self, |product| product.precision(Precision::Tf32))?,
            "f64" => Operands::<f64, f64>::make(device, self, |product| product)?,
            "s8" => Operands::<i8, i32>::make(device, self, |product| product)?,
            other => bail!("no products of elements `{other}`"),
        })
    }

    /// The shape in which an operand of `rows` by `columns` lies.
    fn stored(&self, operand: usize, [rows, columns]: [usize; 2]) -> [usize; 2] {
        if self.is_transposed(operand) {
            [columns, rows]
        } else {
            [rows, columns]
        }
    }

    fn is_transposed(&self, operand: usize) -> bool {
        self.layout.as_bytes().get(operand) == Some(&b't')
    }

    fn view<'a, T: Number>(&self, operand: usize, array: &'a Array<T, 2>) -> ArrayView<'a, T, 2> {
        if self.is_transposed(operand) {
            array.transpose()
        } else {
            array.view()
        }
    }
}

impl<T: Number + Multiply<U>, U: Number> Operands<T, U> {
    fn make(device: &Device, product: Product, with: With<T, U>) -> Result<Box<dyn Work>> {
        let Product { m, n, k, .. } = product;
        let mut random = Random(1);
        let mut operand =
            |shape: [usize; 2]| Array::from_slice(device, shape, &random.normal::<T>(shape[0] * shape[1]));
        let operands = Self {
            linalg: Linalg::new(device),
            a: operand(product.stored(0, [m, k]))?,
            b: operand(product.stored(1, [k, n]))?,
            c: Array::zeros(device, [m, n])?,
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
        let (
            Operands {
                linalg,
                product,
                a,
                b,
                c,
            },
            with,
        ) = self;
        let linalg = linalg.on(stream);
        with(linalg.product(product.view(0, a), product.view(1, b))).eval_into(c.view_mut())
    }

    fn error(&self) -> Result<f64> {
        let Operands { product, a, b, c, .. } = &self.0;
        let Product { m, n, k, .. } = *product;
        let at = |operand: usize, [row, column]: [usize; 2], [rows, columns]: [usize; 2]| {
            if product.is_transposed(operand) {
                column * rows + row
            } else {
                row * columns + column
            }
        };
        let (a, b, c) = (a.to_vec()?, b.to_vec()?, c.to_vec()?);
        let mut random = Random(2);
        let pairs = (0..SAMPLE).map(|_| {
            let (row, column) = (random.below(m), random.below(n));
            let term = |i: usize| a[at(0, [row, i], [m, k])].exact() * b[at(1, [i, column], [k, n])].exact();
            (c[row * n + column].exact(), (0..k).map(term).sum::<f64>())
        });
        Ok(relative_error(&pairs.collect::<Vec<_>>()))
    }
}
