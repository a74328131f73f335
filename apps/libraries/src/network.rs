//! Stable Diffusion's networks at their real size, from a folder that `networks.py` writes: weights in the layout of diffusers, inputs, and
//! what PyTorch computes of them in f32, all of it or a sample.

use std::path::PathBuf;
use std::rc::Rc;

use anyhow::{Context as _, Result, bail};
use cuda_std::half::{bf16, f16};
use diffusion::{Folder, Part};
use rumba::array::Array;
use rumba::{Device, Stream};
use rumba_nn::models::{
    ClipText, Condition, Resnet, Subject, Transformer, TransformerShape, UNet2d, VaeDecoder, VaeEncoder,
};
use rumba_nn::{Element, Nn, Program, Run, Tensor};
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;
use serde::Deserialize;

use crate::numbers::relative_error;
use crate::{Launches, Work};

/// A network of a pipeline, or a block of its U-Net by diffusers' name.
#[derive(Debug, Deserialize)]
pub struct Network {
    /// The pipeline's folder, with a file of inputs and results for each part.
    pub folder: PathBuf,
    /// `unet`, `decoder`, `encoder`, `text` or a block.
    pub part: String,
    /// `f32`, `f16` or `bf16`.
    pub numbers: String,
}

/// A network that reads and writes arrays outside of its runs.
type Forward = Box<dyn FnMut(&Run) -> rumba_nn::Result<()>>;

struct Recorded {
    nn: Nn,
    forward: Forward,
    program: Rc<Program>,
    output: Output,
    /// The expected output, at some positions or all.
    wanted: Vec<f32>,
    places: Vec<usize>,
    /// The device memory of the network.
    bytes: usize,
}

/// The output of a network, of any shape.
type Output = Rc<std::cell::RefCell<Array<f32, 1>>>;

impl Network {
    /// Loads and records it.
    ///
    /// # Errors
    /// Of files that lack something; the runtime's.
    pub fn prepare(self, device: &Device) -> Result<Box<dyn Work>> {
        Ok(match self.numbers.as_str() {
            "f32" => Box::new(self.record::<f32>(device)?),
            "f16" => Box::new(self.record::<f16>(device)?),
            "bf16" => Box::new(self.record::<bf16>(device)?),
            other => bail!("there are no networks of {other}"),
        })
    }

    fn record<T: Element>(self, device: &Device) -> Result<Recorded> {
        let free = device.free_memory()?;
        let nn = Nn::new(device)?;
        let folder = Folder::open(&self.folder)?;
        let data = std::fs::read(folder.path().join(format!("{}.safetensors", self.part)))?;
        let data = SafeTensors::deserialize(&data)?;
        let wanted = floats(&data, "y")?;
        let places = match data.tensor("places") {
            Ok(places) => integers(&places).iter().map(|place| *place as usize).collect(),
            Err(_) => (0..wanted.len()).collect(),
        };
        let output = Output::new(Array::zeros(device, [wanted.len()])?.into());
        let mut forward = self.forward::<T>(&nn, &folder, &data, output.clone())?;
        let program = Rc::new(nn.program(&mut forward)?);
        device.synchronize()?;
        let bytes = free.saturating_sub(device.free_memory()?);
        Ok(Recorded { nn, forward, program, output, wanted, places, bytes })
    }

