//! Networks for pictures as TensorFlow.js writes them: a graph of layers in `model.json`, and weights in files beside it.
//!
//! Supports the layers of residual dense networks (Zhang et al. 2018), such as the smaller networks of UpscalerJS.

use crate::error::{Error, Result, parse, read};
use rumba::array::Array;
use rumba_nn::layers::{Activation, Convolution, Filters};
use rumba_nn::{Element, Nn, Run, Tensor, Weights};
use safetensors::tensor::{Dtype, TensorView, serialize};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// A network that makes pictures larger.
#[derive(Debug)]
pub struct Upscaler<T> {
    nn: Nn,
    /// In the order in which they are computed, the picture being the first and the result the last.
    layers: Vec<Layer<T>>,
}

#[derive(Debug)]
struct Layer<T> {
    kind: Kind<T>,
    /// Numbers of layers before it.
    inputs: Vec<usize>,
    /// How many layers take its result.
    uses: usize,
}

#[derive(Debug)]
enum Kind<T> {
    Picture,
    Convolution(Convolution<T>),
    Activation(Activation),
    /// Concatenates inputs along the channels.
    Concatenate,
    Add,
    /// Twice as many rows and columns.
    Upsample,
}

/// The fields of a `model.json` that this module reads.
#[derive(Deserialize)]
struct Model {
    #[serde(rename = "modelTopology")]
    topology: Topology,
    #[serde(rename = "weightsManifest")]
    manifest: Vec<Group>,
}

#[derive(Deserialize)]
struct Topology {
    model_config: ModelConfig,
}

#[derive(Deserialize)]
struct ModelConfig {
    config: Graph,
}

#[derive(Deserialize)]
struct Graph {
    layers: Vec<Node>,
    output_layers: Vec<(String, usize, usize)>,
}

#[derive(Deserialize)]
struct Node {
    class_name: String,
    config: serde_json::Map<String, Value>,
    #[serde(default)]
    inbound_nodes: Vec<Vec<(String, usize, usize, Value)>>,
}

/// Weights that lie one after the other in files.
#[derive(Deserialize)]
struct Group {
    paths: Vec<String>,
    weights: Vec<Weight>,
}

#[derive(Deserialize)]
struct Weight {
    name: String,
    shape: Vec<usize>,
    dtype: String,
    quantization: Option<Value>,
}

/// Settings of layers that have one value only here.
const FIXED: [(&str, &str); 9] = [
    ("strides", "[1,1]"),
    ("padding", "\"same\""),
    ("data_format", "\"channels_last\""),
    ("dilation_rate", "[1,1]"),
    ("groups", "1"),
    ("use_bias", "true"),
    ("axis", "3"),
    ("size", "[2,2]"),
    ("interpolation", "\"nearest\""),
];

