#[cuda_std::address_space(local)]
static mut TILE: [f32; 64] = [0.0; 64];

fn main() {}
