//! The tests of the builder, in one program.

mod build;
mod no_toolchain;
