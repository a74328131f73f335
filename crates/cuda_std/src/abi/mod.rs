//! The interface of the two compilations of a kernel: the layout of its parameters, its demands on a launch, the
//! description that the device's compilation appends to the PTX, and the record of a panic.

pub(crate) mod contract;
pub(crate) mod description;
pub(crate) mod parameter;
pub(crate) mod record;
