//! The tests of the builder, in one program.

mod architectures;
mod build;
mod no_toolchain;
