//! The tests of the builder, in one program.

mod advice;
mod architectures;
mod build;
mod no_toolchain;
