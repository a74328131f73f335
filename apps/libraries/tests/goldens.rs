//! Stable Diffusion's networks at their real size, and blocks of them, against results of PyTorch that `goldens/networks.json` keeps.
//! Weights and inputs are made again: they are functions of names, as in `networks.py`, which wrote that file.
//!
//! Most take long without a GPU: they are tests where there is one (`RUMBA_TEST_GPU=1`), and where `RUMBA_TEST_SLOW=1` asks for them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use cuda_std::half::f16;
use libraries::network::Network;
use libraries::numbers::Random;
use libtest_mimic::{Arguments, Trial};
use rumba::Device;
use safetensors::tensor::{Dtype, TensorView};
use serde::Deserialize;
use serde_json::Value;
use test_processes::has_gpu;

#[derive(Deserialize)]
struct Version {
    /// A pipeline's settings, by the names of files.
    files: BTreeMap<String, Value>,
    /// Shapes of the weights of a pipeline's folders.
    tensors: BTreeMap<String, BTreeMap<String, Vec<usize>>>,
    parts: BTreeMap<String, Part>,
}

/// A network or a block.
#[derive(Deserialize)]
struct Part {
    inputs: BTreeMap<String, Input>,
    /// The shape of the result.
    shape: Vec<usize>,
    /// Some numbers of it.
    y: Vec<f32>,
}

#[derive(Deserialize)]
struct Input {
    shape: Vec<usize>,
    #[serde(flatten)]
    rule: Rule,
}

/// How an input's numbers are made.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Rule {
    Scale(f64),
    Constant(f32),
    Below(u64),
}

/// 24 bits of each of a sequence of numbers that belongs to a name: its state is the name's 64-bit FNV-1a hash at first.
fn sequence(name: &str) -> impl Iterator<Item = u64> + use<> {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let mut random = Random(name.bytes().fold(0xcbf2_9ce4_8422_2325, hash));
    std::iter::repeat_with(move || random.bits() >> 40)
}

/// Numbers from -scale to scale.
fn uniform(name: &str, scale: f64) -> impl Iterator<Item = f16> + use<> {
    sequence(name).map(move |number| f16::from_f32((number as f32 / (1 << 23) as f32 - 1.0) * scale as f32))
}

/// The tensors of a file, by name.
#[derive(Default)]
struct Tensors(Vec<(String, Dtype, Vec<usize>, Vec<u8>)>);

impl Tensors {
    fn add<T: bytemuck::Pod>(&mut self, name: &str, dtype: Dtype, shape: &[usize], numbers: &[T]) {
        let bytes = bytemuck::cast_slice(numbers).to_vec();
        self.0.push((name.to_owned(), dtype, shape.to_vec(), bytes));
    }

    fn write(&self, file: &Path) -> Result<()> {
        let views = self.0.iter().map(|(name, dtype, shape, bytes)| {
            let view = TensorView::new(*dtype, shape.clone(), bytes).expect("a tensor has as many bytes as its shape");
            (name, view)
        });
        Ok(safetensors::serialize_to_file(views, None, file)?)
    }
}

impl Version {
    fn open(version: &str) -> Result<Version> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens/networks.json");
        let mut versions: BTreeMap<String, Version> = serde_json::from_slice(&fs::read(file)?)?;
        versions.remove(version).context("there is no such version")
    }

    /// Writes a pipeline's folder with the weights of one part, and that part's inputs and results.
    fn write(&self, part: &str, folder: &Path) -> Result<()> {
        for (file, settings) in &self.files {
            write_in(folder, file, settings.to_string())?;
        }
        write_in(folder, "tokenizer/vocab.json", "{}".to_owned())?;
        write_in(folder, "tokenizer/merges.txt", String::new())?;
        let (network, prefix) = match part {
            "unet" => ("unet", ""),
            "decoder" | "encoder" => ("vae", ""),
            "text" => ("text_encoder", ""),
            block => ("unet", block),
        };
        for (own, tensors) in &self.tensors {
            let mut weights = Tensors::default();
            for (name, shape) in tensors.iter().filter(|(name, _)| own == network && name.starts_with(prefix)) {
                let square = if shape.len() > 1 { 1.0 / shape[1..].iter().product::<usize>() as f64 } else { 0.25 };
                let numbers: Vec<f16> = uniform(name, (3.0 * square).sqrt()).take(shape.iter().product()).collect();
                weights.add(name, Dtype::F16, shape, &numbers);
            }
            let stem = if own == "text_encoder" { "model" } else { "diffusion_pytorch_model" };
            weights.write(&folder.join(own).join(stem).with_extension("safetensors"))?;
        }
        let golden = &self.parts[part];
        let mut data = Tensors::default();
        for (name, Input { shape, rule }) in &golden.inputs {
            let (count, seed) = (shape.iter().product(), format!("{part} {name}"));
            match rule {
                Rule::Below(end) => {
                    let numbers: Vec<u32> = sequence(&seed).take(count).map(|number| (number % end) as u32).collect();
                    data.add(name, Dtype::U32, shape, &numbers);
                }
                Rule::Constant(number) => data.add(name, Dtype::F32, shape, &vec![*number; count]),
                Rule::Scale(scale) => {
                    let numbers: Vec<f32> = uniform(&seed, *scale).take(count).map(f16::to_f32).collect();
                    data.add(name, Dtype::F32, shape, &numbers);
                }
            }
        }
        let size: usize = golden.shape.iter().product();
        let places = sequence(&format!("{part} y")).map(|number| (number % size as u64) as u32);
        let places: Vec<u32> = places.take(golden.y.len()).collect();
        let mut y = vec![0.0; size];
        for (place, number) in places.iter().zip(&golden.y) {
            y[*place as usize] = *number;
        }
        data.add("y", Dtype::F32, &golden.shape, &y);
        data.add("places", Dtype::U32, &[places.len()], &places);
        data.write(&folder.join(format!("{part}.safetensors")))
    }
}

