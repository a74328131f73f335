//! Small integers as inputs of products, whose sums are exact in every type, and their bits.

use half::f16;

/// Integers from -2 to 2.
pub(crate) fn small(count: usize, seed: usize) -> Vec<i32> {
    (0..count).map(|i| ((i * i + seed * i) % 37 % 5) as i32 - 2).collect()
}

/// The sum of products.
pub(crate) fn dot(a: &[i32], b: &[i32]) -> i32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn with_sign(x: i32, codes: [u8; 3], sign: u8) -> u8 {
    codes[x.unsigned_abs() as usize] | if x < 0 { sign } else { 0 }
}

/// The bits of a small integer as `e4m3`.
pub(crate) fn e4m3(x: i32) -> u8 {
    with_sign(x, [0, 0x38, 0x40], 0x80)
}

/// The bits of a small integer as `e5m2`.
pub(crate) fn e5m2(x: i32) -> u8 {
    with_sign(x, [0, 0x3c, 0x40], 0x80)
}

/// The four bits of a small integer as `e2m1`.
pub(crate) fn e2m1(x: i32) -> u8 {
    with_sign(x, [0, 2, 4], 8)
}

/// Two numbers of four bits in a byte, the first one below.
pub(crate) fn packed(list: &[i32], encode: impl Fn(i32) -> u8) -> Vec<u8> {
    list.chunks(2).map(|pair| encode(pair[0]) | encode(pair[1]) << 4).collect()
}

/// The bits of `f16`s.
pub(crate) fn halves(list: &[i32]) -> Vec<u16> {
    list.iter().map(|x| f16::from_f32(*x as f32).to_bits()).collect()
}
