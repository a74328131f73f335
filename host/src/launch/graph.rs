//! Graphs: launches that are recorded once and put on a stream again and again in one call.
//!
//! Recording happens here and not in the driver's stream capture, during which calls of other threads fail. A graph
//! consists of launches with device memory, in the order of the recording; copies and waits are not among them. Exchanges between
//! ranks divide a graph into several graphs of the driver: an exchange by TCP needs the host, and a group that ends by an error frees
//! what kernels of NCCL use, which a graph of the driver could still launch.

use crate::base::activity::Operation;
use crate::base::error::{Result, answer};
use crate::base::host_fn::OutsideHostFn;
use crate::base::recording;
use crate::buffers::allocation::Memory;
use crate::context::capture::Capture;
use crate::context::queue::Queue;
use crate::context::uses::Access;
use crate::context::{Context, Entered};
use crate::cuda::sys;
use crate::devices::device::Device;
use crate::launch::dependent;
use crate::streams::recorded::{Exchange, Recorded, Recording, Step};
use crate::streams::stream::Stream;
use std::fmt;
use std::ptr;
use std::sync::Arc;

/// Launches that are put on a stream in one call: made by [`Device::capture`].
///
/// Launches run one after the other. Those of kernels that wait themselves for what is ahead of them, `#[kernel(dependent)]` and
/// the products of `rumba::linalg`, begin while the one before them ends (programmatic dependent launch); a product whose operands no
/// launch before it writes computes while that one still runs, and waits before it writes.
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
    /// The stream of the exchanges that launches follow, if there are any.
    beside: Option<Stream>,
}

enum Part {
    Launches(OutsideHostFn<Inner>),
    Exchange(Exchange),
}

/// Launches in one graph of the driver.
struct Inner {
    context: Arc<Context>,
    raw: sys::CUgraph,
    /// Null: it could not be made, and nothing can be launched.
    executable: sys::CUgraphExec,
    nodes: Vec<sys::CUgraphNode>,
    steps: Vec<Step>,
    /// The memory that all launches use, each part once.
    uses: Vec<(Memory, Access)>,
}

// SAFETY: the handles are names that the driver looks up; its calls may be made from any thread, and
// every one made here makes the context current first.
unsafe impl Send for Inner {}
// SAFETY: as above; the methods that change the graph borrow it mutably.
unsafe impl Sync for Inner {}

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
        Graph::new(context, recorded)
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

impl Inner {
    fn new(context: Arc<Context>, mut steps: Vec<Step>) -> Result<Inner> {
        let operation = || "make a graph".to_owned();
        let mut graph = Inner {
            context: context.clone(),
            raw: ptr::null_mut(),
            executable: ptr::null_mut(),
            nodes: Vec::with_capacity(steps.len()),
            uses: Vec::new(),
            steps: Vec::new(),
        };
        let entered = context.enter(operation)?;
        // SAFETY: here and below: the context is current and the places for handles are valid.
        entered.check(answer(unsafe { sys::cuGraphCreate(&mut graph.raw, 0) }), operation)?;
        settle(&mut steps);
        for step in &mut steps {
            let before = graph.nodes.last().copied();
            let (early, late) = if step.dependent { (before, None) } else { (None, before) };
            let mut node = ptr::null_mut();
            let added = step.with_parameters(|parameters| {
                let (ahead, count) = (late.as_ref().map_or(ptr::null(), ptr::from_ref), late.iter().len());
                // SAFETY: `ahead` has one node or none; the launch was checked with these parameters.
                unsafe { sys::cuGraphAddKernelNode(&mut node, graph.raw, ahead, count, parameters) }
            });
            // SAFETY: both are kernel nodes of the graph, and the launch was allowed to begin early.
            let follow = |before| unsafe { dependent::follow(graph.raw, before, node) };
            let added = added.and_then(|()| early.map_or(Ok(()), follow));
            entered.check(added, || format!("add `{}` to a graph", step.kernel.name))?;
            graph.nodes.push(node);
        }
        // SAFETY: the graph was made above.
        let made = answer(unsafe { sys::cuGraphInstantiateWithFlags(&mut graph.executable, graph.raw, 0) });
        entered.check(made, operation)?;
        drop(entered);
        graph.uses = all_uses(&steps);
        graph.steps = steps;
        Ok(graph)
    }

    /// Takes over the arguments, grids and blocks of other launches.
    fn update(&mut self, mut steps: Vec<Step>) -> Result<()> {
        let graph = self;
        // The contents of an executable graph: the kernels, and the dependency of each on the kernel before it.
        let kept = |step: &Step| (step.function, step.dependent);
        if !steps.iter().map(kept).eq(graph.steps.iter().map(kept)) {
            *graph = Inner::new(graph.context.clone(), steps)?;
            return Ok(());
        }
        settle(&mut steps);
        let context = graph.context.clone();
        let entered = context.enter(launching)?;
        for (step, &node) in steps.iter_mut().zip(&graph.nodes) {
            let set = step.with_parameters(|parameters| {
                // SAFETY: graph and node are alive, their context current; the function is the node's.
                unsafe { sys::cuGraphExecKernelNodeSetParams(graph.executable, node, parameters) }
            });
            if let Err(error) = entered.check(set, || format!("update `{}` in a graph", step.kernel.name)) {
                // Destroys the old executable, whose parameters are partly changed: it must not be launched, because
                // nothing keeps the memory of the new arguments alive.
                graph.destroy_executable();
                let old = std::mem::take(&mut graph.steps);
                *graph = Inner::new(context.clone(), old)?;
                return Err(error);
            }
        }
        drop(entered);
        // Work of earlier launches may still use what only they used.
        let (old_steps, old_uses) = (std::mem::replace(&mut graph.steps, steps), std::mem::take(&mut graph.uses));
        graph.uses = all_uses(&graph.steps);
        drop((old_steps, old_uses));
        Ok(())
    }

