//! The approximate functions: their exact values, their allowed errors, and their measured errors.
//!
//! The bounds are the PTX manual's; where it gives none (`.f64`), that of a gross approximation of 20 bits.

use std::error::Error;
use std::f64::consts::PI;

use rumba_vm::{Device, Launch, Source};

/// How an error is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// In units of the last place of the result.
    Ulp,
    /// As a part of the result.
    Relative,
    /// As it is.
    Absolute,
}

/// A format of operands and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    F16,
    Bf16,
    F32,
    F64,
}

/// An approximate instruction.
pub(crate) struct Approximate {
    pub(crate) opcode: &'static str,
    format: Format,
    /// Operands.
    pub(crate) sources: usize,
    exact: fn(f64, f64) -> f64,
    /// Where the bound holds.
    domain: fn(f64, f64) -> bool,
    pub(crate) measure: Measure,
    pub(crate) bound: f64,
    /// The worst error of an H200 for the same operands.
    pub(crate) h200: f64,
    /// Where, in words; empty for everywhere.
    pub(crate) place: &'static str,
}

fn anywhere(_: f64, _: f64) -> bool {
    true
}

macro_rules! approximate {
    ($($opcode:literal $format:ident $sources:literal, $exact:expr, $measure:ident $bound:expr, $h200:literal $place:literal $domain:expr;)*) => {
        /// All of them.
        pub(crate) const FUNCTIONS: &[Approximate] = &[$(Approximate {
            opcode: $opcode,
            format: Format::$format,
            sources: $sources,
            exact: $exact,
            domain: $domain,
            measure: Measure::$measure,
            bound: $bound,
            h200: $h200,
            place: $place,
        }),*];
    };
}

/// Powers of two with exponents that are not whole.
const TWO_22_9: f64 = 1.2776e-7;
const TWO_20_5: f64 = 6.7435e-7;
const TWO_9_9: f64 = 1.0467e-3;
const TWO_10_987: f64 = 4.9272e-4;

/// `2^-exponent`
const fn power(exponent: u32) -> f64 {
    1.0 / (1_u64 << exponent) as f64
}

approximate! {
    "rcp.approx.f32" F32 1, |x, _| 1.0 / x, Ulp 1.0, 9.6495e-01 "" anywhere;
    "rcp.approx.ftz.f32" F32 1, |x, _| 1.0 / x, Ulp 1.0, 9.6495e-01 "" anywhere;
    "rcp.approx.ftz.f64" F64 1, |x, _| 1.0 / x, Relative power(20), 9.5156e-07 "" anywhere;
    "sqrt.approx.f32" F32 1, |x, _| x.sqrt(), Relative power(23), 9.6850e-08 "" anywhere;
    "sqrt.approx.ftz.f32" F32 1, |x, _| x.sqrt(), Relative power(23), 9.6850e-08 "" anywhere;
    "rsqrt.approx.f32" F32 1, |x, _| 1.0 / x.sqrt(), Relative TWO_22_9, 1.1784e-07 "" anywhere;
    "rsqrt.approx.ftz.f32" F32 1, |x, _| 1.0 / x.sqrt(), Relative TWO_22_9, 1.1784e-07 "" anywhere;
    "rsqrt.approx.f64" F64 1, |x, _| 1.0 / x.sqrt(), Relative power(20), 2.2203e-16 "" anywhere;
    "rsqrt.approx.ftz.f64" F64 1, |x, _| 1.0 / x.sqrt(), Relative power(20), 8.9432e-07 "" anywhere;
    "div.approx.f32" F32 2, |x, y| x / y, Ulp 2.0, 1.9657e+00 "divisors from 2^-126 to 2^126" |_, y| y.abs() <= 8.507e37;
    "div.approx.ftz.f32" F32 2, |x, y| x / y, Ulp 2.0, 1.9657e+00 "divisors from 2^-126 to 2^126" |_, y| y.abs() <= 8.507e37;
    "div.full.f32" F32 2, |x, y| x / y, Ulp 2.0, 1.9657e+00 "" anywhere;
    "div.full.ftz.f32" F32 2, |x, y| x / y, Ulp 2.0, 1.9657e+00 "" anywhere;
    "ex2.approx.f32" F32 1, |x, _| x.exp2(), Relative power(22), 1.3806e-07 "" anywhere;
    "ex2.approx.ftz.f32" F32 1, |x, _| x.exp2(), Relative power(22), 1.3806e-07 "" anywhere;
    "ex2.approx.f16" F16 1, |x, _| x.exp2(), Relative TWO_9_9, 9.7521e-04 "" anywhere;
    "ex2.approx.ftz.bf16" Bf16 1, |x, _| x.exp2(), Relative power(7), 7.7122e-03 "" anywhere;
    "lg2.approx.f32" F32 1, |x, _| x.log2(), Absolute power(22), 2.0098e-07 "from 0.5 to 2" |x, _| x > 0.5 && x < 2.0;
    "lg2.approx.f32" F32 1, |x, _| x.log2(), Relative power(22), 1.9348e-07 "outside of that" |x, _| x <= 0.5 || x >= 2.0;
    "lg2.approx.ftz.f32" F32 1, |x, _| x.log2(), Relative power(22), 1.9348e-07 "outside of that" |x, _| x <= 0.5 || x >= 2.0;
    "sin.approx.f32" F32 1, |x, _| x.sin(), Absolute TWO_20_5, 3.3293e-07 "from -pi to pi" |x, _| x.abs() <= PI;
    "cos.approx.f32" F32 1, |x, _| x.cos(), Absolute TWO_20_5, 3.9039e-07 "from -pi to pi" |x, _| x.abs() <= PI;
    "tanh.approx.f32" F32 1, |x, _| x.tanh(), Relative power(11), 1.0545e-05 "" anywhere;
    "tanh.approx.f16" F16 1, |x, _| x.tanh(), Absolute TWO_10_987, 4.9260e-04 "" anywhere;
    "tanh.approx.bf16" Bf16 1, |x, _| x.tanh(), Absolute power(8), 3.9065e-03 "" anywhere;
}

