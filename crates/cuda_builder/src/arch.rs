//! Virtual architectures: for which generation of devices PTX is written.

use std::fmt;
use std::str::FromStr;

use rumba_ptx::Target;

/// Declares the architectures once: variant, name, and the first PTX version that knows it.
macro_rules! architectures {
    ($($variant:ident = $number:literal $suffix:literal, $version:literal;)*) => {
        /// A virtual architecture. PTX for one runs on every device of that generation or a later
        /// one, except where the name ends in `a` (that generation only) or `f` (its family).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum NvvmArch {
            $(
                #[doc = concat!("`compute_", $number, $suffix, "`")]
                $variant,
            )*
        }

        impl NvvmArch {
            /// Every architecture, oldest first.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The number and the suffix: `90a` of `sm_90a`.
            fn short(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($number, $suffix),)*
                }
            }

            /// The first PTX version that knows the architecture, times ten.
            pub(crate) fn ptx_version(self) -> u32 {
                match self {
                    $(Self::$variant => $version,)*
                }
            }
        }
    };
}

// PTX ISA, "Release Notes": the version that introduced each target.
architectures! {
    Compute70 = "70" "", 60;
    Compute72 = "72" "", 61;
    Compute75 = "75" "", 63;
    Compute80 = "80" "", 70;
    Compute86 = "86" "", 71;
    Compute87 = "87" "", 74;
    Compute89 = "89" "", 78;
    Compute90 = "90" "", 78;
    Compute90a = "90" "a", 80;
    Compute100 = "100" "", 86;
    Compute100a = "100" "a", 86;
    Compute100f = "100" "f", 88;
    Compute103 = "103" "", 88;
    Compute103a = "103" "a", 88;
    Compute103f = "103" "f", 88;
    Compute120 = "120" "", 87;
    Compute120a = "120" "a", 87;
    Compute121 = "121" "", 88;
}

impl NvvmArch {
    /// The architecture as `.target` names it.
    pub fn target(self) -> Target {
        self.to_string().parse().expect("every name is that of a target")
    }

    /// The architecture of this name, if it is one of ours.
    pub(crate) fn of(target: Target) -> Option<Self> {
        Self::ALL.iter().copied().find(|arch| arch.target() == target)
    }

    /// The compute capability without its suffix: 90 for `sm_90a`.
    pub fn capability(self) -> u32 {
        self.short().trim_end_matches(['a', 'f']).parse().unwrap_or_default()
    }
}

impl fmt::Display for NvvmArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.short())
    }
}

/// The text names no architecture.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not an architecture: use one of {}", list())]
pub struct UnknownArch {
    given: String,
}

fn list() -> String {
    let names: Vec<_> = NvvmArch::ALL.iter().map(ToString::to_string).collect();
    names.join(", ")
}

impl FromStr for NvvmArch {
    type Err = UnknownArch;

    /// Accepts `sm_90`, `compute_90` and `90`.
    fn from_str(text: &str) -> Result<Self, UnknownArch> {
        let short = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_")).unwrap_or(text);
        Self::ALL
            .iter()
            .copied()
            .find(|arch| arch.short() == short)
            .ok_or_else(|| UnknownArch { given: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::NvvmArch;

    #[test]
    fn names_round_trip() {
        for &arch in NvvmArch::ALL {
            assert_eq!(arch.to_string().parse(), Ok(arch));
            assert_eq!(NvvmArch::of(arch.target()), Some(arch));
            assert_eq!(arch.to_string().replace("sm_", "compute_").parse(), Ok(arch));
        }
        assert_eq!(NvvmArch::Compute90a.capability(), 90);
        assert!(NvvmArch::ALL.is_sorted());
    }

    #[test]
    fn an_unknown_name_lists_the_known() {
        let error = "sm_99".parse::<NvvmArch>().unwrap_err().to_string();
        assert!(error.contains("`sm_99`") && error.contains("sm_70"), "{error}");
    }
}
