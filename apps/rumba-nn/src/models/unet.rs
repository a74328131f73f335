//! The network of a diffusion model: what noise an image has.

use super::blocks::{PixelAttention, Resnet};
use super::transformer::{Projection, Transformer, TransformerShape};
use crate::error::{Error, Result};
use crate::layers::{Activation, Convolution, Embedding, Filters, GroupNorm, Linear};
use crate::run::Run;
use crate::run::element::Element;
use crate::run::tensor::Tensor;
use crate::weights::Weights;
use rumba::DeviceSlice;

/// The epsilon of norms, which keeps their divisor above zero.
const EPSILON: f32 = 1e-5;

/// The sizes of a [`UNet2d`], and the condition on its images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UNet2dShape {
    /// Channels of an image.
    pub channels: usize,
    /// The channels of each level, the first being that of whole images, and the heads of its attentions if it has any.
    pub levels: Vec<(usize, Option<usize>)>,
    /// Heads of the attention in the middle.
    pub middle: usize,
    /// Blocks of a level on the way down; on the way up it has one more.
    pub blocks: usize,
    /// Groups of the norms.
    pub groups: usize,
    /// The condition on an image.
    pub condition: Condition,
}

/// The condition of a [`UNet2d`], which describes the image to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// One class of this number of classes. Attentions are between pixels: diffusers' `UNet2DModel`.
    Class(usize),
    /// A text, with this number of numbers per token. Attentions are between pixels, and between pixels and tokens:
    /// diffusers' `UNet2DConditionModel`.
    Text(usize, Projection),
}

