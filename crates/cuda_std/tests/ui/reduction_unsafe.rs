use cuda_std::reduction;

#[reduction]
pub unsafe fn sum(a: f32, b: f32) -> f32 {
    a + b
}

fn main() {}
