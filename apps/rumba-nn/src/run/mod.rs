//! Runs of networks: memory for tensors as they are made, or by a plan; and programs, which are runs recorded as graphs.

pub(crate) mod element;
pub(crate) mod tensor;

use crate::error::{Error, Result};
use crate::plan::{Event, Plan};
use crate::run::element::Element;
use crate::run::tensor::Tensor;
use bytemuck::Pod;
use cuda_std::launch::{Call, Map, OperandMut};
use rumba::array::{Array, ArrayView, ArrayViewMut};
use rumba::linalg::Linalg;
use rumba::{Device, DeviceBuffer, DeviceSlice, DeviceSliceMut, Graph, LaunchConfig, Module, Stream};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

/// The kernels of the layers.
pub const PTX: &str = include_str!(env!("NN_PTX"));

/// Tensors begin at multiples of this number of words: the alignment that tensor copies require, and a line of any
/// cache.
const LINE: usize = 64;

/// Warps of a block in kernels that compute a row per warp.
const WARPS: usize = 4;

/// Networks on one device: the kernels of their layers, and linear algebra. Clones share both.
#[derive(Clone, Debug)]
pub struct Nn {
    device: Device,
    pub(crate) module: Module,
    linalg: Linalg,
}

impl Nn {
    /// Loads the kernels onto a device.
    ///
    /// # Errors
    /// The runtime's.
    pub fn new(device: &Device) -> Result<Nn> {
        Ok(Nn {
            device: device.clone(),
            module: device.load_named("the kernels of rumba-nn", PTX)?,
            linalg: Linalg::new(device),
        })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Runs a network once. Each tensor has memory of its own.
    ///
    /// # Errors
    /// The network's.
    pub fn run<R>(&self, network: impl FnOnce(&Run) -> Result<R>) -> Result<R> {
        network(&Run::new(self.clone(), None, Source::Device, false))
    }

    /// Runs a network once, plans the memory of its tensors, and records it with that memory.
    ///
    /// The network is called twice: the first call runs it, except for the step of an optimizer. It must do the same both times, and take its arguments from arrays that stay where they are: a
    /// launch of the program reads their contents at that time.
    ///
    /// # Errors
    /// The network's; [`Error::Changed`] if it did not do the same; the driver's.
    ///
    /// # Examples
    /// ```
    /// use rumba::array::Array;
    /// use rumba_nn::{Activation, Nn};
    ///
    /// let device = rumba::Device::new()?;
    /// let nn = Nn::new(&device)?;
    /// let mut x = Array::from_slice(&device, [2], &[1.0_f32, -1.0])?;
    /// let mut y = Array::zeros(&device, [2])?;
    /// let program = nn.program(|run| {
    ///     let mut x = run.tensor::<f32, 1>(x.view())?;
    ///     for _ in 0..3 {
    ///         x = run.activate(&x, Activation::Silu)?;
    ///     }
    ///     run.write(&x, y.view_mut())
    /// })?;
    /// // Two tensors are there at a time, in 256 bytes each.
    /// assert_eq!(program.bytes(), 512);
    /// x.copy_from_slice(&[0.0, 100.0])?;
    /// program.launch()?;
    /// assert_eq!(y.to_vec()?, [0.0, 100.0]);
    /// # Ok::<(), rumba_nn::Error>(())
    /// ```
    pub fn program(&self, mut network: impl FnMut(&Run) -> Result<()>) -> Result<Program> {
        let first = Run::new(self.clone(), None, Source::Device, true);
        network(&first)?;
        let plan = Plan::new(first.state.events.take());
        let words = plan.words;
        let source = Source::Planned { arena: RefCell::new(self.device.zeros(words)?), plan };
        let mut source = Some(source);
        let mut outcome = Ok(());
        let graph = self.device.capture_concurrent(|stream| {
            let source = source.take().expect("a graph is captured once");
            let run = Run::new(self.clone(), Some(stream.clone()), source, false);
            outcome = network(&run).and_then(|()| run.state.kept_to_plan());
            Ok(())
        })?;
        outcome?;
        Ok(Program { graph, words })
    }
}

/// A recorded network: all its launches in one graph, all its tensors in one buffer.
#[derive(Debug)]
pub struct Program {
    graph: Graph,
    words: usize,
}

impl Program {
    /// Puts all launches on the default stream.
    ///
    /// # Errors
    /// The driver's. An error in a kernel is reported at the next wait.
    pub fn launch(&self) -> Result<()> {
        Ok(self.graph.launch()?)
    }

