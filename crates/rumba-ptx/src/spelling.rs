//! How the fixed words of PTX are written: types, state spaces and linking directives, both ways.

use crate::ast::{FunctionKind, Linkage, StateSpace, Type};

/// Gives an enum of words `ALL`, `text` and `from_text`.
macro_rules! words {
    ($name:ident: $($variant:ident = $text:literal),* $(,)?) => {
        impl $name {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// As PTX writes it, with the dot.
            pub fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),*
                }
            }

            /// The variant that is spelled like this, with the dot.
            pub fn from_text(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.text())
            }
        }
    };
}

words!(Linkage: Extern = ".extern", Visible = ".visible", Weak = ".weak", Common = ".common");

words!(FunctionKind: Entry = ".entry", Func = ".func");

words!(StateSpace:
    Reg = ".reg",
    Sreg = ".sreg",
    Const = ".const",
    Global = ".global",
    Local = ".local",
    Param = ".param",
    Shared = ".shared",
    Tex = ".tex",
);

words!(Type:
    Pred = ".pred",
    B8 = ".b8",
    B16 = ".b16",
    B32 = ".b32",
    B64 = ".b64",
    B128 = ".b128",
    U8 = ".u8",
    U16 = ".u16",
    U32 = ".u32",
    U64 = ".u64",
    S8 = ".s8",
    S16 = ".s16",
    S32 = ".s32",
    S64 = ".s64",
    F16 = ".f16",
    F16x2 = ".f16x2",
    Bf16 = ".bf16",
    Bf16x2 = ".bf16x2",
    F32 = ".f32",
    F64 = ".f64",
    TexRef = ".texref",
    SamplerRef = ".samplerref",
    SurfRef = ".surfref",
);

impl Type {
    /// The size of one value in bytes. A predicate has none (it cannot be stored); a texture,
    /// sampler or surface is a 64-bit handle.
    pub fn bytes(self) -> Option<u32> {
        match self {
            Self::Pred => None,
            Self::B8 | Self::U8 | Self::S8 => Some(1),
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => Some(2),
            Self::B32 | Self::U32 | Self::S32 | Self::F16x2 | Self::Bf16x2 | Self::F32 => Some(4),
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => Some(8),
            Self::TexRef | Self::SamplerRef | Self::SurfRef => Some(8),
            Self::B128 => Some(16),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back() {
        for &ty in Type::ALL {
            assert_eq!(Type::from_text(ty.text()), Some(ty));
        }
        for &space in StateSpace::ALL {
            assert_eq!(StateSpace::from_text(space.text()), Some(space));
        }
        for &linkage in Linkage::ALL {
            assert_eq!(Linkage::from_text(linkage.text()), Some(linkage));
        }
        assert_eq!(Type::from_text("b32"), None);
    }
}
