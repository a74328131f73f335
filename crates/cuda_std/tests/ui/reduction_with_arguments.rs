use cuda_std::reduction;

#[reduction(of_nothing = 0.0)]
pub fn sum(a: f32, b: f32) -> f32 {
    a + b
}

fn main() {}
