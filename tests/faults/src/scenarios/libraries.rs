//! Algorithms and linear algebra.

use cuda_std::half::f16;
use rumba::Result;
use rumba::algorithms::{Algorithms, Max, Sum};
use rumba::array::Array;
use rumba::linalg::{Activation, Attention, Linalg};

use crate::World;

pub(super) fn reductions(world: &World) -> Result<()> {
    let algorithms = Algorithms::new(&world.device);
    let numbers: Vec<u32> = (1..=1000).collect();
    assert_eq!(algorithms.reduce(&numbers, Sum)?, 500_500);
    assert_eq!(algorithms.reduce(&world.device.buffer_from(&numbers)?, Max)?, 1000);
    Ok(())
}

pub(super) fn scans(world: &World) -> Result<()> {
    let algorithms = Algorithms::new(&world.device);
    let (numbers, mut sums) = (vec![1_u32; 5000], vec![0; 5000]);
    algorithms.inclusive_scan(&numbers, Sum, &mut sums)?;
    assert!(sums.iter().zip(1..).all(|(sum, number)| *sum == number));
    algorithms.exclusive_scan(&numbers, Sum, 0, &mut sums)?;
    assert!(sums.iter().zip(0..).all(|(sum, number)| *sum == number));
    Ok(())
}

pub(super) fn sorted(world: &World) -> Result<()> {
    let algorithms = Algorithms::new(&world.device);
    let mut keys: Vec<u32> = (0..3000).map(|number: u32| number.wrapping_mul(2_654_435_761)).collect();
    let mut expected = keys.clone();
    expected.sort_unstable();
    algorithms.sort(&mut keys)?;
    assert_eq!(keys, expected);
    let mut keys = world.device.buffer_from(&[3_i32, -1, 2])?;
    algorithms.sort_descending(&mut keys)?;
    assert_eq!(keys.to_vec()?, [3, 2, -1]);
    Ok(())
}

pub(super) fn sorted_pairs(world: &World) -> Result<()> {
    let algorithms = Algorithms::new(&world.device);
    let (mut keys, mut values) = ([3_u32, 1, 2], [30_u64, 10, 20]);
    algorithms.sort_by_key(&mut keys, &mut values)?;
    assert_eq!((keys, values), ([1, 2, 3], [10, 20, 30]));
    let mut indices = [0; 3];
    algorithms.argsort(&[0.5_f32, -1.0, 0.25], &mut indices)?;
    assert_eq!(indices, [1, 2, 0]);
    Ok(())
}

pub(super) fn histograms(world: &World) -> Result<()> {
    let algorithms = Algorithms::new(&world.device);
    let mut counts = [0; 4];
    algorithms.histogram(&[0.1_f32, 0.2, 0.3, 0.9], 0.0..1.0, &mut counts)?;
    assert_eq!(counts, [2, 1, 0, 1]);
    let mut counts = [0; 256];
    algorithms.count_values(b"abracadabra", &mut counts)?;
    assert_eq!(counts[usize::from(b'a')], 5);
    Ok(())
}

pub(super) fn random_numbers(world: &World) -> Result<()> {
    let algorithms = Algorithms::new(&world.device);
    let (mut one, mut two) = (vec![0_u32; 100], world.device.zeros::<u32>(100)?);
    algorithms.fill_random(&mut one, 7)?;
    algorithms.fill_random(&mut two, 7)?;
    assert_eq!(two.to_vec()?, one);
    Ok(())
}

pub(super) fn transposed(world: &World) -> Result<()> {
    let algorithms = Algorithms::new(&world.device);
    let mut output = [0_u32; 6];
    algorithms.transpose(&[1, 2, 3, 4, 5, 6], [2, 3], &mut output)?;
    assert_eq!(output, [1, 4, 2, 5, 3, 6]);
    algorithms.release_memory();
    algorithms.transpose(&output, [3, 2], &mut [0; 6])
}

pub(super) fn products(world: &World) -> Result<()> {
    let linalg = Linalg::new(&world.device);
    let a = Array::from_slice(&world.device, [2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let b = Array::from_slice(&world.device, [3, 2], &[1.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0])?;
    let mut c = Array::zeros(&world.device, [2, 2])?;
    linalg.product(&a, &b).eval_into(&mut c)?;
    assert_eq!(c.to_vec()?, [4.0, 5.0, 10.0, 11.0]);
    let bias = Array::full(&world.device, [2], -10.0_f32)?;
    linalg.product(&a, &b).bias(&bias).activation(Activation::Relu).eval_into(&mut c)?;
    assert_eq!(c.to_vec()?, [0.0, 0.0, 0.0, 1.0]);
    Ok(())
}

pub(super) fn products_of_halves(world: &World) -> Result<()> {
    let linalg = Linalg::new(&world.device);
    let a = Array::full(&world.device, [64, 32], f16::from_f32(0.5))?;
    let b = Array::full(&world.device, [32, 64], f16::from_f32(2.0))?;
    let mut c = Array::full(&world.device, [64, 64], f16::from_f32(1.0))?;
    linalg.product(&a, &b).accumulate(1.0).eval_into(&mut c)?;
    assert!(c.to_vec()?.iter().all(|c| c.to_f32() == 33.0));
    linalg.release_memory();
    Ok(())
}

pub(super) fn products_on_a_stream(world: &World) -> Result<()> {
    let stream = world.device.stream()?;
    let linalg = Linalg::new(&world.device).on(&stream);
    let a = Array::full(&world.device, [8, 8], 1.0_f64)?;
    let mut c = Array::zeros(&world.device, [8, 8])?;
    linalg.product(&a, &a).eval_into(&mut c)?;
    stream.synchronize()?;
    assert_eq!(c.to_vec()?, [8.0; 64]);
    Ok(())
}

pub(super) fn products_in_a_graph(world: &World) -> Result<()> {
    let linalg = Linalg::new(&world.device);
    let a = Array::full(&world.device, [16, 16], 1.0_f32)?;
    let (mut b, mut c) = (Array::zeros(&world.device, [16, 16])?, Array::zeros(&world.device, [16, 16])?);
    // Kernels are chosen and loaded before.
    linalg.product(&a, &a).eval_into(&mut b)?;
    let graph = world.device.capture(|stream| {
        let linalg = linalg.on(stream);
        linalg.product(&a, &a).eval_into(&mut b)?;
        linalg.product(&a, &b).eval_into(&mut c)
    })?;
    graph.launch()?;
    assert_eq!(c.to_vec()?, [256.0; 256]);
    Ok(())
}

pub(super) fn convolutions(world: &World) -> Result<()> {
    let linalg = Linalg::new(&world.device);
    let image = Array::arange(&world.device, 0.0_f32, 1.0, 16)?.reshape([1, 4, 4, 1])?;
    let filter = Array::full(&world.device, [1, 3, 3, 1], 1.0_f32)?;
    let sums = linalg.convolution(image.view(), filter.view()).eval()?;
    assert_eq!(sums.to_vec()?, [45.0, 54.0, 81.0, 90.0]);
    Ok(())
}

pub(super) fn attention(world: &World) -> Result<()> {
    let linalg = Linalg::new(&world.device);
    let same = Array::full(&world.device, [1, 1, 8, 16], f16::from_f32(0.5))?;
    let mut output = Array::zeros(&world.device, [1, 1, 8, 16])?;
    linalg.attention(&same, &same, &same, &mut output, Attention::default())?;
    assert!(output.to_vec()?.iter().all(|x| (x.to_f32() - 0.5).abs() < 1e-3));
    Ok(())
}
