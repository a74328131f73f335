use cuda_std::reduction;

#[reduction]
pub fn sum<T: core::ops::Add<Output = T>>(a: T, b: T) -> T {
    a + b
}

fn main() {}
