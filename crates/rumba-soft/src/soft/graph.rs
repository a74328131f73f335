//! Graphs of work: nodes with dependencies, and the executable form with a fixed order.
//!
//! An executable graph is launched by enqueuing its nodes one after another in the stream: every order that respects the
//! dependencies is a right one.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::wrong;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::graph_memory::{self, GraphMemory};
use crate::soft::order::{AnyStream, Event};
use crate::soft::work::Work;

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`
pub(crate) const AUTO_FREE: u64 = 1;

/// The action of a node.
#[derive(Clone)]
pub(crate) enum Action {
    /// Nothing.
    Empty,
    /// A kernel, copy, fill or host function.
    Work(Work),
    /// The record of an event, with its handle.
    Record(Arc<Event>, usize),
    /// Waiting for an event, with its handle.
    Await(Arc<Event>, usize),
    /// A graph of its own, as it was when the node was made; with its handle.
    Child(Arc<Graph>, usize),
    /// An allocation.
    Allocate(Arc<GraphMemory>),
    /// The end of such an allocation, which another graph may have made.
    Free(u64),
}

impl Action {
    /// `CUgraphNodeType`.
    pub(crate) fn kind(&self) -> i32 {
        match self {
            Self::Work(Work::Kernel(_)) => 0,
            Self::Work(Work::Transfer(_)) => 1,
            Self::Work(Work::Fill(_)) => 2,
            Self::Work(Work::Host(..) | Work::Callback(..)) => 3,
            Self::Child(..) => 4,
            Self::Empty | Self::Work(Work::Nothing | Work::Record(_) | Work::Free(_)) => 5,
            Self::Await(..) => 6,
            Self::Record(..) => 7,
            Self::Allocate(_) => 10,
            Self::Free(_) => 11,
            Self::Work(Work::Write(_) | Work::Wait(_)) => 12,
        }
    }

    /// The kind as a debug print names it.
    pub(crate) fn name(&self) -> &'static str {
        match self.kind() {
            0 => "KERNEL",
            1 => "MEMCPY",
            2 => "MEMSET",
            3 => "HOST",
            4 => "GRAPH",
            6 => "EVENT_WAIT",
            7 => "EVENT_RECORD",
            10 => "MEM_ALLOC",
            11 => "MEM_FREE",
            12 => "BATCH_MEM_OP",
            _ => "EMPTY",
        }
    }

    /// Refuses what a launch would allocate again.
    fn check_memory(&self, frees: bool) -> Result<(), Error> {
        match self {
            Self::Allocate(memory) => memory.check(frees),
            Self::Child(graph, _) => graph.order()?.iter().try_for_each(|(_, action)| action.check_memory(frees)),
            _ => Ok(()),
        }
    }

    fn enqueue(&self, stream: &AnyStream) -> Result<(), Error> {
        match self {
            Self::Empty => Ok(()),
            Self::Allocate(memory) => {
                memory.allocate();
                Ok(())
            }
            Self::Free(start) => graph_memory::free(*start).map(drop),
            Self::Work(work) => stream.submit(work.clone()).map(drop),
            Self::Record(event, _) => event.record(stream),
            Self::Await(event, _) => stream.wait_for_event(event),
            Self::Child(graph, _) => graph.order()?.iter().try_for_each(|(_, action)| action.enqueue(stream)),
        }
    }
}

/// A node.
pub(crate) struct Node {
    /// The handle of its graph.
    pub(crate) graph: usize,
    pub(crate) action: Mutex<Action>,
    /// The node that this one is a clone of.
    pub(crate) original: usize,
    /// Addresses of the kernel's parameters, for who asks; they live as long as the node.
    pub(crate) pointers: Mutex<Vec<u64>>,
}

impl Node {
    pub(crate) fn action(&self) -> MutexGuard<'_, Action> {
        self.action.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A graph.
#[derive(Default)]
pub(crate) struct Graph {
    state: Mutex<State>,
}

/// Nodes and edges in the order in which they were added.
#[derive(Default, Clone)]
pub(crate) struct State {
    pub(crate) nodes: Vec<(usize, Arc<Node>)>,
    pub(crate) edges: Vec<Edge>,
}

/// That `to` depends on `from`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) data: EdgeData,
}

/// `CUgraphEdgeData`: what of a node another one depends on. The default is its end.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub(crate) struct EdgeData {
    from_port: u8,
    to_port: u8,
    kind: u8,
    reserved: [u8; 5],
}

impl EdgeData {
    /// `CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC`, from `CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC`.
    pub(crate) const PROGRAMMATIC: Self = Self { from_port: 1, to_port: 0, kind: 1, reserved: [0; 5] };
    /// A programmatic edge from `CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER`.
    const LAUNCH_ORDER: Self = Self { from_port: 2, ..Self::PROGRAMMATIC };

    /// Whether an edge may have this data: edges between kernels may have the data that CUDA defines for them.
    fn fits(self, between_kernels: bool) -> bool {
        self == Self::default() || between_kernels && [Self::PROGRAMMATIC, Self::LAUNCH_ORDER].contains(&self)
    }
}

impl State {
    pub(crate) fn has(&self, node: usize) -> bool {
        self.nodes.iter().any(|(handle, _)| *handle == node)
    }

    fn is_kernel(&self, node: usize) -> bool {
        let mut nodes = self.nodes.iter();
        nodes.any(|(handle, object)| *handle == node && matches!(*object.action(), Action::Work(Work::Kernel(_))))
    }

    /// Adds an edge between two nodes of the graph.
    pub(crate) fn add_edge(&mut self, edge: Edge) -> Result<(), Error> {
        let Edge { from, to, data } = edge;
        if self.edges.iter().any(|known| (known.from, known.to) == (from, to)) {
            return Err(wrong("to", format!("{to:#x}"), "the dependency is there already"));
        }
        if !data.fits(self.is_kernel(from) && self.is_kernel(to)) {
            let EdgeData { from_port, kind, .. } = data;
            return Err(wrong(
                "edgeData",
                format!("type {kind} from port {from_port}"),
                "programmatic dependencies are between kernels, from port 1 or 2; others are zero",
            ));
        }
        self.edges.push(edge);
        Ok(())
    }
}

impl Graph {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a node that depends on others.
    pub(crate) fn add(
        &self,
        driver: &Driver,
        handle: usize,
        action: Action,
        original: usize,
        dependencies: &[usize],
    ) -> Result<usize, Error> {
        let mut state = self.lock();
        let mut seen = HashSet::new();
        for one in dependencies {
            if !state.has(*one) || !seen.insert(*one) {
                return Err(wrong("dependencies", format!("{one:#x}"), "each must be another node of the graph"));
            }
        }
        let programmatic = matches!(&action, Action::Work(Work::Kernel(kernel)) if kernel.programmatic);
        let (node, object) = driver.nodes.insert(|_| Node {
            graph: handle,
            action: Mutex::new(action),
            original,
            pointers: Mutex::default(),
        });
        state.nodes.push((node, object));
        for from in dependencies {
            let data = match programmatic && state.is_kernel(*from) {
                true => EdgeData::PROGRAMMATIC,
                false => EdgeData::default(),
            };
            state.edges.push(Edge { from: *from, to: node, data });
        }
        Ok(node)
    }

    /// A copy with nodes of its own.
    pub(crate) fn copy_to(&self, driver: &Driver, copy: &Self, handle: usize) -> Result<(), Error> {
        let state = self.lock().clone();
        let mut names = HashMap::new();
        for (node, object) in &state.nodes {
            let action = object.action().clone();
            names.insert(*node, copy.add(driver, handle, action, *node, &[])?);
        }
        let edges = state.edges.iter().map(|edge| Edge { from: names[&edge.from], to: names[&edge.to], ..*edge });
        copy.lock().edges.extend(edges);
        Ok(())
    }

    /// The nodes in an order in which none precedes what it depends on.
    pub(crate) fn order(&self) -> Result<Vec<(usize, Action)>, Error> {
        let state = self.lock();
        let mut left: HashMap<usize, usize> = state.nodes.iter().map(|(handle, _)| (*handle, 0)).collect();
        for edge in &state.edges {
            *left.entry(edge.to).or_default() += 1;
        }
        let mut followers: HashMap<usize, Vec<usize>> = HashMap::new();
        for edge in &state.edges {
            followers.entry(edge.from).or_default().push(edge.to);
        }
        let objects: HashMap<usize, &Arc<Node>> = state.nodes.iter().map(|(handle, node)| (*handle, node)).collect();
        let is_free = |handle: &usize| left[handle] == 0;
        let mut ready: std::collections::VecDeque<usize> =
            state.nodes.iter().map(|(handle, _)| *handle).filter(is_free).collect();
        let mut order = Vec::with_capacity(state.nodes.len());
        while let Some(handle) = ready.pop_front() {
            order.push((handle, objects[&handle].action().clone()));
            for to in followers.get(&handle).into_iter().flatten() {
                if let Some(count) = left.get_mut(to) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push_back(*to);
                    }
                }
            }
        }
        if order.len() == state.nodes.len() {
            Ok(order)
        } else {
            Err(wrong("hGraph", "cyclic", "the nodes must not depend on themselves"))
        }
    }

    /// Whether `node` is one of `targets` or they depend on it.
    pub(crate) fn precedes(&self, node: usize, targets: &[usize]) -> bool {
        let state = self.lock();
        let mut seen: HashSet<usize> = targets.iter().copied().collect();
        let mut open: Vec<usize> = targets.to_vec();
        while let Some(one) = open.pop() {
            if one == node {
                return true;
            }
            let before = state.edges.iter().filter(|edge| edge.to == one).map(|edge| edge.from);
            open.extend(before.filter(|from| seen.insert(*from)));
        }
        false
    }

    /// Kinds of the nodes and the edges by position, which an update must not change.
    pub(crate) fn topology(&self) -> (Vec<i32>, Vec<Edge>) {
        let state = self.lock();
        let place: HashMap<usize, usize> = state.nodes.iter().enumerate().map(|(at, (node, _))| (*node, at)).collect();
        let kinds = state.nodes.iter().map(|(_, node)| node.action().kind()).collect();
        let place = |edge: &Edge| Edge { from: place[&edge.from], to: place[&edge.to], ..*edge };
        let mut edges: Vec<_> = state.edges.iter().map(place).collect();
        edges.sort_unstable();
        (kinds, edges)
    }
}

/// One node of an executable graph.
#[derive(Clone)]
pub(crate) struct Step {
    /// The node of the graph that it was made from.
    pub(crate) node: usize,
    pub(crate) action: Action,
    pub(crate) enabled: bool,
}

/// An executable graph.
pub(crate) struct Exec {
    pub(crate) flags: u64,
    pub(crate) topology: (Vec<i32>, Vec<Edge>),
    /// The nodes in the order in which the graph lists them, for updates.
    pub(crate) listed: Vec<usize>,
    pub(crate) steps: Mutex<Vec<Step>>,
}

impl Exec {
    pub(crate) fn new(graph: &Graph, flags: u64) -> Result<Self, Error> {
        let steps = graph.order()?.into_iter().map(|(node, action)| Step { node, action, enabled: true });
        Ok(Self {
            flags,
            topology: graph.topology(),
            listed: graph.lock().nodes.iter().map(|(node, _)| *node).collect(),
            steps: Mutex::new(steps.collect()),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<Step>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enqueues all nodes.
    pub(crate) fn launch(&self, stream: &AnyStream) -> Result<(), Error> {
        let steps = self.lock().clone();
        let frees = self.flags & AUTO_FREE != 0;
        steps.iter().try_for_each(|step| step.action.check_memory(frees))?;
        let enabled = steps.iter().filter(|step| step.enabled);
        enabled.into_iter().try_for_each(|step| step.action.enqueue(stream))
    }
}
