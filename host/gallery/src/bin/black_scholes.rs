//! The prices of many options.

use clap::Parser;
use gallery::{Options, close, time};
use kernels_gpu::black_scholes::{Market, Prices, black_scholes, price};
use rumba::Out;

/// Computes the prices of options
#[derive(Parser)]
struct Args {
    /// Options
    #[arg(long, default_value_t = 500_000)]
    n: usize,
    #[command(flatten)]
    options: Options,
}

const MARKET: Market = Market { rate: 0.02, volatility: 0.3 };

pub(crate) fn main() -> anyhow::Result<()> {
    let Args { n, options } = Args::parse();
    let mut show = options.start("black_scholes")?;
    let numbers = |from: f32, to: f32, period: usize| -> Vec<f32> {
        (0..n).map(|i| from + (to - from) * (i % period) as f32 / period as f32).collect()
    };
    let (stock, strike, years) = (numbers(5.0, 30.0, 1009), numbers(1.0, 100.0, 997), numbers(0.25, 10.0, 991));

    let mut expected = vec![Prices::default(); n];
    let on_cpu = time(|| {
        for (i, prices) in expected.iter_mut().enumerate() {
            *prices = price(stock[i], strike[i], years[i], MARKET);
        }
    });

    let mut prices = vec![Prices::default(); n];
    let call = black_scholes(&stock, &strike, &years, MARKET, Out(&mut prices));
    let on_device = show.module().for_each_timed(n, call)?;
    // Host and device have logarithms and exponentials of their own.
    let agreed = close::<f32>(bytemuck::cast_slice(&prices), bytemuck::cast_slice(&expected), 1e-4);
    show.result("", n, on_cpu, on_device, agreed);
    show.finish()
}
