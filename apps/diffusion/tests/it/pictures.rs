//! Two tiny pipelines with random weights (`tests/goldens/make.py`), drawn by each sampler, against what diffusers draws.

use cuda_std::half::f16;
use diffusion::{Event, Folder, Pipeline, Request, Result, Sampler, Source};
use rumba::Device;
use rumba_nn::{Element, Nn, Weights};
use serde_json::Value;
use std::path::{Path, PathBuf};

const ROWS: usize = 16;
const COLUMNS: usize = 24;
const LATENTS: usize = ROWS * COLUMNS / 4 * 4;
const SAMPLERS: [(&str, Sampler); 3] = [("ddim", Sampler::Ddim), ("euler", Sampler::Euler), ("dpm", Sampler::Dpm)];

/// The folder of the goldens.
pub(crate) fn goldens() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens")
}

fn golden(weights: &Weights, name: &str, channels: usize) -> Result<Vec<f32>> {
    let scale = if channels == 4 { 2 } else { 1 };
    let shape = [1, ROWS / scale, COLUMNS / scale, channels];
    Ok(weights.array::<f32, 4>(name, shape)?.to_vec()?)
}

/// The largest difference, of the largest number.
fn difference(own: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(own.len(), expected.len());
    let largest = expected.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
    let differences = own.iter().zip(expected).map(|(own, expected)| (own - expected).abs());
    differences.fold(0.0, f32::max) / largest
}

/// Draws with each sampler, and compares what comes out.
fn compare<T: Element>(device: &Device, name: &str, samplers: &[(&str, Sampler)], tolerance: f32) -> Result<()> {
    let nn = Nn::new(device)?;
    let known = Weights::open(&nn, goldens().join("pictures.safetensors"))?.at(name);
    let pipeline = Pipeline::<T>::open(&nn, Folder::open(goldens().join(name))?)?;
    let [noise, sample, added] = ["noise", "sample", "added"].map(|name| golden(&known, name, 4));
    let (noise, sample, added) = (noise?, sample?, added?);
    let image = golden(&known, "image", 3)?;
    for &(name, sampler) in samplers {
        let of_noise = Request {
            prompt: "A lighthouse in the storm, oil on canvas",
            negative: "blurry",
            guidance: 5.0,
            size: [ROWS, COLUMNS],
            sampler,
            steps: 6,
            source: Source::Noise(&noise),
        };
        let source = Source::Picture { pixels: &image, strength: 0.6, sample: &sample, noise: &added };
        let of_image = Request { guidance: 3.0, steps: 10, source, ..of_noise };
        for (request, known) in [(of_noise, known.at(name)), (of_image, known.at(name).at("of_image"))] {
            let mut events = Vec::new();
            let drawing = pipeline.draw(&request, |event| events.push(event))?;
            assert!(
                matches!(events[..], [Event::Read(6), Event::Recorded(_), Event::Step, .., Event::Step]),
                "{events:?}"
            );
            assert_eq!((events.len(), drawing.cut), (8, 0));
            let latents = difference(&drawing.latents, &golden(&known, "latents", 4)?);
            let picture = difference(&drawing.pixels, &golden(&known, "picture", 3)?);
            assert!(
                latents < tolerance && picture < tolerance,
                "{known:?} in {}: latents {latents}, picture {picture}",
                std::any::type_name::<T>()
            );
        }
    }
    Ok(())
}

#[test]
fn stable_diffusion_1_draws_what_diffusers_does() -> Result<()> {
    compare::<f32>(&Device::new()?, "one", &SAMPLERS, 1e-4)
}

#[test]
fn stable_diffusion_2_draws_what_diffusers_does() -> Result<()> {
    compare::<f32>(&Device::new()?, "two", &SAMPLERS, 1e-4)
}

#[test]
fn half_precision_is_close() -> Result<()> {
    let device = Device::new()?;
    compare::<f16>(&device, "one", &SAMPLERS[2..], 5e-2)?;
    compare::<f16>(&device, "two", &SAMPLERS[..1], 5e-2)
}

#[test]
fn without_guidance_one_text_is_read() -> Result<()> {
    let nn = Nn::new(&Device::new()?)?;
    let pipeline = Pipeline::<f32>::open(&nn, Folder::open(goldens().join("one"))?)?;
    let noise = diffusion::normal(3, LATENTS);
    let mut request = Request {
        prompt: "a red house",
        negative: "",
        guidance: 1.0,
        size: [ROWS, COLUMNS],
        sampler: Sampler::Ddim,
        steps: 2,
        source: Source::Noise(&noise),
    };
    let alone = pipeline.draw(&request, |_| ())?;
    request.negative = "blurry";
    assert_eq!(pipeline.draw(&request, |_| ())?.latents, alone.latents);
    request.guidance = 1.5;
    assert_ne!(pipeline.draw(&request, |_| ())?.latents, alone.latents);
    Ok(())
}

#[test]
fn texts_have_the_words_that_transformers_finds() -> Result<()> {
    let known = std::fs::read(goldens().join("tokens.json")).expect("there is the golden");
    let known: Value = serde_json::from_slice(&known).expect("it is JSON");
    for name in ["one", "two"] {
        let words = Folder::open(goldens().join(name))?.words()?;
        let cases = known[name].as_array().expect("a list");
        assert_eq!(cases.len(), 9);
        for case in cases {
            let text = words.read(case["text"].as_str().expect("a text"))?;
            assert_eq!(Value::from(text.ids), case["ids"], "{name}: {}", case["text"]);
        }
        let long = words.read(&"a lighthouse ".repeat(60))?;
        assert_eq!((long.ids.len(), long.cut), (77, 105));
    }
    Ok(())
}

#[test]
fn no_check_finds_anything() {
    let findings = rumba::check(|device| {
        compare_one(device).unwrap_or_else(|error| panic!("{error}"));
        Ok(())
    });
    findings.expect("a picture is drawn").assert_none();
}

/// Two steps of image to image: all kernels of a pipeline.
fn compare_one(device: &Device) -> Result<()> {
    let nn = Nn::new(device)?;
    let pipeline = Pipeline::<f32>::open(&nn, Folder::open(goldens().join("two"))?)?;
    let noise = diffusion::normal(1, 2 * 4 * 4 * 4);
    let (sample, noise) = noise.split_at(4 * 4 * 4);
    let request = Request {
        prompt: "a cat",
        negative: "",
        guidance: 2.0,
        size: [8, 8],
        sampler: Sampler::Dpm,
        steps: 4,
        source: Source::Picture { pixels: &[0.5; 8 * 8 * 3], strength: 0.5, sample, noise },
    };
    let drawing = pipeline.draw(&request, |_| ())?;
    assert!(drawing.pixels.iter().all(|x| x.is_finite()));
    Ok(())
}
