//! Graphs: launches that are recorded once and put on a stream again and again in one call.
//!
//! Recording happens here and not in the driver's stream capture, during which calls of other threads fail. A graph
//! consists of launches with device memory, in the order of the recording; copies and waits are not among them. Exchanges between
//! ranks and calls of NVIDIA's libraries divide a graph into several graphs of the driver: an exchange by TCP needs the host, a group
//! that ends by an error frees what kernels of NCCL use, which a graph of the driver could still launch, and a generator of random
//! numbers continues its sequence with each call.

use crate::base::error::Result;
use crate::base::host_fn::OutsideHostFn;
use crate::context::Context;
use crate::context::capture::Capture;
use crate::devices::device::Device;
use crate::launch::nodes::{Nodes, Order, launching};
use crate::streams::recorded::{Exchange, Recorded, Recording, Step};
use crate::streams::stream::Stream;
use std::fmt;
use std::sync::Arc;

/// Launches that are put on a stream in one call: made by [`Device::capture`].
///
/// Launches run one after the other, unless the graph is one of [`Device::capture_concurrent`]. Those of kernels that wait
/// themselves for what is ahead of them, `#[kernel(dependent)]` and the products of `rumba::linalg`, begin while the one before
/// them ends (programmatic dependent launch); a product whose operands no launch before it writes computes while that one still
/// runs, and waits before it writes.
///
/// A graph keeps the memory and the modules that its launches use, so buffers may be dropped before it. It does not borrow
/// them: between two launches of the graph, write new inputs into the same buffers and read the results from them. The
/// order with all other uses of the buffers is kept as for any launch.
///
/// # Examples
/// ```
/// use rumba::LaunchConfig;
/// # use rumba::test_kernels::{PTX, saxpy, scale};
///
/// let device = rumba::Device::new()?;
/// let module = device.load(PTX)?;
/// let (mut x, mut y) = (device.zeros::<f32>(1000)?, device.zeros::<f32>(1000)?);
/// let graph = device.capture(|stream| {
///     let threads = LaunchConfig::for_each(1000).stream(stream);
///     module.launch(threads, scale(2.0, &mut x))?;
///     module.launch(threads, saxpy(10.0, &x, &mut y))
/// })?;
/// for input in [1.0, 2.0] {
///     x.copy_from(&[input; 1000])?;
///     graph.launch()?;
/// }
/// assert_eq!(y.to_vec()?, [60.0; 1000]);
/// # Ok::<(), rumba::Error>(())
/// ```
pub struct Graph {
    context: Arc<Context>,
    parts: Vec<Part>,
    order: Order,
    /// The stream of the exchanges that launches follow, if there are any.
    beside: Option<Stream>,
}

enum Part {
    Launches(OutsideHostFn<Nodes>),
    /// Put on the stream of the launches.
    Call(Exchange),
    Exchange(Exchange),
}

impl Device {
    /// Records the launches of `work` on the stream that it receives, without running them.
    ///
    /// Launches on other streams of [`Device::stream`], copies to and from the host and everything else that `work` does happen at once,
    /// as outside. Launches and copies on the default stream of this device, which those of arrays are too, are refused: they would be
    /// done once, and not be part of the graph.
    ///
    /// # Errors
    /// That of `work`; [`crate::error::GraphError`] for a launch that cannot be recorded; the driver's.
    pub fn capture(&self, work: impl FnOnce(&Stream) -> Result<()>) -> Result<Graph> {
        let context = self.context();
        let recorded = record(&context, work)?;
        Graph::new(context, recorded, Order::Recorded)
    }