    /// The launches.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The size of the buffer that the tensors share, in bytes.
    pub fn bytes(&self) -> usize {
        self.words * size_of::<u32>()
    }
}

/// A run of a network: layers make their tensors and launch their kernels through it.
#[derive(Debug)]
pub struct Run {
    nn: Nn,
    stream: Option<Stream>,
    state: Rc<State>,
}

/// The state that a run and its tensors share.
struct State {
    source: Source,
    /// Whether the run is made for its plan.
    plans: bool,
    /// The events so far.
    events: RefCell<Vec<Event>>,
    /// The number of tensors made so far.
    made: Cell<usize>,
    /// Borrowed while tensors are made or read.
    busy: RefCell<()>,
}

/// Where the memory of tensors comes from.
enum Source {
    /// Each tensor has a buffer of its own.
    Device,
    /// All tensors lie in one buffer.
    Planned { plan: Plan, arena: RefCell<DeviceBuffer<u32>> },
}

/// The memory of a tensor, which is freed when this value is dropped.
pub(crate) struct Memory {
    state: Rc<State>,
    number: usize,
    place: Place,
}

enum Place {
    Own(DeviceBuffer<u32>),
    Planned(Range<usize>),
}

impl State {
    fn did(&self, event: Event) {
        self.events.borrow_mut().push(event);
    }

    fn kept_to_plan(&self) -> Result<()> {
        match &self.source {
            Source::Planned { plan, .. } if plan.events != *self.events.borrow() => Err(Error::Changed),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("made", &self.made).finish_non_exhaustive()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.state.did(Event::Dropped(self.number));
    }
}

/// The words of memory that a tensor of so many elements takes.
fn words<T>(count: usize) -> usize {
    (count * size_of::<T>()).div_ceil(size_of::<u32>()).next_multiple_of(LINE)
}

impl Run {
    fn new(nn: Nn, stream: Option<Stream>, source: Source, plans: bool) -> Run {
        let linalg = match &stream {
            Some(stream) => nn.linalg.on(stream),
            None => nn.linalg.clone(),
        };
        let state = State { source, plans, events: RefCell::default(), made: Cell::new(0), busy: RefCell::default() };
        Run { nn: Nn { linalg, ..nn }, stream, state: Rc::new(state) }
    }

    /// Makes a tensor. `work` puts the launches that compute the tensor on the run's stream; its arguments are the
    /// tensor's memory, and the [`Reads`] through which it reads other tensors. It must write every element: the
    /// memory's earlier contents are meaningless.
    ///
    /// This is how layers are made, also those of other crates: see the example of [the crate](crate).
    ///
    /// # Errors
    /// The errors of `work`; [`Error::Nested`] if `work` makes a tensor itself; [`Error::Changed`];
    /// [`rumba::Error::OutOfMemory`].
    pub fn make<T: Pod, const N: usize>(
        &self,
        shape: [usize; N],
        work: impl FnOnce(&Reads<'_>, ArrayViewMut<'_, T, N>) -> Result<()>,
    ) -> Result<Tensor<T, N>> {
        let count = shape.iter().product();
        let memory = self.allocate(words::<T>(count), |reads, memory| {
            let memory = memory.cast::<T>().slice_mut(..count);
            work(reads, ArrayViewMut::from(memory).reshape(shape)?)
        })?;
        Ok(Tensor::new(memory, 0, shape))
    }

