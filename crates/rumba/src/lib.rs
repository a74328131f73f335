//! The runtime `rumba` as programs depend on it: all of the package `rumba-host`, and the choice where the software device is.
//!
//! With the feature `linked`, which is on, the program has the device in it. Without it the device is a library that is
//! loaded, and that `cargo rumba setup` builds.

pub use runtime::*;
