//! Errors: weights that do not match a network, tensors that do not fit a layer, plans that a second run does not
//! follow.

use std::path::PathBuf;

/// The result of this library's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call of this library failed. The error's text is written for users.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A weight is missing, or does not match the network.
    #[error(transparent)]
    Weight(#[from] WeightError),

    /// A tensor of a shape that a layer does not take.
    #[error("{layer} takes {wanted}, not a tensor of shape {shape:?}")]
    Shape {
        /// The layer.
        layer: &'static str,
        /// The shapes that the layer takes.
        wanted: String,
        /// The shape of the tensor.
        shape: Vec<usize>,
    },

    /// A tensor belongs to another run.
    #[error(
        "a tensor of one run was used in another\nhelp: tensors live in the memory of their run; carry numbers over in an `Array`"
    )]
    OtherRun,

    /// A layer made a tensor while it was making another.
    #[error(
        "a tensor was made, or taken out, within the closure of another `Run::make`\nhelp: make the inner tensor first, and read it in the closure"
    )]
    Nested,

    /// A network made other tensors in the recorded run than in the planned run.
    #[error(
        "the network cannot be recorded: its tensors were not made and dropped in the order in which they were when its memory was \
         planned\nhelp: what a network does may not depend on anything but its arguments, and no tensor may leave it"
    )]
    Changed,

    /// An error of the runtime.
    #[error(transparent)]
    Rumba(#[from] rumba::Error),
}

/// Weights that do not match a network.
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

    /// A file that is not in the safetensors format, or is incomplete.
    #[error(
        "{} is no whole file of safetensors: {error}; it has {bytes} bytes\nhelp: a download that broke off leaves such a file; fetch it again",
        file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Its length.
        bytes: usize,
        /// The cause.
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
        /// The most similar name in the file.
        similar: Option<String>,
    },

    /// A tensor has another shape than the network's.
    #[error("tensor `{name}` of {} has shape {shape:?}; the network has it in shape {wanted:?}", file.display())]
    Shape {
        /// The file.
        file: PathBuf,
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
        /// The shape that the network requires.
        wanted: Vec<usize>,
    },

    /// A tensor whose elements are no floating-point numbers.
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
