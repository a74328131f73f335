//! Streams and what is put on them but for kernels: events, callbacks, copies in the background, and futures that wait for them.

mod callback;
pub(crate) mod copies;
pub(crate) mod done;
pub(crate) mod event;
pub(crate) mod recorded;
pub(crate) mod stream;
