//! Memory of the allocation nodes of graphs. The memory's address is fixed when the node is made; a launch of the graph
//! allocates the memory, and a node, a graph or a call of the program frees it (CUDA C++ Programming Guide, "Graph
//! Memory Nodes").
//!
//! The machine reserves the bytes as long as a graph can allocate them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::wrong;
use crate::error::Error;
use crate::soft::context::Context;
use crate::soft::driver::Driver;
use crate::soft::memory::Kind;

/// The memory of an allocation node, shared by the graph, its clones and its instances.
pub(crate) struct GraphMemory {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    /// The device that holds the memory.
    pub(crate) device: i32,
    /// The number of the allocation: when its context has ended, another allocation may get the address.
    id: u64,
}

/// The state of the memory of a node.
#[derive(Clone, Copy)]
struct State {
    id: u64,
    /// Whether a launch has allocated it, and nothing has freed it.
    is_allocated: bool,
}

/// The states, by the address.
static STATES: Mutex<BTreeMap<u64, State>> = Mutex::new(BTreeMap::new());

fn states() -> MutexGuard<'static, BTreeMap<u64, State>> {
    STATES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a launch has allocated the memory at an address and nothing has freed it; `None` if no node has this
/// address.
fn is_allocated(start: u64) -> Option<bool> {
    states().get(&start).map(|state| state.is_allocated)
}

fn set(start: u64, is_allocated: bool) {
    if let Some(state) = states().get_mut(&start) {
        state.is_allocated = is_allocated;
    }
}

impl GraphMemory {
    /// Memory for a new node.
    pub(crate) fn new(driver: &Driver, context: &Context, bytes: u64) -> Result<Arc<Self>, Error> {
        let start = driver.allocate(context, bytes, Kind::Graph)?;
        let id = driver.memory.holding(start).map_or(0, |allocation| allocation.id);
        let is_allocated = false;
        states().insert(start, State { id, is_allocated });
        Ok(Arc::new(Self { start, bytes, device: context.device, id }))
    }

    /// Refuses a launch that would allocate memory that an earlier launch has allocated and not freed, unless it frees
    /// the memory first.
    pub(crate) fn check(&self, frees: bool) -> Result<(), Error> {
        if frees || is_allocated(self.start) == Some(false) {
            return Ok(());
        }
        Err(wrong(
            "hGraphExec",
            format!("a graph that allocates {:#x}", self.start),
            "an earlier launch has allocated it and nothing has freed it: free it, or instantiate the graph with \
             CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH",
        ))
    }

    /// A launch allocates the memory.
    pub(crate) fn allocate(&self) {
        set(self.start, true);
    }
}

/// Frees memory that a launch of a graph has allocated. `false` if it is not a node's.
pub(crate) fn free(start: u64) -> Result<bool, Error> {
    match is_allocated(start) {
        None => Ok(false),
        Some(true) => {
            set(start, false);
            Ok(true)
        }
        Some(false) => {
            Err(Error::NotAllocated { address: start, expected: "memory that a launch of its graph has allocated" })
        }
    }
}

/// Bytes that launches have allocated, and bytes of all nodes of a device's graphs.
pub(crate) fn bytes(driver: &Driver, device: i32) -> (u64, u64) {
    let of_graphs = driver.memory.of_kind(Kind::Graph);
    let of_device = of_graphs.filter(|one| driver.device_of(one.context) == device);
    of_device.fold((0, 0), |(used, all), one| {
        let own = if is_allocated(one.start) == Some(true) { one.bytes } else { 0 };
        (used + own, all + one.bytes)
    })
}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        let mut states = states();
        let Some(state) = states.get(&self.start).copied().filter(|state| state.id == self.id) else {
            return;
        };
        states.remove(&self.start);
        drop(states);
        let Ok(driver) = Driver::get() else { return };
        if driver.memory.holding(self.start).is_none_or(|allocation| allocation.id != self.id) {
            // The memory was freed with its context.
            return;
        }
        if state.is_allocated {
            // The memory outlives its graph, and is then freed as other memory of streams.
            let pool = driver.default_pools.get(self.device as usize).copied().unwrap_or_default();
            return driver.memory.turn(self.start, Kind::Pooled { pool });
        }
        if let Some(allocation) = driver.memory.remove(self.start, |kind| kind == Kind::Graph) {
            // Work that is under way may use it.
            if let Ok(context) = driver.context(allocation.context) {
                context.finish();
            }
            // The machine knows every address of the table.
            let _ = driver.give_back(&allocation);
        }
    }
}
