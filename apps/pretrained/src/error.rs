//! Errors in the files of a network.

use std::path::{Path, PathBuf};

/// The result of this library's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a network was not read or run. The text can be shown to users unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file is missing or cannot be read.
    #[error("{} cannot be read: {error}\nhelp: `cargo xtask setup --models` fetches published networks", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },

    /// A file that does not describe a network, or one that is not supported.
    #[error("{}: {reason}", file.display())]
    Model {
        /// The file.
        file: PathBuf,
        /// The problem.
        reason: String,
    },

    /// A sentence that cannot be taken apart into words.
    #[error("the sentence {sentence:?} has no words: {error}")]
    Sentence {
        /// The sentence.
        sentence: String,
        /// The problem.
        error: String,
    },

    /// The layers'.
    #[error(transparent)]
    Nn(#[from] rumba_nn::Error),
}

impl From<rumba::Error> for Error {
    fn from(error: rumba::Error) -> Error {
        Error::Nn(error.into())
    }
}

/// The bytes of a file.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file).map_err(|error| Error::Unreadable { file: file.to_owned(), error })
}

/// Parses a file of JSON.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(file: &Path) -> Result<T> {
    serde_json::from_slice(&read(file)?)
        .map_err(|error| Error::Model { file: file.to_owned(), reason: error.to_string() })
}
