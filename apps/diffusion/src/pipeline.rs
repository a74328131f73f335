//! Stable Diffusion: a text, noise, and perhaps a picture become a picture.

use crate::error::{Error, LARGEST, Result};
use crate::folder::{Folder, Part};
use crate::schedule::{Sampler, Step};
use crate::words::Words;
use rumba::array::Array;
use rumba_nn::models::{ClipText, Subject, UNet2d, VaeDecoder, VaeEncoder};
use rumba_nn::{Element, Nn};

/// The networks of a folder, with numbers of `T`.
#[derive(Debug)]
pub struct Pipeline<T> {
    nn: Nn,
    folder: Folder,
    words: Words,
    text: ClipText<T>,
    unet: UNet2d<T>,
    decoder: VaeDecoder<T>,
}

/// The description of a picture.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The text that the picture shows.
    pub prompt: &'a str,
    /// The text that the picture avoids.
    pub negative: &'a str,
    /// How much more it shows the one than the other (Ho, Salimans 2022). 1 or less leaves the second out.
    pub guidance: f64,
    /// Rows and columns of the picture.
    pub size: [usize; 2],
    /// How it is drawn.
    pub sampler: Sampler,
    /// The number of steps.
    pub steps: usize,
    /// What the picture is drawn from.
    pub source: Source<'a>,
}

/// What a picture is drawn from. A slice of noise has the length of the latents, whose shape is [`Pipeline::latents`].
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// Noise.
    Noise(&'a [f32]),
    /// Another picture, of the same size.
    Picture {
        /// Its pixels, from 0 to 1.
        pixels: &'a [f32],
        /// The part of the steps that is done: 1 leaves nothing of the picture.
        strength: f64,
        /// Noise that samples latents from the encoder's distribution.
        sample: &'a [f32],
        /// Noise that is added to the latents.
        noise: &'a [f32],
    },
}

/// Progress of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The texts were read, and the picture if there is one: so many steps follow.
    Read(usize),
    /// A step was recorded, as a graph of so many launches.
    Recorded(usize),
    /// A step was done.
    Step,
}

/// A picture.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Its latents, in which it was drawn.
    pub latents: Vec<f32>,
    /// Its pixels, from 0 to 1.
    pub pixels: Vec<f32>,
    /// How many words of the texts were left out, because they are too long.
    pub cut: usize,
}

/// The places of what a step is told, in one array.
#[derive(Clone, Copy)]
enum Factor {
    /// 0 and 1, which stay.
    Zero,
    One,
    /// How much the text's prediction counts, and that of the other text.
    Guidance,
    Opposite,
    /// The errors of [`Step`].
    Input,
    Picture,
    Noise,
    Next,
    NextPicture,
    NextBefore,
}

/// How many there are.
const FACTORS: usize = 10;

impl<T: Element> Pipeline<T> {
    /// Reads the weights of a folder.
    ///
    /// # Errors
    /// [`rumba_nn::WeightError`] for weights that are missing or do not fit; [`Error::Tokenizer`]; the runtime's.
    pub fn open(nn: &Nn, folder: Folder) -> Result<Pipeline<T>> {
        let mut text = folder.weights(nn, Part::TextEncoder)?;
        // Older versions of transformers wrote the name of the part of CLIP.
        if text.has("text_model.final_layer_norm.weight") {
            text = text.at("text_model");
        }
        Ok(Pipeline {
            words: folder.words()?,
            text: ClipText::load(&text, &folder.text)?,
            unet: UNet2d::load(&folder.weights(nn, Part::UNet)?, &folder.unet)?,
            decoder: VaeDecoder::load(&folder.weights(nn, Part::Vae)?, &folder.vae)?,
            nn: nn.clone(),
            folder,
        })
    }

    /// Where it was read from.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The shape of the latents of a picture: rows, columns and channels.
    ///
    /// # Errors
    /// [`Error::Size`].
    pub fn latents(&self, [rows, columns]: [usize; 2]) -> Result<[usize; 3]> {
        let multiple = self.multiple();
        let fits = |length: usize| (1..=LARGEST).contains(&length) && length.is_multiple_of(multiple);
        if !(fits(rows) && fits(columns)) {
            return Err(Error::Size { rows, columns, multiple });
        }
        Ok([rows / multiple, columns / multiple, self.folder.vae.latent])
    }

