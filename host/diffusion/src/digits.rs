//! Digits of 8 by 8 pixels from noise, by a model that `digits/train.py` trained: the network, and a step of its sampler as one graph.

use rumba::array::Array;
use rumba::{Device, DeviceBuffer};
use rumba_nn::models::{Condition, Subject, UNet2d, UNet2dShape};
use rumba_nn::{Element, Nn, Program, Result, Weights};
use std::f32::consts::FRAC_PI_2;

/// Rows and columns of a picture.
pub const SIZE: usize = 8;

/// The class of pictures of any digit.
pub const ANY: u32 = 10;

/// The trained weights, in `f16`.
const WEIGHTS: &[u8] = include_bytes!("../digits/unet.safetensors");

/// How large the network is: `CONFIG` of `digits/train.py`.
fn shape() -> UNet2dShape {
    UNet2dShape {
        channels: 1,
        levels: vec![(32, None), (64, Some(2))],
        middle: 2,
        blocks: 1,
        groups: 8,
        condition: Condition::Class(11),
    }
}

/// The network, with its weights as numbers of `T`.
///
/// # Errors
/// The runtime's.
pub fn network<T: Element>(nn: &Nn) -> Result<UNet2d<T>> {
    let weights = Weights::from_bytes(nn, "digits/unet.safetensors", WEIGHTS.to_vec())?;
    UNet2d::load(&weights, &shape())
}

/// A deterministic sampler, DDIM (Song, Meng, Ermon 2021), of a network that predicts velocities (Salimans, Ho 2022).
#[derive(Debug)]
pub struct Sampler {
    /// What the pictures are so far: noise at first.
    pictures: Array<f32, 4>,
    /// The time of each picture, of 1000.
    times: Array<f32, 1>,
    /// What pictures and velocities are multiplied by.
    factors: [Array<f32, 1>; 2],
    step: Program,
    device: Device,
}

impl Sampler {
    /// Records a step for a picture of each of these digits, computed in `T`. `guidance` says how much more a picture is to be one of
    /// its digit than one of any (Ho, Salimans 2022): 1 is no more.
    ///
    /// # Errors
    /// The runtime's.
    pub fn new<T: Element>(nn: &Nn, digits: &[u32], guidance: f32) -> Result<Sampler> {
        let (device, count) = (nn.device(), digits.len());
        let network = network::<T>(nn)?;
        let mut pictures = Array::zeros(device, [count, SIZE, SIZE, 1])?;
        let times = Array::full(device, [count], 1000.0)?;
        let factors = [Array::full(device, [1], 1.0)?, Array::full(device, [1], 0.0)?];
        let [classes, any] = [device.buffer_from(digits)?, device.buffer_from(&vec![ANY; count])?];
        let guide = [
            Array::full(device, [1], guidance)?,
            Array::full(device, [1], 1.0 - guidance)?,
        ];
        let step = nn.program(|run| {
            let x = run.tensor::<T, 4>(pictures.view())?;
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
            run.write(&x, pictures.view_mut())
        })?;
        Ok(Sampler {
            pictures,
            times,
            factors,
            step,
            device: device.clone(),
        })
    }

    /// Begins with noise: independent numbers of a standard normal distribution.
    ///
    /// # Errors
    /// [`rumba::Error::LengthMismatch`] unless there is one for each pixel of each picture; the driver's.
    pub fn start(&mut self, noise: &[f32]) -> Result<()> {
        Ok(self.pictures.copy_from_slice(noise)?)
    }

    /// Goes from one time to the next one. 1 is noise, 0 a picture.
    ///
    /// # Errors
    /// The driver's.
    pub fn step(&mut self, time: f32, next: f32) -> Result<()> {
        // How much there is of the picture and of the noise.
        let parts = |time: f32| ((time * FRAC_PI_2).cos(), (time * FRAC_PI_2).sin());
        let ((a, s), (b, z)) = (parts(time), parts(next));
        self.times.fill(1000.0 * time)?;
        for (factor, value) in self.factors.iter_mut().zip([b * a + z * s, z * a - b * s]) {
            factor.fill(value)?;
        }
        self.step.launch()
    }

    /// Goes from noise to pictures in so many steps, and calls `progress` after each.
    ///
    /// # Errors
    /// The driver's.
    pub fn run(&mut self, steps: usize, mut progress: impl FnMut()) -> Result<()> {
        let time = |step: usize| 1.0 - step as f32 / steps as f32;
        for step in 0..steps {
            self.step(time(step), time(step + 1))?;
            self.device.synchronize()?;
            progress();
        }
        Ok(())
    }

    /// The pictures, from -1 to 1: `SIZE` rows of `SIZE` numbers each.
    ///
    /// # Errors
    /// The driver's.
    pub fn pictures(&self) -> Result<Vec<f32>> {
        Ok(self.pictures.to_vec()?)
    }

    /// The step, as it was recorded.
    pub fn program(&self) -> &Program {
        &self.step
    }
}