/// The condition of each image.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a, T> {
    /// Its class, outside of the run.
    Class(DeviceSlice<'a, u32>),
    /// A text, `[images, words, numbers]`.
    Text(&'a Tensor<T, 3>),
}

impl UNet2dShape {
    /// The shape of Stable Diffusion 1.5.
    #[must_use]
    pub fn stable_diffusion_1() -> UNet2dShape {
        UNet2dShape {
            channels: 4,
            levels: vec![(320, Some(8)), (640, Some(8)), (1280, Some(8)), (1280, None)],
            middle: 8,
            blocks: 2,
            groups: 32,
            condition: Condition::Text(768, Projection::Convolution),
        }
    }

    /// The shape of Stable Diffusion 2.1.
    #[must_use]
    pub fn stable_diffusion_2() -> UNet2dShape {
        UNet2dShape {
            levels: vec![(320, Some(5)), (640, Some(10)), (1280, Some(20)), (1280, None)],
            middle: 20,
            condition: Condition::Text(1024, Projection::Matrix),
            ..UNet2dShape::stable_diffusion_1()
        }
    }
}

/// A U-Net (Ronneberger, Fischer, Brox 2015) for diffusion: diffusers' `UNet2DModel` and `UNet2DConditionModel`.
#[derive(Debug)]
pub struct UNet2d<T> {
    time: [Linear<T>; 2],
    classes: Option<Embedding<T>>,
    first: Convolution<T>,
    down: Vec<Level<T>>,
    middle: (Block<T>, Resnet<T>),
    up: Vec<Level<T>>,
    norm: GroupNorm<T>,
    last: Convolution<T>,
    /// Channels of the first level.
    width: usize,
}

/// Blocks for images of one size, and the convolution that makes them half or twice as large.
#[derive(Debug)]
struct Level<T> {
    blocks: Vec<Block<T>>,
    resize: Option<Convolution<T>>,
}

/// Convolutions, and perhaps an attention behind them.
#[derive(Debug)]
struct Block<T> {
    resnet: Resnet<T>,
    attention: Option<Look<T>>,
}

/// What pixels look at.
#[derive(Debug)]
enum Look<T> {
    Pixels(PixelAttention<T>),
    Text(Transformer<T>),
}

impl<T: Element> Block<T> {
    /// The block of this number: `resnets` and `attentions` lie beside each other in a file.
    fn load(
        weights: &Weights,
        index: usize,
        [inputs, outputs]: [usize; 2],
        heads: Option<usize>,
        shape: &UNet2dShape,
    ) -> Result<Block<T>> {
        let groups = shape.groups;
        let look = |heads| {
            let weights = weights.at("attentions").at(index);
            Ok::<_, Error>(match shape.condition {
                Condition::Class(_) => Look::Pixels(PixelAttention::load(&weights, outputs, heads, groups, EPSILON)?),
                Condition::Text(context, projection) => {
                    let shape = TransformerShape { channels: outputs, context, heads, groups, blocks: 1, projection };
                    Look::Text(Transformer::load(&weights, &shape)?)
                }
            })
        };
        Ok(Block {
            resnet: Resnet::load(
                &weights.at("resnets").at(index),
                [inputs, outputs],
                Some(shape.time()),
                groups,
                EPSILON,
            )?,
            attention: heads.map(look).transpose()?,
        })
    }

    fn forward(
        &self,
        run: &Run,
        x: &Tensor<T, 4>,
        time: &Tensor<T, 2>,
        subject: Subject<'_, T>,
    ) -> Result<Tensor<T, 4>> {
        let x = self.resnet.forward(run, x, Some(time))?;
        match (&self.attention, subject) {
            (Some(Look::Pixels(attention)), _) => attention.forward(run, &x),
            (Some(Look::Text(transformer)), Subject::Text(text)) => transformer.forward(run, &x, text),
            _ => Ok(x),
        }
    }
}

impl UNet2dShape {
    /// Numbers that stand for a time.
    fn time(&self) -> usize {
        4 * self.levels[0].0
    }
}

impl<T: Element> UNet2d<T> {
    /// Takes the weights of a `UNet2DModel` with a table of classes, or of a `UNet2DConditionModel`.
    ///
    /// # Errors
    /// The errors of [`Weights::array`], and of layers that do not fit the shape.
    ///
    /// # Panics
    /// If the shape has no levels.
    pub fn load(weights: &Weights, shape: &UNet2dShape) -> Result<UNet2d<T>> {
        let (levels, time, groups) = (&shape.levels, shape.time(), shape.groups);
        let ((width, _), (deepest, _)) = (levels[0], levels[levels.len() - 1]);
        let linear = |name, shape| Linear::load(&weights.at("time_embedding").at(name), shape);
        let resize = |weights: Weights, filters| Convolution::load(&weights.at("0.conv"), filters).map(Some);

        // What levels pass to each other, and what those on the way down keep for those on the way up.
        let (mut before, mut kept) = (width, vec![width]);
        let mut down = Vec::new();
        for (index, &(own, heads)) in levels.iter().enumerate() {
            let weights = weights.at("down_blocks").at(index);
            let mut blocks = Vec::new();
            for block in 0..shape.blocks {
                blocks.push(Block::load(&weights, block, [before, own], heads, shape)?);
                kept.push(own);
                before = own;
            }
            let mut level = Level { blocks, resize: None };
            if index + 1 < levels.len() {
                level.resize = resize(weights.at("downsamplers"), Filters::of_3(own, own).halving())?;
                kept.push(own);
            }
            down.push(level);
        }
        let mut up = Vec::new();
        for (index, &(own, heads)) in levels.iter().rev().enumerate() {
            let weights = weights.at("up_blocks").at(index);
            let mut blocks = Vec::new();
            for block in 0..=shape.blocks {
                let inputs = before + kept.pop().unwrap_or(0);
                blocks.push(Block::load(&weights, block, [inputs, own], heads, shape)?);
                before = own;
            }
            let mut level = Level { blocks, resize: None };
            if index + 1 < levels.len() {
                level.resize = resize(weights.at("upsamplers"), Filters::of_3(own, own))?;
            }
            up.push(level);
        }
        let classes = match shape.condition {
            Condition::Class(classes) => Some(Embedding::load(&weights.at("class_embedding"), [classes, time])?),
            Condition::Text(..) => None,
        };
        let middle = weights.at("mid_block");
        Ok(UNet2d {
            time: [linear("linear_1", [width, time])?, linear("linear_2", [time, time])?],
            classes,
            first: Convolution::load(&weights.at("conv_in"), Filters::of_3(shape.channels, width))?,
            down,
            middle: (
                Block::load(&middle, 0, [deepest; 2], Some(shape.middle), shape)?,
                Resnet::load(&middle.at("resnets.1"), [deepest; 2], Some(time), groups, EPSILON)?,
            ),
            up,
            norm: GroupNorm::load(&weights.at("conv_norm_out"), width, groups, EPSILON)?,
            last: Convolution::load(&weights.at("conv_out"), Filters::of_3(width, shape.channels))?,
            width,
        })
    }

    /// The network's prediction for images, `[images, rows, columns, channels]`, at a time for each image, from an
    /// array outside of the run.
    ///
    /// # Errors
    /// [`Error::Shape`] of images that do not fit, of as many times or subjects, and of subjects of the other kind; the runtime's.
    pub fn forward(
        &self,
        run: &Run,
        images: &Tensor<T, 4>,
        times: DeviceSlice<'_, f32>,
        subject: Subject<'_, T>,
    ) -> Result<Tensor<T, 4>> {
        let mut time = run.timesteps(times, self.width)?;
        time = self.time[0].activated(run, &time, Activation::Silu)?;
        time = match (&self.classes, subject) {
            (Some(table), Subject::Class(classes)) => self.time[1].added(run, &time, &table.forward(run, classes)?)?,
            (None, Subject::Text(_)) => self.time[1].forward(run, &time)?,
            _ => {
                return Err(Error::Shape {
                    layer: "UNet2d",
                    wanted: "classes if it was trained on classes, and texts if on texts".to_owned(),
                    shape: images.shape().to_vec(),
                });
            }
        };
        // Each block begins with it.
        time = run.activate(&time, Activation::Silu)?;

        let mut x = self.first.forward(run, images)?;
        let mut kept = vec![x.clone()];
        for level in &self.down {
            for block in &level.blocks {
                x = block.forward(run, &x, &time, subject)?;
                kept.push(x.clone());
            }
            if let Some(halve) = &level.resize {
                x = halve.forward(run, &x)?;
                kept.push(x.clone());
            }
        }
        let (first, second) = &self.middle;
        x = first.forward(run, &x, &time, subject)?;
        x = second.forward(run, &x, Some(&time))?;
        for level in &self.up {
            for block in &level.blocks {
                if let Some(kept) = kept.pop() {
                    x = run.concatenate(&x, &kept)?;
                }
                x = block.forward(run, &x, &time, subject)?;
            }
            if let (Some(double), Some(kept)) = (&level.resize, kept.last()) {
                // The image before the halving may have had an odd number of rows or columns.
                let [_, rows, columns, _] = kept.shape();
                x = run.cropped(&run.upsample(&x)?, [rows, columns])?;
                x = double.forward(run, &x)?;
            }
        }
        x = self.norm.activated(run, &x, Activation::Silu)?;
        self.last.forward(run, &x)
    }
}
