//! The scalar types of PTX as instructions and registers name them.
//!
//! Only sizes and kinds live here: what an instruction does with a type is its own business.

use std::fmt;

/// A fundamental type, or a packed type that fills one register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalarType {
    /// Untyped bits.
    B8,
    /// Untyped bits.
    B16,
    /// Untyped bits.
    B32,
    /// Untyped bits.
    B64,
    /// Untyped bits.
    B128,
    /// Unsigned integer.
    U8,
    /// Unsigned integer.
    U16,
    /// Unsigned integer.
    U32,
    /// Unsigned integer.
    U64,
    /// Signed integer.
    S8,
    /// Signed integer.
    S16,
    /// Signed integer.
    S32,
    /// Signed integer.
    S64,
    /// IEEE half precision.
    F16,
    /// Two halves, the first in the low bits.
    F16x2,
    /// The upper half of an `f32`.
    Bf16,
    /// Two `bf16`, the first in the low bits.
    Bf16x2,
    /// An `f32` with 19 significant bits.
    Tf32,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// Two `f32`, the first in the low bits.
    F32x2,
    /// Two unsigned 16-bit integers.
    U16x2,
    /// Two signed 16-bit integers.
    S16x2,
    /// One bit per lane.
    Pred,
}

const NAMES: &[(&str, ScalarType)] = &[
    ("b8", ScalarType::B8),
    ("b16", ScalarType::B16),
    ("b32", ScalarType::B32),
    ("b64", ScalarType::B64),
    ("b128", ScalarType::B128),
    ("u8", ScalarType::U8),
    ("u16", ScalarType::U16),
    ("u32", ScalarType::U32),
    ("u64", ScalarType::U64),
    ("s8", ScalarType::S8),
    ("s16", ScalarType::S16),
    ("s32", ScalarType::S32),
    ("s64", ScalarType::S64),
    ("f16", ScalarType::F16),
    ("f16x2", ScalarType::F16x2),
    ("bf16", ScalarType::Bf16),
    ("bf16x2", ScalarType::Bf16x2),
    ("tf32", ScalarType::Tf32),
    ("f32", ScalarType::F32),
    ("f64", ScalarType::F64),
    ("f32x2", ScalarType::F32x2),
    ("u16x2", ScalarType::U16x2),
    ("s16x2", ScalarType::S16x2),
    ("pred", ScalarType::Pred),
];

impl ScalarType {
    /// The type that a modifier names, with or without its leading dot.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.strip_prefix('.').unwrap_or(name);
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, ty)| *ty)
    }

    /// The name without a dot.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, ty)| *ty == self).map_or("?", |(name, _)| name)
    }

    /// Width of a value in bits; 1 for predicates.
    pub fn bits(self) -> u32 {
        match self {
            Self::Pred => 1,
            Self::B8 | Self::U8 | Self::S8 => 8,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 16,
            Self::B32
            | Self::U32
            | Self::S32
            | Self::F32
            | Self::Tf32
            | Self::F16x2
            | Self::Bf16x2
            | Self::U16x2
            | Self::S16x2 => 32,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 | Self::F32x2 => 64,
            Self::B128 => 128,
        }
    }

    /// Bytes of a value in memory.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether widening a value of this type copies its sign.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// Whether an immediate operand of this type is read as a floating point number.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::Tf32 | Self::F32 | Self::F64)
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

impl TryFrom<rumba_ptx::ast::Type> for ScalarType {
    type Error = rumba_ptx::ast::Type;

    /// The scalar type of a declaration; textures, samplers and surfaces have none.
    fn try_from(ty: rumba_ptx::ast::Type) -> Result<Self, Self::Error> {
        use rumba_ptx::ast::Type;
        Ok(match ty {
            Type::Pred => Self::Pred,
            Type::B8 => Self::B8,
            Type::B16 => Self::B16,
            Type::B32 => Self::B32,
            Type::B64 => Self::B64,
            Type::B128 => Self::B128,
            Type::U8 => Self::U8,
            Type::U16 => Self::U16,
            Type::U32 => Self::U32,
            Type::U64 => Self::U64,
            Type::S8 => Self::S8,
            Type::S16 => Self::S16,
            Type::S32 => Self::S32,
            Type::S64 => Self::S64,
            Type::F16 => Self::F16,
            Type::F16x2 => Self::F16x2,
            Type::Bf16 => Self::Bf16,
            Type::Bf16x2 => Self::Bf16x2,
            Type::F32 => Self::F32,
            Type::F64 => Self::F64,
            Type::TexRef | Type::SamplerRef | Type::SurfRef => return Err(ty),
        })
    }
}
