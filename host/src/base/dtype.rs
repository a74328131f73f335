//! Types of elements, as DLPack describes them.

use bytemuck::Pod;
use cuda_std::complex::Complex;
use cuda_std::half::{bf16, f16};
use std::fmt;

/// The type of a tensor's elements: kind, bits, and the number of them in one element, as in DLPack's `DLDataType`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DType {
    pub(crate) code: u8,
    pub(crate) bits: u8,
    pub(crate) lanes: u16,
}

/// DLPack's codes of kinds, with the names that NumPy and PyTorch give their types.
const KINDS: [(u8, &str); 7] =
    [(0, "int"), (1, "uint"), (2, "float"), (3, "opaque"), (4, "bfloat"), (5, "complex"), (6, "bool")];

macro_rules! types {
    ($($constant:ident $ty:ty: $code:literal $bits:literal, $doc:literal;)*) => {
        impl DType {
            $(
                #[doc = $doc]
                pub const $constant: DType = DType { code: $code, bits: $bits, lanes: 1 };
            )*
        }

        $(
            impl sealed::Sealed for $ty {}

            impl Element for $ty {
                const DTYPE: DType = DType::$constant;
            }
        )*
    };
}

types! {
    I8 i8: 0 8, "`int8`.";
    I16 i16: 0 16, "`int16`.";
    I32 i32: 0 32, "`int32`.";
    I64 i64: 0 64, "`int64`.";
    U8 u8: 1 8, "`uint8`.";
    U16 u16: 1 16, "`uint16`.";
    U32 u32: 1 32, "`uint32`.";
    U64 u64: 1 64, "`uint64`.";
    F16 f16: 2 16, "`float16`.";
    F32 f32: 2 32, "`float32`.";
    F64 f64: 2 64, "`float64`.";
    BF16 bf16: 4 16, "`bfloat16`.";
    C32 Complex<f32>: 5 64, "`complex64`: two `float32`.";
    C64 Complex<f64>: 5 128, "`complex128`: two `float64`.";
}

impl DType {
    /// A type by DLPack's code of its kind, its bits, and the number of lanes of a vector.
    pub const fn new(code: u8, bits: u8, lanes: u16) -> DType {
        DType { code, bits, lanes }
    }

    /// The bytes of an element; 0 if it has no whole bytes.
    pub(crate) fn bytes(self) -> usize {
        let bits = usize::from(self.bits) * usize::from(self.lanes);
        if bits.is_multiple_of(8) { bits / 8 } else { 0 }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match KINDS.iter().find(|(code, _)| *code == self.code) {
            Some((6, name)) if self.bits == 8 => f.write_str(name)?,
            Some((_, name)) => write!(f, "{name}{}", self.bits)?,
            None => write!(f, "number {} of {} bits", self.code, self.bits)?,
        }
        if self.lanes == 1 { Ok(()) } else { write!(f, "x{}", self.lanes) }
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type of elements that other libraries know.
pub trait Element: Pod + Send + Sync + sealed::Sealed {
    /// Its description.
    const DTYPE: DType;
}
