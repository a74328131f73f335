//! What can go wrong: weights that are not what a network asks for, tensors that do not fit a layer, plans that do not hold.

use std::path::PathBuf;

/// The result of this library's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call of this library failed. The text is meant to be shown as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A weight is not there, or not what the network asks for.
    #[error(transparent)]
    Weight(#[from] WeightError),

    /// A tensor of a shape that a layer does not take.
    #[error("{layer} takes {wanted}, not a tensor of shape {shape:?}")]
    Shape {
        /// The layer.
        layer: &'static str,
        /// What it takes.
        wanted: String,
        /// The shape of the tensor.
        shape: Vec<usize>,
    },

    /// A tensor of another run.
    #[error(
        "a tensor of one run was used in another\nhelp: tensors live in the memory of their run; carry numbers over in an `Array`"
    )]
    OtherRun,

    /// A layer that makes a tensor while it makes another.
    #[error(
        "a tensor was made, or taken out, within the closure of another `Run::make`\nhelp: make the inner tensor first, and read it in the closure"
    )]
    Nested,

    /// A network that did not do the same when it was recorded as when it was planned.
    #[error(
        "the network cannot be recorded: its tensors were not made and dropped in the order in which they were when its memory was \
         planned\nhelp: what a network does may not depend on anything but its arguments, and no tensor may leave it"
    )]
    Changed,

    /// The runtime's.
    #[error(transparent)]
    Rumba(#[from] rumba::Error),
}

/// Weights that are not what a network asks for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WeightError {
    /// A file that cannot be read.
    #[error("the weights in {} cannot be read: {error}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },

    /// A file that cannot be written.
    #[error("the weights cannot be written to {}: {error}", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },

    /// A file that is no safetensors, or not all of one.
    #[error(
        "{} is no whole file of safetensors: {error}; it has {bytes} bytes\nhelp: a download that broke off leaves such a file; fetch it again",
        file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Its length.
        bytes: usize,
        /// What is wrong.
        error: safetensors::SafeTensorError,
    },

    /// A tensor that the file does not have.
    #[error("{} has no tensor `{name}`, which the network has in shape {wanted:?}{}", file.display(), suggestion(similar))]
    Missing {
        /// The file.
        file: PathBuf,
        /// The tensor.
        name: String,
        /// Its shape.
        wanted: Vec<usize>,
        /// The name in the file that is the most like it.
        similar: Option<String>,
    },

    /// A tensor of another shape.
    #[error("tensor `{name}` of {} has shape {shape:?}; the network has it in shape {wanted:?}", file.display())]
    Shape {
        /// The file.
        file: PathBuf,
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
        /// The shape that it has to have.
        wanted: Vec<usize>,
    },

    /// A tensor of something else than floating-point numbers.
    #[error(
        "tensor `{name}` of {}, of shape {shape:?}, has elements of type {dtype:?}; weights are F32, F16 or BF16",
        file.display()
    )]
    Type {
        /// The file.
        file: PathBuf,
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
        /// The type of its elements.
        dtype: safetensors::Dtype,
    },
}

fn suggestion(similar: &Option<String>) -> String {
    similar.as_ref().map(|name| format!("\nhelp: it has `{name}`")).unwrap_or_default()
}
