//! Kernels against plain loops, on the device that `RUMBA_DEVICE` names (`auto`, `gpu` or `soft`).

use kernels::saxpy;
use rumba::prelude::*;

/// The kernels as PTX, built by the build script.
const PTX: &str = include_str!(env!("KERNELS_PTX"));

#[test]
fn saxpy_computes_what_a_loop_does() -> rumba::Result<()> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    // Sizes that fill no block, one block and several.
    for n in [1, 31, 256, 1000] {
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let mut y = vec![0.5; n];
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| y + 2.0 * x).collect();

        module.for_each(n, saxpy(2.0, &x, &mut y))?;
        assert_eq!(y, expected, "{n} elements");
    }
    Ok(())
}
