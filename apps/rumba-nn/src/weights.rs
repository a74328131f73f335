//! Weights from files in the format safetensors.

use crate::error::{Result, WeightError};
use crate::run::Nn;
use crate::run::element::Element;
use rumba::array::Array;
use safetensors::tensor::{Dtype, SafeTensors, TensorInfo};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The tensors of a file, by name. A network takes the tensors that it needs, each with the shape that it expects.
///
/// Names consist of parts with dots between, as PyTorch writes them; [`at`](Self::at) selects the names below one part.
#[derive(Clone)]
pub struct Weights {
    nn: Nn,
    file: Arc<File>,
    prefix: String,
}

struct File {
    path: PathBuf,
    bytes: Vec<u8>,
    tensors: BTreeMap<String, TensorInfo>,
    /// Where the tensors' bytes begin.
    start: usize,
}

impl Weights {
    /// Reads a file.
    ///
    /// # Errors
    /// [`WeightError::Unreadable`], [`WeightError::Damaged`].
    pub fn open(nn: &Nn, path: impl AsRef<Path>) -> Result<Weights> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|error| WeightError::Unreadable { file: path.to_owned(), error })?;
        Weights::from_bytes(nn, path, bytes)
    }

    /// Reads the bytes of a file, which errors call `name`.
    ///
    /// # Errors
    /// [`WeightError::Damaged`].
    pub fn from_bytes(nn: &Nn, name: impl Into<PathBuf>, bytes: Vec<u8>) -> Result<Weights> {
        let path = name.into();
        let (length, table) = match SafeTensors::deserialize(&bytes).and_then(|_| SafeTensors::read_metadata(&bytes)) {
            Ok(known) => known,
            Err(error) => {
                return Err(WeightError::Damaged { file: path, bytes: bytes.len(), error }.into());
            }
        };
        let tensors = table.tensors().into_iter().map(|(name, info)| (name, info.clone())).collect();
        let file = File {
            path,
            bytes,
            tensors,
            // The table's length is a number of eight bytes before it.
            start: 8 + length,
        };
        Ok(Weights { nn: nn.clone(), file: Arc::new(file), prefix: String::new() })
    }

    /// The tensors whose names begin with `part` and a dot, with this prefix removed from their names.
    #[must_use]
    pub fn at(&self, part: impl fmt::Display) -> Weights {
        Weights { prefix: format!("{}{part}.", self.prefix), ..self.clone() }
    }

    /// The device and kernels for which layers are loaded.
    pub fn nn(&self) -> &Nn {
        &self.nn
    }

    /// Whether the file has a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.file.tensors.contains_key(&format!("{}{name}", self.prefix))
    }

    /// A tensor in device memory, rounded to `T`.
    ///
    /// # Errors
    /// [`WeightError`] if the tensor is missing, has another shape, or elements that are no floating-point numbers;
    /// errors of the runtime.
    pub fn array<T: Element, const N: usize>(&self, name: &str, shape: [usize; N]) -> Result<Array<T, N>> {
        let numbers = self.numbers(name, &shape)?;
        Ok(Array::from_slice(self.nn.device(), shape, &numbers)?)
    }

    /// A tensor's numbers in row-major order, rounded to `T`.
    pub(crate) fn numbers<T: Element>(&self, name: &str, wanted: &[usize]) -> Result<Vec<T>> {
        let file = self.file.path.clone();
        let name = format!("{}{name}", self.prefix);
        let Some(info) = self.file.tensors.get(&name) else {
            return Err(
                WeightError::Missing { similar: self.similar(&name), file, name, wanted: wanted.to_vec() }.into()
            );
        };
        let (shape, dtype) = (info.shape.clone(), info.dtype);
        if shape != wanted {
            let wanted = wanted.to_vec();
            return Err(WeightError::Shape { file, name, shape, wanted }.into());
        }
        let (start, end) = info.data_offsets;
        let bytes = &self.file.bytes[self.file.start + start..self.file.start + end];
        let halves = || bytes.chunks_exact(2).map(|bytes| [bytes[0], bytes[1]]);
        let numbers = match dtype {
            // Files are little-endian, as are all processors that Rumba runs on.
            own if own == T::DTYPE && cfg!(target_endian = "little") => {
                let mut numbers = vec![T::zeroed(); bytes.len() / size_of::<T>()];
                bytemuck::cast_slice_mut(&mut numbers).copy_from_slice(bytes);
                numbers
            }
            Dtype::F32 => {
                let words = bytes.chunks_exact(4).map(|bytes| [bytes[0], bytes[1], bytes[2], bytes[3]]);
                words.map(|word| T::of(f32::from_le_bytes(word))).collect()
            }
            Dtype::F16 => halves().map(|half| T::of(cuda_std::half::f16::from_le_bytes(half).to_f32())).collect(),
            Dtype::BF16 => halves().map(|half| T::of(cuda_std::half::bf16::from_le_bytes(half).to_f32())).collect(),
            _ => {
                return Err(WeightError::Type { file, name, shape, dtype }.into());
            }
        };
        Ok(numbers)
    }

    /// The name that shares the longest suffix with a missing name: the missing tensor is often present under another
    /// prefix.
    fn similar(&self, name: &str) -> Option<String> {
        let common = |other: &str| {
            let (own, other) = (name.split('.').rev(), other.split('.').rev());
            own.zip(other).take_while(|(own, other)| own == other).count()
        };
        let names = self.file.tensors.keys();
        let best = names.max_by_key(|other| (common(other), std::cmp::Reverse(other.len())))?;
        (common(best) > 1).then(|| best.clone())
    }
}

impl fmt::Debug for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Weights").field("file", &self.file.path).field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
