//! The errors of the mathematical functions: a small sample of every function keeps the bounds.

use rumba::Device;
use rumba_tests::ulp::bounds::Bounds;
use rumba_tests::ulp::measure::{Effort, measure};

#[test]
fn a_sample_keeps_the_bounds() {
    let effort = Effort { single: 1 << 14, other: 200, seed: 7 };
    let device = Device::new().expect("the software device is always there");
    let all = measure(&device, effort, "").expect("the kernels run");
    Bounds::read().and_then(|bounds| bounds.check(&all)).unwrap_or_else(|error| panic!("{error}"));
}
