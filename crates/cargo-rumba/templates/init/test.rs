//! Kernels against plain loops, on the device that `RUMBA_DEVICE` names (`auto`, `gpu` or `soft`).

use kernels::amplify;
use rumba::prelude::*;

/// The kernels as PTX, built by the build script.
const PTX: &str = include_str!(env!("KERNELS_PTX"));

#[test]
fn amplify_multiplies_each_element() -> rumba::Result<()> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    // Sizes that fill no block, one block and several.
    for n in [1, 31, 256, 1000] {
        let mut values: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let expected: Vec<f32> = values.iter().map(|value| value * 3.0).collect();
        module.for_each(n, amplify(3.0, &mut values))?;
        assert_eq!(values, expected, "{n} elements");
    }
    Ok(())
}