    fn forward<T: Element>(&self, nn: &Nn, folder: &Folder, data: &SafeTensors<'_>, y: Output) -> Result<Forward> {
        let device = nn.device();
        Ok(match self.part.as_str() {
            "unet" => {
                let network = UNet2d::<T>::load(&folder.weights(nn, Part::UNet)?, &folder.unet)?;
                let (x, text) = (array::<4>(device, data, "x")?, array::<3>(device, data, "text")?);
                let times = array::<1>(device, data, "times")?;
                Box::new(move |run| {
                    let (x, text) = (run.tensor::<T, 4>(x.view())?, run.tensor::<T, 3>(text.view())?);
                    let result = network.forward(run, &x, times.as_slice(), Subject::Text(&text))?;
                    write(run, &result, &y)
                })
            }
            "decoder" => {
                let network = VaeDecoder::<T>::load(&folder.weights(nn, Part::Vae)?, &folder.vae)?;
                let x = array::<4>(device, data, "x")?;
                Box::new(move |run| write(run, &network.forward(run, &run.tensor(x.view())?)?, &y))
            }
            "encoder" => {
                let network = VaeEncoder::<T>::load(&folder.weights(nn, Part::Vae)?, &folder.vae)?;
                let x = array::<4>(device, data, "x")?;
                Box::new(move |run| write(run, &network.forward(run, &run.tensor(x.view())?)?, &y))
            }
            "text" => {
                let network = ClipText::<T>::load(&folder.weights(nn, Part::TextEncoder)?, &folder.text)?;
                let tensor = data.tensor("ids")?;
                let [texts, words] = tensor.shape() else { bail!("ids are [texts, words]") };
                let ids = Array::from_slice(device, [*texts, *words], &integers(&tensor))?;
                Box::new(move |run| write(run, &network.forward(run, ids.view())?, &y))
            }
            block if block.contains("resnets") => {
                let weights = folder.weights(nn, Part::UNet)?.at(block);
                let (x, time) = (array::<4>(device, data, "x")?, array::<2>(device, data, "time")?);
                let [outputs] = data.tensor("y")?.shape()[3..] else { bail!("a block of images makes images") };
                let (widths, times) = ([x.shape()[3], outputs], Some(time.shape()[1]));
                let network = Resnet::<T>::load(&weights, widths, times, folder.unet.groups, 1e-5)?;
                Box::new(move |run| {
                    let (x, time) = (run.tensor(x.view())?, run.tensor(time.view())?);
                    write(run, &network.forward(run, &x, Some(&time))?, &y)
                })
            }
            block if block.contains("attentions") => {
                let (x, text) = (array::<4>(device, data, "x")?, array::<3>(device, data, "text")?);
                let (channels, unet) = (x.shape()[3], &folder.unet);
                let Condition::Text(context, projection) = unet.condition else {
                    bail!("the network does not look at texts")
                };
                let level = unet.levels.iter().find(|(width, _)| *width == channels);
                let shape = TransformerShape {
                    channels,
                    context,
                    heads: level.and_then(|(_, heads)| *heads).unwrap_or(unet.middle),
                    groups: unet.groups,
                    blocks: 1,
                    projection,
                };
                let network = Transformer::<T>::load(&folder.weights(nn, Part::UNet)?.at(block), &shape)?;
                Box::new(move |run| {
                    let (x, text) = (run.tensor(x.view())?, run.tensor(text.view())?);
                    write(run, &network.forward(run, &x, &text)?, &y)
                })
            }
            other => bail!("there is no part {other}"),
        })
    }
}

fn floats(data: &SafeTensors<'_>, name: &str) -> Result<Vec<f32>> {
    let tensor = data.tensor(name)?;
    let numbers = tensor.data().as_chunks().0.iter();
    Ok(numbers.map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

fn integers(tensor: &TensorView<'_>) -> Vec<u32> {
    let numbers = tensor.data().as_chunks().0.iter();
    numbers.map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

fn array<const N: usize>(device: &Device, data: &SafeTensors<'_>, name: &str) -> Result<Array<f32, N>> {
    let shape = data.tensor(name)?.shape().try_into();
    let shape = shape.with_context(|| format!("{name} has not {N} axes"))?;
    Ok(Array::from_slice(device, shape, &floats(data, name)?)?)
}

fn write<T: Element, const N: usize>(run: &Run, tensor: &Tensor<T, N>, output: &Output) -> rumba_nn::Result<()> {
    let mut output = output.borrow_mut();
    run.write(tensor, output.view_mut().reshape(tensor.shape())?)
}

impl Work for Recorded {
    fn kernel(&self) -> String {
        format!(
            "{} launches, {:.2} GB, of which tensors {:.2}",
            self.program.graph().len(),
            self.bytes as f64 / 1e9,
            self.program.bytes() as f64 / 1e9
        )
    }

    fn launch(&mut self, stream: &Stream) -> rumba::Result<()> {
        self.program.graph().launch_on(stream)
    }

    /// It is a graph already.
    fn repeated(&mut self, _: &Device, times: u32) -> rumba::Result<Launches> {
        let program = self.program.clone();
        Ok(Box::new(move |stream| (0..times).try_for_each(|_| program.graph().launch_on(stream))))
    }

    fn error(&self) -> Result<f64> {
        let results = self.output.borrow().to_vec()?;
        let pairs = self.places.iter().map(|&place| (results[place], self.wanted[place]));
        let pairs: Vec<_> = pairs.map(|(a, b)| (f64::from(a), f64::from(b))).collect();
        Ok(relative_error(&pairs))
    }

    fn profile(&mut self) -> Result<String> {
        let (outcome, profile) = rumba::profile(|| self.nn.run(&mut self.forward))?;
        outcome?;
        Ok(profile.to_string())
    }
}