fn write_in(folder: &Path, file: &str, text: String) -> Result<()> {
    let file = folder.join(file);
    fs::create_dir_all(file.parent().context("a file lies in a folder")?)?;
    Ok(fs::write(file, text)?)
}

/// Computes a part in some types of numbers, each with the largest difference that is allowed from PyTorch's results, relative to the root of
/// their mean square.
fn compare(version: &str, part: &str, numbers: &[(&str, f64)]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    Version::open(version)?.write(part, folder.path())?;
    let device = Device::new()?;
    let stream = device.stream()?;
    for (numbers, allowed) in numbers {
        let network =
            Network { folder: folder.path().to_owned(), part: part.to_owned(), numbers: (*numbers).to_owned() };
        let mut work = network.prepare(&device)?;
        work.launch(&stream)?;
        stream.synchronize()?;
        let error = work.error()?;
        println!("{version} {part} {numbers}: {error:.2e}");
        ensure!(
            error < *allowed,
            "{part} of version {version} in {numbers} is {error:e} from PyTorch's, not within {allowed:e}"
        );
    }
    Ok(())
}

/// A test: its name, the version, the part, the types of numbers with the differences that are allowed, and whether it is quick without a GPU.
type Row = (&'static str, &'static str, &'static str, &'static [(&'static str, f64)], bool);

const QUICK: bool = true;
const SLOW: bool = false;

const ROWS: &[Row] = &[
    ("unet", "1", "unet", &[("f32", 2e-5), ("f16", 2e-2)], SLOW),
    ("decoder", "1", "decoder", &[("f32", 2e-5), ("f16", 2e-2)], SLOW),
    ("encoder", "1", "encoder", &[("f32", 2e-5), ("f16", 2e-2)], SLOW),
    ("text", "1", "text", &[("f32", 2e-5)], QUICK),
    ("down_0_resnet", "1", "down_blocks.0.resnets.0", &[("f32", 2e-5), ("f16", 3e-3)], SLOW),
    ("down_0_attention", "1", "down_blocks.0.attentions.0", &[("f32", 2e-5), ("f16", 3e-3)], SLOW),
    ("down_1_resnet", "1", "down_blocks.1.resnets.0", &[("f32", 2e-5), ("f16", 3e-3)], SLOW),
    ("down_1_attention", "1", "down_blocks.1.attentions.0", &[("f32", 2e-5), ("f16", 3e-3)], SLOW),
    ("down_2_resnet", "1", "down_blocks.2.resnets.0", &[("f32", 2e-5), ("f16", 3e-3)], SLOW),
    ("down_2_attention", "1", "down_blocks.2.attentions.0", &[("f32", 2e-5), ("f16", 3e-3)], SLOW),
    ("down_3_resnet", "1", "down_blocks.3.resnets.0", &[("f32", 2e-5), ("f16", 3e-3)], QUICK),
    ("middle_attention", "1", "mid_block.attentions.0", &[("f32", 2e-5), ("f16", 3e-3)], QUICK),
    ("up_1_resnet", "1", "up_blocks.1.resnets.0", &[("f32", 2e-5), ("f16", 3e-3)], SLOW),
    ("up_3_resnet", "1", "up_blocks.3.resnets.0", &[("f32", 2e-5), ("f16", 3e-3)], SLOW),
    ("unet_2", "2", "unet", &[("f32", 2e-5), ("f16", 2e-2)], SLOW),
    ("text_2", "2", "text", &[("f32", 2e-5), ("f16", 2e-2)], SLOW),
    ("down_0_attention_2", "2", "down_blocks.0.attentions.0", &[("f32", 2e-5), ("f16", 3e-3)], SLOW),
    ("down_1_attention_2", "2", "down_blocks.1.attentions.0", &[("f32", 2e-5), ("f16", 3e-3)], SLOW),
    ("down_2_attention_2", "2", "down_blocks.2.attentions.0", &[("f32", 2e-5), ("f16", 3e-3)], SLOW),
    ("middle_attention_2", "2", "mid_block.attentions.0", &[("f32", 2e-5), ("f16", 3e-3)], QUICK),
];

fn main() -> ExitCode {
    let has_all = has_gpu() || std::env::var_os("RUMBA_TEST_SLOW").is_some();
    let rows = ROWS.iter().filter(|(.., is_quick)| *is_quick || has_all);
    let trials = rows.map(|(name, version, part, numbers, _)| {
        Trial::test(*name, || compare(version, part, numbers).map_err(|error| format!("{error:#}").into()))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
