//! The network of a diffusion model: what noise an image has.

use super::blocks::{EPSILON, PixelAttention, Resnet};
use crate::error::Result;
use crate::layers::{Activation, Convolution, Embedding, Filters, GroupNorm, Linear};
use crate::run::Run;
use crate::run::element::Element;
use crate::run::tensor::Tensor;
use crate::weights::Weights;
use rumba::DeviceSlice;

/// How large a [`UNet2d`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UNet2dShape {
    /// Channels of an image.
    pub channels: usize,
    /// Of each level, the first being that of whole images: its channels, and whether its pixels attend to each other.
    pub levels: Vec<(usize, bool)>,
    /// Blocks of a level on the way down; on the way up it has one more.
    pub blocks: usize,
    /// Channels of a head.
    pub head: usize,
    /// Groups of the norms.
    pub groups: usize,
    /// Classes of images.
    pub classes: usize,
}

/// A U-Net (Ronneberger, Fischer, Brox 2015) for diffusion by class: diffusers' `UNet2DModel`.
#[derive(Debug)]
pub struct UNet2d<T> {
    time: [Linear<T>; 2],
    classes: Embedding<T>,
    first: Convolution<T>,
    down: Vec<Level<T>>,
    middle: (Resnet<T>, PixelAttention<T>, Resnet<T>),
    up: Vec<Level<T>>,
    norm: GroupNorm<T>,
    last: Convolution<T>,
    /// Channels of the first level.
    width: usize,
}

/// Blocks for images of one size, and the convolution that makes them half or twice as large.
#[derive(Debug)]
struct Level<T> {
    blocks: Vec<(Resnet<T>, Option<PixelAttention<T>>)>,
    resize: Option<Convolution<T>>,
}

impl<T: Element> Level<T> {
    fn load(weights: &Weights, widths: &[[usize; 2]], attends: bool, shape: &UNet2dShape) -> Result<Level<T>> {
        let UNet2dShape { head, groups, .. } = *shape;
        let time = 4 * shape.levels[0].0;
        let blocks = widths.iter().enumerate().map(|(index, &[inputs, outputs])| {
            let resnet = Resnet::load(&weights.at("resnets").at(index), [inputs, outputs], time, groups)?;
            let attention = attends
                .then(|| PixelAttention::load(&weights.at("attentions").at(index), outputs, head, groups))
                .transpose()?;
            Ok((resnet, attention))
        });
        Ok(Level {
            blocks: blocks.collect::<Result<_>>()?,
            resize: None,
        })
    }
}

fn block<T: Element>(
    run: &Run,
    (resnet, attention): &(Resnet<T>, Option<PixelAttention<T>>),
    x: &Tensor<T, 4>,
    time: &Tensor<T, 2>,
) -> Result<Tensor<T, 4>> {
    let x = resnet.forward(run, x, time)?;
    match attention {
        Some(attention) => attention.forward(run, &x),
        None => Ok(x),
    }
}

