//! A pipeline's folder in the layout of diffusers: which files there are, and how large the networks are.

use crate::error::{Error, Result};
use crate::schedule::Schedule;
use crate::settings::Settings;
use crate::words::Words;
use rumba_nn::models::{ClipTextShape, Condition, Projection, UNet2dShape, VaeShape};
use rumba_nn::{Activation, Nn, Weights};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A network of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Encodes text as vectors.
    TextEncoder,
    /// Predicts the noise in a picture.
    UNet,
    /// Decodes latents to pictures, and encodes pictures as latents.
    Vae,
}

impl Part {
    const ALL: [Part; 3] = [Part::TextEncoder, Part::UNet, Part::Vae];

    /// Its folder.
    fn folder(self) -> &'static str {
        match self {
            Part::TextEncoder => "text_encoder",
            Part::UNet => "unet",
            Part::Vae => "vae",
        }
    }

    /// How its file of weights begins: transformers has another name than diffusers.
    fn stem(self) -> &'static str {
        match self {
            Part::TextEncoder => "model",
            Part::UNet | Part::Vae => "diffusion_pytorch_model",
        }
    }
}

/// The folder of a pipeline of Stable Diffusion 1 or 2, as diffusers' `save_pretrained` writes it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// How large the text encoder is.
    pub text: ClipTextShape,
    /// How large the U-Net is.
    pub unet: UNet2dShape,
    /// How large the autoencoder is.
    pub vae: VaeShape,
    /// The factor that scales latents to the magnitude of the noise.
    pub scaling: f64,
    /// Rows and columns of the pictures that the networks were trained on.
    pub size: usize,
    /// The noise of each time, and how samplers go through it.
    pub schedule: Schedule,
}

