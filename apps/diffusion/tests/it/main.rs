//! Pictures against those of diffusers, folders that are broken, and the program.

mod digits;
mod folders;
mod pictures;
mod program;
