//! Graphs of work: nodes with dependencies, and the executable form with a fixed order.
//!
//! An executable graph is launched by enqueuing its nodes one after another in the stream: every order that respects the
//! dependencies is a right one.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::wrong;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::order::{AnyStream, Event};
use crate::soft::work::Work;

/// What a node does.
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
    /// An allocation, made with the node.
    Allocate,
    /// The end of such an allocation; the memory stays until its context ends.
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
            Self::Allocate => 10,
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

    fn enqueue(&self, stream: &AnyStream) -> Result<(), Error> {
        match self {
            Self::Empty | Self::Allocate | Self::Free(_) => Ok(()),
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

/// Nodes in the order in which they were added, and pairs of a node and one that depends on it.
#[derive(Default, Clone)]
pub(crate) struct State {
    pub(crate) nodes: Vec<(usize, Arc<Node>)>,
    pub(crate) edges: Vec<(usize, usize)>,
}

impl State {
    pub(crate) fn has(&self, node: usize) -> bool {
        self.nodes.iter().any(|(handle, _)| *handle == node)
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
                return Err(wrong(
                    "dependencies",
                    format!("{one:#x}"),
                    "each must be another node of the graph",
                ));
            }
        }
        let (node, object) = driver.nodes.insert(|_| Node {
            graph: handle,
            action: Mutex::new(action),
            original,
            pointers: Mutex::default(),
        });
        state.nodes.push((node, object));
        state.edges.extend(dependencies.iter().map(|one| (*one, node)));
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
        let edges = state.edges.iter().map(|(from, to)| (names[from], names[to]));
        copy.lock().edges.extend(edges);
        Ok(())
    }

    /// The nodes in an order in which none precedes what it depends on.
    pub(crate) fn order(&self) -> Result<Vec<(usize, Action)>, Error> {
        let state = self.lock();
        let mut left: HashMap<usize, usize> = state.nodes.iter().map(|(handle, _)| (*handle, 0)).collect();
        for (_, to) in &state.edges {
            *left.entry(*to).or_default() += 1;
        }
        let mut followers: HashMap<usize, Vec<usize>> = HashMap::new();
        for (from, to) in &state.edges {
            followers.entry(*from).or_default().push(*to);
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
            let before = state.edges.iter().filter(|(_, to)| *to == one).map(|(from, _)| *from);
            open.extend(before.filter(|from| seen.insert(*from)));
        }
        false
    }

    /// Kinds of the nodes and the edges by position, which an update must not change.
    pub(crate) fn topology(&self) -> (Vec<i32>, Vec<(usize, usize)>) {
        let state = self.lock();
        let place: HashMap<usize, usize> = state
            .nodes
            .iter()
            .enumerate()
            .map(|(at, (node, _))| (*node, at))
            .collect();
        let kinds = state.nodes.iter().map(|(_, node)| node.action().kind()).collect();
        let mut edges: Vec<_> = state.edges.iter().map(|(from, to)| (place[from], place[to])).collect();
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
    pub(crate) topology: (Vec<i32>, Vec<(usize, usize)>),
    /// The nodes in the order in which the graph lists them, for updates.
    pub(crate) listed: Vec<usize>,
    pub(crate) steps: Mutex<Vec<Step>>,
}

impl Exec {
    pub(crate) fn new(graph: &Graph, flags: u64) -> Result<Self, Error> {
        let steps = graph.order()?.into_iter().map(|(node, action)| Step {
            node,
            action,
            enabled: true,
        });
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
        let enabled = steps.iter().filter(|step| step.enabled);
        enabled.into_iter().try_for_each(|step| step.action.enqueue(stream))
    }
}