impl Folder {
    /// Reads the settings of a folder.
    ///
    /// # Errors
    /// [`Error::NoFolder`], [`Error::Lacks`], [`Error::Unreadable`], [`Error::Json`], [`Error::Setting`].
    pub fn open(path: impl AsRef<Path>) -> Result<Folder> {
        let path = path.as_ref().to_owned();
        if !path.is_dir() {
            return Err(Error::NoFolder { folder: path });
        }
        complete(&path)?;
        let settings = |file: &str| Settings::read(&path.join(file));
        let unet = settings("unet/config.json")?;
        let text = settings("text_encoder/config.json")?;
        let vae = settings("vae/config.json")?;
        let (text_shape, unet_shape, vae_shape) = (text_shape(&text)?, unet_shape(&unet)?, vae_shape(&vae)?);
        if let Condition::Text(context, _) = unet_shape.condition
            && context != text_shape.width
        {
            let wanted = format!("the text encoder has {} numbers for a word", text_shape.width);
            return unet.refuse("cross_attention_dim", wanted);
        }
        if vae_shape.latent != unet_shape.channels {
            let wanted = format!("the U-Net has images of {} channels", unet_shape.channels);
            return vae.refuse("latent_channels", wanted);
        }
        Ok(Folder {
            size: unet.count("sample_size", Some(64))? << (vae_shape.levels.len() - 1),
            scaling: vae.number("scaling_factor", Some(0.18215))?,
            schedule: Schedule::read(&settings("scheduler/scheduler_config.json")?)?,
            text: text_shape,
            unet: unet_shape,
            vae: vae_shape,
            path,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The weights of a network.
    ///
    /// # Errors
    /// [`Error::Lacks`] if no file has the safetensors format; the errors of [`Weights::open`].
    pub fn weights(&self, nn: &Nn, part: Part) -> Result<Weights> {
        let Some(file) = weights(&self.path, part) else {
            return Err(lacks(&self.path, vec![part]));
        };
        Ok(Weights::open(nn, file)?)
    }

    /// The tokenizer.
    ///
    /// # Errors
    /// Those of [`Words::open`].
    pub fn words(&self) -> Result<Words> {
        Words::open(&self.path.join("tokenizer"), self.text.words, self.text.positions)
    }
}

/// Checks that the folder has all files of a pipeline.
fn complete(path: &Path) -> Result<()> {
    let mut missing = Vec::new();
    for file in ["scheduler/scheduler_config.json", "text_encoder/config.json", "unet/config.json", "vae/config.json"] {
        if !path.join(file).is_file() {
            missing.push(file.to_owned());
        }
    }
    let has = |file: &str| path.join("tokenizer").join(file).is_file();
    if !(has("tokenizer.json") || has("vocab.json") && has("merges.txt")) {
        missing.push("tokenizer/vocab.json with tokenizer/merges.txt, or tokenizer/tokenizer.json".to_owned());
    }
    let networks: Vec<Part> = Part::ALL.into_iter().filter(|part| weights(path, *part).is_none()).collect();
    if missing.is_empty() && networks.is_empty() {
        return Ok(());
    }
    let mut error = lacks(path, networks);
    if let Error::Lacks { missing: files, .. } = &mut error {
        missing.append(files);
        *files = missing;
    }
    Err(error)
}

/// The error of networks without weights.
fn lacks(path: &Path, networks: Vec<Part>) -> Error {
    let is_pickled = |part: &Part| path.join(part.folder()).join(pickle(*part)).is_file();
    let is_pickled = networks.iter().any(is_pickled);
    let note = "there are weights in PyTorch's own format, which can run code and is not read; diffusers' `save_pretrained` writes safetensors";
    Error::Lacks {
        folder: path.to_owned(),
        missing: networks.iter().map(|part| format!("{}/{}.safetensors", part.folder(), part.stem())).collect(),
        note: is_pickled.then(|| note.to_owned()),
    }
}

/// The file of a network's weights: in f32 if there is one, otherwise in f16.
fn weights(path: &Path, part: Part) -> Option<PathBuf> {
    let names = ["safetensors", "fp16.safetensors"].map(|ending| format!("{}.{ending}", part.stem()));
    let mut files = names.iter().map(|name| path.join(part.folder()).join(name));
    files.find(|file| file.is_file())
}

/// The file of a network's weights in the format that is not read.
fn pickle(part: Part) -> &'static str {
    match part {
        Part::TextEncoder => "pytorch_model.bin",
        Part::UNet | Part::Vae => "diffusion_pytorch_model.bin",
    }
}

fn text_shape(settings: &Settings) -> Result<ClipTextShape> {
    settings.fixed(&[("layer_norm_eps", json!(1e-5))])?;
    let count = |setting| settings.count(setting, None);
    Ok(ClipTextShape {
        words: count("vocab_size")?,
        positions: count("max_position_embeddings")?,
        width: count("hidden_size")?,
        layers: count("num_hidden_layers")?,
        heads: count("num_attention_heads")?,
        inner: count("intermediate_size")?,
        activation: settings.choice(
            "hidden_act",
            Some(Activation::QuickGelu),
            &[("quick_gelu", Activation::QuickGelu), ("gelu", Activation::Gelu)],
        )?,
    })
}

fn unet_shape(settings: &Settings) -> Result<UNet2dShape> {
    settings.fixed(&[
        ("act_fn", json!("silu")),
        ("addition_embed_type", Value::Null),
        ("attention_type", json!("default")),
        ("center_input_sample", json!(false)),
        ("class_embed_type", Value::Null),
        ("conv_in_kernel", json!(3)),
        ("conv_out_kernel", json!(3)),
        ("cross_attention_norm", Value::Null),
        ("downsample_padding", json!(1)),
        ("dual_cross_attention", json!(false)),
        ("encoder_hid_dim_type", Value::Null),
        ("flip_sin_to_cos", json!(true)),
        ("freq_shift", json!(0)),
        ("mid_block_scale_factor", json!(1)),
        ("mid_block_type", json!("UNetMidBlock2DCrossAttn")),
        ("norm_eps", json!(1e-5)),
        ("num_class_embeds", Value::Null),
        ("only_cross_attention", json!(false)),
        ("resnet_time_scale_shift", json!("default")),
        ("time_cond_proj_dim", Value::Null),
        ("time_embedding_type", json!("positional")),
        ("timestep_post_act", Value::Null),
        ("transformer_layers_per_block", json!(1)),
    ])?;
    let channels = settings.count("in_channels", Some(4))?;
    if channels != settings.count("out_channels", Some(4))? {
        return settings
            .refuse("in_channels", "only as many as `out_channels` are supported, which leaves out inpainting");
    }
    let widths = settings.levels("block_out_channels")?;
    // Diffusers names the number of heads as if it were the size of a head (diffusers' issue 2011).
    let heads = match settings.get("num_attention_heads") {
        Some(_) => "num_attention_heads",
        None => "attention_head_dim",
    };
    let heads = settings.counts(heads, widths.len())?;
    let looks = blocks(settings, "down_block_types", ["DownBlock2D", "CrossAttnDownBlock2D"], widths.len())?;
    let mut back = blocks(settings, "up_block_types", ["UpBlock2D", "CrossAttnUpBlock2D"], widths.len())?;
    back.reverse();
    if back != looks {
        return settings.refuse("up_block_types", "only the blocks of `down_block_types` in reverse are supported");
    }
    let projection = match settings.flag("use_linear_projection", false)? {
        true => Projection::Matrix,
        false => Projection::Convolution,
    };
    let levels = widths.iter().zip(looks).zip(&heads);
    Ok(UNet2dShape {
        channels,
        levels: levels.map(|((&width, looks), &heads)| (width, looks.then_some(heads))).collect(),
        middle: heads[heads.len() - 1],
        blocks: settings.count("layers_per_block", Some(2))?,
        groups: settings.count("norm_num_groups", Some(32))?,
        condition: Condition::Text(settings.count("cross_attention_dim", None)?, projection),
    })
}

/// The levels that attend to the text.
fn blocks(settings: &Settings, setting: &str, [without, with]: [&str; 2], levels: usize) -> Result<Vec<bool>> {
    let look = |value: &Value| match value.as_str()? {
        name if name == with => Some(true),
        name if name == without => Some(false),
        _ => None,
    };
    let list = settings.get(setting).and_then(Value::as_array).filter(|list| list.len() == levels);
    let looks: Option<Vec<bool>> = list.and_then(|list| list.iter().map(look).collect());
    looks.map_or_else(
        || settings.refuse(setting, format!("it has to be a list of {levels}, each {without} or {with}")),
        Ok,
    )
}

fn vae_shape(settings: &Settings) -> Result<VaeShape> {
    settings.fixed(&[
        ("act_fn", json!("silu")),
        ("mid_block_add_attention", json!(true)),
        ("shift_factor", Value::Null),
        ("use_post_quant_conv", json!(true)),
        ("use_quant_conv", json!(true)),
        ("in_channels", json!(3)),
        ("out_channels", json!(3)),
    ])?;
    let levels = settings.levels("block_out_channels")?;
    for (setting, name) in [("down_block_types", "DownEncoderBlock2D"), ("up_block_types", "UpDecoderBlock2D")] {
        settings.fixed(&[(setting, json!(vec![name; levels.len()]))])?;
    }
    Ok(VaeShape {
        latent: settings.count("latent_channels", Some(4))?,
        channels: 3,
        levels,
        blocks: settings.count("layers_per_block", Some(1))?,
        groups: settings.count("norm_num_groups", Some(32))?,
    })
}
