//! Random kernels as syntax trees: [`generate`] makes one of a seed, [`source`] prints it as Rust, [`evaluate`] runs it on the host.
//!
//! Every program is well defined, so that a device has one right result: no index is out of bounds, integers wrap around,
//! threads exchange values through barriers, collective functions that the whole block calls, and atomic operations whose order does not matter.
//! NaN has no bits of its own: a float becomes an integer's bits by a function that maps all NaN to one. Minimum and maximum of floats are left
//! out, because Rust does not say which zero they return.

pub(crate) mod evaluate;
pub(crate) mod generate;
pub(crate) mod source;

/// The variable that names the seed of the first kernel and the number of kernels: `7 2000`.
pub(crate) const VARIABLE: &str = "RUMBA_RANDOM_KERNELS";

/// Seed and number of the kernels that the tests of every day have.
const EVERY_DAY: [u64; 2] = [1, 40];

/// The seed of the first kernel, and how many there are.
pub(crate) fn wanted() -> [u64; 2] {
    let Ok(text) = std::env::var(VARIABLE) else {
        return EVERY_DAY;
    };
    let numbers: Option<Vec<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[seed, count]) if count <= 100_000 => [seed, count],
        _ => panic!("{VARIABLE}={text} is not a seed and a number of kernels: `7 2000`"),
    }
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Bool,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F32,
    F64,
}

impl Type {
    pub(crate) const ALL: [Self; 11] = [
        Self::Bool,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::F32,
        Self::F64,
    ];

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    pub(crate) fn is_integer(self) -> bool {
        !self.is_float() && self != Self::Bool
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The width of an integer or float, in bits.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::U8 | Self::I8 => 8,
            Self::U16 | Self::I16 => 16,
            Self::U32 | Self::I32 | Self::F32 => 32,
            Self::U64 | Self::I64 | Self::F64 => 64,
        }
    }
}

/// A thread's indices and sizes, all of type `u32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    ThreadX,
    ThreadY,
    ThreadZ,
    BlockX,
    BlockY,
    Lane,
    IndexInBlock,
    /// The kernel's parameter `number`.
    Number,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Negate,
    CountOnes,
    LeadingZeros,
    TrailingZeros,
    SwapBytes,
    ReverseBits,
    Abs,
    Sqrt,
    Floor,
    Trunc,
    /// The bits of a float, of which NaN has one pattern.
    ToBits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    /// Integer division by a divisor that is made odd.
    Divide,
    Remainder,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    RotateLeft,
    Min,
    Max,
    AbsDiff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// One of the kernel's slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slice {
    Words,
    Longs,
    Bytes,
    Shorts,
    Floats,
    Doubles,
}

impl Slice {
    pub(crate) const ALL: [Self; 6] =
        [Self::Words, Self::Longs, Self::Bytes, Self::Shorts, Self::Floats, Self::Doubles];

    pub(crate) fn element(self) -> Type {
        match self {
            Self::Words => Type::U32,
            Self::Longs => Type::U64,
            Self::Bytes => Type::U8,
            Self::Shorts => Type::I16,
            Self::Floats => Type::F32,
            Self::Doubles => Type::F64,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Longs => "longs",
            Self::Bytes => "bytes",
            Self::Shorts => "shorts",
            Self::Floats => "floats",
            Self::Doubles => "doubles",
        }
    }

    /// The number of elements, some of them powers of two.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Words => 256,
            Self::Longs => 100,
            Self::Bytes => 333,
            Self::Shorts => 64,
            Self::Floats => 77,
            Self::Doubles => 128,
        }
    }
}

/// A value of a thread.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    /// By its bits.
    Const(Type, u64),
    Var(usize),
    Special(Special),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `a * b + c`, rounded once.
    MulAdd(Box<[Expr; 3]>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// As Rust's `as`.
    Cast(Type, Box<Expr>),
    Select(Box<[Expr; 3]>),
    /// The element at an index modulo the slice's length.
    Element(Slice, Box<Expr>),
    /// The element at an index, or a constant's bits if the index is outside.
    ElementOr(Slice, Box<Expr>, u64),
    /// The element of a local array at an index modulo [`LOCAL`].
    Local(usize, Box<Expr>),
    /// A word of the element of shared memory at an index modulo the number of threads.
    Shared {
        word: usize,
        index: Box<Expr>,
    },
    /// A word of the thread's own element of shared memory.
    Own(usize),
    /// A function of the kernel, with its arguments; a local array is passed by value where the function takes one.
    Call(usize, Vec<Expr>, usize),
}

/// The number of elements of a local array.
pub(crate) const LOCAL: usize = 8;

/// The counters of a kernel's atomic operations.
pub(crate) const COUNTERS: usize = 64;

/// The counters in shared memory.
pub(crate) const BINS: usize = 32;

/// The numbers that each thread writes at the end.
pub(crate) const RESULTS: usize = 4;

/// Collective operations of the lanes of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collective {
    Shuffle,
    ShuffleUp,
    ShuffleDown,
    ShuffleXor,
    All,
    Any,
    Ballot,
    MatchAny,
    MatchAll,
    ReduceSum,
    ReduceMin,
    ReduceMax,
    ReduceAnd,
    ReduceOr,
    ReduceXor,
    InclusiveSum,
    ExclusiveSum,
}