impl<T: Element> Upscaler<T> {
    /// Reads a `model.json` and the weights beside it.
    ///
    /// # Errors
    /// [`Error::Unreadable`]; [`Error::Model`] of layers and weights that are not supported, or cut off; the runtime's.
    pub fn open(nn: &Nn, file: &Path) -> Result<Upscaler<T>> {
        let model: Model = parse(file)?;
        let wrong = |reason: String| Error::Model { file: file.to_owned(), reason };
        let weights = Weights::from_bytes(nn, file, weights(file, &model.manifest)?)?;
        let graph = model.topology.model_config.config;
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut layers: Vec<Layer<T>> = Vec::new();
        for node in &graph.layers {
            let name = node.config.get("name").and_then(Value::as_str).unwrap_or_default();
            let unsupported = |what: String| wrong(format!("layer `{name}`, a {}: {what}", node.class_name));
            let mut inputs = Vec::new();
            for (input, ..) in node.inbound_nodes.iter().flatten() {
                let number = numbers.get(input.as_str());
                inputs.push(*number.ok_or_else(|| unsupported(format!("there is no layer `{input}` before it")))?);
            }
            let is_known = match node.class_name.as_str() {
                "InputLayer" => inputs.is_empty(),
                "Concatenate" => inputs.len() > 1,
                "Add" => inputs.len() == 2,
                _ => inputs.len() == 1,
            };
            if !is_known {
                return Err(unsupported(format!("the results of {} layers are not what it takes", inputs.len())));
            }
            let kind = match node.class_name.as_str() {
                "InputLayer" if layers.is_empty() => Kind::Picture,
                "Conv2D" => Kind::Convolution(convolution(&weights.at(name), &model.manifest, name, &unsupported)?),
                "Activation" => Kind::Activation(Activation::Identity),
                "Concatenate" => Kind::Concatenate,
                "Add" => Kind::Add,
                "UpSampling2D" => Kind::Upsample,
                _ => return Err(unsupported("layers of this kind are not supported".to_owned())),
            };
            let is_product = matches!(&kind, Kind::Convolution(_)) && is_of_1(&model.manifest, name);
            for (setting, only) in FIXED {
                let value = node.config.get(setting).map(Value::to_string);
                // Filters of 1 by 1 have no padding in either way.
                let free = setting == "padding" && is_product;
                if let Some(value) = value.filter(|value| value != only && !free) {
                    return Err(unsupported(format!("`{setting}` is {value}, and only {only} is supported")));
                }
            }
            let activation = match node.config.get("activation").and_then(Value::as_str) {
                None | Some("linear") => Activation::Identity,
                Some("relu") => Activation::Relu,
                Some(other) => return Err(unsupported(format!("the function {other} is not supported"))),
            };
            for &input in &inputs {
                layers[input].uses += 1;
            }
            layers.push(Layer { kind, inputs, uses: 0 });
            if activation != Activation::Identity {
                if let Some(last) = layers.last_mut()
                    && let Kind::Activation(function) = &mut last.kind
                {
                    *function = activation;
                } else {
                    let inputs = vec![layers.len() - 1];
                    layers[inputs[0]].uses += 1;
                    let kind = Kind::Activation(activation);
                    layers.push(Layer { kind, inputs, uses: 0 });
                }
            }
            numbers.insert(name, layers.len() - 1);
        }
        match graph.output_layers.as_slice() {
            [(name, ..)] if numbers.get(name.as_str()) == layers.len().checked_sub(1).as_ref() => {
                Ok(Upscaler { nn: nn.clone(), layers })
            }
            _ => Err(wrong("the result is not that of the last layer".to_owned())),
        }
    }

    /// The larger picture of one of so many rows and columns, whose pixels are three numbers each, as the network was trained on them. Gives
    /// its pixels, and how many rows and columns there are.
    ///
    /// # Errors
    /// [`Error::Model`] if the result is no picture; the runtime's.
    ///
    /// # Panics
    /// Unless there are three numbers for each pixel.
    pub fn upscale(&self, pixels: &[f32], [rows, columns]: [usize; 2]) -> Result<(Vec<f32>, [usize; 2])> {
        assert_eq!(pixels.len(), rows * columns * 3, "three numbers for each pixel");
        let device = self.nn.device();
        let picture = Array::from_slice(device, [1, rows, columns, 3], pixels)?;
        let (larger, shape) = self.nn.run(|run| {
            let result = self.forward(run, run.tensor(picture.view())?)?;
            let mut larger = Array::zeros(device, result.shape())?;
            run.write(&result, larger.view_mut())?;
            Ok((larger, result.shape()))
        })?;
        Ok((larger.to_vec()?, [shape[1], shape[2]]))
    }

    /// Computes the layers, each of whose results is dropped behind the last layer that takes it.
    fn forward(&self, run: &Run, picture: Tensor<T, 4>) -> rumba_nn::Result<Tensor<T, 4>> {
        let mut results: Vec<Option<(Tensor<T, 4>, usize)>> = Vec::new();
        let mut last = picture.clone();
        for layer in &self.layers {
            let mut inputs = Vec::new();
            for &number in &layer.inputs {
                // Layers take the results of those before them, as often as was counted.
                if let Some((tensor, uses)) = &mut results[number] {
                    inputs.push(tensor.clone());
                    *uses -= 1;
                    if *uses == 0 {
                        results[number] = None;
                    }
                }
            }
            last = match (&layer.kind, inputs.as_slice()) {
                (Kind::Convolution(convolution), [x]) => convolution.forward(run, x)?,
                (Kind::Activation(function), [x]) => run.activate(x, *function)?,
                (Kind::Upsample, [x]) => run.upsample(x)?,
                (Kind::Concatenate, [first, rest @ ..]) => {
                    let mut all = first.clone();
                    for x in rest {
                        all = run.concatenate(&all, x)?;
                    }
                    all
                }
                (Kind::Add, [x, y]) => run.add(x, y)?,
                _ => picture.clone(),
            };
            results.push((layer.uses > 0).then(|| (last.clone(), layer.uses)));
        }
        Ok(last)
    }
}

