//! The instruction set: one file per instruction, one line here to register it.
//!
//! An instruction describes its syntax in the PTX manual's notation and lowers itself to operations. Nothing else in
//! the machine matches on mnemonics.

mod abs;
mod add;
mod addc;
mod and;
mod bfe;
mod bfi;
mod bfind;
mod bmsk;
mod brev;
mod clz;
mod cnot;
pub mod comparison;
mod copysign;
mod cos;
mod cvt;
mod cvt_integer;
mod cvt_small;
mod div;
mod dp2a;
mod dp4a;
pub mod emit;
mod ex2;
pub mod float;
mod fma;
mod fns;
pub mod half;
pub mod lane;
mod lg2;
mod lop3;
mod mad;
mod mad24;
mod madc;
pub mod math;
mod max;
mod min;
pub mod mixed;
mod mul;
mod mul24;
mod neg;
mod not;
pub mod notation;
mod or;
mod popc;
mod prmt;
mod rcp;
mod rem;
mod rsqrt;
mod sad;
mod selp;
mod set;
mod setp;
pub mod shape;
mod shf;
mod shl;
mod shr;
mod sin;
mod slct;
pub mod soft;
mod sqrt;
mod sub;
mod subc;
mod szext;
mod tanh;
mod testp;
mod xor;

use crate::lower::{LowerError, Lowering};
use notation::Matched;

/// A PTX instruction.
pub struct Instruction {
    /// The mnemonic.
    pub name: &'static str,
    /// Where the PTX manual describes it.
    pub section: &'static str,
    /// Its forms, in the manual's notation.
    pub syntax: &'static str,
    /// Turns one occurrence into operations.
    pub lower: fn(&mut Lowering<'_>, &Matched<'_>) -> Result<(), LowerError>,
}

/// Every instruction, by mnemonic.
pub static INSTRUCTIONS: &[&Instruction] = &[
    &abs::ABS,
    &add::ADD,
    &addc::ADDC,
    &and::AND,
    &bfe::BFE,
    &bfi::BFI,
    &bfind::BFIND,
    &bmsk::BMSK,
    &brev::BREV,
    &clz::CLZ,
    &cnot::CNOT,
    &copysign::COPYSIGN,
    &cos::COS,
    &cvt::CVT,
    &div::DIV,
    &dp2a::DP2A,
    &dp4a::DP4A,
    &ex2::EX2,
    &fma::FMA,
    &fns::FNS,
    &lg2::LG2,
    &lop3::LOP3,
    &mad::MAD,
    &mad24::MAD24,
    &madc::MADC,
    &max::MAX,
    &min::MIN,
    &mul::MUL,
    &mul24::MUL24,
    &neg::NEG,
    &not::NOT,
    &or::OR,
    &popc::POPC,
    &prmt::PRMT,
    &rcp::RCP,
    &rem::REM,
    &rsqrt::RSQRT,
    &sad::SAD,
    &selp::SELP,
    &set::SET,
    &setp::SETP,
    &shf::SHF,
    &shl::SHL,
    &shr::SHR,
    &sin::SIN,
    &slct::SLCT,
    &sqrt::SQRT,
    &sub::SUB,
    &subc::SUBC,
    &szext::SZEXT,
    &tanh::TANH,
    &testp::TESTP,
    &xor::XOR,
];

/// The instruction of a mnemonic.
pub fn find(name: &str) -> Option<&'static Instruction> {
    INSTRUCTIONS
        .iter()
        .find(|instruction| instruction.name == name)
        .copied()
}
