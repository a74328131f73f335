//! The network with its trained weights against PyTorch's results (`digits/golden.py`), and what the sampler draws.

use cuda_std::half::f16;
use diffusion::digits::{SIZE, Sampler, network};
use rumba::Device;
use rumba::array::Array;
use rumba_nn::models::Subject;
use rumba_nn::{Element, Nn, Result, Weights};

fn largest_difference<T: Element>(nn: &Nn) -> Result<f32> {
    let golden = Weights::open(nn, concat!(env!("CARGO_MANIFEST_DIR"), "/digits/golden.safetensors"))?;
    let shape = [3, SIZE, SIZE, 1];
    let (x, expected) = (golden.array::<f32, 4>("x", shape)?, golden.array::<f32, 4>("y", shape)?);
    let times = golden.array::<f32, 1>("times", [3])?;
    let classes = nn.device().buffer_from(&[3, 10, 7])?;
    let network = network::<T>(nn)?;
    let mut own = Array::zeros(nn.device(), shape)?;
    nn.run(|run| {
        let y = network.forward(
            run,
            &run.tensor::<T, 4>(x.view())?,
            times.as_slice(),
            Subject::Class(classes.as_slice()),
        )?;
        run.write(&y, own.view_mut())
    })?;
    let (own, expected) = (own.to_vec()?, expected.to_vec()?);
    assert!(expected.iter().any(|x| x.abs() > 1.0), "the golden has numbers");
    Ok(own
        .iter()
        .zip(&expected)
        .map(|(own, expected)| (own - expected).abs())
        .fold(0.0, f32::max))
}

#[test]
fn the_network_computes_what_pytorch_does() -> Result<()> {
    let nn = Nn::new(&Device::new()?)?;
    let (single, half) = (largest_difference::<f32>(&nn)?, largest_difference::<f16>(&nn)?);
    assert!(single < 2e-5, "{single} in f32");
    assert!(half < 2e-2, "{half} in f16");
    Ok(())
}

#[test]
fn digits_are_drawn() -> Result<()> {
    let nn = Nn::new(&Device::new()?)?;
    let noise: Vec<f32> = (0..2 * SIZE * SIZE)
        .map(|i| ((i * 37 % 64) as f32 / 64.0 - 0.5) * 3.46)
        .collect();
    let mut sampler = Sampler::new::<f32>(&nn, &[1, 0], 1.0)?;
    sampler.start(&noise)?;
    let mut steps = 0;
    sampler.run(6, || steps += 1)?;
    assert_eq!(steps, 6);
    let pictures = sampler.pictures()?;
    assert!(pictures.iter().all(|x| x.abs() < 2.0), "{pictures:?}");
    // The middle of a one is ink, that of a zero is not.
    let middle = |picture: usize| {
        pictures[picture * SIZE * SIZE..][..SIZE * SIZE][27..29]
            .iter()
            .sum::<f32>()
    };
    assert!(middle(0) > 0.5 && middle(1) < -0.5, "{} and {}", middle(0), middle(1));
    Ok(())
}
