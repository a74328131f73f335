//! Reductions and scans of blocks, over shapes of blocks and types of numbers, and shared memory in loops and closures: results, and
//! no race in any order of the threads.
//!
//! `RUMBA_DEVICE=gpu` runs them on the GPU.

use cuda_std::launch::Elements;
use rumba::{Check, Checks, Device, Module, Result};
use test_kernels::forms::blocks;

const PTX: &str = include_str!(env!("FORMS_PTX"));

/// Blocks of one warp and of several, of whole warps and not, along one to three dimensions.
const SHAPES: &[(u32, u32, u32)] = &[
    (1, 1, 1),
    (2, 1, 1),
    (31, 1, 1),
    (32, 1, 1),
    (33, 1, 1),
    (63, 1, 1),
    (64, 1, 1),
    (65, 1, 1),
    (96, 1, 1),
    (255, 1, 1),
    (256, 1, 1),
    (511, 1, 1),
    (992, 1, 1),
    (993, 1, 1),
    (1023, 1, 1),
    (1024, 1, 1),
    (16, 16, 1),
    (8, 8, 1),
    (7, 9, 1),
    (1, 33, 1),
    (1, 1024, 1),
    (5, 3, 4),
    (4, 4, 4),
    (1, 1, 64),
    (3, 1, 60),
    (10, 10, 10),
];

fn start(device: &Device) -> Module {
    device.load_named("forms.ptx", PTX).expect("the PTX is right")
}

/// All types: numbers that are exact in each, though sums of bytes wrap around.
macro_rules! compare {
    ($module:ident, $shape:ident: $($ty:ident ($plus:expr))*) => {$({
        let (x, y, z) = $shape;
        let n = (x * y * z) as usize;
        let plus: fn($ty, $ty) -> $ty = $plus;
        let input: Vec<$ty> = (0..n).map(|i| (i * 37 % 101) as $ty).collect();
        let mut output = vec![[0 as $ty; 9]; n];
        let call = blocks::of_block::<$ty>(&input, (&mut output, [z as usize, y as usize, x as usize]));
        // On a GPU, a kernel with many registers has smaller blocks.
        let limit = $module.info(call.kernel().name).expect("the module has the kernel").threads_per_block;
        if n <= limit as usize {
            $module.launch(((1, 1, 1), $shape), call).expect("it runs");
            let larger = |a: $ty, b: $ty| if a > b { a } else { b };
            let zero = 0 as $ty;
            let total = input.iter().copied().fold(zero, plus);
            let least = input.iter().copied().fold(input[0], |a, b| if a < b { a } else { b });
            let most = input.iter().copied().fold(zero, larger);
            let (mut before, mut largest) = (zero, zero);
            for (i, (own, found)) in input.iter().zip(&output).enumerate() {
                let through = plus(before, *own);
                largest = larger(largest, *own);
                let expected = [total, least, most, through, before, before, total, largest, input[0]];
                assert_eq!(*found, expected, "thread {i} of {:?}, {}", $shape, stringify!($ty));
                before = through;
            }
        }
    })*};
}

#[test]
fn blocks_of_any_shape_reduce_and_scan() {
    let device = Device::new().expect("there is a device");
    let module = start(&device);
    for &shape in SHAPES {
        compare! { module, shape:
            u8 (u8::wrapping_add)
            i16 (i16::wrapping_add)
            u32 (u32::wrapping_add)
            i32 (i32::wrapping_add)
            i64 (i64::wrapping_add)
            f32 (|a, b| a + b)
            f64 (|a, b| a + b)
        }
    }
}

#[test]
fn scans_keep_the_order() {
    let device = Device::new().expect("there is a device");
    let module = start(&device);
    for &shape in SHAPES {
        let (x, y, z) = shape;
        let n = x * y * z;
        let input: Vec<[u32; 2]> = (0..n).map(|i| [2 * i + 3, i * i + 1]).collect();
        let mut output = vec![[0; 4]; n as usize];
        let call = blocks::composed(&input, (&mut output, [z as usize, y as usize, x as usize]));
        module.launch(((1, 1, 1), shape), call).expect("it runs");
        let mut before = [1, 0];
        for (i, (own, found)) in input.iter().zip(&output).enumerate() {
            let through = blocks::then(before, *own);
            assert_eq!(*found, [through[0], through[1], before[0], before[1]], "thread {i} of {shape:?}");
            before = through;
        }
    }
}

#[test]
fn bits_of_blocks_are_combined() {
    let device = Device::new().expect("there is a device");
    let module = start(&device);
    let input: Vec<u64> = (0..96).map(|i| 0xff00_ff00_ff00_ff00 ^ (1 << (i % 40))).collect();
    let mut output = vec![[0; 3]; 96];
    module.launch(((1, 1), (24, 4)), blocks::bits_of_block(&input, (&mut output, [4, 24]))).expect("it runs");
    let expected =
        [input.iter().fold(!0, |a, b| a & b), input.iter().fold(0, |a, b| a | b), input.iter().fold(0, |a, b| a ^ b)];
    assert_eq!(output, [expected; 96]);
}

#[test]
fn rows_use_shared_memory_in_loops_and_closures() {
    // The mean of a row is exact, and so is the difference from it.
    const COLUMNS: usize = 64;
    let run = |device: &Device| -> Result<()> {
        let module = start(device);
        let before: Vec<f32> = (0..7 * COLUMNS).map(|i| (i * i % 128) as f32).collect();
        let (mut a, mut b) = (before.clone(), before.clone());
        let call = blocks::centred_and_reversed((&mut a, [7, COLUMNS]), (&mut b, [7, COLUMNS]), Elements(COLUMNS));
        module.launch((3, COLUMNS as u32), call)?;
        let rows = before.chunks(COLUMNS).flat_map(|row| {
            let mean = row.iter().sum::<f32>() / COLUMNS as f32;
            row.iter().rev().map(move |x| x - mean)
        });
        let expected: Vec<f32> = rows.collect();
        assert_eq!((a, b), (expected.clone(), expected));
        Ok(())
    };
    let device = Device::new().expect("there is a device");
    run(&device).expect("it runs");
    // The software device alone makes checks.
    if device.capacity().expect("the device is known").is_software() {
        let checks = Checks::default().only([Check::Mem, Check::Race, Check::Sync, Check::Init]).schedules(10);
        checks.run(run).expect("nothing is wrong but what is found").assert_none();
    }
}
