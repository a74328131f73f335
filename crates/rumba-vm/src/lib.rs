//! A SIMT machine that executes PTX on the CPU and checks it. It knows no CUDA API.
//!
//! A [`Device`] owns memory and workers; [`Device::load`] turns PTX into a [`Module`]; [`Device::launch`] runs a kernel
//! of it and returns when it has ended.
//!
//! In reading order: [`types`], [`op`] and [`warp`] are what instructions work with, [`lower`] is how they describe
//! themselves, [`isa`] is the instructions. `load`, `symbols`, `scope`, `function`, `cfg`, `liveness` and `assemble` turn
//! sources into programs; `launch`, `resident`, `block` and `schedule` run them; `form` and `lockstep` make those for warps in step;
//! `pages`, `arena`, `allocations` and `check` are their memory.

mod access;
mod address;
mod allocations;
mod arena;
mod assemble;
mod block;
mod calls;
mod cfg;
mod check;
mod clock;
mod cluster;
mod config;
mod control;
mod cooperative;
mod copies;
mod device;
mod element;
mod fault;
mod fit;
mod form;
mod function;
mod instrument;
pub mod isa;
mod launch;
mod liveness;
mod load;
mod lockstep;
pub mod lower;
mod mbarrier;
mod native;
pub mod op;
mod pages;
mod pool;
mod printf;
mod profile;
mod program;
mod rendezvous;
mod resident;
mod schedule;
mod scope;
mod seats;
mod seed;
mod sources;
mod special;
mod survey;
mod symbols;
mod target;
pub mod types;
mod vectors;
mod verify;
pub mod warp;

pub use allocations::{Allocation, AllocationKind, MemoryError};
pub use check::finding::{Finding, FindingKind, Severity, Side};
pub use config::{Checks, Config};
pub use device::{Device, Error, Properties};
pub use fault::{Access, AccessKind, Fault, FaultKind, LaunchError, LiveThreads, Location};
pub use launch::{Launch, LaunchFailure, Statistics};
pub use load::{Function, FunctionAttributes, LoadError, Module, Source, SourceErrors};
pub use printf::Sink;
pub use profile::{Branches, GlobalTraffic, InstructionProfile, Profile, SharedTraffic};
pub use program::Parameter;
