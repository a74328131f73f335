//! Trained parameters: their names, shapes and places in one buffer, their numbers, their gradients, and files of them.

use crate::error::{Result, WeightError};
use crate::run::Nn;
use crate::train::layers::{Convolution, Linear};
use crate::weights::Weights;
use rumba::{Device, DeviceBuffer, DeviceSlice, DeviceSliceMut};
use safetensors::tensor::{Dtype, TensorView, serialize};
use std::ops::Range;
use std::path::Path;

/// Parameters begin at multiples of this number of numbers, as fast products require.
const ALIGNMENT: usize = 64;

/// Where a parameter lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    start: usize,
    shape: [usize; 2],
    /// The number of inputs of each output; 0 for a bias.
    inputs: usize,
}

impl Slot {
    pub(super) fn start(&self) -> usize {
        self.start
    }

    pub(super) fn shape(&self) -> [usize; 2] {
        self.shape
    }

    pub(super) fn len(&self) -> usize {
        self.shape[0] * self.shape[1]
    }

    fn range(&self) -> Range<usize> {
        self.start..self.start + self.len()
    }
}

/// The parameters of a network: layers are added, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    slots: Vec<(String, Slot)>,
    length: usize,
}

impl Layout {
    /// None yet.
    #[must_use]
    pub fn new() -> Layout {
        Layout::default()
    }

    /// A layer that computes `x Wᵀ + b`: parameters `NAME.weight`, `[outputs, inputs]`, and `NAME.bias`.
    pub fn linear(&mut self, name: &str, [inputs, outputs]: [usize; 2]) -> Linear {
        let weight = self.add(format!("{name}.weight"), [outputs, inputs], inputs);
        Linear::new(weight, self.add(format!("{name}.bias"), [1, outputs], 0))
    }

    /// A convolution with filters of 3 by 3, zeros around the images, and what follows: see [`Convolution`]. `NAME.weight` is
    /// `[rows · columns · inputs, outputs]`.
    pub fn convolution(&mut self, name: &str, [inputs, outputs]: [usize; 2]) -> Convolution {
        let inputs = nn_kernels::gradient::PLACES * inputs;
        let weight = self.add(format!("{name}.weight"), [inputs, outputs], inputs);
        Convolution::new(weight, self.add(format!("{name}.bias"), [1, outputs], 0))
    }

    fn add(&mut self, name: String, shape: [usize; 2], inputs: usize) -> Slot {
        let slot = Slot { start: self.length, shape, inputs };
        self.length += slot.len().next_multiple_of(ALIGNMENT);
        self.slots.push((name, slot));
        slot
    }
}

/// The numbers of parameters, and the moments that [`Adam`](super::Adam) keeps of their gradients.
#[derive(Debug)]
pub struct Parameters {
    layout: Layout,
    pub(super) values: DeviceBuffer<f32>,
    pub(super) moments: [DeviceBuffer<f32>; 2],
    /// The number of steps of each parameter: all are equal.
    pub(super) steps: DeviceBuffer<u32>,
    /// The losses of the last steps: that of step `n` at `n % LOSSES`.
    pub(super) losses: DeviceBuffer<f32>,
}

/// The number of steps whose losses [`Parameters`] keep.
const LOSSES: usize = 128;

/// The moments' names in a file.
const MOMENTS: [&str; 2] = ["adam.first", "adam.second"];

/// The number of steps there.
const STEPS: &str = "adam.steps";

impl Parameters {
    /// Biases are zero; weights are evenly distributed with the variance of He et al. 2015, `2 / inputs`. `uniform` gives numbers from 0 to
    /// below 1.
    ///
    /// # Errors
    /// The runtime's.
    pub fn new(device: &Device, layout: &Layout, mut uniform: impl FnMut() -> f32) -> Result<Parameters> {
        let mut values = vec![0.0; layout.length];
        for (_, slot) in layout.slots.iter().filter(|(_, slot)| slot.inputs > 0) {
            let bound = (6.0 / slot.inputs as f32).sqrt();
            values[slot.range()].fill_with(|| bound * (2.0 * uniform() - 1.0));
        }
        Ok(Parameters {
            layout: layout.clone(),
            values: device.buffer_from(&values)?,
            moments: [device.zeros(layout.length)?, device.zeros(layout.length)?],
            steps: device.zeros(layout.length)?,
            losses: device.zeros(LOSSES)?,
        })
    }

    /// All numbers in one piece, with some that are none between parameters: for broadcasts.
    pub fn values_mut(&mut self) -> &mut DeviceBuffer<f32> {
        &mut self.values
    }

    /// How many steps of an optimizer there were. Waits for the device.
    ///
    /// # Errors
    /// The runtime's.
    pub fn steps(&self) -> Result<u64> {
        let mut steps = [0];
        self.steps.slice(..1).copy_to(&mut steps)?;
        Ok(steps[0].into())
    }

