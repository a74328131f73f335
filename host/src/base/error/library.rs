//! Why calls of NVIDIA's libraries fail before or inside the library.

use crate::base::error::Error;

/// Why cuBLAS, cuFFT or cuRAND could not be used: see [`crate::cublas`], [`crate::cufft`], [`crate::curand`].
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// The device is not an NVIDIA GPU.
    #[error(
        "{library} runs on NVIDIA GPUs only, and this is the software device\n\
         help: {instead} runs on every device"
    )]
    SoftwareDevice {
        /// The library.
        library: &'static str,
        /// What Rumba has instead.
        instead: &'static str,
    },

    /// No file of the library loads.
    #[error(
        "cannot load {library}: {cause}; looked for {}\n\
         help: {install}, and name the file in {variable} or its folder in LD_LIBRARY_PATH",
        tried.join(", ")
    )]
    Missing {
        /// The library.
        library: &'static str,
        /// The files that were looked for.
        tried: Vec<String>,
        /// The loader's error.
        cause: String,
        /// How to install the library.
        install: &'static str,
        /// The variable that names the file.
        variable: &'static str,
    },

    /// A file without a function of the library.
    #[error(
        "`{file}` is not {library}, or too old: it has no function `{function}`\n\
         help: the {library} of CUDA 11 or newer is needed; name its file in {variable}"
    )]
    NoFunction {
        /// The library.
        library: &'static str,
        /// The file.
        file: String,
        /// The missing function.
        function: &'static str,
        /// The variable that names the file.
        variable: &'static str,
    },

    /// The library refused a call.
    #[error("cannot {operation}: {library} answers {status}")]
    Refused {
        /// The library.
        library: &'static str,
        /// The requested operation.
        operation: &'static str,
        /// NVIDIA's name of the answer.
        status: String,
    },

    /// Operands whose shapes do not fit.
    #[error("cannot {operation} with shapes {}\nhelp: {rule}", listed(shapes))]
    Shapes {
        /// The requested operation.
        operation: &'static str,
        /// The shapes of the operands, in the order of the call.
        shapes: Vec<Vec<usize>>,
        /// The shapes that fit.
        rule: &'static str,
    },

    /// An operand whose elements lie as the library does not take them.
    #[error(
        "cannot {operation}: {operand} of shape {shape:?} has strides {strides:?}\n\
         help: {rule}; `view.to_array()` makes a copy in row-major order"
    )]
    Strides {
        /// The requested operation.
        operation: &'static str,
        /// The operand.
        operand: &'static str,
        /// Its shape.
        shape: Vec<usize>,
        /// Its strides, in elements.
        strides: Vec<isize>,
        /// The strides that fit.
        rule: &'static str,
    },

    /// An operand that begins at an address at which the library does not take it.
    #[error(
        "cannot {operation}: the elements begin at {address:#x}, and {library} needs a multiple of {bytes} bytes\n\
         help: begin at an even index of the buffer"
    )]
    Alignment {
        /// The library.
        library: &'static str,
        /// The requested operation.
        operation: &'static str,
        /// The address of the first element.
        address: u64,
        /// The required alignment.
        bytes: usize,
    },

    /// A length or a stride that the library does not count.
    #[error("cannot {operation}: {library} counts to 2147483647, and a length or a stride is {number}")]
    TooLong {
        /// The library.
        library: &'static str,
        /// The requested operation.
        operation: &'static str,
        /// The length or the stride.
        number: usize,
    },
}

fn listed(shapes: &[Vec<usize>]) -> String {
    let shapes: Vec<String> = shapes.iter().map(|shape| format!("{shape:?}")).collect();
    shapes.join(", ")
}

impl From<LibraryError> for Error {
    fn from(error: LibraryError) -> Error {
        Error::Library(Box::new(error))
    }
}
