//! Kernels of Rumba on tensors of burn: between burn's own operations, and in place. No element is copied between the libraries.

use anyhow::{Result, ensure};
use burn::backend::Cuda;
use burn::backend::cuda::CudaDevice;
use burn::tensor::Tensor;

mod tensors;

#[rumba::kernels]
mod kernels {
    use cuda_std::prelude::*;

    /// y = max(x, 0)², by rows and columns.
    #[kernel]
    pub fn squared_relu(x: View<f32, 2>, mut y: Disjoint<f32, Array<2>>) {
        y.each(|index, y| {
            let positive = x[index].max(0.0);
            *y = positive * positive;
        });
    }

    /// x = factor x
    #[kernel]
    pub fn scale(factor: f32, mut x: DisjointSlice<f32>) {
        if let Some(x) = x.get_mut(grid::<1>()) {
            *x *= factor;
        }
    }
}

const ROWS: usize = 1000;
const COLUMNS: usize = 768;

fn ensure_close(name: &str, found: Tensor<Cuda, 2>, expected: impl Fn(usize, usize) -> f32) -> Result<()> {
    let [rows, columns] = found.dims();
    let found = found.into_data().to_vec::<f32>().map_err(|error| anyhow::anyhow!("{error:?}"))?;
    for (index, found) in found.into_iter().enumerate() {
        let expected = expected(index / columns, index % columns);
        ensure!(
            (found - expected).abs() <= 1e-5 * expected.abs(),
            "{name}: element {index} is {found} instead of {expected}"
        );
    }
    println!("{name}: {rows} by {columns} elements are as on the host");
    Ok(())
}

fn main() -> Result<()> {
    let device = rumba::Device::new()?;
    if device.name().contains("software") {
        println!("{}: burn's CUDA backend needs an NVIDIA GPU and NVRTC", device.name());
        return Ok(());
    }
    let module = device.load(kernels::PTX)?;
    println!("on {}", device.name());
    let of_burn = CudaDevice::new(0);
    let value = |row: usize, column: usize| ((row * COLUMNS + column) % 2003) as f32 / 500.0 - 2.0;
    let relu = |x: f32| x.max(0.0).powi(2);

    // Between two operations of burn.
    let values: Vec<f32> = (0..ROWS * COLUMNS).map(|i| value(i / COLUMNS, i % COLUMNS)).collect();
    let x = Tensor::<Cuda, 1>::from_floats(values.as_slice(), &of_burn).reshape([ROWS, COLUMNS]) * 1.5;
    let launch = |x: &Tensor<Cuda, 2>, y: Tensor<Cuda, 2>| {
        let elements = tensors::read(x, &device)?;
        let [rows, columns] = elements.shape();
        tensors::write(y, &device, |y| {
            let config = rumba::LaunchConfig::covering((columns as u32, rows as u32)).block((32, 8));
            module.launch(config, kernels::squared_relu(elements.view(), y.view_mut()))
        })
    };
    let y = launch(&x, Tensor::empty([ROWS, COLUMNS], &of_burn))?;
    ensure_close("forward", y * 0.5 + 1.0, |row, column| 0.5 * relu(1.5 * value(row, column)) + 1.0)?;

    // A transposed tensor has other strides, and the kernel is the same.
    let y = launch(&x.clone().transpose(), Tensor::empty([COLUMNS, ROWS], &of_burn))?;
    ensure_close("transposed", y, |row, column| relu(1.5 * value(column, row)))?;

    // In place, which the clone that shares the memory forbids.
    let scale = |x: Tensor<Cuda, 2>| {
        tensors::write(x, &device, |x| {
            let x = x.as_slice_mut()?;
            module.for_each(x.len(), kernels::scale(2.0, x))
        })
    };
    let error = scale(x.clone()).expect_err("two tensors share the memory");
    ensure!(error.to_string().contains("another tensor has the same memory"), "{error}");
    let x = scale(x)?;
    ensure_close("in place", x, |row, column| 3.0 * value(row, column))
}
