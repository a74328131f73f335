use cuda_std::prelude::*;

#[derive(Clone, Copy, Debug)]
pub struct Point {
    x: f32,
}

#[kernel]
pub fn show() {
    let point = Point { x: 1.0 };
    cuda_std::println!("{point:?}");
    cuda_std::println!("{:>^8}", point.x);
}

fn main() {}
