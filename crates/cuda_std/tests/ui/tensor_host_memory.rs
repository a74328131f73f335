use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::*;

#[kernel]
pub fn look(a: TensorMap<Swizzled<f16, 128, 64>>, c: TensorOutput<Swizzled<f16, 16, 64>, Tiling<64, 64>>) {
    a.prefetch();
    c.prefetch();
}

fn launch(mut x: Vec<f16>) {
    let y = x.clone();
    look((&y, [64, 64]), (&mut x, [64, 64]));
    look(&y, &mut x);
}

fn main() {}
