use cuda_std::prelude::*;

#[derive(Clone, Copy)]
pub struct Point {
    x: f32,
    y: f32,
}

#[vectorize]
pub fn length(point: Point) -> f32 {
    (point.x * point.x + point.y * point.y).sqrt()
}

fn main() {}
