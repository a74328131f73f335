//! Profiler control: there is nothing to start, which is no error.

use crate::abi::answer;
use crate::code::Code;
use crate::soft::driver::Driver;

pub(crate) extern "C" fn cuProfilerStart() -> Code {
    answer(|| Driver::current().map(drop))
}

pub(crate) extern "C" fn cuProfilerStop() -> Code {
    answer(|| Driver::current().map(drop))
}
