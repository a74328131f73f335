//! The tests of the driver's symbols, in one program.

mod choice;
mod cust;
mod devices;
mod driver;
mod engine;
mod seed;
#[cfg(not(feature = "linked"))]
mod soft_library;
mod verdict;
