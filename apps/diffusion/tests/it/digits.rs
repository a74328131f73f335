//! The networks with their trained weights against PyTorch's results (`digits/train.py`), and what the sampler draws.

use cuda_std::half::{bf16, f16};
use diffusion::digits::{DECODED, LATENTS, SIZE, Sampler, decoder, network};
use diffusion::normal;
use rumba::Device;
use rumba::array::Array;
use rumba_nn::models::Subject;
use rumba_nn::{Element, Error, Nn, Result, Weights};

const COUNT: usize = 3;
const LEN: usize = LATENTS[0] * LATENTS[1] * LATENTS[2];

/// The largest difference, of the largest number.
fn difference(own: &Array<f32, 4>, golden: &Weights, name: &str) -> Result<f32> {
    let (own, expected) = (own.to_vec()?, golden.array::<f32, 4>(name, own.shape())?.to_vec()?);
    let largest = expected.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
    assert!(largest > 0.9, "the golden has numbers");
    let differences = own.iter().zip(&expected).map(|(own, expected)| (own - expected).abs());
    Ok(differences.fold(0.0, f32::max) / largest)
}

/// Differences of the velocities of noisy latents, and of the pictures decoded from these latents.
fn differences<T: Element>(nn: &Nn) -> Result<[f32; 2]> {
    let golden = Weights::open(nn, concat!(env!("CARGO_MANIFEST_DIR"), "/digits/golden.safetensors"))?;
    let [rows, columns, channels] = LATENTS;
    let x = golden.array::<f32, 4>("x", [COUNT, rows, columns, channels])?;
    let times = golden.array::<f32, 1>("times", [COUNT])?;
    let classes = nn.device().buffer_from(&[3, 10, 7])?;
    let (network, decoder) = (network::<T>(nn)?, decoder::<T>(nn)?);
    let mut velocities = Array::zeros(nn.device(), x.shape())?;
    let mut pictures = Array::zeros(nn.device(), [COUNT, DECODED, DECODED, 1])?;
    nn.run(|run| {
        let x = run.tensor::<T, 4>(x.view())?;
        let v = network.forward(run, &x, times.as_slice(), Subject::Class(classes.as_slice()))?;
        run.write(&v, velocities.view_mut())?;
        run.write(&decoder.forward(run, &x)?, pictures.view_mut())
    })?;
    Ok([difference(&velocities, &golden, "v")?, difference(&pictures, &golden, "images")?])
}

#[test]
fn the_networks_compute_what_pytorch_does() -> Result<()> {
    let nn = Nn::new(&Device::new()?)?;
    for (name, differences, tolerance) in [
        ("f32", differences::<f32>(&nn)?, 1e-5),
        ("f16", differences::<f16>(&nn)?, 1e-2),
        ("bf16", differences::<bf16>(&nn)?, 8e-2),
    ] {
        let [velocity, picture] = differences;
        assert!(velocity < tolerance && picture < tolerance, "{name}: {velocity} in velocities, {picture} in pictures");
    }
    Ok(())
}

#[test]
fn digits_are_drawn() -> Result<()> {
    let nn = Nn::new(&Device::new()?)?;
    let noise = normal(0, 2 * LEN);
    let mut sampler = Sampler::<f32>::new(&nn, &[1, 0], 1.0)?;
    let mut draw = |noise: &[f32]| {
        sampler.start(noise)?;
        let mut steps = 0;
        sampler.run(6, || steps += 1)?;
        assert_eq!(steps, 6);
        sampler.decode()?;
        sampler.pictures()
    };
    let pictures = draw(&noise)?;
    assert_eq!(pictures.len(), 2 * SIZE * SIZE);
    assert!(pictures.iter().all(|x| x.abs() < 2.0), "{pictures:?}");
    // A line through the middle of a one meets its stroke, and that of a zero is empty.
    let middle = |picture: usize, half: usize| {
        let row = &pictures[(picture * SIZE + SIZE / 2) * SIZE..][..SIZE];
        let largest = |largest: f32, x: &f32| largest.max(*x);
        row[SIZE / 2 - half..SIZE / 2 + half].iter().fold(-1.0, largest)
    };
    let (one, zero) = (middle(0, 8), middle(1, 2));
    assert!(one > 0.5 && zero < -0.5, "{one} and {zero}");
    // The same noise becomes the same digits, other noise does not.
    assert_eq!(draw(&noise)?, pictures);
    assert_ne!(draw(&normal(1, 2 * LEN))?, pictures);
    Ok(())
}

#[test]
fn drawing_is_clean_under_all_checks() {
    let findings = rumba::check(|device| {
        let draw = || -> Result<()> {
            let nn = Nn::new(device)?;
            let mut sampler = Sampler::<f32>::new(&nn, &[4], 1.0)?;
            sampler.start(&normal(0, LEN))?;
            sampler.run(1, || ())?;
            sampler.decode()?;
            assert_eq!(sampler.pictures()?.len(), SIZE * SIZE);
            Ok(())
        };
        draw().map_err(|error| match error {
            Error::Rumba(error) => error,
            error => panic!("{error}"),
        })
    });
    findings.expect("a digit is drawn").assert_none();
}
