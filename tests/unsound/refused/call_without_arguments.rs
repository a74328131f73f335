//! A call of a kernel that was given nothing.
use cuda_std::prelude::*;

use cuda_std::launch::{Call, Kernel};

static KERNEL: Kernel = Kernel::new("fill", "", "", 0, &[]);

fn main() {
    let _call = Call::new(&KERNEL);
}
