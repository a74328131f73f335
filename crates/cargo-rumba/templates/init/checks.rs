//! Kernels under every check of the software device: memory, races, barriers, values never written. A file of its own,
//! because a process that uses a GPU cannot use the checks.

use kernels::amplify;

/// The kernels as PTX, built by the build script.
const PTX: &str = include_str!(env!("KERNELS_PTX"));

#[test]
fn amplify_passes_every_check() -> rumba::Result<()> {
    let mut values = vec![1.0; 1000];
    rumba::check(|gpu| gpu.load(PTX)?.for_each(1000, amplify(3.0, &mut values)))?.assert_none();
    assert_eq!(values, vec![3.0; 1000]);
    Ok(())
}
