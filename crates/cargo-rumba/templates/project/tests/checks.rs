//! Kernels under every check of the software device: memory, races, barriers, values never written. A file of its own,
//! because a process that uses a GPU cannot use the checks.

use kernels::saxpy;

/// The kernels as PTX, built by the build script.
const PTX: &str = include_str!(env!("KERNELS_PTX"));

#[test]
fn saxpy_passes_every_check() -> rumba::Result<()> {
    let x = vec![1.0; 1000];
    let mut y = vec![0.0; 1000];
    rumba::check(|gpu| gpu.load(PTX)?.for_each(1000, saxpy(2.0, &x, &mut y)))?.assert_none();
    assert_eq!(y, vec![2.0; 1000]);
    Ok(())
}
