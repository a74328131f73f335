//! Modules: PTX loaded onto a device or linked, and what is in it.

mod constants;
pub(crate) mod image;
#[cfg(feature = "inspect")]
mod inspect;
pub(crate) mod link;
pub mod module;
