use cuda_std::reduction;

#[reduction]
pub fn sum(a: f32, b: f32) {
    let _ = a + b;
}

fn main() {}
