#[cuda_std::address_space(shared)]
fn tile() {}

#[cuda_std::externally_visible]
struct Table;

#[cuda_std::gpu_only]
static LANE: u32 = 0;

fn main() {}
