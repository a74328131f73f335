//! Options of `cuModuleLoadDataEx` and the `cuLink` calls. Only the log buffers, the wall time and the bound of
//! registers have a meaning here; other options about code generation are accepted and have none.

use std::ffi::{c_int, c_uint};
use std::time::Instant;

use crate::abi::{In, Out, wrong};
use crate::error::Error;
use crate::soft::image::Source;

const MAX_REGISTERS: c_int = 0;
const WALL_TIME: c_int = 2;
const INFO_LOG_BUFFER: c_int = 3;
const INFO_LOG_BUFFER_SIZE_BYTES: c_int = 4;
const ERROR_LOG_BUFFER: c_int = 5;
const ERROR_LOG_BUFFER_SIZE_BYTES: c_int = 6;

/// More than the last option that CUDA 13 has.
const NO_OPTION: c_int = 48;

/// Where the caller wants the results and messages of the work.
#[derive(Default)]
pub(crate) struct Log {
    info: Buffer,
    error: Buffer,
    wall_time: Option<u64>,
    start: Option<Instant>,
    /// The most registers that a thread may use.
    max_registers: Option<u32>,
}

/// A text buffer of the caller.
#[derive(Default)]
struct Buffer {
    address: u64,
    bytes: usize,
    /// The address for the number of bytes written: that of the option value that held the size.
    written: Option<u64>,
}

impl Log {
    /// Reads the options. Option values are passed by value in the place of a pointer, and results are
    /// stored over them.
    ///
    /// # Safety
    /// `options` and `values` have `count` elements each. The values, and the buffers that they name, stay valid until
    /// the last write to the log.
    pub(crate) unsafe fn new(count: c_uint, options: In<c_int>, values: Out<u64>) -> Result<Self, Error> {
        let mut log = Self { start: Some(Instant::now()), ..Self::default() };
        for index in 0..count as usize {
            // SAFETY: both arrays have `count` elements (the caller's promise). Values are read, and results stored
            // over them.
            let (option, place, value) = unsafe {
                let option = options.element("options", index)?;
                values.required("optionValues")?;
                let place = values.at(index);
                (option, place.address(), place.given("optionValues")?)
            };
            match option {
                MAX_REGISTERS => log.max_registers = Some(value as u32).filter(|&bound| bound > 0),
                WALL_TIME => log.wall_time = Some(place),
                INFO_LOG_BUFFER => log.info.address = value,
                ERROR_LOG_BUFFER => log.error.address = value,
                // A size is an unsigned int, of which callers may leave the upper half as it was.
                INFO_LOG_BUFFER_SIZE_BYTES => log.info.size(value as u32 as usize, place),
                ERROR_LOG_BUFFER_SIZE_BYTES => log.error.size(value as u32 as usize, place),
                known if (0..NO_OPTION).contains(&known) => {}
                other => return Err(wrong("options", other, "there is no such option")),
            }
        }
        Ok(log)
    }

    /// Applies the bound of registers to sources that are loaded or linked with these options.
    pub(crate) fn bound(&self, sources: &mut [Source]) {
        if let Some(bound) = self.max_registers {
            for source in sources {
                source.max_registers = Some(source.max_registers.map_or(bound, |other| other.min(bound)));
            }
        }
    }

    /// Gives the caller the logs: of success, or of the error.
    pub(crate) fn write<T>(&self, outcome: &Result<T, Error>) {
        match outcome {
            Ok(_) => {
                self.info.write("");
                self.error.write("");
            }
            Err(error) => {
                self.info.write("");
                self.error.write(&error.log());
            }
        }
        if let (Some(place), Some(start)) = (self.wall_time, self.start) {
            // SAFETY: the place of an option's value, which stays valid (the promise of `new`).
            let place = unsafe { Out::<f32>::from_address(place) };
            place.put_if(start.elapsed().as_secs_f32() * 1e3);
        }
    }
}

impl Buffer {
    fn size(&mut self, bytes: usize, place: u64) {
        self.bytes = bytes;
        self.written = Some(place);
    }

    /// Stores as much of a text as fits, with a NUL, and the number of bytes stored.
    fn write(&self, text: &str) {
        let text: Vec<u8> = text.bytes().filter(|byte| *byte != 0).collect();
        if self.address != 0 && self.bytes > 0 {
            let end = text.len().min(self.bytes - 1);
            for (address, byte) in (self.address..).zip(text[..end].iter().chain(&[0])) {
                // SAFETY: below the end of the buffer, which stays valid (the promise of `Log::new`).
                unsafe { Out::<u8>::from_address(address) }.put_if(*byte);
            }
        }
        if let Some(place) = self.written {
            // The NUL counts only where the text was cut for it.
            let written = text.len().min(self.bytes) as u64;
            // SAFETY: the place of an option's value, which stays valid (the promise of `Log::new`).
            unsafe { Out::<u64>::from_address(place) }.put_if(written);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads options, reports an error and gives the buffer and the values afterwards.
    fn log_error(text: &str, size: u64) -> (Vec<u8>, [u64; 3]) {
        let mut buffer = vec![0xff_u8; 16];
        let options = [ERROR_LOG_BUFFER, ERROR_LOG_BUFFER_SIZE_BYTES, 0];
        let mut values = [buffer.as_mut_ptr() as u64, size, 32];
        // SAFETY: three options and three values, which outlive the log, as does the buffer.
        let log = unsafe {
            Log::new(3, In::from_address(options.as_ptr() as u64), Out::from_address(values.as_mut_ptr() as u64))
        };
        let log = log.expect("known options");
        log.write::<()>(&Err(Error::Ptx { log: text.into(), report: "at length".into() }));
        (buffer, values)
    }

    #[test]
    fn a_log_is_cut_to_its_buffer() {
        let (buffer, values) = log_error("line 4: no", 16);
        assert_eq!(&buffer[..11], b"line 4: no\0");
        assert_eq!(values[1..], [10, 32]);
        let (buffer, values) = log_error("line 4: no", 8);
        assert_eq!(&buffer[..9], b"line 4:\0\xff");
        assert_eq!(values[1], 8);
        assert_eq!(log_error("line 4: no", 0).0[0], 0xff);
    }

    #[test]
    fn unknown_options_are_refused() {
        let options = [9999];
        let mut values = [0_u64];
        // SAFETY: one option and one value, which outlive the logs.
        unsafe {
            let options = In::from_address(options.as_ptr() as u64);
            let values = Out::from_address(values.as_mut_ptr() as u64);
            assert!(Log::new(1, options, values).is_err());
            assert!(Log::new(1, In::NULL, values).is_err());
        }
    }
}
