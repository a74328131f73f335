//! A static of this name is what a failed assertion would call.
use cuda_std::prelude::*;

#[cuda_std::externally_visible]
#[allow(non_upper_case_globals)]
pub static __assertfail: u32 = 1;

fn main() {}
