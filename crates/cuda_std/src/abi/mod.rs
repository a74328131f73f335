//! What the two compilations of a kernel agree on: what its parameters are made of, what it demands of a launch, and the
//! description that the device's compilation leaves behind the PTX.

pub(crate) mod contract;
pub(crate) mod description;
pub(crate) mod parameter;
