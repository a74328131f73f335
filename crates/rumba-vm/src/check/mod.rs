//! Checks. They hang on the machine's doors for memory, barriers and votes, never on instructions.

pub(crate) mod memory;