/// Operands of a function, and so results.
pub(crate) const INPUTS: usize = 1 << 17;

impl Format {
    fn bits(self) -> u32 {
        match self {
            Self::F16 | Self::Bf16 => 16,
            Self::F32 => 32,
            Self::F64 => 64,
        }
    }

    /// Bits of the fraction, and the largest exponent.
    fn shape(self) -> (i32, i32) {
        match self {
            Self::F16 => (10, 15),
            Self::Bf16 => (7, 127),
            Self::F32 => (23, 127),
            Self::F64 => (52, 1023),
        }
    }

    /// The number in a register.
    fn decode(self, bits: u64) -> f64 {
        match self {
            Self::F64 => f64::from_bits(bits),
            Self::F32 => f32::from_bits(bits as u32).into(),
            Self::Bf16 => f32::from_bits((bits as u32) << 16).into(),
            Self::F16 => {
                let (sign, field, fraction) = (bits >> 15 & 1, bits >> 10 & 31, (bits & 0x3ff) as f64);
                let magnitude = match field {
                    0 => fraction / 16_777_216.0,
                    31 if fraction == 0.0 => f64::INFINITY,
                    31 => f64::NAN,
                    _ => (1024.0 + fraction) / 1024.0 * 2_f64.powi(field as i32 - 15),
                };
                if sign == 1 { -magnitude } else { magnitude }
            }
        }
    }

    /// Whether the format holds numbers of this size with all their bits.
    fn holds(self, x: f64) -> bool {
        let (_, largest) = self.shape();
        x.abs() >= 2_f64.powi(1 - largest) && x.abs() < 2_f64.powi(largest) * 1.99
    }

    fn ulp(self, x: f64) -> f64 {
        let (fraction, _) = self.shape();
        2_f64.powi(((x.to_bits() >> 52 & 0x7ff) as i32) - 1023 - fraction)
    }
}

