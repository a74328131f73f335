use cuda_std::address_space;
use cuda_std::atomic::Atomic;

#[address_space(constant)]
static COUNT: Atomic<u32> = Atomic::new(0);

// These cannot change.
#[address_space(constant)]
static NAMES: [&str; 2] = ["a", "b"];

#[address_space(global)]
static ALL: Atomic<u32> = Atomic::new(0);

fn main() {}