impl<T: Element> UNet2d<T> {
    /// Takes the weights of a `UNet2DModel` with positional times and a table of classes.
    ///
    /// # Errors
    /// Those of [`Weights::array`], and of layers that the shape does not fit.
    ///
    /// # Panics
    /// If the shape has no levels.
    pub fn load(weights: &Weights, shape: &UNet2dShape) -> Result<UNet2d<T>> {
        let UNet2dShape {
            channels,
            levels,
            blocks,
            head,
            groups,
            classes,
        } = shape;
        let ((width, _), (deepest, _)) = (levels[0], levels[levels.len() - 1]);
        let time = 4 * width;
        let linear = |name, shape| Linear::load(&weights.at("time_embedding").at(name), shape);
        let resize = |weights: Weights, filters| Convolution::load(&weights.at("0.conv"), filters).map(Some);

        // What levels pass to each other, and what those on the way down keep for those on the way up.
        let (mut before, mut kept) = (width, vec![width]);
        let mut down = Vec::new();
        for (index, &(own, attends)) in levels.iter().enumerate() {
            let weights = weights.at("down_blocks").at(index);
            let widths: Vec<_> = (0..*blocks)
                .map(|block| [if block == 0 { before } else { own }, own])
                .collect();
            let mut level = Level::load(&weights, &widths, attends, shape)?;
            kept.extend(widths.iter().map(|_| own));
            if index + 1 < levels.len() {
                level.resize = resize(weights.at("downsamplers"), Filters::of_3(own, own).halving())?;
                kept.push(own);
            }
            down.push(level);
            before = own;
        }
        let mut up = Vec::new();
        for (index, &(own, attends)) in levels.iter().rev().enumerate() {
            let weights = weights.at("up_blocks").at(index);
            let widths: Vec<_> = (0..=*blocks)
                .map(|block| {
                    let x = if block == 0 { before } else { own };
                    [x + kept.pop().unwrap_or(0), own]
                })
                .collect();
            let mut level = Level::load(&weights, &widths, attends, shape)?;
            if index + 1 < levels.len() {
                level.resize = resize(weights.at("upsamplers"), Filters::of_3(own, own))?;
            }
            up.push(level);
            before = own;
        }
        let middle = weights.at("mid_block");
        let resnet = |index: usize| Resnet::load(&middle.at("resnets").at(index), [deepest; 2], time, *groups);
        Ok(UNet2d {
            time: [linear("linear_1", [width, time])?, linear("linear_2", [time, time])?],
            classes: Embedding::load(&weights.at("class_embedding"), [*classes, time])?,
            first: Convolution::load(&weights.at("conv_in"), Filters::of_3(*channels, width))?,
            down,
            middle: (
                resnet(0)?,
                PixelAttention::load(&middle.at("attentions.0"), deepest, *head, *groups)?,
                resnet(1)?,
            ),
            up,
            norm: GroupNorm::load(&weights.at("conv_norm_out"), width, *groups, EPSILON)?,
            last: Convolution::load(&weights.at("conv_out"), Filters::of_3(width, *channels))?,
            width,
        })
    }

    /// What the network predicts of images, `[images, rows, columns, channels]`, at a time of each and of a class each, which lie
    /// outside of the run. Rows and columns are to be multiples of two to the power of the levels but one.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of images that do not fit, or of as many times or classes; the runtime's.
    pub fn forward(
        &self,
        run: &Run,
        images: &Tensor<T, 4>,
        times: DeviceSlice<'_, f32>,
        classes: DeviceSlice<'_, u32>,
    ) -> Result<Tensor<T, 4>> {
        let mut time = run.timesteps(times, self.width)?;
        time = self.time[0].activated(run, &time, Activation::Silu)?;
        time = self.time[1].added(run, &time, &self.classes.forward(run, classes)?)?;
        // Each block begins with it.
        time = run.activate(&time, Activation::Silu)?;

        let mut x = self.first.forward(run, images)?;
        let mut kept = vec![x.clone()];
        for level in &self.down {
            for own in &level.blocks {
                x = block(run, own, &x, &time)?;
                kept.push(x.clone());
            }
            if let Some(halve) = &level.resize {
                x = halve.forward(run, &x)?;
                kept.push(x.clone());
            }
        }
        let (first, attention, second) = &self.middle;
        x = first.forward(run, &x, &time)?;
        x = attention.forward(run, &x)?;
        x = second.forward(run, &x, &time)?;
        for level in &self.up {
            for own in &level.blocks {
                if let Some(kept) = kept.pop() {
                    x = run.concatenate(&x, &kept)?;
                }
                x = block(run, own, &x, &time)?;
            }
            if let Some(double) = &level.resize {
                x = run.upsample(&x)?;
                x = double.forward(run, &x)?;
            }
        }
        x = self.norm.activated(run, &x, Activation::Silu)?;
        self.last.forward(run, &x)
    }
}
