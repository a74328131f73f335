//! Everything the parser can object to: one variant, one sentence, and the advice that goes with it.

use thiserror::Error;

/// A syntax error. The place is added where it is reported.
#[derive(Debug, Error)]
pub(crate) enum Problem<'s> {
    #[error("expected {expected}, found {found}")]
    Expected { expected: &'static str, found: Found<'s> },
    #[error("expected `;` at the end of the {of}, found {found} on the next line")]
    MissingSemicolon { of: &'static str, found: Found<'s> },
    #[error("the source ends here, where {expected} is expected")]
    Ends { expected: &'static str },
    #[error("the source ends here, but the body of `{function}` is not closed: expected `}}`")]
    OpenBody { function: &'s str },
    #[error("the body of `{function}` is not closed before `{found}`: expected `}}`")]
    BodyRunsOn { function: &'s str, found: &'s str },
    #[error("this `}}` closes nothing")]
    StrayBrace,
    #[error("a source of {bytes} bytes is too large: the limit is 4 GiB")]
    TooLarge { bytes: usize },
    #[error("the character {character:?} has no meaning in PTX")]
    Stray { character: char },
    #[error("this string has no closing quote on its line")]
    OpenString,
    #[error("this comment is never closed")]
    OpenComment,
    #[error("a module begins with {expected}, not with {found}")]
    Header { expected: &'static str, found: Found<'s> },
    #[error("`{text}` is not a PTX version")]
    Version { text: &'s str },
    #[error("an address has 32 or 64 bits, not {bits}")]
    AddressSize { bits: u64 },
    #[error("`{text}` is not a directive that can stand {place}")]
    UnknownDirective { text: &'s str, place: &'static str },
    #[error("`{text}` is not a type or state space")]
    UnknownType { text: &'s str },
    #[error("`{text}` stands behind the type, and belongs before it")]
    BehindType { text: &'s str },
    #[error("this declaration names {missing}")]
    IncompleteDeclaration { missing: &'static str },
    #[error("the directive `{text}` is given twice")]
    Twice { text: &'s str },
    #[error("constant banks (`.const[n]`) no longer exist since PTX 2.2")]
    ConstantBank,
    #[error("a label is needed before `{directive}`")]
    NeedsLabel { directive: &'s str },
    #[error("`{text}` is not a number that PTX knows")]
    Number { text: &'s str },
    #[error("`{text}` does not fit into 64 bits")]
    Overflow { text: &'s str },
    #[error("`{text}` is larger than the largest double")]
    Infinite { text: &'s str },
    #[error("{value} is out of range here: at most {most}")]
    OutOfRange { value: u64, most: u64 },
    #[error("this constant expression divides by zero")]
    DivisionByZero,
    #[error("this constant expression mixes integers and floating point")]
    MixedTypes,
    #[error("`{operator}` works on integers only")]
    IntegerOperator { operator: &'static str },
    #[error("a hexadecimal single (`0f…`) cannot be calculated with")]
    SingleInExpression,
    #[error("an offset is an integer")]
    OffsetNotInteger,
    #[error("nothing can be subtracted from an address here")]
    NegativeOffset,
    #[error("this is nested too deeply: more than {limit} levels")]
    TooDeep { limit: u32 },
}

impl Problem<'_> {
    /// Advice beyond the sentence itself, if there is any.
    pub(crate) fn help(&self) -> Option<&'static str> {
        Some(match self {
            Self::Ends { .. } | Self::OpenBody { .. } => {
                "the text seems to be cut off; was all of it read, and passed on whole?"
            }
            Self::Header { .. } => {
                "every module begins like this: `.version 8.0`, then `.target sm_90`, then `.address_size 64`"
            }
            Self::Version { .. } => "a version is two numbers with a dot between, as in `.version 8.0`",
            Self::Stray { character: '#' } => "PTX is not preprocessed; expand the source first",
            Self::Number { .. } => {
                "there are 17, 0x1F, 0b101, 017 (octal), each with `U` behind or not, 1.5, 1e-3, \
                 `0f` and eight hexadecimal digits, `0d` and sixteen"
            }
            Self::SingleInExpression => {
                "write it as a decimal or as a double (`0d…`), or set the sign in its first digit"
            }
            Self::NegativeOffset => "add a negative number: `+-4` instead of `-4`",
            Self::NeedsLabel { .. } => "write `name:` in front, and use that name in the branch or call",
            _ => return None,
        })
    }
}

/// A token for an error message.
#[derive(Debug)]
pub(crate) struct Found<'s>(pub(crate) &'s str);

impl std::fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const LONGEST: usize = 40;
        match self.0.char_indices().nth(LONGEST) {
            Some((end, _)) => write!(f, "`{}…`", &self.0[..end]),
            None => write!(f, "`{}`", self.0),
        }
    }
}