    /// The number of steps in device memory: the first of the elements.
    pub fn steps_slice(&self) -> DeviceSlice<'_, u32> {
        self.steps.as_slice()
    }

    /// The losses of the last `count` steps, up to 128, which the optimizer has noted. Waits for the device.
    ///
    /// # Errors
    /// The runtime's.
    ///
    /// # Panics
    /// If there were fewer steps, or `count` is larger.
    pub fn losses(&self, count: usize) -> Result<Vec<f32>> {
        let end = self.steps()? as usize;
        assert!(count <= end.min(LOSSES), "there are {} losses, not {count}", end.min(LOSSES));
        let losses = self.losses.to_vec()?;
        Ok((end - count..end).map(|step| losses[step % LOSSES]).collect())
    }

    /// How many numbers are trained.
    pub fn count(&self) -> usize {
        self.layout.slots.iter().map(|(_, slot)| slot.len()).sum()
    }

    pub(super) fn slice(&self, slot: Slot) -> DeviceSlice<'_, f32> {
        self.values.slice(slot.range())
    }

    /// Writes all numbers, and what the optimizer knows, to a file of safetensors, which replaces one of that name when it is whole.
    ///
    /// # Errors
    /// [`WeightError::Unwritable`]; the runtime's.
    pub fn save(&self, file: &Path) -> Result<()> {
        let (values, steps) = (self.values.to_vec()?, [self.steps()? as f32]);
        let moments = [self.moments[0].to_vec()?, self.moments[1].to_vec()?];
        let mut tensors: Vec<(&str, Vec<usize>, &[f32])> = self
            .layout
            .slots
            .iter()
            .map(|(name, slot)| (&**name, slot.shape.to_vec(), &values[slot.range()]))
            .collect();
        for (name, moment) in MOMENTS.into_iter().zip(&moments) {
            tensors.push((name, vec![moment.len()], moment));
        }
        tensors.push((STEPS, vec![1], &steps));
        let views = tensors.iter().map(|(name, shape, numbers)| {
            let view = TensorView::new(Dtype::F32, shape.clone(), bytemuck::cast_slice(numbers));
            (*name, view.expect("as many numbers as the shape has"))
        });
        let bytes = serialize(views, None).expect("names and shapes are in order");
        let unwritable = |error| WeightError::Unwritable { file: file.to_owned(), error };
        let part = file.with_added_extension("part");
        std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, file)).map_err(unwritable)?;
        Ok(())
    }

    /// Takes the numbers of a file that [`save`](Self::save) has written for a network of the same layout.
    ///
    /// # Errors
    /// [`WeightError`] of a file that cannot be read, is damaged, or is of another network; the runtime's. The numbers are as before
    /// then.
    pub fn restore(&mut self, nn: &Nn, file: &Path) -> Result<()> {
        let weights = Weights::open(nn, file)?;
        let mut values = vec![0.0; self.layout.length];
        for (name, slot) in &self.layout.slots {
            values[slot.range()].copy_from_slice(&weights.numbers::<f32>(name, &slot.shape)?);
        }
        let [first, second] = MOMENTS.map(|name| weights.numbers::<f32>(name, &[self.layout.length]));
        let (first, second, steps) = (first?, second?, weights.numbers::<f32>(STEPS, &[1])?);
        self.values.copy_from(&values)?;
        self.moments[0].copy_from(&first)?;
        self.moments[1].copy_from(&second)?;
        self.steps.copy_from(&vec![steps[0] as u32; self.layout.length])?;
        Ok(())
    }
}

/// The gradients of parameters by the loss, and the loss itself, in one piece of memory.
#[derive(Debug)]
pub struct Gradients {
    /// As the parameters lie, and behind them the loss.
    buffer: DeviceBuffer<f32>,
}

impl Gradients {
    /// Zeros, for the parameters of a layout.
    ///
    /// # Errors
    /// The runtime's.
    pub fn new(device: &Device, layout: &Layout) -> Result<Gradients> {
        Ok(Gradients { buffer: device.zeros(layout.length + 1)? })
    }

    /// Gradients and loss together, which processes that train together average.
    pub fn buffer_mut(&mut self) -> &mut DeviceBuffer<f32> {
        &mut self.buffer
    }

    /// The number of gradients, and the loss.
    pub(super) fn len(&self) -> usize {
        self.buffer.len()
    }

    /// The place of the loss in device memory.
    pub fn loss_slice(&self) -> DeviceSlice<'_, f32> {
        self.buffer.slice(self.buffer.len() - 1..)
    }

    /// The loss of the last step. Waits for the device.
    ///
    /// # Errors
    /// The runtime's.
    pub fn loss(&self) -> Result<f32> {
        let mut loss = [0.0];
        self.loss_slice().copy_to(&mut loss)?;
        Ok(loss[0])
    }

    /// The gradients from those of a parameter to those of a later one, and the padding between them.
    pub(super) fn slice_between(&mut self, first: Slot, last: Slot) -> DeviceSliceMut<'_, f32> {
        self.buffer.slice_mut(first.start..last.range().end)
    }

    /// The gradients, followed by the loss.
    pub(super) fn as_slice(&self) -> DeviceSlice<'_, f32> {
        self.buffer.as_slice()
    }

    pub(super) fn loss_mut(&mut self) -> DeviceSliceMut<'_, f32> {
        let last = self.buffer.len() - 1;
        self.buffer.slice_mut(last..)
    }
}