    /// As [`Device::capture`], for launches that may run at the same time: a launch waits for an earlier launch of the graph only
    /// where one of both writes memory that the other one uses, as launches on different streams do. The memory of an unsafe
    /// kernel is not known: its launch waits for all earlier launches, and all later launches wait for it. If a launch of the graph may begin while
    /// the launch before it ends, as products do, all launches run one after the other.
    ///
    /// For graphs of many small launches, which do not fill the device one by one.
    ///
    /// # Errors
    /// As [`Device::capture`].
    ///
    /// # Examples
    /// ```
    /// use rumba::LaunchConfig;
    /// # use rumba::test_kernels::{PTX, saxpy, scale};
    ///
    /// let device = rumba::Device::new()?;
    /// let module = device.load(PTX)?;
    /// let (mut x, mut y) = (device.buffer_from(&[1.0_f32; 100])?, device.buffer_from(&[2.0_f32; 100])?);
    /// let graph = device.capture_concurrent(|stream| {
    ///     let threads = LaunchConfig::for_each(100).stream(stream);
    ///     // These two launches run at the same time, and the third one after both.
    ///     module.launch(threads, scale(2.0, &mut x))?;
    ///     module.launch(threads, scale(3.0, &mut y))?;
    ///     module.launch(threads, saxpy(1.0, &x, &mut y))
    /// })?;
    /// graph.launch()?;
    /// assert_eq!(y.to_vec()?, [8.0; 100]);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn capture_concurrent(&self, work: impl FnOnce(&Stream) -> Result<()>) -> Result<Graph> {
        let context = self.context();
        let recorded = record(&context, work)?;
        Graph::new(context, recorded, Order::ByMemory)
    }
}

fn record(context: &Arc<Context>, work: impl FnOnce(&Stream) -> Result<()>) -> Result<Vec<Recorded>> {
    let stream = Stream::recording(context.clone())?;
    let capture = Capture::begin(context);
    let done = work(&stream);
    drop(capture);
    let recorded = stream.records().map(Recording::end).unwrap_or_default();
    done.map(|()| recorded)
}

impl Graph {
    fn new(context: Arc<Context>, recorded: Vec<Recorded>, order: Order) -> Result<Graph> {
        let mut graph = Graph { context: context.clone(), parts: Vec::new(), order, beside: None };
        let mut steps = Vec::new();
        let launches = |steps: &mut Vec<Step>| {
            Nodes::new(context.clone(), std::mem::take(steps), order)
                .map(|nodes| Part::Launches(OutsideHostFn::new(nodes)))
        };
        for recorded in recorded {
            match recorded {
                Recorded::Launch(step) => steps.push(step),
                Recorded::Call(call) => {
                    if !steps.is_empty() {
                        graph.parts.push(launches(&mut steps)?);
                    }
                    graph.parts.push(Part::Call(call));
                }
                Recorded::Exchange(exchange) => {
                    if !steps.is_empty() {
                        graph.parts.push(launches(&mut steps)?);
                    }
                    graph.parts.push(Part::Exchange(exchange));
                }
            }
        }
        if !steps.is_empty() || graph.parts.is_empty() {
            graph.parts.push(launches(&mut steps)?);
        }
        if graph.parts[..graph.last()].iter().any(|part| matches!(part, Part::Exchange(_))) {
            // First in line, since other ranks wait for it.
            let priorities = {
                let entered = context.enter(launching)?;
                entered.check(crate::cuda::stream_priorities(), launching)?
            };
            graph.beside = Some(Stream::new(context, Some(priorities.1))?);
        }
        Ok(graph)
    }

    /// The number of parts up to the last launches, behind which exchanges have nothing to overlap with.
    fn last(&self) -> usize {
        self.parts.iter().rposition(|part| matches!(part, Part::Launches(_))).map_or(0, |last| last + 1)
    }

