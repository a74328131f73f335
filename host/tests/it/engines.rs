//! Algorithms and convolutions give the same bits on both engines of the software device. That they are right is tested beside them;
//! their kernels have loops in loops, blocks of rows, lanes that part at the ends of data, and warps that wait for others.

use rumba::Device;
use rumba::algorithms::{Algorithms, Max, Sum};
use rumba::array::Array;
use rumba::linalg::{Activation, Linalg};
use test_processes::{Outcome, alone};

/// The prefix of a result in the output of a process.
const RESULT: &str = "result of ";

/// Prints a hash of a result, FNV-1a.
fn print<T: bytemuck::Pod>(name: &str, values: &[T]) {
    let bytes = bytemuck::cast_slice::<T, u8>(values).iter();
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    println!("{RESULT}{name}: {hash:016x} of {}", values.len());
}

fn compute() -> Outcome {
    let device = Device::new()?;
    let algorithms = Algorithms::new(&device);
    for n in [1, 33, 1023, 4097, 100_003] {
        let mut words = device.zeros::<u32>(n)?;
        algorithms.fill_random(&mut words, 7)?;
        let mut numbers = device.zeros::<f32>(n)?;
        algorithms.fill_uniform(&mut numbers, -1.0..1.0, 11)?;
        let long: Vec<u64> = words.to_vec()?.into_iter().map(|word| u64::from(word) << 17 ^ 5).collect();
        let long = device.buffer_from(&long)?;
        // All of it, and a part that is not aligned for accesses of several elements.
        for from in [0, 1.min(n - 1)] {
            print("sums", &[algorithms.reduce(words.slice(from..), Sum)?]);
            print("greatest", &[algorithms.reduce(long.slice(from..), Max)?]);
            print("sums of f32", &[algorithms.reduce(numbers.slice(from..), Sum)?]);
            let mut scanned = device.zeros::<u32>(n)?;
            algorithms.inclusive_scan(words.slice(from..), Sum, scanned.slice_mut(from..))?;
            print("scans", &scanned.to_vec()?);
        }
        algorithms.sort(&mut words)?;
        print("sorts", &words.to_vec()?);
    }
    let linalg = Linalg::new(&device);
    let shapes = [
        ([1, 9, 7, 8], [8, 3, 3, 8], 1, 1),
        ([2, 6, 11, 72], [40, 3, 3, 72], 2, 1),
        ([3, 5, 5, 24], [16, 1, 1, 24], 1, 0),
        ([2, 7, 5, 3], [5, 3, 3, 3], 1, 1),
    ];
    for (images, filter, stride, padding) in shapes {
        let numbers = |length: usize, seed: usize| {
            (0..length).map(move |i| ((i * 7 + i / 5 * 3 + i / 31 + seed) % 71) as f32 * 0.37 - 9.0).collect::<Vec<_>>()
        };
        let bias = Array::from_slice(&device, [filter[0]], &numbers(filter[0], 2))?;
        let images = Array::from_slice(&device, images, &numbers(images.iter().product(), 1))?;
        let filter = Array::from_slice(&device, filter, &numbers(filter.iter().product(), 4))?;
        let convolution = linalg.convolution(images.view(), filter.view()).stride([stride; 2]).padding([padding; 2]);
        let result = convolution.bias(bias.view()).activation(Activation::Relu).eval()?;
        print("convolutions", &result.to_vec()?);
    }
    Ok(())
}

#[test]
fn both_engines_give_the_same_bits() {
    let on = |engine| {
        let environment = [("RUMBA_DEVICE", "soft"), ("RUMBA_ENGINE", engine), ("RUMBA_LOG", "errors")];
        alone(&environment, compute)
    };
    let Some(interpreted) = on("interpreter") else { return };
    let Some(compiled) = on("compiled") else { return };
    let results = |printed: &str| -> Vec<String> {
        let lines = printed.lines();
        lines.filter_map(|line| Some(line[line.find(RESULT)?..].to_owned())).collect()
    };
    assert!(compiled.contains("`: compiled "), "{compiled}");
    let (interpreted, compiled) = (results(&interpreted), results(&compiled));
    assert!(!interpreted.is_empty());
    assert_eq!(interpreted, compiled);
}
