use cuda_std::reduction;

#[reduction]
pub fn sum(a: f32, b: f32, c: f32) -> f32 {
    a + b + c
}

fn main() {}
