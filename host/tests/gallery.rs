//! Kernels that were compiled from Rust, with device memory for their arguments: shapes, sums of
//! blocks, and what happens when a kernel panics.
#![cfg(feature = "gallery")]

use kernels_gpu::matmul::{TILE, matmul_tiled};
use kernels_gpu::reduce::reduce;
use kernels_gpu::saxpy::saxpy;
use rumba::prelude::*;
use rumba::{Error, showcase};

fn start() -> rumba::Result<(Device, Module)> {
    let device = Device::new()?;
    let module = device.load_named("the gallery's PTX", showcase::PTX)?;
    Ok((device, module))
}

#[test]
fn matrices_in_device_memory() -> rumba::Result<()> {
    // 5 × 40 times 40 × 7: smaller and larger than a tile, and no multiple of it.
    const ROWS: usize = 5;
    const INNER: usize = 40;
    const COLUMNS: usize = 7;
    let (device, module) = start()?;
    let a = device.buffer_from(&[1.0_f32; ROWS * INNER])?;
    let b = device.buffer_from(&[0.5_f32; INNER * COLUMNS])?;
    let mut c = device.zeros::<f32>(ROWS * COLUMNS)?;
    let tile = TILE as u32;
    let threads = LaunchConfig::covering((COLUMNS as u32, ROWS as u32), (tile, tile));
    module.launch(threads, matmul_tiled(&a, &b, INNER as u32, (&mut c, [ROWS, COLUMNS])))?;
    assert_eq!(c.to_vec()?, [20.0; ROWS * COLUMNS]);

    let wrong_shape = module.launch(threads, matmul_tiled(&a, &b, INNER as u32, (&mut c, [ROWS, ROWS])));
    let text = wrong_shape.expect_err("5 × 5 is not 35").to_string();
    assert!(text.contains("`c`") && text.contains("35 elements"), "{text}");

    let too_large = LaunchConfig::new(1, (2 * tile, tile));
    let launched = module.launch(too_large, matmul_tiled(&a, &b, INNER as u32, (&mut c, [ROWS, COLUMNS])));
    let text = launched.expect_err("the tile has no room").to_string();
    assert!(
        text.contains("`matmul_tiled`") && text.contains("shared memory"),
        "{text}"
    );
    Ok(())
}

#[test]
fn one_sum_for_each_block() -> rumba::Result<()> {
    let (device, module) = start()?;
    let x = device.buffer_from(&[1.0_f32; 10_000])?;
    let mut sums = device.zeros::<f32>(8)?;
    module.launch((8, 128), reduce(&x, &mut sums))?;
    assert_eq!(sums.to_vec()?.iter().sum::<f32>(), 10_000.0);

    let text = module
        .launch((9, 128), reduce(&x, &mut sums))
        .expect_err("the ninth block has no element")
        .to_string();
    assert!(text.contains("`sums`") && text.contains("8 elements"), "{text}");
    Ok(())
}

/// It ends its context, so it runs in a process of its own: see context.rs.
#[test]
fn an_index_panic_names_the_line() {
    const CHILD: &str = "RUMBA_TEST_PANIC";
    if std::env::var_os(CHILD).is_none() {
        let program = std::env::current_exe().expect("a test knows itself");
        let output = std::process::Command::new(program)
            .args(["--exact", "an_index_panic_names_the_line", "--nocapture"])
            .env(CHILD, "1")
            .output()
            .expect("a test can be run again");
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        // NVIDIA's driver prints the assertion itself, the error has it where the device reports.
        for part in ["1 passed", "saxpy.rs", "the len is 4 but the index is 4"] {
            assert!(text.contains(part), "`{part}` is missing in: {text}");
        }
        return;
    }
    let (_, module) = start().expect("there is a device");
    let mut y = [0.0; 5];
    let Err(Error::Fault(fault)) = module.for_each(5, saxpy(1.0, &[1.0; 4], &mut y)) else {
        panic!("an index beyond the end must end the kernel");
    };
    assert_eq!(fault.error.name, "CUDA_ERROR_ASSERT", "{fault}");
    println!("{fault}");
}
