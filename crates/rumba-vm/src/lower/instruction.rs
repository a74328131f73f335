//! What an instruction is: its forms, and all that other parts of the machine have to know about it.

use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{VReg, VirtualOp};

/// Turns one occurrence of an instruction into operations.
pub type Lower = fn(&mut Lowering<'_>, &Matched<'_>) -> Result<(), LowerError>;

/// A PTX instruction.
///
/// An instruction file states what differs from [`Instruction::NEW`].
pub struct Instruction {
    /// The mnemonic.
    pub name: &'static str,
    /// Where the PTX manual describes it.
    pub section: &'static str,
    /// Its forms, each with its semantics.
    pub forms: &'static [Form],
    /// The versions of PTX and the targets that have it, or some of its forms, if not all have.
    pub availability: &'static [Availability],
    /// What its operands may name besides registers.
    pub names: Names,
    /// Whether its result may be `_`.
    pub optional_result: bool,
    /// Which lanes execute it together. Forms with `.aligned` or a `membermask` say so themselves.
    pub convergence: Convergence,
    /// How it uses memory.
    pub memory: Memory,
    /// What it does with undefined operands.
    pub undefined: Undefined,
    /// The operand that may be wrong although the instruction gives a result.
    pub hazard: Option<Hazard>,
    /// What its result keeps of its operands.
    pub carries: Carries,
    /// Whether its result is one of its operands.
    pub chooses: Chooses,
    /// Whether it compares its operands.
    pub compares: bool,
    /// Whether it changes nothing the second time that it combines the same operands: `f(f(x, a), a) = f(x, a)`, in any order.
    pub is_idempotent: bool,
}

impl Instruction {
    /// An instruction that computes a value in each lane from registers and literals; without a name and forms.
    pub const NEW: Self = Self {
        name: "",
        section: "",
        forms: &[],
        availability: &[],
        names: Names::Registers,
        optional_result: false,
        convergence: Convergence::Lane,
        memory: Memory::None,
        undefined: Undefined::Spreads,
        hazard: None,
        carries: Carries::Nothing,
        chooses: Chooses::Nothing,
        compares: false,
        is_idempotent: false,
    };
}

/// Forms of an instruction that mean the same, with their semantics.
pub struct Form {
    /// The syntax in the manual's notation; see [`crate::lower::notation`].
    pub syntax: &'static str,
    /// The semantics.
    pub lower: Lower,
}

/// An instruction as it stands in a function.
#[derive(Clone, Copy)]
pub(crate) struct Occurrence {
    pub(crate) instruction: &'static Instruction,
    /// Which lanes execute it together.
    pub(crate) convergence: Convergence,
}

impl Default for Occurrence {
    /// What stands for no instruction of the source, such as the return at the end of a function.
    fn default() -> Self {
        Self { instruction: &Instruction::NEW, convergence: Convergence::Lane }
    }
}

/// What operands may name besides registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// Nothing.
    Registers,
    /// Special registers.
    Specials,
    /// Variables and functions, for their address.
    Addresses,
    /// Special registers, variables and functions.
    Values,
    /// The function to call and its parameters, which are no values.
    Callee,
}

impl Names {
    pub(crate) fn has_specials(self) -> bool {
        matches!(self, Self::Specials | Self::Values)
    }

    pub(crate) fn has_addresses(self) -> bool {
        matches!(self, Self::Addresses | Self::Values)
    }
}

/// Which lanes of a warp execute an instruction together. Where the scheduler splits warps by chance, it keeps them together
/// for these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convergence {
    /// Each lane by itself.
    Lane,
    /// The lanes of the `membermask`, which wait for each other.
    Members,
    /// All lanes of the warp (`.aligned`), or its effect depends on which lanes are active.
    Warp,
}

/// How an instruction uses memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Not as a thread's loads and stores do.
    None,
    /// It loads, stores or updates: its effect depends on the order of the lanes and threads.
    Accesses,
    /// It begins copies that end later.
    Copies,
}

/// What an instruction does with undefined operands (`load/instrument/registers.rs`). Loads, stores and branches are told by
/// their operations.
#[derive(Clone, Copy)]
pub enum Undefined {
    /// Its results are undefined, too.
    Spreads,
    /// So they are, unless the result is the same whatever the operand holds: then it is the same for these values.
    Absorbs(Extremes),
    /// So they are, unless the operand holds two values and the result needs the other half of it only.
    Selects,
    /// The same of an instruction that also packs two values into a register.
    Packs,
    /// Every operand decides something: an undefined one is a mistake.
    Decides,
    /// `dst` is undefined where the lane is from which `a` is taken. The function gives the same operation with predicates
    /// `dst` and `a` that go along, and the operation that comes right after it.
    Shuffles(fn(&VirtualOp, VReg, VReg) -> (VirtualOp, VirtualOp)),
}

/// Values of an operand on which every result depends that depends on it at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extremes {
    /// Of bits, and of factors.
    Bits,
    /// Of numbers that are compared.
    Numbers,
}

/// An operand that makes the result meaningless (`load/instrument/arithmetic.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hazard {
    /// The last operand, an integer divisor, is 0.
    ZeroDivisor,
    /// The last operand is not less than the bits of the value that is shifted.
    ShiftBeyondWidth,
}

/// What the result of an instruction keeps of its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// Nothing that checks follow.
    Nothing,
    /// The values: what makes an operand meaningless makes the result so (`load/instrument/arithmetic.rs`).
    Value,
    /// The address: if an operand points into an array, so does the result (`load/instrument/arrays.rs`).
    Address,
    /// Both.
    ValueAndAddress,
}

impl Carries {
    pub(crate) fn has_value(self) -> bool {
        matches!(self, Self::Value | Self::ValueAndAddress)
    }

    pub(crate) fn has_address(self) -> bool {
        matches!(self, Self::Address | Self::ValueAndAddress)
    }
}

/// Whether the result of an instruction is one of its operands, so that the others do not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chooses {
    /// It is not.
    Nothing,
    /// It is `a` or `b`, as the predicate `c` says.
    ByPredicate,
    /// It is for predicates, each of which can make the other superfluous.
    OfPredicates,
}