    /// The size of pictures that is the nearest to another.
    pub fn nearest(&self, size: [usize; 2]) -> [usize; 2] {
        let multiple = self.multiple();
        size.map(|length| ((length + multiple / 2) / multiple).max(1) * multiple)
    }

    /// How many pixels in a line a latent stands for.
    fn multiple(&self) -> usize {
        1 << (self.folder.vae.levels.len() - 1)
    }

    /// Draws a picture, and tells `progress` what has been done.
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::Steps`], [`Error::Strength`], [`Error::Length`]; the runtime's.
    pub fn draw(&self, request: &Request<'_>, mut progress: impl FnMut(Event)) -> Result<Drawing> {
        let [rows, columns, channels] = self.latents(request.size)?;
        let (schedule, sampler) = (&self.folder.schedule, request.sampler);
        let (steps, start): (_, Vec<f32>) = match request.source {
            Source::Noise(noise) => {
                same_length("the noise", noise, rows * columns * channels)?;
                let steps = schedule.steps(sampler, request.steps, 0)?;
                let scale = schedule.beginning(sampler, &steps) as f32;
                (steps, noise.iter().map(|x| scale * x).collect())
            }
            Source::Picture { pixels, strength, sample, noise } => {
                let count = request.steps;
                let done = (count as f64 * strength) as usize;
                if !(0.0..=1.0).contains(&strength) || done == 0 {
                    let steps = count;
                    return Err(Error::Strength { steps, strength });
                }
                same_length("the noise", noise, rows * columns * channels)?;
                let steps = schedule.steps(sampler, count, count - done)?;
                let [signal, level] = steps[0].level.map(|x| x as f32);
                let latents = self.encode(pixels, request.size, sample)?;
                let noisy = latents.iter().zip(noise).map(|(x, noise)| signal * x + level * noise);
                (steps, noisy.collect())
            }
        };
        let (texts, cut) = self.read(request)?;
        progress(Event::Read(steps.len()));
        let latents = self.sample(request, &steps, &start, &texts, &mut progress)?;
        let pixels = self.decode(&latents, request.size)?;
        Ok(Drawing { latents, pixels, cut })
    }

    /// The encoded texts, `[texts, words, numbers]`: the negative text, if it has an effect, and the prompt.
    fn read(&self, request: &Request<'_>) -> Result<(Array<f32, 3>, usize)> {
        let mut texts = vec![self.words.read(request.prompt)?];
        if request.guidance > 1.0 {
            texts.insert(0, self.words.read(request.negative)?);
        }
        let (device, shape) = (self.nn.device(), [texts.len(), self.words.length()]);
        let ids: Vec<u32> = texts.iter().flat_map(|text| text.ids.iter().copied()).collect();
        let ids = Array::from_slice(device, shape, &ids)?;
        let mut numbers = Array::zeros(device, [shape[0], shape[1], self.folder.text.width])?;
        self.nn.run(|run| {
            let text = self.text.forward(run, ids.view())?;
            run.write(&text, numbers.view_mut())
        })?;
        Ok((numbers, texts.iter().map(|text| text.cut).sum()))
    }

    /// Goes through the steps, from noisy latents to those of a picture.
    // ANCHOR: step
    fn sample(
        &self,
        request: &Request<'_>,
        steps: &[Step],
        start: &[f32],
        texts: &Array<f32, 3>,
        progress: &mut impl FnMut(Event),
    ) -> Result<Vec<f32>> {
        let [rows, columns, channels] = self.latents(request.size)?;
        let (device, [count, ..]) = (self.nn.device(), texts.shape());
        let (one, all) = ([1, rows, columns, channels], [count, rows, columns, channels]);
        let zeros = || Array::<f32, 4>::zeros(device, one);
        let (mut latents, mut given, mut before) = (zeros()?, zeros()?, zeros()?);
        let mut predicted = Array::zeros(device, all)?;
        let mut times = Array::zeros(device, [count])?;
        let mut factors = Array::zeros(device, [FACTORS])?;
        let step = self.nn.program(|run| {
            let factor = |factor: Factor| {
                let place = factor as usize;
                factors.slice((place..=place,))
            };
            let x = run.tensor::<f32, 4>(latents.view())?;
            let scaled = run.weighted_sum([factor(Factor::Input), factor(Factor::Zero)], &x, &x)?;
            run.write(&scaled, given.view_mut())?;
            drop(scaled);
            // Both texts look at the same picture.
            let own = run.tensor::<T, 4>(given.view().broadcast(all)?)?;
            let text = run.tensor::<T, 3>(texts.view())?;
            let said = self.unet.forward(run, &own, times.as_slice(), Subject::Text(&text))?;
            drop((own, text));
            run.write(&said, predicted.view_mut())?;
            drop(said);
            let of = |text: usize| run.tensor::<f32, 4>(predicted.slice((text..=text, .., .., ..)));
            let mut said = of(count - 1)?;
            if count > 1 {
                let guide = [factor(Factor::Guidance), factor(Factor::Opposite)];
                said = run.weighted_sum(guide, &said, &of(0)?)?;
            }
            let picture = run.weighted_sum([factor(Factor::Picture), factor(Factor::Noise)], &x, &said)?;
            drop(said);
            let mut next = run.weighted_sum([factor(Factor::Next), factor(Factor::NextPicture)], &x, &picture)?;
            let last = run.tensor::<f32, 4>(before.view())?;
            next = run.weighted_sum([factor(Factor::One), factor(Factor::NextBefore)], &next, &last)?;
            run.write(&picture, before.view_mut())?;
            run.write(&next, latents.view_mut())
        })?;
        // Planning the step's memory was a step, too.
        latents.copy_from_slice(start)?;
        before.fill(0.0)?;
        progress(Event::Recorded(step.graph().len()));
        for Step { time, input, picture: [p, q], next: [a, b, c], .. } in steps.iter().copied() {
            times.fill(time as f32)?;
            let guidance = request.guidance;
            let values = [0.0, 1.0, guidance, 1.0 - guidance, input, p, q, a, b, c];
            factors.copy_from_slice(&values.map(|value| value as f32))?;
            step.launch()?;
            device.synchronize()?;
            progress(Event::Step);
        }
        Ok(latents.to_vec()?)
    }
    // ANCHOR_END: step

    /// The latents of a picture.
    fn encode(&self, pixels: &[f32], [rows, columns]: [usize; 2], sample: &[f32]) -> Result<Vec<f32>> {
        let [height, width, channels] = self.latents([rows, columns])?;
        same_length("the picture", pixels, rows * columns * 3)?;
        same_length("the noise", sample, height * width * channels)?;
        let encoder = VaeEncoder::<T>::load(&self.folder.weights(&self.nn, Part::Vae)?, &self.folder.vae)?;
        let centred: Vec<f32> = pixels.iter().map(|x| 2.0 * x - 1.0).collect();
        let image = Array::from_slice(self.nn.device(), [1, rows, columns, 3], &centred)?;
        let mut distribution = Array::zeros(self.nn.device(), [1, height, width, 2 * channels])?;
        self.nn.run(|run| {
            let image = run.tensor::<T, 4>(image.view())?;
            run.write(&encoder.forward(run, &image)?, distribution.view_mut())
        })?;
        let distribution = distribution.to_vec()?;
        let latents = distribution.chunks_exact(2 * channels).zip(sample.chunks_exact(channels));
        Ok(latents
            .flat_map(|(both, noise)| {
                let (means, variances) = both.split_at(channels);
                means.iter().zip(variances).zip(noise).map(|((mean, variance), noise)| {
                    // The bounds are those of diffusers' `DiagonalGaussianDistribution`.
                    let deviation = (0.5 * variance.clamp(-30.0, 20.0)).exp();
                    (mean + deviation * noise) * self.folder.scaling as f32
                })
            })
            .collect())
    }

    /// The picture of latents.
    fn decode(&self, latents: &[f32], [rows, columns]: [usize; 2]) -> Result<Vec<f32>> {
        let [height, width, channels] = self.latents([rows, columns])?;
        let scaled: Vec<f32> = latents.iter().map(|x| x / self.folder.scaling as f32).collect();
        let latents = Array::from_slice(self.nn.device(), [1, height, width, channels], &scaled)?;
        let mut image = Array::zeros(self.nn.device(), [1, rows, columns, 3])?;
        self.nn.run(|run| {
            let latents = run.tensor::<T, 4>(latents.view())?;
            run.write(&self.decoder.forward(run, &latents)?, image.view_mut())
        })?;
        let pixels = image.to_vec()?;
        Ok(pixels.iter().map(|x| (0.5 * x + 0.5).clamp(0.0, 1.0)).collect())
    }
}

fn same_length(what: &'static str, numbers: &[f32], wanted: usize) -> Result<()> {
    let len = numbers.len();
    if len == wanted {
        return Ok(());
    }
    Err(Error::Length { what, len, wanted })
}
