//! Each layer, and small models, against PyTorch's results (`tests/goldens/make.py`), in each type, under every check of the software device.

use cuda_std::half::{bf16, f16};
use rumba::array::Array;
use rumba::linalg::Mask;
use rumba_nn::layers::{Attention, Convolution, Embedding, Filters, GroupNorm, Heads, LayerNorm, Linear};
use rumba_nn::models::{
    Bert, BertShape, ClipText, ClipTextShape, Condition, Projection, Subject, Transformer, TransformerShape, UNet2d,
    UNet2dShape, VaeDecoder, VaeEncoder, VaeShape,
};
use rumba_nn::{Activation, Element, Error, Nn, Result, Run, Tensor, Weights};
use std::path::PathBuf;

/// A file of `tests/goldens`.
fn golden(nn: &Nn, name: &str) -> Result<Weights> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    Weights::open(nn, folder.join(format!("{name}.safetensors")))
}

/// The runtime's error in an error of a run; panics for other errors.
pub fn checked<R>(result: Result<R>) -> rumba::Result<R> {
    result.map_err(|error| match error {
        Error::Rumba(error) => error,
        error => panic!("{error}"),
    })
}

/// Computes a layer under every check, and compares the result with the golden one. `tolerance` is relative to the largest number.
fn compare<T: Element, const N: usize>(
    name: &str,
    tolerance: f32,
    layer: impl Fn(&Run, &Weights) -> Result<Tensor<T, N>>,
) {
    let (mut own, mut expected) = (Vec::new(), Vec::new());
    let findings = rumba::check(|device| {
        checked((|| {
            let nn = Nn::new(device)?;
            let weights = golden(&nn, name)?;
            (own, expected) = nn.run(|run| {
                let tensor = layer(run, &weights)?;
                let mut result = Array::zeros(device, tensor.shape())?;
                run.write(&tensor, result.view_mut())?;
                let expected = weights.array::<f32, N>("y", tensor.shape())?;
                Ok((result.to_vec()?, expected.to_vec()?))
            })?;
            Ok(())
        })())
    });
    findings.expect("the layer is computed").assert_none();
    let largest = expected.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
    for (index, (own, expected)) in own.iter().zip(&expected).enumerate() {
        let difference = (own - expected).abs();
        assert!(
            difference <= tolerance * largest,
            "{name} in {}: element {index} is {own} instead of {expected}",
            std::any::type_name::<T>()
        );
    }
}

/// A tensor of the file.
fn input<T: Element, const N: usize>(
    run: &Run,
    weights: &Weights,
    name: &str,
    shape: [usize; N],
) -> Result<Tensor<T, N>> {
    run.tensor(weights.array::<f32, N>(name, shape)?.view())
}

const MATRIX: [usize; 2] = [5, 24];
const IMAGES: [usize; 4] = [2, 6, 5, 12];
const TOKENS: [usize; 3] = [2, 9, 32];
const TRANSFORMER: TransformerShape =
    TransformerShape { channels: 16, context: 12, heads: 2, groups: 4, blocks: 1, projection: Projection::Matrix };

/// A U-Net of two levels that looks at texts.
fn unet<T: Element>(run: &Run, weights: &Weights, images: [usize; 4]) -> Result<Tensor<T, 4>> {
    let shape = UNet2dShape {
        levels: vec![(4, Some(2)), (4, None)],
        middle: 2,
        blocks: 1,
        groups: 2,
        condition: Condition::Text(12, Projection::Convolution),
        ..UNet2dShape::stable_diffusion_1()
    };
    let (x, text) = (input(run, weights, "x", images)?, input(run, weights, "text", [images[0], 5, 12])?);
    let times = weights.array::<f32, 1>("times", [images[0]])?;
    let network = UNet2d::load(&weights.at("layer"), &shape)?;
    network.forward(run, &x, times.as_slice(), Subject::Text(&text))
}

