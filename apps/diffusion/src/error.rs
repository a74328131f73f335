//! Errors between a folder of weights and a picture.

use std::path::PathBuf;

/// Rows and columns of a picture at most.
pub(crate) const LARGEST: usize = 1 << 14;

/// The result of this library's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a picture was not drawn. The text can be shown to users unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder does not exist.
    #[error("{} is no folder\nhelp: weights come in the layout of diffusers, as its `save_pretrained` writes it", folder.display())]
    NoFolder {
        /// The given path.
        folder: PathBuf,
    },

    /// A folder without some of what a pipeline is made of.
    #[error("{} lacks {}{}", folder.display(), missing.join(", "), hint(note))]
    Lacks {
        /// The folder.
        folder: PathBuf,
        /// The files.
        missing: Vec<String>,
        /// A note about the contents of the folder, if any.
        note: Option<String>,
    },

    /// A file that cannot be read.
    #[error("{} cannot be read: {error}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },

    /// A file of settings that is no JSON.
    #[error("{} is no JSON: {error}", file.display())]
    Json {
        /// The file.
        file: PathBuf,
        /// The problem.
        error: serde_json::Error,
    },

    /// A setting is missing or has an unsupported value.
    #[error("setting `{setting}` of {} is {value}; {supported}", file.display())]
    Setting {
        /// The file.
        file: PathBuf,
        /// The setting.
        setting: String,
        /// Its value, as JSON.
        value: String,
        /// The supported values.
        supported: String,
    },

    /// Files from which no tokenizer can be made.
    #[error("no tokenizer can be made of {}: {error}", file.display())]
    Tokenizer {
        /// The file.
        file: PathBuf,
        /// The problem.
        error: String,
    },

    /// A text that cannot be taken apart into words.
    #[error("the text {text:?} has no words: {error}")]
    Text {
        /// The text.
        text: String,
        /// The problem.
        error: String,
    },

    /// A picture that cannot be read or written.
    #[error("the picture {} cannot be {done}: {error}", file.display())]
    Picture {
        /// The file.
        file: PathBuf,
        /// `read` or `written`.
        done: &'static str,
        /// Why.
        error: String,
    },

    /// A picture of a size that the networks do not have.
    #[error(
        "a picture of {columns}x{rows} pixels cannot be drawn by these networks: both are to be multiples of {multiple}, up to {LARGEST}"
    )]
    Size {
        /// Pixels of a column.
        rows: usize,
        /// Pixels of a row.
        columns: usize,
        /// The required divisor.
        multiple: usize,
    },

    /// A slice whose length differs from the size of a picture.
    #[error("{what} has {len} numbers; a picture of this size has {wanted}")]
    Length {
        /// What the slice holds.
        what: &'static str,
        /// The length of the slice.
        len: usize,
        /// The required length.
        wanted: usize,
    },

    /// Steps that no schedule has.
    #[error("{steps} steps: a schedule has 1 to {most}")]
    Steps {
        /// How many were wanted.
        steps: usize,
        /// How many there are at most.
        most: usize,
    },

    /// No step is left, so the image would stay unchanged.
    #[error(
        "no step is left of {steps} at strength {strength}: strength is from 0 to 1, and says which part of the steps is done"
    )]
    Strength {
        /// The steps.
        steps: usize,
        /// The strength.
        strength: f64,
    },

    /// The networks'.
    #[error(transparent)]
    Nn(#[from] rumba_nn::Error),
}

impl From<rumba::Error> for Error {
    fn from(error: rumba::Error) -> Error {
        Error::Nn(error.into())
    }
}

fn hint(note: &Option<String>) -> String {
    note.as_ref().map(|note| format!("\nhelp: {note}")).unwrap_or_default()
}
