//! A call of a kernel that was given nothing.
use cuda_std::prelude::*;

use cuda_std::launch::{Call, Kernel, Parameter, Role};

static KERNEL: Kernel = Kernel::new("fill", "", "", 0, &[Parameter::new("y", "u64", Role::Value)]);

fn main() {
    let _call = Call::new(&KERNEL);
}