impl Collective {
    /// Whether a warp of which lanes are missing has defined results.
    pub(crate) fn takes_partial_warps(self, of: Type) -> bool {
        match self {
            Self::All | Self::Any | Self::Ballot | Self::MatchAny | Self::MatchAll => true,
            // `redux.sync`; of 64 bits lanes exchange their values.
            Self::ReduceSum
            | Self::ReduceMin
            | Self::ReduceMax
            | Self::ReduceAnd
            | Self::ReduceOr
            | Self::ReduceXor => of.is_integer() && of.bits() == 32,
            Self::Shuffle
            | Self::ShuffleUp
            | Self::ShuffleDown
            | Self::ShuffleXor
            | Self::InclusiveSum
            | Self::ExclusiveSum => false,
        }
    }
}

/// How a counter changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rmw {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
}

#[derive(Clone, Debug)]
pub(crate) enum Stmt {
    Set(usize, Expr),
    SetLocal(usize, Expr, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// As many rounds as the low three bits of a number of type `u32` say; `round` counts them, and a round in which the condition
    /// holds is the last.
    Loop {
        round: usize,
        count: Expr,
        body: Vec<Stmt>,
        last: Option<Expr>,
    },
    /// The arm whose number a number of type `u32` is modulo the number of arms.
    Match(Expr, Vec<Vec<Stmt>>),
    /// An atomic operation on a counter in global memory, by an index modulo [`COUNTERS`].
    Count(Expr, Expr),
    /// As many rounds of the whole block.
    Rounds(u32, Vec<Stmt>),
    /// For the whole block: `var = collective(value)`, with a lane or a number of lanes for shuffles.
    Together(usize, Collective, Expr, Expr),
    /// For the whole block: writes words of the own element of shared memory, and runs statements that read all.
    Phase(Vec<(usize, Expr)>, Vec<Stmt>),
    /// For the whole block: counts in shared memory, by an index modulo [`BINS`], then `var` is the own bin's number,
    /// or 0 for a thread without a bin.
    Bins(usize, Expr, Expr),
}

/// A function that is not inlined.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// The types of its parameters, which are its first variables.
    pub(crate) parameters: Vec<Type>,
    /// Whether its last parameter is a local array.
    pub(crate) takes_array: bool,
    pub(crate) vars: Vec<Type>,
    pub(crate) body: Vec<Stmt>,
    pub(crate) result: (Type, Expr),
}

/// Shared memory: an element for each thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    pub(crate) of: Type,
    /// How many make up an element.
    pub(crate) words: usize,
    /// Whether it is a `Table` in place of a tile of as many dimensions as the block.
    pub(crate) is_table: bool,
}

/// A kernel and how it is launched.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) block: [u32; 3],
    pub(crate) grid: [u32; 2],
    pub(crate) functions: Vec<Function>,
    pub(crate) vars: Vec<Type>,
    /// Local arrays of `u32`.
    pub(crate) arrays: usize,
    pub(crate) tile: Option<Tile>,
    pub(crate) has_bins: bool,
    pub(crate) rmw: Rmw,
    pub(crate) body: Vec<Stmt>,
    pub(crate) results: [Expr; RESULTS],
    /// Threads for which this does not hold return before they write.
    pub(crate) writes: Option<Expr>,
    pub(crate) number: u32,
}

impl Program {
    pub(crate) fn threads(&self) -> usize {
        self.block.iter().product::<u32>() as usize
    }

    /// The number of dimensions of the launch.
    pub(crate) fn rank(&self) -> usize {
        match (self.block, self.grid) {
            ([_, 1, 1], [_, 1]) => 1,
            ([_, _, 1], _) => 2,
            _ => 3,
        }
    }

    /// The type of an expression in which variables have these types.
    pub(crate) fn type_of(&self, expr: &Expr, vars: &[Type]) -> Type {
        match expr {
            Expr::Const(ty, _) | Expr::Cast(ty, _) => *ty,
            Expr::Var(var) => vars[*var],
            Expr::Special(_) | Expr::Local(..) => Type::U32,
            Expr::Unary(Unary::CountOnes | Unary::LeadingZeros | Unary::TrailingZeros, _) => Type::U32,
            Expr::Unary(Unary::ToBits, of) => match self.type_of(of, vars) {
                Type::F32 => Type::U32,
                _ => Type::U64,
            },
            Expr::Binary(Binary::AbsDiff, a, _) => unsigned(self.type_of(a, vars)),
            Expr::Unary(_, of) | Expr::Binary(_, of, _) => self.type_of(of, vars),
            Expr::MulAdd(of) => self.type_of(&of[0], vars),
            Expr::Compare(..) => Type::Bool,
            Expr::Select(of) => self.type_of(&of[1], vars),
            Expr::Element(slice, _) | Expr::ElementOr(slice, ..) => slice.element(),
            Expr::Shared { .. } | Expr::Own(_) => self.tile.expect("it is read").of,
            Expr::Call(function, ..) => self.functions[*function].result.0,
        }
    }
}

/// The unsigned type of an integer's width.
pub(crate) fn unsigned(ty: Type) -> Type {
    match ty {
        Type::I8 => Type::U8,
        Type::I16 => Type::U16,
        Type::I32 => Type::U32,
        Type::I64 => Type::U64,
        other => other,
    }
}
