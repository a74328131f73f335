//! The tests of launchers and of the compiler's messages, in one program.

mod launch;
mod refused;
