//! The description of an instruction: its forms, and the attributes that other parts of the machine use.

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
    /// The section of the PTX manual.
    pub section: &'static str,
    /// Its forms, each with its semantics.
    pub forms: &'static [Form],
    /// The versions of PTX and the targets that have the instruction, or some of its forms, if not all have.
    pub availability: &'static [Availability],
    /// The names besides registers that its operands may have.
    pub names: Names,
    /// Whether its result may be `_`.
    pub optional_result: bool,
    /// The lanes that execute the instruction together. For forms with `.aligned` or a `membermask`, the syntax
    /// decides.
    pub convergence: Convergence,
    /// How it uses memory.
    pub memory: Memory,
    /// The effect of undefined operands.
    pub undefined: Undefined,
    /// The operand that may be invalid although the instruction gives a result.
    pub hazard: Option<Hazard>,
    /// The properties of operands that carry over to the result.
    pub carries: Carries,
    /// Whether its result is one of its operands.
    pub chooses: Chooses,
    /// Whether it compares its operands.
    pub compares: bool,
    /// Whether the instruction is idempotent: `f(f(x, a), a) = f(x, a)`, in any order.
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

/// Forms of an instruction with the same semantics.
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
    /// The lanes that execute the instruction together.
    pub(crate) convergence: Convergence,
}

impl Default for Occurrence {
    /// A placeholder for operations without an instruction in the source, such as the return at the end of a function.
    fn default() -> Self {
        Self { instruction: &Instruction::NEW, convergence: Convergence::Lane }
    }
}

/// The names besides registers that operands may have.
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

/// The lanes of a warp that execute an instruction together. A scheduler that splits warps at random keeps these lanes
/// together.
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
    /// The instruction makes no loads and stores of a thread.
    None,
    /// The instruction loads, stores or updates memory: its effect depends on the order of the lanes and threads.
    Accesses,
    /// The instruction begins asynchronous copies.
    Copies,
}

/// The effect of undefined operands of an instruction (`load/instrument/registers.rs`). Loads, stores and branches are
/// recognized by their operations.
#[derive(Clone, Copy)]
pub enum Undefined {
    /// The results are undefined, too.
    Spreads,
    /// The results are undefined, unless they are the same for every value of the operand: it suffices to try these
    /// values.
    Absorbs(Extremes),
    /// The results are undefined, unless the operand holds two values and the result only needs the other half.
    Selects,
    /// As `Selects`, for an instruction that also packs two values into a register.
    Packs,
    /// Every operand decides something: an undefined one is a mistake.
    Decides,
    /// `dst` is undefined if `a` is undefined in the source lane. The function returns the same operation with
    /// predicates `dst` and `a`, which track undefined lanes, and the operation to insert right after it.
    Shuffles(fn(&VirtualOp, VReg, VReg) -> (VirtualOp, VirtualOp)),
}

/// Extreme values of an operand: a result that depends on the operand differs between these values.
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

/// The properties of an instruction's operands that carry over to its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// None that a check tracks.
    Nothing,
    /// The value: if an operand is meaningless, so is the result (`load/instrument/arithmetic.rs`).
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
    /// The result is not one of the operands.
    Nothing,
    /// The predicate `c` selects `a` or `b` as the result.
    ByPredicate,
    /// The operands are predicates, each of which can mask the other.
    OfPredicates,
}
