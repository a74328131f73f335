//! Digits from noise, by a latent diffusion that `digits/train.py` trained: the networks, and a step of their sampler as one graph.

use rumba::DeviceBuffer;
use rumba::array::Array;
use rumba_nn::models::{Condition, Subject, UNet2d, UNet2dShape, VaeDecoder, VaeShape};
use rumba_nn::{Element, Nn, Program, Result, Weights};
use std::f32::consts::FRAC_PI_2;

/// Rows and columns of a picture.
pub const SIZE: usize = 28;

/// Rows, columns and channels of its latents.
pub const LATENTS: [usize; 3] = [8, 8, 4];

/// Rows and columns of what the decoder makes of them: a picture with a margin.
pub const DECODED: usize = 32;

/// The class of pictures of any digit.
pub const ANY: u32 = 10;

/// The network that predicts velocities, with its weights as numbers of `T`.
///
/// # Errors
/// The runtime's.
pub fn network<T: Element>(nn: &Nn) -> Result<UNet2d<T>> {
    // In `f16`, as large as `UNET` of `digits/train.py` says.
    let weights = include_bytes!("../digits/unet.safetensors").to_vec();
    let weights = Weights::from_bytes(nn, "digits/unet.safetensors", weights)?;
    let shape = UNet2dShape {
        channels: LATENTS[2],
        levels: vec![(48, None), (96, Some(2))],
        middle: 2,
        blocks: 1,
        groups: 8,
        condition: Condition::Class(11),
    };
    UNet2d::load(&weights, &shape)
}

/// Decodes latents to pictures, with its weights as numbers of `T`.
///
/// # Errors
/// The runtime's.
pub fn decoder<T: Element>(nn: &Nn) -> Result<VaeDecoder<T>> {
    // As `VAE` says.
    let weights = include_bytes!("../digits/vae.safetensors").to_vec();
    let weights = Weights::from_bytes(nn, "digits/vae.safetensors", weights)?;
    let shape = VaeShape { latent: LATENTS[2], channels: 1, levels: vec![16, 32, 32], blocks: 1, groups: 8 };
    VaeDecoder::load(&weights, &shape)
}

/// A deterministic sampler, DDIM (Song, Meng, Ermon 2021), of a network that predicts velocities (Salimans, Ho 2022).
/// Pictures are drawn as latents, and decoded at the end.
#[derive(Debug)]
pub struct Sampler<T> {
    /// The latents so far: noise at first.
    latents: Array<f32, 4>,
    decoded: Array<f32, 4>,
    /// The time of each picture, of 1000.
    times: Array<f32, 1>,
    /// The factors of latents and of velocities.
    factors: [Array<f32, 1>; 2],
    step: Program,
    decoder: VaeDecoder<T>,
    nn: Nn,
}

impl<T: Element> Sampler<T> {
    /// Records a step for a picture of each of these digits, computed in `T`. `guidance` says how much more a picture is to be one of
    /// its digit than one of any (Ho, Salimans 2022): 1 is no more.
    ///
    /// # Errors
    /// The runtime's.
    pub fn new(nn: &Nn, digits: &[u32], guidance: f32) -> Result<Sampler<T>> {
        let (device, count) = (nn.device(), digits.len());
        let network = network::<T>(nn)?;
        let [rows, columns, channels] = LATENTS;
        let mut latents = Array::zeros(device, [count, rows, columns, channels])?;
        let times = Array::full(device, [count], 1000.0)?;
        let factors = [Array::full(device, [1], 1.0)?, Array::full(device, [1], 0.0)?];
        let [classes, any] = [device.buffer_from(digits)?, device.buffer_from(&vec![ANY; count])?];
        let guide = [Array::full(device, [1], guidance)?, Array::full(device, [1], 1.0 - guidance)?];
        let step = nn.program(|run| {
            let x = run.tensor::<T, 4>(latents.view())?;
            let predict = |digits: &DeviceBuffer<u32>| {
                let digits = Subject::Class(digits.as_slice());
                network.forward(run, &x, times.as_slice(), digits)
            };
            let mut velocity = predict(&classes)?;
            if guidance != 1.0 {
                let of_any = predict(&any)?;
                velocity = run.weighted_sum(guide.each_ref().map(Array::view), &velocity, &of_any)?;
            }
            let x = run.weighted_sum(factors.each_ref().map(Array::view), &x, &velocity)?;
            run.write(&x, latents.view_mut())
        })?;
        Ok(Sampler {
            latents,
            decoded: Array::zeros(device, [count, DECODED, DECODED, 1])?,
            times,
            factors,
            step,
            decoder: decoder(nn)?,
            nn: nn.clone(),
        })
    }

    /// Begins with noise: independent numbers of a standard normal distribution.
    ///
    /// # Errors
    /// [`rumba::Error::LengthMismatch`] unless there is one for each latent of each picture; the driver's.
    pub fn start(&mut self, noise: &[f32]) -> Result<()> {
        Ok(self.latents.copy_from_slice(noise)?)
    }

    /// Goes from one time to the next one. 1 is noise, 0 the latents of a picture.
    ///
    /// # Errors
    /// The driver's.
    pub fn step(&mut self, time: f32, next: f32) -> Result<()> {
        // How much there is of those latents and of the noise.
        let parts = |time: f32| ((time * FRAC_PI_2).cos(), (time * FRAC_PI_2).sin());
        let ((a, s), (b, z)) = (parts(time), parts(next));
        self.times.fill(1000.0 * time)?;
        for (factor, value) in self.factors.iter_mut().zip([b * a + z * s, z * a - b * s]) {
            factor.fill(value)?;
        }
        self.step.launch()
    }

    /// Goes from noise to latents in so many steps, and calls `progress` after each.
    ///
    /// # Errors
    /// The driver's.
    pub fn run(&mut self, steps: usize, mut progress: impl FnMut()) -> Result<()> {
        let time = |step: usize| 1.0 - step as f32 / steps as f32;
        for step in 0..steps {
            self.step(time(step), time(step + 1))?;
            self.nn.device().synchronize()?;
            progress();
        }
        Ok(())
    }

    /// Makes pictures of the latents.
    ///
    /// # Errors
    /// The runtime's.
    pub fn decode(&mut self) -> Result<()> {
        self.nn.run(|run| {
            let latents = run.tensor::<T, 4>(self.latents.view())?;
            run.write(&self.decoder.forward(run, &latents)?, self.decoded.view_mut())
        })?;
        Ok(self.nn.device().synchronize()?)
    }

    /// The pictures without their margins, from -1 to 1, or a little beyond: `SIZE` rows of `SIZE` numbers each.
    ///
    /// # Errors
    /// The driver's.
    pub fn pictures(&self) -> Result<Vec<f32>> {
        const MARGIN: usize = (DECODED - SIZE) / 2;
        let decoded = self.decoded.to_vec()?;
        let rows = decoded.chunks_exact(DECODED).enumerate();
        let inner = rows.filter(|(row, _)| (MARGIN..MARGIN + SIZE).contains(&(row % DECODED)));
        Ok(inner.flat_map(|(_, row)| row[MARGIN..][..SIZE].iter().copied()).collect())
    }

    /// The step, as it was recorded.
    pub fn program(&self) -> &Program {
        &self.step
    }
}
