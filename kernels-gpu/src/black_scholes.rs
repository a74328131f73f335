//! The price of options by the formula of Black and Scholes: mathematics for every element.
//!
//! Three numbers in, two out, and between them a logarithm, an exponential, a square root and two values of the normal
//! distribution. Threads do not meet, and there is nothing to share: what counts is how many operations the functions
//! take. The distribution is a polynomial (Abramowitz and Stegun, 26.2.17), good to seven digits.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

/// Parameters that all options share; passed to the kernel by value.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Market {
    /// Interest without risk, for a year: 0.02 is two per cent.
    pub rate: f32,
    /// How much the stock's price varies in a year: the standard deviation of its logarithm.
    pub volatility: f32,
}

/// The two prices of an option. They lie together and are written together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, align(8))]
pub struct Prices {
    /// For the right to buy.
    pub call: f32,
    /// For the right to sell.
    pub put: f32,
}

/// `prices[i]` for the stock's price, the strike price and the years that remain of option `i`.
///
/// Launch it with a thread for each two options, in one dimension. Inputs have at least the length of `prices`.
#[kernel]
pub fn black_scholes(
    stock: &[f32],
    strike: &[f32],
    years: &[f32],
    market: Market,
    mut prices: Disjoint<Prices, Striped<2>>,
) {
    prices.each_with((stock, strike, years), |prices, (stock, strike, years)| {
        *prices = price(stock, strike, years, market);
    });
}

/// The prices of one option. The host calls it too, to check the device's.
#[must_use]
#[inline]
pub fn price(stock: f32, strike: f32, years: f32, market: Market) -> Prices {
    let Market { rate, volatility } = market;
    let deviation = volatility * years.sqrt();
    let d1 = ((stock / strike).ln() + (rate + 0.5 * volatility * volatility) * years) / deviation;
    let d2 = d1 - deviation;
    let (n1, n2) = (normal(d1), normal(d2));
    let discounted = strike * (-rate * years).exp();
    Prices { call: stock * n1 - discounted * n2, put: discounted * (1.0 - n2) - stock * (1.0 - n1) }
}

/// The probability that a normally distributed number is below `d`.
fn normal(d: f32) -> f32 {
    const ROOT_OF_TAU_INVERSE: f32 = 0.398_942_3;
    const A: [f32; 5] = [0.319_381_54, -0.356_563_78, 1.781_477_9, -1.821_255_9, 1.330_274_5];
    let k = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let polynomial = k * (A[0] + k * (A[1] + k * (A[2] + k * (A[3] + k * A[4]))));
    let tail = ROOT_OF_TAU_INVERSE * (-0.5 * d * d).exp() * polynomial;
    if d > 0.0 { 1.0 - tail } else { tail }
}