impl Approximate {
    /// A kernel that applies the function to an array, or two, and writes the results behind each other.
    pub(crate) fn kernel(&self) -> String {
        let (register, narrow, widen) = match self.format.bits() {
            64 => ("%rd", "", ""),
            32 => ("%r", "cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2;", "cvt.u64.u32 %rd0, %r0;"),
            _ => ("%h", "cvt.u16.u64 %h1, %rd1; cvt.u16.u64 %h2, %rd2;", "cvt.u64.u16 %rd0, %h0;"),
        };
        let second = if self.sources == 2 { format!(", {register}2") } else { String::new() };
        format!(
            ".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
.reg .b64 %rd<20>; .reg .b32 %r<20>; .reg .b16 %h<20>;
ld.param.u64 %rd10, [in]; ld.param.u64 %rd11, [out];
mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ntid.x; mov.u32 %r12, %tid.x; mad.lo.s32 %r10, %r10, %r11, %r12;
mul.wide.u32 %rd12, %r10, 8; add.u64 %rd10, %rd10, %rd12; add.u64 %rd11, %rd11, %rd12;
ld.global.u64 %rd1, [%rd10]; ld.global.u64 %rd2, [%rd10+{}];
{narrow}
{} {register}0, {register}1{second};
{widen}
st.global.u64 [%rd11], %rd0;
ret;
}}
",
            8 * INPUTS,
            self.opcode
        )
    }

    /// The operands: evenly over all numbers of the format, and twice as many of moderate size.
    pub(crate) fn operands(&self) -> Vec<u64> {
        let mut operands = Vec::with_capacity(2 * INPUTS);
        for index in 0..2 * INPUTS as u64 {
            let random = super::mix(index ^ 0x5eed);
            let (fraction, largest) = self.format.shape();
            let bits = self.format.bits();
            operands.push(match index % 3 {
                0 => random >> (64 - bits),
                _ => {
                    let exponent = (random >> 8) % 16 + largest as u64 - 10;
                    let sign = (random & 1) << (bits - 1);
                    sign | exponent << fraction | (random >> 12) & ((1 << fraction) - 1)
                }
            });
        }
        operands
    }

    /// The worst error, and the operands that have it.
    pub(crate) fn worst(&self, operands: &[u64], results: &[u64]) -> (f64, f64, f64) {
        let mut worst = (0.0, 0.0, 0.0);
        for (index, result) in results.iter().enumerate() {
            let (x, y) = (self.format.decode(operands[index]), self.format.decode(operands[INPUTS + index]));
            let exact = (self.exact)(x, y);
            let operands_are_normal = self.format.holds(x) && (self.sources == 1 || self.format.holds(y));
            if !operands_are_normal || !self.format.holds(exact) || !(self.domain)(x, y) {
                continue;
            }
            let difference = (self.format.decode(*result) - exact).abs();
            let error = match self.measure {
                Measure::Absolute => difference,
                Measure::Relative => difference / exact.abs(),
                Measure::Ulp => difference / self.format.ulp(exact),
            };
            if error > worst.0 || error.is_nan() {
                worst = (error, x, y);
            }
        }
        worst
    }

    /// The worst error of the machine, and the operands that have it.
    pub(crate) fn worst_on(&self, device: &Device) -> Result<(f64, f64, f64), Box<dyn Error>> {
        let kernel = self.kernel();
        let source = Source { name: self.opcode, ptx: &kernel };
        let module = device.load(&[source])?;
        let function = module.function("k").ok_or("the module has no kernel")?;
        let operands = self.operands();
        let places = [device.allocate(16 * INPUTS)?, device.allocate(8 * INPUTS)?];
        let bytes: Vec<u8> = operands.iter().flat_map(|operand| operand.to_le_bytes()).collect();
        // SAFETY: the launches have ended, and nothing else uses the device.
        unsafe { device.write(places[0], &bytes) }?;
        let parameters: Vec<u8> = places.iter().flat_map(|place| place.to_le_bytes()).collect();
        let launch = Launch {
            grid: [INPUTS as u32 / 256, 1, 1],
            block: [256, 1, 1],
            dynamic_shared: 0,
            parameters: &parameters,
            cooperative: false,
            cluster: None,
            device: 0,
        };
        device.launch(&function, &launch)?;
        let mut bytes = vec![0; 8 * INPUTS];
        // SAFETY: as above.
        unsafe { device.read(places[1], &mut bytes) }?;
        for place in places {
            device.free(place)?;
        }
        let results: Vec<u64> =
            bytes.chunks_exact(8).map(|chunk| chunk.try_into().map_or(0, u64::from_le_bytes)).collect();
        Ok(self.worst(&operands, &results))
    }

    /// An error in the terms of the measure.
    pub(crate) fn show(&self, error: f64) -> String {
        match self.measure {
            _ if error == 0.0 => "none".to_owned(),
            Measure::Ulp => format!("{error:.3} ulp"),
            Measure::Relative => format!("2^{:.2} relative", error.log2()),
            Measure::Absolute => format!("2^{:.2}", error.log2()),
        }
    }
}
