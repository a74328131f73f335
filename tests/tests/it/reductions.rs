//! Reductions and scans by functions of one's own: `#[reduction]` in tests/kernels/src/forms, launched through `rumba::algorithms`.

use rumba::Device;
use rumba::algorithms::{Algorithms, Own};
use test_kernels::forms::reductions::{further, then};

const PTX: &str = include_str!(env!("FORMS_PTX"));

#[test]
fn a_function_reduces() {
    let device = Device::new().expect("a device");
    let module = device.load_named("forms.ptx", PTX).expect("the PTX is right");
    let algorithms = Algorithms::new(&device);
    for n in [1, 2, 33, 1000, 70_000] {
        let mut x: Vec<f32> = (0..n).map(|i| (i % 97) as f32 - 48.0).collect();
        x[n / 2] = -1e6;
        let furthest = algorithms.reduce(&x, Own::new(&module, further, 0.0)).expect("it runs");
        assert_eq!(furthest, -1e6, "of {n}");
    }
    assert_eq!(algorithms.reduce(&[], Own::new(&module, further, 7.0)).expect("it runs"), 7.0);
}

#[test]
fn a_scan_keeps_the_order() {
    let device = Device::new().expect("a device");
    let module = device.load_named("forms.ptx", PTX).expect("the PTX is right");
    let algorithms = Algorithms::new(&device);
    let x: Vec<[u32; 2]> = (0..50_000).map(|i| [i * 7 + 1, i | 1]).collect();
    let mut y = vec![[0; 2]; x.len()];
    let identity = [0, 1];
    algorithms.inclusive_scan(&x, Own::new(&module, then, identity), &mut y).expect("it runs");
    let mut all = identity;
    for (i, (x, y)) in x.iter().zip(&y).enumerate() {
        let offset = x[0].wrapping_add(x[1].wrapping_mul(all[0]));
        all = [offset, all[1].wrapping_mul(x[1])];
        assert_eq!(*y, all, "element {i}");
    }
}
