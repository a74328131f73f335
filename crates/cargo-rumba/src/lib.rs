//! The commands that any project has: `cargo rumba`, and `cargo xtask` for Rumba's own kernels.
//!
//! Each command has its own file. [`place`] holds the only difference between the two programs: where the sources of Rumba and
//! the files of the project are.

pub mod archive;
pub mod bench;
pub mod build_ptx;
pub mod check;
pub mod device;
pub mod doctor;
pub mod inspect;
mod installed;
pub mod libcuda;
pub mod new;
pub mod place;
pub mod profile;
mod program;
pub mod project;
pub mod quiet;
pub mod setup;
pub mod shell;
pub mod soft;
pub mod source;
