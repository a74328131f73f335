//! The network: two convolutions, each behind which the largest of four pixels stays, and a product for the classes, as LeCun et al. 1998
//! have it with smaller filters.

use crate::data::{Digits, SIZE};
use rumba::array::Array;
use rumba::ranks::ProcessGroup;
use rumba::{Device, DeviceBuffer, DeviceSlice};
use rumba_nn::train::{Buckets, Convolution, Convolved, Gradients, Layout, Linear, Parameters};
use rumba_nn::{Nn, Program, Result, Run, Tensor};

/// Classes of digits.
pub const CLASSES: usize = 10;

/// Channels after each convolution.
const CHANNELS: [usize; 2] = [8, 16];

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

impl Default for Network {
    fn default() -> Self {
        let mut layout = Layout::new();
        let [first, second] = CHANNELS;
        Network {
            convolutions: [
                layout.convolution("convolutions.0", [1, first]),
                layout.convolution("convolutions.1", [first, second]),
            ],
            linear: layout.linear("linear", [LAST * LAST * second, CLASSES]),
            layout,
        }
    }
}

impl Network {
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
        let flat = second.y.reshape([x.shape()[0], LAST * LAST * CHANNELS[1]]);
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
}

/// A forward and a backward pass over a batch of stored digits, and the exchange of the gradients, as one graph.
#[derive(Debug)]
pub struct Step {
    /// The numbers of the digits, and behind them their labels.
    batch: DeviceBuffer<u32>,
    /// The gradients of the last pass.
    pub gradients: Gradients,
    program: Program,
}

impl Step {
    /// Records the pass for a number of digits, which are rows of `images`. The program reads the parameters in place.
    ///
    /// # Errors
    /// The runtime's.
    pub fn new(
        nn: &Nn,
        network: &Network,
        parameters: &Parameters,
        images: &Array<f32, 2>,
        count: usize,
        exchange: Option<Exchange<'_>>,
    ) -> Result<Step> {
        let batch = nn.device().zeros::<u32>(2 * count)?;
        let mut gradients = Gradients::new(nn.device(), &network.layout)?;
        let program = nn.program(|run| {
            let (numbers, labels) = (batch.slice(..count), batch.slice(count..));
            let images = run.rows(images.view(), numbers)?.reshape([count, SIZE, SIZE, 1]);
            let forward = network.forward(run, parameters, &images)?;
            let gradient = run.cross_entropy(&forward.logits, labels, &mut gradients)?;
            let (group, bytes) = exchange.map_or((None, 0), |exchange| (Some(exchange.group), exchange.bucket));
            let buckets = Buckets::new(group, &gradients, bytes);
            network.backward(run, parameters, forward, &gradient, &mut gradients, buckets)
        })?;
        Ok(Step { batch, gradients, program })
    }

    /// Computes the gradients of a [batch](Digits::batch). The host does not wait for the device.
    ///
    /// # Errors
    /// The runtime's.
    pub fn run(&mut self, batch: DeviceSlice<'_, u32>) -> Result<()> {
        self.batch.as_slice_mut().copy_from_device(&batch)?;
        self.program.launch()
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
