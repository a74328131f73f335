//! A kernel of Rumba as an operation of candle: forward, in place, and with a gradient. No element is copied between the libraries.

use anyhow::{Result, ensure};
use candle_core::{Device, Tensor, Var};
use operation::SquaredRelu;
use std::time::Instant;

mod operation;

#[rumba::kernels]
mod kernels {
    use cuda_std::prelude::*;

    /// y = max(x, 0)²
    #[kernel]
    pub fn squared_relu(x: &[f32], mut y: DisjointSlice<f32>) {
        let i = grid::<1>();
        if let Some(y) = y.get_mut(i) {
            let positive = x[i].max(0.0);
            *y = positive * positive;
        }
    }

    /// x = max(x, 0)²
    #[kernel]
    pub fn square_relu(mut x: DisjointSlice<f32>) {
        if let Some(x) = x.get_mut(grid::<1>()) {
            let positive = x.max(0.0);
            *x = positive * positive;
        }
    }
}

/// The same operation for each call: of candle's device 0 and Rumba's.
fn operation() -> Result<SquaredRelu> {
    let device = rumba::Device::new()?;
    let module = device.load(kernels::PTX)?;
    Ok(SquaredRelu { device, module })
}

/// Whether two tensors have the same elements, up to rounding.
fn ensure_close(name: &str, found: &Tensor, expected: &Tensor) -> Result<()> {
    ensure!(found.shape() == expected.shape(), "{name}: shape {:?} instead of {:?}", found.shape(), expected.shape());
    let flat = |tensor: &Tensor| tensor.to_device(&Device::Cpu)?.flatten_all()?.to_vec1::<f32>();
    for (index, (found, expected)) in flat(found)?.into_iter().zip(flat(expected)?).enumerate() {
        ensure!(
            (found - expected).abs() <= 1e-6 * expected.abs(),
            "{name}: element {index} is {found} instead of {expected}"
        );
    }
    println!("{name}: as on the CPU");
    Ok(())
}

fn main() -> Result<()> {
    const ROWS: usize = 1000;
    const COLUMNS: usize = 768;
    let operation = operation()?;
    println!("on {}", operation.device.name());
    let values: Vec<f32> = (0..ROWS * COLUMNS).map(|i| (i % 2003) as f32 / 500.0 - 2.0).collect();
    // The second one has a stream of its own, with which no other stream synchronises.
    for (name, gpu) in [("default stream", Device::new_cuda(0)?), ("own stream", Device::new_cuda_with_stream(0)?)] {
        let on_cpu = Tensor::from_slice(&values, (ROWS, COLUMNS), &Device::Cpu)?;
        let on_gpu = Tensor::from_slice(&values, (ROWS, COLUMNS), &gpu)?;

        // Between two operations of candle's own, whose work is on candle's stream.
        let work =
            |x: &Tensor| -> candle_core::Result<Tensor> { (x * 1.5)?.apply_op1_no_bwd(&operation)?.affine(0.5, 1.0) };
        ensure_close(&format!("forward, {name}"), &work(&on_gpu)?, &work(&on_cpu)?)?;

        // A part of the rows.
        let part = |x: &Tensor| x.narrow(0, 100, 50)?.apply_op1_no_bwd(&operation);
        ensure_close(&format!("a part, {name}"), &part(&on_gpu)?, &part(&on_cpu)?)?;
        ensure!(on_gpu.t()?.apply_op1_no_bwd(&operation).is_err(), "a transposed tensor is not contiguous");

        let in_place = |x: &Tensor| -> candle_core::Result<Tensor> {
            let x = (x + 0.25)?;
            x.inplace_op1(&operation)?;
            Ok(x)
        };
        ensure_close(&format!("in place, {name}"), &in_place(&on_gpu)?, &in_place(&on_cpu)?)?;
        times(name, &on_gpu, &operation)?;
    }
    gradient()
}

/// The gradient of the sum of all elements, by candle's backward pass.
fn gradient() -> Result<()> {
    let sum = |device: &Device| -> Result<Tensor> {
        let x = Var::from_slice(&[-1.0_f32, 0.0, 1.0, 2.0, 3.0], 5, device)?;
        let gradients = x.apply_op1(operation()?)?.backward()?;
        Ok(gradients.get(&x).cloned().expect("the operation has a gradient"))
    };
    ensure_close("gradient", &sum(&Device::new_cuda(0)?)?, &Tensor::new(&[0.0_f32, 0.0, 2.0, 4.0, 6.0], &Device::Cpu)?)
}

/// Compares the operation with the two operations of candle's that do the same.
fn times(name: &str, x: &Tensor, operation: &SquaredRelu) -> Result<()> {
    const TIMES: u32 = 200;
    let time = |work: &dyn Fn() -> candle_core::Result<Tensor>| -> Result<f64> {
        work()?;
        x.device().synchronize()?;
        let start = Instant::now();
        for _ in 0..TIMES {
            work()?;
        }
        x.device().synchronize()?;
        Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(TIMES))
    };
    let own = time(&|| x.apply_op1_no_bwd(operation))?;
    let candle = time(&|| x.relu()?.sqr())?;
    println!(
        "{} elements, {name}: {own:.1} µs by Rumba's kernel, {candle:.1} µs by candle's relu and sqr",
        x.elem_count()
    );
    Ok(())
}
