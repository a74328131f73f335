//! Memory that programs own: typed buffers on the device, views of them, and host memory that devices reach.
//!
//! # When memory is given back
//!
//! Memory that the device may still access is neither freed nor given to the caller. The runtime keeps these rules:
//!
//! 1. A wait that was refused is not a wait. Only an answer of the driver to `cuStreamSynchronize`, `cuCtxSynchronize` or
//!    `cuEventSynchronize` ends one: success, or the fault of a context, whose work the driver has stopped by then. An error
//!    of our own, made before the driver was asked (in a host function, in a context that is lost), says nothing about the
//!    device. `Entered::settle` asks the driver in every case.
//! 2. Every owner of something that the device may be using waits in its drop: [`PendingCopy`] and [`CopyScope`] for their
//!    streams, graphs and modules for the context. Freeing device memory waits by itself (`cuMemFree`), and what the driver
//!    does not free, in a context that is lost, stays until the context is gone. Host memory that the runtime allocated is
//!    freed in any case, after the wait.
//! 3. In a host function nothing can wait. There a drop is handed on to a thread of the runtime's:
//!    [`OutsideHostFn`], in which every handle is kept.
//! 4. A stream is busy until a synchronisation of its driver handle has returned, not until its last [`Stream`] is gone:
//!    [`Queues`] keeps the handle so long, and the order between streams is made on handles.
//! 5. `Device::reset` waits for the calls in progress and for the device. What refers to the old context owns nothing in it
//!    any more; its host memory is freed without asking the driver.
//!
//! [`CopyScope`]: crate::memory::CopyScope
//! [`OutsideHostFn`]: crate::base::host_fn::OutsideHostFn
//! [`PendingCopy`]: crate::memory::PendingCopy
//! [`Queues`]: crate::context::queue::Queues
//! [`Stream`]: crate::Stream

pub(crate) mod allocation;
pub(crate) mod argument;
pub(crate) mod buffer;
mod help;
mod im2col;
pub(crate) mod ordered;
mod peer;
pub(crate) mod pinned;
mod pool_handle;
pub(crate) mod tensor;
pub(crate) mod unified;
pub(crate) mod view;
