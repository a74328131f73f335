//! A SIMT machine that executes PTX on the CPU and checks it. It knows no CUDA API.
//!
//! A [`Device`] owns memory and workers; [`Device::load`] turns PTX into a [`Module`]; [`Device::launch`] runs a kernel
//! of it and returns when it has ended.
//!
//! The layers below import one way only, each what stands before it; `tests/tests/it/layers.rs` keeps that:
//!
//! * `base`: lanes, limits, scalar types, seeds, and the control and data flow of any operations: what all layers use.
//! * `arith`: the meaning of scalar operations, for the interpreter and for native code.
//! * `mem`: the memory of a device, its allocations, and which bytes are unwritten.
//! * `explore`: the orders of synchronising operations: which are to be run, and what commutes.
//! * `check`: the detectors. They know numbers, and no warp or launch.
//! * `machine`: what handlers see: operations, programs, warps, blocks, clusters, the launch that they are in.
//! * `exec`: what a warp does: checked accesses, branches, waiting, and what it reports to the detectors.
//! * `lower`: from the syntax tree to operations, and how an instruction describes itself.
//! * [`isa`]: the instructions, a file each.
//! * `load`: loading a module: verification, control flow, register slots, operations that checks put between.
//! * `compile`: native code of kernels, as text in LLVM's assembly language.
//! * `run`: running a launch: workers, blocks, findings.
//! * `device`: the facade.

// What tests of the library and of its users share names it.
#[cfg(test)]
extern crate self as rumba_vm;

#[cfg(test)]
// Operands that the integration tests use as well.
#[path = "../../../tests/machine/tests/it/common/words.rs"]
mod words;

mod arith;
mod base;
mod check;
mod compile;
mod device;
mod exec;
mod explore;
pub mod isa;
mod load;
mod lower;
mod machine;
mod mem;
mod run;

pub use crate::base::config::Config;
pub use crate::base::engine::{self, Engine};
pub use crate::base::limits;
pub use crate::base::report::{Access, AccessKind, Location};
pub use crate::check::finding::{Finding, Side, SideLaunch};
pub use crate::explore::{Exploration, ExplorationBound, ExplorationReport, Schedule, ScheduleError, Step};
pub use crate::load::error::{LoadError, Source, SourceErrors};
pub use crate::load::module::{Function, FunctionAttributes, Module};
pub use crate::load::passed::remember_texts;
pub use crate::machine::counters::{Branches, GlobalTraffic, InstructionProfile, Profile, SharedTraffic};
pub use crate::machine::fault::{Fault, FaultKind, LaunchError, LiveThreads};
pub use crate::machine::printf::Sink;
pub use crate::machine::program::Parameter;
pub use crate::machine::running::Running;
pub use crate::mem::allocations::{Allocation, AllocationKind, MemoryError};
pub use crate::mem::tensor_map;
pub use crate::run::apart::{Beside, HostWaits};
pub use crate::run::compared::{Comparisons, Reason};
pub use crate::run::launch::{Launch, LaunchFailure, Statistics};
pub use device::{Device, Error};
pub use rumba_checks::{Check, CheckSet, FindingKind, Severity};