/// A test for each row: the golden's name, the dimensions of the result, and the layer.
macro_rules! goldens {
    ($($name:ident: $rank:literal, |$run:ident, $weights:ident| $layer:expr;)*) => {$(
        #[test]
        fn $name() {
            fn layer<T: Element>($run: &Run, $weights: &Weights) -> Result<Tensor<T, $rank>> {
                $layer
            }
            compare(stringify!($name), 2e-6, layer::<f32>);
            compare(stringify!($name), 2e-3, layer::<f16>);
            compare(stringify!($name), 2e-2, layer::<bf16>);
        }
    )*};
}

goldens! {
    linear: 2, |run, weights| {
        Linear::load(&weights.at("layer"), [24, 40])?.forward(run, &input(run, weights, "x", MATRIX)?)
    };
    linear_silu: 2, |run, weights| {
        let linear = Linear::load(&weights.at("layer"), [24, 40])?;
        linear.activated(run, &input(run, weights, "x", MATRIX)?, Activation::Silu)
    };
    linear_gelu: 2, |run, weights| {
        let linear = Linear::load(&weights.at("layer"), [24, 40])?;
        linear.activated(run, &input(run, weights, "x", MATRIX)?, Activation::Gelu)
    };
    linear_residual: 2, |run, weights| {
        let x = input(run, weights, "x", MATRIX)?;
        Linear::load(&weights.at("layer"), [24, 24])?.added(run, &x, &x)
    };
    convolution_1: 4, |run, weights| {
        let convolution = Convolution::load(&weights.at("layer"), Filters::of_1(12, 20))?;
        convolution.forward(run, &input(run, weights, "x", IMAGES)?)
    };
    convolution_3: 4, |run, weights| {
        let convolution = Convolution::load(&weights.at("layer"), Filters::of_3(12, 20))?;
        convolution.forward(run, &input(run, weights, "x", IMAGES)?)
    };
    convolution_halving: 4, |run, weights| {
        let convolution = Convolution::load(&weights.at("layer"), Filters::of_3(12, 20).halving())?;
        convolution.forward(run, &input(run, weights, "x", IMAGES)?)
    };
    group_norm: 4, |run, weights| {
        let norm = GroupNorm::load(&weights.at("layer"), 12, 3, 1e-5)?;
        norm.forward(run, &input(run, weights, "x", IMAGES)?)
    };
    group_norm_silu: 4, |run, weights| {
        let norm = GroupNorm::load(&weights.at("layer"), 12, 3, 1e-5)?;
        norm.activated(run, &input(run, weights, "x", IMAGES)?, Activation::Silu)
    };
    layer_norm: 2, |run, weights| {
        LayerNorm::load(&weights.at("layer"), 24, 1e-5)?.forward(run, &input(run, weights, "x", MATRIX)?)
    };
    attention_self: 3, |run, weights| {
        let heads = Heads { channels: 32, context: None, count: 4, biased: true };
        let x = input(run, weights, "x", TOKENS)?;
        Attention::load(&weights.at("layer"), heads)?.forward(run, &x, None, Mask::None)
    };
    attention_cross: 3, |run, weights| {
        let heads = Heads { channels: 32, context: Some(24), count: 2, biased: false };
        let (x, context) = (input(run, weights, "x", TOKENS)?, input(run, weights, "context", [2, 7, 24])?);
        Attention::load(&weights.at("layer"), heads)?.forward(run, &x, Some(&context), Mask::None)
    };
    attention_causal: 3, |run, weights| {
        let heads = Heads { channels: 32, context: None, count: 4, biased: true };
        let x = input(run, weights, "x", TOKENS)?;
        Attention::load(&weights.at("layer"), heads)?.forward(run, &x, None, Mask::Causal)
    };
    silu: 2, |run, weights| run.activate(&input(run, weights, "x", MATRIX)?, Activation::Silu);
    gelu: 2, |run, weights| run.activate(&input(run, weights, "x", MATRIX)?, Activation::Gelu);
    quick_gelu: 2, |run, weights| run.activate(&input(run, weights, "x", MATRIX)?, Activation::QuickGelu);
    relu: 2, |run, weights| run.activate(&input(run, weights, "x", MATRIX)?, Activation::Relu);
    add: 2, |run, weights| {
        let x = input(run, weights, "x", MATRIX)?;
        run.add(&x, &x)
    };
    upsample: 4, |run, weights| run.upsample(&input(run, weights, "x", IMAGES)?);
    concatenate: 4, |run, weights| {
        run.concatenate(&input(run, weights, "x", IMAGES)?, &input(run, weights, "z", [2, 6, 5, 7])?)
    };
    add_to_pixels: 4, |run, weights| {
        run.add_to_pixels(&input(run, weights, "x", IMAGES)?, &input(run, weights, "rows", [2, 12])?)
    };
    embedding: 2, |run, weights| {
        let ids = weights.nn().device().buffer_from(&[3, 0, 7, 3])?;
        Embedding::load(&weights.at("layer"), [8, 12])?.forward(run, ids.as_slice())
    };
    clip_text: 3, |run, weights| {
        let shape = ClipTextShape {
            words: 40,
            positions: 9,
            width: 16,
            layers: 2,
            heads: 2,
            inner: 32,
            activation: Activation::QuickGelu,
        };
        let ids = Array::from_fn(weights.nn().device(), [2, 7], |[row, word]| ((7 * row + word) * 5 % 40) as u32)?;
        ClipText::load(&weights.at("layer"), &shape)?.forward(run, ids.view())
    };
    bert: 3, |run, weights| {
        let shape = BertShape {
            words: 40,
            positions: 9,
            kinds: 2,
            width: 16,
            layers: 2,
            heads: 2,
            inner: 32,
            activation: Activation::Gelu,
            epsilon: 1e-12,
        };
        let ids = Array::from_fn(weights.nn().device(), [2, 7], |[row, word]| ((7 * row + word) * 5 % 40) as u32)?;
        Bert::load(&weights.at("layer"), &shape)?.forward(run, ids.view())
    };
    transformer_1: 4, |run, weights| {
        let shape = TransformerShape { projection: Projection::Convolution, ..TRANSFORMER };
        let (x, text) = (input(run, weights, "x", [2, 4, 3, 16])?, input(run, weights, "text", [2, 5, 12])?);
        Transformer::load(&weights.at("layer"), &shape)?.forward(run, &x, &text)
    };
    transformer_2: 4, |run, weights| {
        let shape = TransformerShape { projection: Projection::Matrix, ..TRANSFORMER };
        let (x, text) = (input(run, weights, "x", [2, 4, 3, 16])?, input(run, weights, "text", [2, 5, 12])?);
        Transformer::load(&weights.at("layer"), &shape)?.forward(run, &x, &text)
    };
    unet_of_text: 4, |run, weights| unet(run, weights, [2, 4, 6, 4]);
    // Images that are halved to five rows and to three columns.
    unet_of_odd_images: 4, |run, weights| unet(run, weights, [1, 9, 6, 4]);
    vae_decoder: 4, |run, weights| {
        let shape = VaeShape {
            levels: vec![4, 8],
            blocks: 1,
            groups: 2,
            ..VaeShape::stable_diffusion()
        };
        VaeDecoder::load(&weights.at("layer"), &shape)?.forward(run, &input(run, weights, "x", [1, 3, 4, 4])?)
    };
    vae_encoder: 4, |run, weights| {
        let shape = VaeShape {
            levels: vec![4, 8],
            blocks: 1,
            groups: 2,
            ..VaeShape::stable_diffusion()
        };
        VaeEncoder::load(&weights.at("layer"), &shape)?.forward(run, &input(run, weights, "x", [2, 6, 8, 3])?)
    };
    padded: 4, |run, weights| run.padded(&input(run, weights, "x", [2, 6, 5, 12])?);
    timesteps: 2, |run, weights| {
        let times = weights.array::<f32, 1>("times", [4])?;
        run.timesteps(times.as_slice(), 16)
    };
}
