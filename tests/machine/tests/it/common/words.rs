//! Operands for tests of instructions: numbers at the edges of types, and words from a generator.

/// Numbers at the edges of some type.
pub const EDGES: [u64; 45] = [
    0,
    1,
    2,
    3,
    31,
    32,
    33,
    63,
    64,
    127,
    128,
    255,
    0x3c00,
    0x7c00,
    0x7c01,
    0x7fff,
    0x8000,
    0xffff,
    0x0001_0000,
    0x007f_ffff,
    0x0080_0000,
    0x3f00_0000,
    0x3f80_0000,
    0x4b00_0001,
    0x4f00_0000,
    0x5f00_0000,
    0x7e80_0001,
    0x7f7f_ffff,
    0x7f80_0000,
    0x7f80_0001,
    0x7fc0_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xbf80_0000,
    0xff80_0000,
    0xffff_ffff,
    0x3c00_7c01_8000_ffff,
    0x3fe0_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0x41df_ffff_ffc0_0000,
    0x7ff0_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0x8000_0000_0000_0000,
    0xbff8_0000_0000_0000,
    u64::MAX,
];

/// Words from a generator (xorshift): edges, small numbers, floating-point numbers of both widths, and any bits.
pub struct Words(u64);

impl Words {
    /// The sequence of a seed, which is not 0.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn random(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The next word.
    pub fn word(&mut self) -> u64 {
        let (kind, bits) = (self.random(), self.random());
        match kind % 8 {
            0 | 1 => EDGES[(bits % EDGES.len() as u64) as usize],
            2 => bits % 100,
            3 => f64::from(bits as i32 >> 20).to_bits(),
            4 => u64::from((bits as i32 as f32 / 65536.0).to_bits()),
            5 => bits >> 32,
            _ => bits,
        }
    }
}
