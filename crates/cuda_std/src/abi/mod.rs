//! What the two compilations of a kernel agree on: what its parameters are made of, what it demands of a launch, the
//! description that the device's compilation leaves behind the PTX, and the record of a panic.

pub(crate) mod contract;
pub(crate) mod description;
pub(crate) mod parameter;
pub(crate) mod record;
