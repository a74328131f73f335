//! `black_scholes`: `n` options.

use crate::cases::EDGES;
use crate::{Case, Cost, Prepared, Tolerance, compare};
use anyhow::Result;
use bytemuck::cast_slice;
use kernels_gpu::black_scholes::{Market, Prices, black_scholes, price};
use rayon::prelude::*;
use rumba::{Device, DeviceBuffer, Module};

const MARKET: Market = Market { rate: 0.02, volatility: 0.3 };

pub(super) const CASE: Case = Case {
    name: "black_scholes",
    sizes: EDGES,
    bench: [1 << 18, 1 << 26],
    cost: |n| Cost { bytes: 20 * n as u64, flops: 60 * n as u64 },
    prepare: |device, module, n| Ok(Box::new(Data::new(device, module, n)?)),
};

struct Data {
    module: Module,
    /// Prices of the stock, strike prices, years.
    inputs: [Vec<f32>; 3],
    reference: Vec<Prices>,
    inputs_device: [DeviceBuffer<f32>; 3],
    prices_device: DeviceBuffer<Prices>,
}

impl Data {
    fn new(device: &Device, module: &Module, n: usize) -> Result<Self> {
        let mut random = fastrand::Rng::with_seed(1);
        let mut numbers =
            |from: f32, to: f32| -> Vec<f32> { (0..n).map(|_| from + (to - from) * random.f32()).collect() };
        let inputs = [numbers(5.0, 30.0), numbers(1.0, 100.0), numbers(0.25, 10.0)];
        let [stock, strike, years] = &inputs;
        Ok(Self {
            module: module.clone(),
            reference: vec![Prices::default(); n],
            inputs_device: [device.buffer_from(stock)?, device.buffer_from(strike)?, device.buffer_from(years)?],
            prices_device: device.zeros(n)?,
            inputs,
        })
    }
}

impl Prepared for Data {
    fn launch(&mut self) -> Result<()> {
        let [stock, strike, years] = &self.inputs_device;
        let call = black_scholes(stock, strike, years, MARKET, &mut self.prices_device);
        Ok(self.module.for_each(self.reference.len(), call)?)
    }

    fn native(&mut self) {
        let [stock, strike, years] = &self.inputs;
        let inputs = stock.par_iter().zip(strike).zip(years);
        inputs
            .zip(&mut self.reference)
            .with_min_len(1 << 10)
            .for_each(|(((stock, strike), years), prices)| *prices = price(*stock, *strike, *years, MARKET));
    }

    fn verify(&self) -> Result<()> {
        // The device fuses products and sums, and has another logarithm.
        let tolerance = Tolerance::Near { absolute: 1e-4, relative: 1e-5 };
        let result = self.prices_device.to_vec()?;
        compare::<f32>(cast_slice(&result), cast_slice(&self.reference), tolerance)
    }
}