/// A convolution of a layer's weights, whose shape says how large it is.
fn convolution<T: Element>(
    weights: &Weights,
    manifest: &[Group],
    layer: &str,
    unsupported: &impl Fn(String) -> Error,
) -> Result<Convolution<T>> {
    match kernel(manifest, layer).map(|kernel| kernel.shape.as_slice()) {
        Some(&[size, columns, inputs, outputs]) if size == columns && size % 2 == 1 => {
            let filters = Filters { inputs, outputs, size, stride: 1, padding: size / 2 };
            Ok(Convolution::load(weights, filters)?)
        }
        Some(shape) => Err(unsupported(format!("filters of shape {shape:?} are not supported"))),
        None => Err(unsupported(format!("there is no weight `{layer}/kernel`"))),
    }
}

fn kernel<'m>(manifest: &'m [Group], layer: &str) -> Option<&'m Weight> {
    let mut weights = manifest.iter().flat_map(|group| &group.weights);
    weights.find(|weight| weight.name.strip_suffix("/kernel") == Some(layer))
}

/// Whether a layer's filters are single pixels.
fn is_of_1(manifest: &[Group], layer: &str) -> bool {
    kernel(manifest, layer).is_some_and(|kernel| kernel.shape.starts_with(&[1, 1]))
}

/// The weights as a file of safetensors, with PyTorch's names and order of axes, which layers take.
fn weights(file: &Path, manifest: &[Group]) -> Result<Vec<u8>> {
    let wrong = |reason: String| Error::Model { file: file.to_owned(), reason };
    let mut tensors = Vec::new();
    for group in manifest {
        let mut bytes = Vec::new();
        for path in &group.paths {
            bytes.append(&mut read(&file.with_file_name(path))?);
        }
        let mut rest = bytes.as_slice();
        for weight in &group.weights {
            let Weight { name, shape, dtype, .. } = weight;
            if dtype != "float32" || weight.quantization.is_some() {
                return Err(wrong(format!(
                    "weight `{name}` of shape {shape:?} has elements of type {dtype}, or is quantized; weights are float32"
                )));
            }
            let length = shape.iter().try_fold(4_usize, |length, axis| length.checked_mul(*axis));
            let Some((own, behind)) = length.and_then(|length| rest.split_at_checked(length)) else {
                let files = group.paths.join(", ");
                return Err(wrong(format!(
                    "weight `{name}` of shape {shape:?} is cut off: {files} ends before it does"
                )));
            };
            rest = behind;
            tensors.push(match (name.strip_suffix("/kernel"), shape.as_slice()) {
                (Some(layer), &[rows, columns, inputs, outputs]) => {
                    let mut turned = Vec::with_capacity(own.len());
                    for place in 0..inputs * outputs * rows * columns {
                        let (filter, pixel) = (place / (rows * columns), place % (rows * columns));
                        let (output, input) = (filter / inputs, filter % inputs);
                        let at = 4 * ((pixel * inputs + input) * outputs + output);
                        turned.extend_from_slice(&own[at..at + 4]);
                    }
                    (format!("{layer}.weight"), vec![outputs, inputs, rows, columns], turned)
                }
                _ => (name.replace('/', "."), shape.clone(), own.to_vec()),
            });
        }
        if !rest.is_empty() {
            return Err(wrong(format!("{} bytes of {} belong to no weight", rest.len(), group.paths.join(", "))));
        }
    }
    let views: Result<Vec<_>, _> = tensors
        .iter()
        .map(|(name, shape, bytes)| Ok((name, TensorView::new(Dtype::F32, shape.clone(), bytes)?)))
        .collect();
    let file: Result<Vec<u8>, safetensors::SafeTensorError> = views.and_then(|views| serialize(views, None));
    file.map_err(|error| wrong(error.to_string()))
}