    /// Makes two tensors with the same launches, as [`make`](Self::make). Both share their memory: it is free when both are dropped.
    ///
    /// # Errors
    /// As [`make`](Self::make).
    pub fn make_two<T: Pod, U: Pod, const N: usize>(
        &self,
        shapes: [[usize; N]; 2],
        work: impl FnOnce(&Reads<'_>, ArrayViewMut<'_, T, N>, ArrayViewMut<'_, U, N>) -> Result<()>,
    ) -> Result<(Tensor<T, N>, Tensor<U, N>)> {
        let counts = shapes.map(|shape| shape.iter().product());
        let start = words::<T>(counts[0]);
        let memory = self.allocate(start + words::<U>(counts[1]), |reads, memory| {
            let (first, second) = memory.split_at_mut(start);
            let (first, second) = (first.cast::<T>().slice_mut(..counts[0]), second.cast::<U>().slice_mut(..counts[1]));
            let first = ArrayViewMut::from(first).reshape(shapes[0])?;
            work(reads, first, ArrayViewMut::from(second).reshape(shapes[1])?)
        })?;
        Ok((Tensor::new(memory.clone(), 0, shapes[0]), Tensor::new(memory, start, shapes[1])))
    }

    /// Memory that `work` writes.
    fn allocate(
        &self,
        words: usize,
        work: impl FnOnce(&Reads<'_>, DeviceSliceMut<'_, u32>) -> Result<()>,
    ) -> Result<Rc<Memory>> {
        let state = &self.state;
        let _alone = state.busy.try_borrow_mut().map_err(|_| Error::Nested)?;
        let number = state.made.get();
        let place = match &state.source {
            Source::Device => {
                // Elements that a layer does not write are NaN, in each of the types.
                let array = Array::full(&self.nn.device, [words], u32::MAX)?;
                let mut buffer = array.into_buffer();
                work(&Reads { state, parts: Vec::new() }, buffer.as_slice_mut())?;
                Place::Own(buffer)
            }
            Source::Planned { plan, arena } => {
                let place = plan.places.get(number).filter(|place| place.len() == words);
                let place = place.ok_or(Error::Changed)?;
                let mut arena = arena.borrow_mut();
                let (before, rest) = arena.as_slice_mut().split_at_mut(place.start);
                let (own, behind) = rest.split_at_mut(words);
                let parts = vec![(before.as_slice(), 0), (behind.as_slice(), place.end)];
                work(&Reads { state, parts }, own)?;
                Place::Planned(place.clone())
            }
        };
        state.made.set(number + 1);
        state.did(Event::Made(words));
        Ok(Rc::new(Memory { state: state.clone(), number, place }))
    }

    /// Launches work that reads tensors and writes to memory outside of the run. `work` reads tensors through its
    /// argument.
    ///
    /// # Errors
    /// The errors of `work`; [`Error::Nested`].
    pub fn read(&self, work: impl FnOnce(&Reads<'_>) -> Result<()>) -> Result<()> {
        let state = &self.state;
        let _alone = state.busy.try_borrow_mut().map_err(|_| Error::Nested)?;
        match &state.source {
            Source::Device => work(&Reads { state, parts: Vec::new() }),
            Source::Planned { arena, .. } => {
                let arena = arena.borrow();
                let parts = vec![(arena.as_slice(), 0)];
                work(&Reads { state, parts })
            }
        }
    }

    /// A tensor of numbers from outside of the run, rounded to its type.
    ///
    /// # Errors
    /// As [`make`](Self::make).
    pub fn tensor<T: Element, const N: usize>(&self, numbers: ArrayView<'_, f32, N>) -> Result<Tensor<T, N>> {
        self.make(numbers.shape(), |_, tensor| self.map(T::of_f32(numbers), tensor))
    }

    /// Writes a tensor's numbers to an array, or a part of one, outside of the run.
    ///
    /// # Errors
    /// [`Error::OtherRun`]; [`rumba::array::ArrayError`] of another shape.
    pub fn write<T: Element, const N: usize>(
        &self,
        tensor: &Tensor<T, N>,
        array: ArrayViewMut<'_, f32, N>,
    ) -> Result<()> {
        self.read(|reads| self.map(T::to_f32(reads.view(tensor)?), array))
    }

    /// Launches a kernel on the run's stream.
    ///
    /// # Errors
    /// As [`Module::launch`].
    pub fn launch(&self, module: &Module, config: LaunchConfig<'_>, call: Call<'_>) -> Result<()> {
        Ok(match &self.stream {
            Some(stream) => module.launch(config.stream(stream), call),
            None => module.launch(config, call),
        }?)
    }

    /// Whether the run is the first call of [`Nn::program`], which plans the memory of the tensors.
    pub(crate) fn plans(&self) -> bool {
        self.state.plans
    }

    /// The stream of the run's launches, if it is not the default stream.
    pub(crate) fn stream(&self) -> Option<&Stream> {
        self.stream.as_ref()
    }

    /// Linear algebra on the run's stream.
    pub fn linalg(&self) -> &Linalg {
        &self.nn.linalg
    }

    /// The module of the layers' kernels.
    pub(crate) fn module(&self) -> &Module {
        &self.nn.module
    }

    /// Launches a kernel of this crate that computes a row per warp.
    pub(crate) fn launch_rows(&self, rows: usize, call: Call<'_>) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        let blocks = rows.div_ceil(WARPS).min(1 << 16) as u32;
        self.launch(self.module(), LaunchConfig::new(blocks, 32 * WARPS as u32), call)
    }

    /// Computes a vectorized function of this crate.
    pub(crate) fn map<'o, 'a: 'o, T: Pod, D>(&self, map: Map<'a, T, D>, output: impl OperandMut<'o, T>) -> Result<()> {
        Ok(match &self.stream {
            Some(stream) => self.module().map_into_on(stream, map, output),
            None => self.module().map_into(map, output),
        }?)
    }
}

/// Access to tensors, for the work of [`Run::make`] and [`Run::read`].
#[derive(Debug)]
pub struct Reads<'a> {
    state: &'a Rc<State>,
    /// The planned memory around the tensor that is being made: its parts, and the word at which each part begins.
    parts: Vec<(DeviceSlice<'a, u32>, usize)>,
}

impl Reads<'_> {
    /// A tensor's numbers.
    ///
    /// # Errors
    /// [`Error::OtherRun`].
    pub fn view<'s, T: Pod, const N: usize>(&'s self, tensor: &'s Tensor<T, N>) -> Result<ArrayView<'s, T, N>> {
        Ok(ArrayView::from(self.slice(tensor)?).reshape(tensor.shape())?)
    }

    /// A tensor's numbers as a contiguous slice.
    ///
    /// # Errors
    /// [`Error::OtherRun`].
    pub fn slice<'s, T: Pod, const N: usize>(&'s self, tensor: &'s Tensor<T, N>) -> Result<DeviceSlice<'s, T>> {
        let memory = &*tensor.memory;
        if !Rc::ptr_eq(&memory.state, self.state) {
            return Err(Error::OtherRun);
        }
        let words: DeviceSlice<'s, u32> = match &memory.place {
            Place::Own(buffer) => buffer.as_slice(),
            Place::Planned(place) => {
                // A tensor that lives longer than planned may overlap the new tensor.
                let part =
                    self.parts.iter().find(|(part, start)| *start <= place.start && place.end <= *start + part.len());
                let (part, start) = part.ok_or(Error::Changed)?;
                part.slice(place.start - start..place.end - start)
            }
        };
        Ok(words.slice(tensor.start..).cast::<T>().slice(..tensor.len()))
    }
}
