use bytemuck::{Pod, Zeroable};
use cuda_std::io::{Conversion, Print};
use cuda_std::memory::Vector;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Seven([u8; 7]);

impl Vector for Seven {
    type Number = u32;
}

#[derive(Clone, Copy)]
struct Liar(u64);

impl Print for Liar {
    type Word = u64;
    const CONVERSION: Conversion = <bool as Print>::CONVERSION;
    fn word(&self) -> u64 {
        self.0
    }
}

struct Pieces;

impl cuda_std::io::Pieces for Pieces {
    const PIECES: &'static [cuda_std::io::Piece] = &[cuda_std::io::Piece::Value { flags: "n%", letter: None }];
}

fn main() {}
