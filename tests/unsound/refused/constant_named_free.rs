//! A constant of this name is what the heap would call.
use cuda_std::prelude::*;

cuda_std::constant! {
    #[allow(non_upper_case_globals)]
    pub static free: u32 = 1;
}

fn main() {}
