use cuda_std::reduction;

#[reduction]
pub fn sum(a: u16, b: u16) -> u16 {
    a + b
}

fn main() {}
