use cuda_std::reduction;

#[reduction]
pub fn count(a: u32, b: f32) -> u32 {
    a + u32::from(b > 0.0)
}

fn main() {}