    /// Puts all parts on a stream, or on the default stream.
    fn put(&self, stream: Option<&Stream>) -> Result<()> {
        let queue = match stream {
            Some(stream) => stream.queue(launching)?,
            None => &self.context.queues.default,
        };
        let last = self.last();
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                Part::Launches(launches) => launches.put(queue, &self.context.enter(launching)?)?,
                Part::Call(call) => (call.put)(stream)?,
                Part::Exchange(exchange) if index < last => (exchange.put)(self.beside.as_ref())?,
                Part::Exchange(exchange) => (exchange.put)(stream)?,
            }
        }
        if let Some(beside) = &self.beside {
            let entered = self.context.enter(launching)?;
            entered.check(queue.wait_for(beside.queue(launching)?), launching)?;
        }
        Ok(())
    }

    pub(super) fn launches(&self) -> impl Iterator<Item = &Nodes> {
        self.parts.iter().filter_map(|part| match part {
            Part::Launches(launches) => Some(&**launches),
            Part::Call(_) | Part::Exchange(_) => None,
        })
    }

    /// How many launches it has.
    pub fn len(&self) -> usize {
        self.launches().map(|launches| launches.steps.len()).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of operations of a group of ranks.
    pub fn exchanges(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part, Part::Exchange(_))).count()
    }

    /// The number of calls of NVIDIA's libraries.
    pub fn calls(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part, Part::Call(_))).count()
    }

    /// The names of the kernels that it launches, in order.
    pub fn kernels(&self) -> impl Iterator<Item = &'static str> {
        self.launches().flat_map(|launches| launches.steps.iter().map(|step| step.kernel.name))
    }

    /// Puts all launches on the default stream.
    ///
    /// # Errors
    /// The driver's errors, or a lost context. Errors in a kernel are returned by the next wait.
    pub fn launch(&self) -> Result<()> {
        self.context.enter(launching)?.not_captured(launching)?;
        self.put(None)
    }

    /// Puts all launches on a stream.
    ///
    /// # Errors
    /// As [`Graph::launch`]; [`crate::Error::OtherDevice`] for a stream of another device.
    pub fn launch_on(&self, stream: &Stream) -> Result<()> {
        stream.belongs_to(&self.context, launching)?;
        self.put(Some(stream))
    }

    /// Records again and takes over the new arguments, grids and blocks. Where the kernels are the same, which is the
    /// purpose, that costs a fraction of making a new graph.
    ///
    /// # Errors
    /// As [`Device::capture`]; the graph is then as it was, or, where the driver does not allow even that, one that cannot be
    /// launched.
    ///
    /// # Examples
    /// ```
    /// # use rumba::{LaunchConfig, test_kernels::{PTX, scale}};
    /// # let device = rumba::Device::new()?;
    /// # let module = device.load(PTX)?;
    /// let mut values = device.buffer_from(&[1.0_f32; 8])?;
    /// let mut graph = device.capture(|stream| module.launch(LaunchConfig::for_each(8).stream(stream), scale(2.0, &mut values)))?;
    /// graph.launch()?;
    /// graph.update(|stream| module.launch(LaunchConfig::for_each(8).stream(stream), scale(10.0, &mut values)))?;
    /// graph.launch()?;
    /// assert_eq!(values.to_vec()?, [20.0; 8]);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn update(&mut self, work: impl FnOnce(&Stream) -> Result<()>) -> Result<()> {
        let recorded = record(&self.context, work)?;
        let is_launch = |recorded: &Recorded| matches!(recorded, Recorded::Launch(_));
        match &mut self.parts[..] {
            [Part::Launches(launches)] if self.order == Order::Recorded && recorded.iter().all(is_launch) => {
                let steps = recorded.into_iter().filter_map(|recorded| match recorded {
                    Recorded::Launch(step) => Some(step),
                    Recorded::Call(_) | Recorded::Exchange(_) => None,
                });
                launches.update(steps.collect())
            }
            _ => {
                *self = Graph::new(self.context.clone(), recorded, self.order)?;
                Ok(())
            }
        }
    }
}

#[cfg(all(test, feature = "linalg"))]
impl Graph {
    /// For each launch and each of its inputs, whether the launch was told that no running launch may write the input.
    pub(crate) fn told(&self) -> Vec<&[bool]> {
        self.launches().flat_map(|launches| launches.steps.iter().map(|step| &*step.told)).collect()
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.kernels()).finish()
    }
}
