//! Operations per clock of a multiprocessor, by compute capability: the one table behind every theoretical figure.
//!
//! Sources: for ordinary arithmetic the CUDA C++ Programming Guide, "Arithmetic Instructions", table "Throughput of Native
//! Arithmetic Instructions" (results per clock, doubled here, since a fused multiply-add is two operations); for tensor cores,
//! which the guide leaves out, NVIDIA's architecture white papers (dense, with their widest accumulators' rate for boards of
//! data centres; boards of the GeForce line halve it for 16-bit inputs with 32-bit accumulators). Where a source is silent
//! there is a 0, and no figure is made up.

use std::fmt;

/// Bytes per clock that a multiprocessor loads from its first-level cache, or from shared memory (32 banks of 4 bytes).
pub(super) const CACHE_BYTES_PER_CLOCK: u32 = 128;

/// A kind of arithmetic unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Unit {
    /// 16-bit floating point, two at a time (`fma.rn.f16x2`).
    F16,
    /// 16-bit floating point with the exponents of `f32` (`fma.rn.bf16x2`).
    Bf16,
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    F64,
    /// 32-bit integers (`mad.lo.s32`).
    Int32,
    /// Tensor cores with `f16` inputs.
    TensorF16,
    /// Tensor cores with `bf16` inputs.
    TensorBf16,
    /// Tensor cores with `tf32` inputs.
    TensorTf32,
    /// Tensor cores with `f64` inputs.
    TensorF64,
    /// Tensor cores with 8-bit integers.
    TensorInt8,
}

impl Unit {
    /// All of them.
    pub const ALL: [Unit; 10] = [
        Unit::F16,
        Unit::Bf16,
        Unit::F32,
        Unit::F64,
        Unit::Int32,
        Unit::TensorF16,
        Unit::TensorBf16,
        Unit::TensorTf32,
        Unit::TensorF64,
        Unit::TensorInt8,
    ];

    /// "FLOP/s", or "OP/s" of integers.
    pub(in crate::performance) fn operations(self) -> &'static str {
        match self {
            Unit::Int32 | Unit::TensorInt8 => "OP/s",
            _ => "FLOP/s",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::F16 => "f16",
            Unit::Bf16 => "bf16",
            Unit::F32 => "f32",
            Unit::F64 => "f64",
            Unit::Int32 => "int32",
            Unit::TensorF16 => "f16, tensor cores",
            Unit::TensorBf16 => "bf16, tensor cores",
            Unit::TensorTf32 => "tf32, tensor cores",
            Unit::TensorF64 => "f64, tensor cores",
            Unit::TensorInt8 => "int8, tensor cores",
        })
    }
}

/// Compute capability, and multiply-adds per clock in the order of [`Unit::ALL`].
type Entry = ((u32, u32), [u32; 10]);

#[rustfmt::skip]
const TABLE: &[Entry] = &[
    //          f16  bf16  f32  f64 int32   tensor: f16  bf16  tf32  f64  int8
    ((7, 0), [  128,    0,  64,  32,   64,          512,    0,    0,   0,    0]), // Volta
    ((7, 5), [  128,    0,  64,   2,   64,          512,    0,    0,   0, 1024]), // Turing
    ((8, 0), [  256,  128,  64,  32,   64,         1024, 1024,  512,  64, 2048]), // Ampere, A100
    ((8, 6), [  128,  128, 128,   2,   64,          512,  512,  256,   0, 1024]), // Ampere, GA10x
    ((8, 9), [  128,  128, 128,   2,   64,          512,  512,  256,   0, 1024]), // Ada
    ((9, 0), [  256,  256, 128,  64,   64,         2048, 2048, 1024, 128, 4096]), // Hopper
    ((10, 0), [ 256,  256, 128,  64,    0,         4096, 4096, 2048,  64, 8192]), // Blackwell, B200
    ((12, 0), [ 128,  128, 128,   2,  128,          512,  512,  256,   0, 1024]), // Blackwell, GB20x
];

/// Operations per clock of one multiprocessor. None if the table lacks the device, or the device lacks the units.
pub(super) fn per_clock(capability: (u32, u32), unit: Unit) -> Option<u32> {
    let (_, multiply_adds) = TABLE.iter().find(|(known, _)| *known == capability)?;
    let index = Unit::ALL.iter().position(|known| *known == unit)?;
    Some(2 * multiply_adds[index]).filter(|operations| *operations > 0)
}

#[cfg(test)]
mod tests {
    use super::{TABLE, Unit, per_clock};

    /// The data sheets' values, in TFLOP/s, with the multiprocessors and the clock in MHz that they refer to.
    #[test]
    fn datasheets_are_met() {
        for (capability, unit, multiprocessors, megahertz, expected) in [
            ((7, 0), Unit::TensorF16, 80, 1530, 125.0), // V100 SXM2
            ((8, 0), Unit::F32, 108, 1410, 19.5),       // A100
            ((8, 0), Unit::F16, 108, 1410, 78.0),
            ((8, 0), Unit::Bf16, 108, 1410, 39.0),
            ((8, 0), Unit::TensorF16, 108, 1410, 312.0),
            ((8, 0), Unit::TensorTf32, 108, 1410, 156.0),
            ((8, 0), Unit::TensorF64, 108, 1410, 19.5),
            ((8, 0), Unit::TensorInt8, 108, 1410, 624.0),
            ((8, 9), Unit::F32, 128, 2520, 82.6), // RTX 4090
            ((8, 9), Unit::TensorF16, 128, 2520, 330.3),
            ((9, 0), Unit::F32, 132, 1980, 66.9), // H100 SXM, H200
            ((9, 0), Unit::F64, 132, 1980, 33.5),
            ((9, 0), Unit::F16, 132, 1980, 133.8),
            ((9, 0), Unit::TensorF64, 132, 1980, 66.9),
            // For tensor cores the sheet counts with 1830 MHz.
            ((9, 0), Unit::TensorF16, 132, 1830, 989.4),
            ((9, 0), Unit::TensorTf32, 132, 1830, 494.7),
            ((9, 0), Unit::TensorInt8, 132, 1830, 1978.9),
            ((12, 0), Unit::F32, 170, 2407, 104.8), // RTX 5090
            ((12, 0), Unit::TensorF16, 170, 2407, 419.0),
        ] {
            let per_clock = per_clock(capability, unit).expect("in the table");
            let rate = f64::from(multiprocessors * per_clock) * f64::from(megahertz) / 1e6;
            assert!((rate / expected - 1.0).abs() < 0.01, "{capability:?} {unit}: {rate} instead of {expected}");
        }
    }

    #[test]
    fn rows_are_in_order_and_unknown_ones_are_none() {
        assert!(TABLE.is_sorted_by_key(|(capability, _)| *capability));
        assert_eq!(per_clock((7, 0), Unit::Bf16), None, "Volta has none");
        assert_eq!(per_clock((99, 0), Unit::F32), None);
    }
}
