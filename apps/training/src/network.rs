//! The network: two convolutions, each behind which the largest of four pixels stays, and a product for the classes, as LeCun et al. 1998
//! have it with smaller filters.

use crate::data::{Digits, SIZE};
use rumba::array::Array;
use rumba::ranks::ProcessGroup;
use rumba::symmetric::Get;
use rumba::{Device, DeviceBuffer};
use rumba_nn::train::{Adam, Buckets, Convolution, Convolved, Gradients, Layout, Linear, Parameters};
use rumba_nn::{Nn, Program, Result, Run, Tensor};

/// Classes of digits.
pub const CLASSES: usize = 10;

/// Pixels of a digit behind both convolutions, along each side.
const LAST: usize = SIZE / 4;

/// The layers.
#[derive(Clone, Debug)]
pub struct Network {
    layout: Layout,
    convolutions: [Convolution; 2],
    linear: Linear,
}

/// The data of the forward pass that the backward pass needs.
struct Forward {
    convolved: [Convolved; 2],
    flat: Tensor<f32, 2>,
    logits: Tensor<f32, 2>,
}

impl Network {
    /// With as many channels after each of the convolutions.
    #[must_use]
    pub fn new([first, second]: [usize; 2]) -> Network {
        let mut layout = Layout::new();
        Network {
            convolutions: [
                layout.convolution("convolutions.0", [1, first]),
                layout.convolution("convolutions.1", [first, second]),
            ],
            linear: layout.linear("linear", [LAST * LAST * second, CLASSES]),
            layout,
        }
    }

    /// Its parameters, at the start of a training.
    ///
    /// # Errors
    /// The runtime's.
    pub fn parameters(&self, device: &Device, seed: u64) -> Result<Parameters> {
        let mut random = fastrand::Rng::with_seed(seed);
        Parameters::new(device, &self.layout, || random.f32())
    }

    fn forward(&self, run: &Run, parameters: &Parameters, x: &Tensor<f32, 4>) -> Result<Forward> {
        let first = self.convolutions[0].forward(run, parameters, x)?;
        let second = self.convolutions[1].forward(run, parameters, &first.y)?;
        let flat = second.y.reshape([x.shape()[0], second.y.len() / x.shape()[0]]);
        Ok(Forward { logits: self.linear.forward(run, parameters, &flat)?, flat, convolved: [first, second] })
    }

    fn backward(
        &self,
        run: &Run,
        parameters: &Parameters,
        forward: Forward,
        gradient: &Tensor<f32, 2>,
        gradients: &mut Gradients,
        mut buckets: Buckets<'_>,
    ) -> Result<()> {
        let Forward { convolved: [first, second], flat, .. } = forward;
        self.linear.backward(run, &flat, gradient, gradients)?;
        buckets.ready(run, gradients, &self.linear)?;
        let gradient = self.linear.input_gradient(run, parameters, gradient)?.reshape(second.y.shape());
        let gradient = self.convolutions[1].backward(run, parameters, &second, &gradient, gradients)?;
        buckets.ready(run, gradients, &self.convolutions[1])?;
        self.convolutions[0].backward_to_filters(run, &first, &gradient, gradients)?;
        buckets.finish(run, gradients)
    }
}

/// Digits in device memory.
#[derive(Debug)]
struct Batch {
    images: Array<f32, 4>,
    labels: DeviceBuffer<u32>,
}

impl Batch {
    fn new(device: &Device, count: usize) -> Result<Batch> {
        Ok(Batch { images: Array::zeros(device, [count, SIZE, SIZE, 1])?, labels: device.zeros(count)? })
    }

    fn set(&mut self, digits: &Digits) -> Result<()> {
        self.images.copy_from_slice(&digits.pixels)?;
        Ok(self.labels.copy_from(&digits.labels)?)
    }
}

/// The ranks that average the gradients of a step, and the fewest bytes of a bucket.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'g> {
    /// All ranks.
    pub group: &'g ProcessGroup,
    /// The fewest bytes of a bucket.
    pub bucket: usize,
    /// Whether kernels average the gradients in symmetric memory, instead of operations of the group.
    pub by_kernels: bool,
}

/// A step of training, as one graph: a batch of stored digits is taken, the forward and the backward pass, the exchange of the gradients,
/// and the step of the optimizer.
#[derive(Debug)]
pub struct Step {
    /// The batches of the next steps.
    batches: DeviceBuffer<u32>,
    /// The gradients of the last step.
    pub gradients: Gradients,
    program: Program,
}

/// The number of batches that [`Step`] has room for.
pub const BATCHES: usize = 128;

