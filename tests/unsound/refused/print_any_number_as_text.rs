//! A printed value that says it is text would have its bits taken for an address.
use cuda_std::prelude::*;

use cuda_std::io::Print;

#[derive(Clone, Copy)]
pub struct Liar(u64);

impl Print for Liar {
    type Word = u64;
    const CONVERSION: cuda_std::io::Conversion = <bool as Print>::CONVERSION;
    fn word(&self) -> u64 {
        self.0
    }
}

fn main() {}
