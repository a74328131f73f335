//! Pictures twice as large.

use crate::{fetched, goldens};
use diffusion::Picture;
use pretrained::{Error, Result, Upscaler};
use rumba::Device;
use rumba_nn::{Nn, Weights};
use std::fs;
use std::path::Path;

#[test]
fn pixels_are_those_of_pytorch() -> Result<()> {
    let Some(folder) = fetched("esrgan") else { return Ok(()) };
    let (rows, columns) = (20, 24);
    let pixel = |place: usize| {
        let (r, c, k) = (place / 3 / columns, place / 3 % columns, place % 3);
        ((r * 37 + c * 101 + k * 59) * (r + 2 * c + 1) % 256) as f32
    };
    let picture: Vec<f32> = (0..rows * columns * 3).map(pixel).collect();
    let (mut own, mut expected) = (Vec::new(), Vec::new());
    let findings = rumba::check(|device| {
        let mut compute = || -> Result<()> {
            let nn = Nn::new(device)?;
            let upscaler = Upscaler::<f32>::open(&nn, &folder.join("model.json"))?;
            let (larger, size) = upscaler.upscale(&picture, [rows, columns])?;
            assert_eq!(size, [2 * rows, 2 * columns]);
            let golden = Weights::open(&nn, goldens().join("esrgan.safetensors"))?;
            expected = golden.array::<f32, 4>("y", [1, 2 * rows, 2 * columns, 3])?.to_vec()?;
            own = larger;
            Ok(())
        };
        compute().unwrap_or_else(|error| panic!("{error}"));
        Ok(())
    });
    findings.expect("the picture is computed").assert_none();
    let differences = own.iter().zip(&expected).map(|(own, expected)| (own - expected).abs());
    // Shades are up to 255.
    let largest = differences.fold(0.0, f32::max);
    assert!(largest < 5e-3, "{largest}");
    Ok(())
}

#[test]
fn the_published_result_is_drawn() -> Result<()> {
    let Some(folder) = fetched("esrgan") else { return Ok(()) };
    let picture = Picture::read(&folder.join("picture.png")).expect("it was fetched");
    let expected = Picture::read(&folder.join("result.png")).expect("it was fetched");
    let upscaler = Upscaler::<f32>::open(&Nn::new(&Device::new()?)?, &folder.join("model.json"))?;
    let pixels: Vec<f32> = picture.pixels.iter().map(|&shade| f32::from(shade)).collect();
    let (larger, size) = upscaler.upscale(&pixels, [picture.rows, picture.columns])?;
    assert_eq!(size, [expected.rows, expected.columns]);
    for (own, expected) in larger.iter().zip(&expected.pixels) {
        let own = own.clamp(0.0, 255.0);
        // TensorFlow.js rounds, or cuts off.
        assert!((own - f32::from(*expected)).abs() < 1.01, "{own} instead of {expected}");
    }
    Ok(())
}

/// A network of one convolution of 1 by 1, which doubles, and of nine weights for it.
const MODEL: &str = r#"{"modelTopology": {"model_config": {"config": {"layers": [
  {"class_name": "InputLayer", "config": {"name": "LR"}, "inbound_nodes": []},
  {"class_name": "Conv2D", "config": {"name": "C", "padding": "valid", "strides": [1, 1], "activation": "relu"},
   "inbound_nodes": [[["LR", 0, 0, {}]]]},
  {"class_name": "UpSampling2D", "config": {"name": "U", "size": [2, 2]}, "inbound_nodes": [[["C", 0, 0, {}]]]}],
  "output_layers": [["U", 0, 0]]}}},
  "weightsManifest": [{"paths": ["w.bin"], "weights": [
    {"name": "C/kernel", "shape": [1, 1, 3, 3], "dtype": "float32"}, {"name": "C/bias", "shape": [3], "dtype": "float32"}]}]}"#;

fn open(folder: &Path, model: &str, weights: &[f32]) -> Result<Upscaler<f32>> {
    fs::write(folder.join("model.json"), model).expect("it is written");
    let bytes: Vec<u8> = weights.iter().flat_map(|weight| weight.to_le_bytes()).collect();
    fs::write(folder.join("w.bin"), bytes).expect("it is written");
    Upscaler::open(&Nn::new(&Device::new()?)?, &folder.join("model.json"))
}

/// Red becomes green, green twice as much blue; less than nothing is cut off.
const WEIGHTS: [f32; 12] = [0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, -5.0, 0.0, 0.5];

#[test]
fn layers_are_computed_as_the_file_says() -> Result<()> {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let network = open(folder.path(), MODEL, &WEIGHTS)?;
    let (larger, size) = network.upscale(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1, 2])?;
    assert_eq!(size, [2, 4]);
    let (left, right) = ([0.0, 1.0, 4.5], [1.0, 4.0, 10.5]);
    let row = [left, left, right, right].concat();
    assert_eq!(larger, [row.clone(), row].concat());
    Ok(())
}

#[test]
fn what_is_not_supported_is_named() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    for (from, to, count, expected) in [
        ("UpSampling2D", "PixelShuffle2x", 12, "layer `U`, a PixelShuffle2x: layers of this kind are not supported"),
        ("[2, 2]", "[3, 3]", 12, "layer `U`, a UpSampling2D: `size` is [3,3], and only [2,2] is supported"),
        ("relu", "tanh", 12, "layer `C`, a Conv2D: the function tanh is not supported"),
        ("[\"C\", 0", "[\"D\", 0", 12, "layer `U`, a UpSampling2D: there is no layer `D` before it"),
        ("C/kernel", "D/kernel", 12, "layer `C`, a Conv2D: there is no weight `C/kernel`"),
        ("[1, 1, 3, 3]", "[1, 3, 1, 3]", 12, "layer `C`, a Conv2D: filters of shape [1, 3, 1, 3] are not supported"),
        ("[[\"U\", 0, 0]]", "[[\"C\", 0, 0]]", 12, "the result is not that of the last layer"),
        (
            "float32",
            "int32",
            12,
            "weight `C/kernel` of shape [1, 1, 3, 3] has elements of type int32, or is quantized; weights are float32",
        ),
        ("LR", "LR", 11, "weight `C/bias` of shape [3] is cut off: w.bin ends before it does"),
        ("LR", "LR", 13, "4 bytes of w.bin belong to no weight"),
        ("modelTopology", "topology", 12, "missing field `modelTopology` at line 8 column "),
    ] {
        let mut weights = WEIGHTS.to_vec();
        weights.resize(count, 0.0);
        let error = open(folder.path(), &MODEL.replacen(from, to, 1), &weights).expect_err(expected);
        assert!(matches!(error, Error::Model { .. }));
        assert!(error.to_string().contains(&format!("model.json: {expected}")), "{error}");
    }
    let error =
        Upscaler::<f32>::open(&Nn::new(&Device::new().expect("there is one")).expect("it loads"), Path::new("no.json"));
    assert!(matches!(error, Err(Error::Unreadable { .. })));
}