/// The settings of a training step.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'s> {
    /// The optimizer.
    pub adam: Adam,
    /// The number of digits of a batch.
    pub count: usize,
    /// The ranks, if there are several.
    pub exchange: Option<Exchange<'s>>,
}

impl Step {
    /// Records a step that takes digits from the rows of `images`.
    ///
    /// # Errors
    /// The runtime's.
    pub fn new(
        nn: &Nn,
        network: &Network,
        parameters: &mut Parameters,
        images: &Array<f32, 2>,
        Settings { adam, count, exchange }: Settings<'_>,
    ) -> Result<Step> {
        let batches = nn.device().zeros::<u32>(BATCHES * 2 * count)?;
        // The numbers of the digits, and behind them their labels.
        let mut batch = nn.device().zeros::<u32>(2 * count)?;
        let mut gradients = Gradients::new(nn.device(), &network.layout)?;
        let mut memory = match exchange.filter(|exchange| exchange.by_kernels) {
            Some(Exchange { group, .. }) => {
                Some(group.symmetric::<f32, Get>(nn.device(), gradients.buffer_mut().len())?)
            }
            None => None,
        };
        let program = nn.program(|run| {
            run.next_row(batches.as_slice(), parameters, batch.as_slice_mut())?;
            let (numbers, labels) = (batch.slice(..count), batch.slice(count..));
            let images = run.rows(images.view(), numbers)?.reshape([count, SIZE, SIZE, 1]);
            let forward = network.forward(run, parameters, &images)?;
            let gradient = run.cross_entropy(&forward.logits, labels, &mut gradients)?;
            let (group, bytes) = exchange.map_or((None, 0), |exchange| (Some(exchange.group), exchange.bucket));
            let buckets = Buckets::new(group, &gradients, bytes).with_memory(memory.as_mut());
            network.backward(run, parameters, forward, &gradient, &mut gradients, buckets)?;
            adam.step(run, parameters, &gradients)
        })?;
        Ok(Step { batches, gradients, program })
    }

    /// Does a step for each of these [batches](Digits::batch), after `done` steps. The host does not wait for the device.
    ///
    /// # Errors
    /// The runtime's.
    ///
    /// # Panics
    /// If there are more batches than [`BATCHES`].
    pub fn run(&mut self, done: u64, batches: &[Vec<u32>]) -> Result<()> {
        assert!(batches.len() <= BATCHES, "{} batches", batches.len());
        let length = self.batches.len() / BATCHES;
        let first = done as usize % BATCHES;
        let (before, after) = batches.split_at(batches.len().min(BATCHES - first));
        for (start, part) in [(first, before), (0, after)] {
            self.batches.slice_mut(start * length..(start + part.len()) * length).copy_from(&part.concat())?;
        }
        // ANCHOR: step
        for _ in batches {
            self.program.launch()?;
        }
        // ANCHOR_END: step
        Ok(())
    }

    /// The recorded program.
    pub fn program(&self) -> &Program {
        &self.program
    }
}

/// A forward pass over a batch, as one graph, and which classes it says.
#[derive(Debug)]
pub struct Test {
    batch: Batch,
    logits: Array<f32, 2>,
    program: Program,
}

impl Test {
    /// Records it for so many digits.
    ///
    /// # Errors
    /// The runtime's.
    pub fn new(nn: &Nn, network: &Network, parameters: &Parameters, count: usize) -> Result<Test> {
        let batch = Batch::new(nn.device(), count)?;
        let mut logits = Array::zeros(nn.device(), [count, CLASSES])?;
        let program = nn.program(|run| {
            let forward = network.forward(run, parameters, &run.tensor(batch.images.view())?)?;
            run.write(&forward.logits, logits.view_mut())
        })?;
        Ok(Test { batch, logits, program })
    }

    /// How many of these digits, whose number is arbitrary, are recognised.
    ///
    /// # Errors
    /// The runtime's.
    pub fn recognised(&mut self, digits: &Digits) -> Result<u64> {
        let count = self.batch.labels.len();
        let numbers: Vec<usize> = (0..digits.len()).collect();
        let mut right = 0;
        for part in numbers.chunks(count) {
            let mut filled = part.to_vec();
            filled.resize(count, part[0]);
            self.batch.set(&digits.select(&filled))?;
            self.program.launch()?;
            let logits = self.logits.to_vec()?;
            for (&number, logits) in part.iter().zip(logits.chunks_exact(CLASSES)) {
                let best = (0..CLASSES).max_by(|&a, &b| logits[a].total_cmp(&logits[b]));
                right += u64::from(best == Some(digits.labels[number] as usize));
            }
        }
        Ok(right)
    }
}
