//! A graph of the driver. Launches run one after the other, or in the order of the memory that they use.
//!
//! It does not know exchanges between ranks: see `graph.rs`.

use crate::base::activity::Operation;
use crate::base::error::{Code, Result, answer};
use crate::base::recording;
use crate::buffers::allocation::Memory;
use crate::context::queue::Queue;
use crate::context::uses::Access;
use crate::context::{Context, Entered};
use crate::cuda::sys;
use crate::launch::dependent;
use crate::streams::recorded::Step;
use std::ptr;
use std::sync::Arc;

/// Launches in one graph of the driver.
pub(super) struct Nodes {
    context: Arc<Context>,
    raw: sys::CUgraph,
    /// Null: it could not be made, and nothing can be launched.
    executable: sys::CUgraphExec,
    nodes: Vec<sys::CUgraphNode>,
    pub(super) steps: Vec<Step>,
    /// The memory that all launches use, each part once.
    uses: Vec<(Memory, Access)>,
}

// SAFETY: the handles are names that the driver looks up; its calls may be made from any thread, and
// every one made here makes the context current first.
unsafe impl Send for Nodes {}
// SAFETY: as above; the methods that change the graph borrow it mutably.
unsafe impl Sync for Nodes {}

impl Nodes {
    pub(super) fn new(context: Arc<Context>, mut steps: Vec<Step>, order: Order) -> Result<Nodes> {
        let operation = || "make a graph".to_owned();
        let mut graph = Nodes {
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
        let is_chain = order == Order::Recorded || steps.iter().any(|step| step.dependent);
        settle(&mut steps);
        let mut added = Vec::with_capacity(steps.len());
        for step in &mut steps {
            graph.add(step, &mut added, is_chain, &entered)?;
        }
        // SAFETY: the graph was made above.
        let made = answer(unsafe { sys::cuGraphInstantiateWithFlags(&mut graph.executable, graph.raw, 0) });
        entered.check(made, operation)?;
        drop(entered);
        graph.uses = all_uses(&steps);
        graph.steps = steps;
        Ok(graph)
    }

    /// Adds a launch behind the launches that use its memory, or in a chain behind all launches.
    fn add(&mut self, step: &mut Step, added: &mut Vec<Added>, is_chain: bool, entered: &Entered<'_>) -> Result<()> {
        let early = self.nodes.last().copied().filter(|_| step.dependent);
        let (mut ahead, mut all_ahead) = (Vec::new(), vec![false; added.len()]);
        for (number, other) in added.iter().enumerate().rev() {
            let is_early = Some(other.node) == early;
            let is_ahead = is_chain || other.is_unsafe || step.kernel.is_unsafe || meet(&other.uses, &step.uses);
            if all_ahead[number] || !is_ahead {
                continue;
            }
            if !is_early {
                ahead.push(other.node);
            }
            all_ahead[number] = true;
            all_ahead.iter_mut().zip(&other.all_ahead).for_each(|(all, earlier)| *all |= earlier);
        }
        let mut node = ptr::null_mut();
        let done = step.with_parameters(|parameters| {
            // SAFETY: `ahead` has nodes of the graph; the launch was checked with these parameters.
            unsafe { sys::cuGraphAddKernelNode(&mut node, self.raw, ahead.as_ptr(), ahead.len(), parameters) }
        });
        // SAFETY: both are kernel nodes of the graph, and the launch was allowed to begin early.
        let follow = |before| unsafe { dependent::follow(self.raw, before, node) };
        let done = done.and_then(|()| early.map_or(Ok(()), follow));
        let done = done.and_then(|()| if step.kernel.contract.cooperative { cooperate(node) } else { Ok(()) });
        entered.check(done, || format!("add `{}` to a graph", step.kernel.name))?;
        self.nodes.push(node);
        added.push(Added { node, is_unsafe: step.kernel.is_unsafe, uses: step.uses.clone(), all_ahead });
        Ok(())
    }

    /// Takes over the arguments, grids and blocks of other launches.
    pub(super) fn update(&mut self, mut steps: Vec<Step>) -> Result<()> {
        let graph = self;
        // The contents of an executable graph: the kernels, and the dependency of each on the kernel before it.
        let kept = |step: &Step| (step.function, step.dependent);
        if !steps.iter().map(kept).eq(graph.steps.iter().map(kept)) {
            *graph = Nodes::new(graph.context.clone(), steps, Order::Recorded)?;
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
                *graph = Nodes::new(context.clone(), old, Order::Recorded)?;
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

    pub(super) fn put(&self, queue: &Queue, entered: &Entered<'_>) -> Result<()> {
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

/// Lets all blocks of a node's launch run at the same time, as `cuLaunchCooperativeKernel` does.
fn cooperate(node: sys::CUgraphNode) -> Result<(), Code> {
    /// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`
    const COOPERATIVE: u32 = 2;
    // SAFETY: a kernel node, in a context that is current; the driver copies the value.
    answer(unsafe { sys::cuGraphKernelNodeSetAttribute(node, COOPERATIVE, &sys::CUlaunchAttributeValue::TRUE) })
}

/// The order of the launches of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// One after the other.
    Recorded,
    /// By the memory that the launches use, unless a launch may begin while the launch before it ends.
    ByMemory,
}

/// A launch that a graph has.
struct Added {
    node: sys::CUgraphNode,
    is_unsafe: bool,
    uses: Vec<(Memory, Access)>,
    /// The launches that this one waits for, also through others, by their numbers.
    all_ahead: Vec<bool>,
}

/// Whether uses of memory are in conflict.
fn meet(uses: &[(Memory, Access)], others: &[(Memory, Access)]) -> bool {
    let conflicts =
        |memory: &Memory, access: &Access| others.iter().any(|(other, own)| memory.is(other) && access.conflicts(own));
    uses.iter().any(|(memory, access)| conflicts(memory, access))
}

pub(super) fn launching() -> String {
    "launch a graph".to_owned()
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

impl Nodes {
    /// The context must be current. Running launches are not affected.
    fn destroy_executable(&mut self) {
        let executable = std::mem::replace(&mut self.executable, ptr::null_mut());
        if !executable.is_null() {
            // SAFETY: made by `new`, destroyed once, in a living context. An error is a fault that every later call reports.
            let _ = unsafe { sys::cuGraphExecDestroy(executable) };
        }
    }
}

impl Drop for Nodes {
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

#[cfg(test)]
mod tests {
    use super::Nodes;
    use crate::base::error::{Result, answer};
    use crate::buffers::buffer::DeviceBuffer;
    use crate::cuda::sys;
    use crate::devices::device::Device;
    use crate::launch::config::LaunchConfig;
    use crate::launch::graph::Graph;
    use crate::launch::test_kernels::{PTX, saxpy, scale};
    use crate::modules::module::Module;
    use crate::streams::stream::Stream;

    /// The dependencies of the driver's graph, as pairs of launches.
    fn edges(nodes: &Nodes) -> Vec<[usize; 2]> {
        let mut handles = [[std::ptr::null_mut(); 16]; 2];
        let mut count = 16;
        let [from, to] = &mut handles;
        let _entered = nodes.context.enter(|| "read a graph".to_owned()).expect("the context is alive");
        // SAFETY: the graph is alive, and there is room for sixteen edges.
        answer(unsafe { sys::cuGraphGetEdges(nodes.raw, from.as_mut_ptr(), to.as_mut_ptr(), &mut count) })
            .expect("the graph is alive");
        let number = |node| nodes.nodes.iter().position(|other| *other == node).expect("a node of the graph");
        let mut edges: Vec<_> = (0..count).map(|edge| [number(from[edge]), number(to[edge])]).collect();
        edges.sort_unstable();
        edges
    }

    fn edges_of(graph: &Graph) -> Vec<[usize; 2]> {
        edges(graph.launches().next().expect("a graph has nodes"))
    }

    /// Launches on two buffers, on both, on the halves of one, and on both again.
    fn six_launches(module: &Module, [a, b]: &mut [DeviceBuffer<f32>; 2], stream: &Stream) -> Result<()> {
        let [all, half] = [64, 32].map(|threads| LaunchConfig::for_each(threads).stream(stream));
        module.launch(all, scale(2.0, &mut *a))?;
        module.launch(all, scale(3.0, &mut *b))?;
        module.launch(all, saxpy(1.0, &*a, &mut *b))?;
        module.launch(half, scale(2.0, a.slice_mut(..32)))?;
        module.launch(half, scale(2.0, a.slice_mut(32..)))?;
        module.launch(all, saxpy(1.0, &*b, &mut *a))
    }

    #[test]
    fn launches_depend_on_those_whose_memory_they_use() {
        let device = Device::new().expect("there is a device");
        let module = device.load(PTX).expect("the kernels load");
        let mut buffers = [0, 1].map(|_| device.zeros::<f32>(64).expect("there is memory"));
        let recorded = device.capture(|stream| six_launches(&module, &mut buffers, stream)).expect("it is recorded");
        assert_eq!(edges_of(&recorded), [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]);
        let by_memory = device.capture_concurrent(|stream| six_launches(&module, &mut buffers, stream));
        let by_memory = by_memory.expect("it is recorded");
        assert_eq!(edges_of(&by_memory), [[0, 2], [1, 2], [2, 3], [2, 4], [3, 5], [4, 5]]);
    }
}