    fn put(&self, queue: &Queue, entered: &Entered<'_>) -> Result<()> {
        let mut order = self.context.queues.order.lock();
        for (memory, access) in &self.uses {
            queue.next_to_use(&memory.uses, access, &mut order, entered)?;
        }
        if let Some(last) = self.steps.last() {
            self.context.launching(last.kernel);
        }
        for bell in self.steps.iter().filter_map(|step| step.module.bell()) {
            bell.launch(queue.id());
        }
        // SAFETY: graph and stream are alive, their context current; the graph keeps what its launches use until the
        // work is done.
        let launch = || answer(unsafe { sys::cuGraphLaunch(self.executable, queue.raw.raw()) });
        let launched = recording::on_stream(Some(&queue.raw), || Operation::Graph, launch);
        entered.check(launched, launching)
    }
}

impl Graph {
    fn new(context: Arc<Context>, recorded: Vec<Recorded>) -> Result<Graph> {
        let mut graph = Graph { context: context.clone(), parts: Vec::new(), beside: None };
        let mut steps = Vec::new();
        let launches = |steps: &mut Vec<Step>| {
            Inner::new(context.clone(), std::mem::take(steps)).map(|inner| Part::Launches(OutsideHostFn::new(inner)))
        };
        for recorded in recorded {
            match recorded {
                Recorded::Launch(step) => steps.push(step),
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

    fn launches(&self) -> impl Iterator<Item = &Inner> {
        self.parts.iter().filter_map(|part| match part {
            Part::Launches(launches) => Some(&**launches),
            Part::Exchange(_) => None,
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
        let mut steps = Vec::new();
        let [Part::Launches(launches)] = &mut self.parts[..] else {
            *self = Graph::new(self.context.clone(), recorded)?;
            return Ok(());
        };
        if recorded.iter().any(|recorded| matches!(recorded, Recorded::Exchange(_))) {
            *self = Graph::new(self.context.clone(), recorded)?;
            return Ok(());
        }
        steps.extend(recorded.into_iter().filter_map(|recorded| match recorded {
            Recorded::Launch(step) => Some(step),
            Recorded::Exchange(_) => None,
        }));
        launches.update(steps)
    }
}

fn launching() -> String {
    "launch a graph".to_owned()
}

#[cfg(all(test, feature = "linalg"))]
impl Graph {
    /// For each launch and each of its inputs, whether the launch was told that no running launch may write the input.
    pub(crate) fn told(&self) -> Vec<&[bool]> {
        self.launches().flat_map(|launches| launches.steps.iter().map(|step| &*step.told)).collect()
    }
}

/// The memory that launches use, without duplicates.
fn all_uses(steps: &[Step]) -> Vec<(Memory, Access)> {
    let mut all = Vec::new();
    steps.iter().for_each(|step| add_uses(&mut all, &step.uses));
    all
}

fn add_uses<'u>(all: &mut Vec<(Memory, Access)>, uses: impl IntoIterator<Item = &'u (Memory, Access)>) {
    for (memory, access) in uses {
        let same = |(other, _): &&(Memory, Access)| memory.is(other);
        if !all.iter().filter(same).any(|(_, other)| other.covers(access)) {
            all.retain(|(other, earlier)| !(memory.is(other) && access.covers(earlier)));
            all.push((memory.clone(), access.clone()));
        }
    }
}

/// Tells each launch that may begin early which inputs it need not wait for: the inputs that no running launch may
/// write. The launches that may be running are the last launch that waited for all earlier launches, and the launches
/// after it. Unsafe kernels may write memory that is not known.
fn settle(steps: &mut [Step]) {
    let (mut written, mut known) = (Vec::new(), true);
    for step in steps {
        if !step.dependent {
            (written, known) = (Vec::new(), true);
        }
        step.settle(|memory, access| {
            known
                && !written.iter().any(|(other, write): &(Memory, Access)| memory.is(other) && access.conflicts(write))
        });
        known &= !step.kernel.is_unsafe;
        add_uses(&mut written, step.uses.iter().filter(|(_, access)| access.writes));
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.kernels()).finish()
    }
}

impl Inner {
    /// The context must be current. Running launches are not affected.
    fn destroy_executable(&mut self) {
        let executable = std::mem::replace(&mut self.executable, ptr::null_mut());
        if !executable.is_null() {
            // SAFETY: made by `new`, destroyed once, in a living context. An error is a fault that every later call reports.
            let _ = unsafe { sys::cuGraphExecDestroy(executable) };
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let context = self.context.clone();
        if let Some(_entered) = context.enter_to_release() {
            // Its launches may still be running. An error is a fault that every later call reports.
            let _ = crate::cuda::synchronize();
            self.destroy_executable();
            if !self.raw.is_null() {
                // SAFETY: destroyed once, here, in a living context.
                let _ = unsafe { sys::cuGraphDestroy(self.raw) };
            }
        }
    }
}
