//! The instruction set: one file per instruction, which is a module and a row of [`INSTRUCTIONS`] here.
//!
//! An instruction describes the syntax of its forms in the PTX manual's notation, each with its semantics, and states what
//! other parts of the machine have to know about it; see [`Instruction`]. Nothing else in the machine names a mnemonic,
//! which a test checks.

mod abs;
mod activemask;
mod add;
mod addc;
mod alloca;
mod and;
mod applypriority;
mod atom;
mod atomic;
mod bar;
mod barrier;
mod bfe;
mod bfi;
mod bfind;
mod bmsk;
mod bra;
mod brev;
mod brkpt;
mod brx;
mod call;
pub(crate) mod calls;
mod clusterlaunchcontrol;
mod clz;
mod cnot;
pub mod comparison;
pub(crate) mod cooperative;
mod copysign;
mod cos;
mod cp;
mod createpolicy;
mod cvt;
mod cvt_integer;
mod cvt_small;
mod cvt_stochastic;
mod cvta;
mod discard;
mod div;
mod dp2a;
mod dp4a;
mod elect;
pub mod emit;
mod ex2;
mod exit;
mod f32x2;
mod fence;
mod fma;
mod fns;
mod getctarank;
mod griddepcontrol;
mod isspacep;
mod ld;
mod ldmatrix;
mod ldu;
mod lg2;
mod lop3;
mod mad;
mod mad24;
mod madc;
mod mapa;
mod match_;
pub(crate) mod matrix;
mod max;
mod mbarrier;
mod membar;
pub(crate) mod memory;
mod min;
pub mod mixed;
mod mma;
mod mov;
mod movmatrix;
mod mul;
mod mul24;
mod multimem;
mod nanosleep;
pub(crate) mod native;
mod neg;
mod not;
mod or;
mod order;
mod pmevent;
mod popc;
mod prefetch;
mod prefetchu;
mod prmt;
mod rcp;
mod red;
mod redux;
mod rem;
mod ret;
mod rsqrt;
mod sad;
mod selp;
mod set;
mod setmaxnreg;
mod setp;
mod shf;
mod shfl;
mod shl;
mod shr;
mod sin;
mod slct;
mod sqrt;
mod st;
mod stackrestore;
mod stacksave;
mod stmatrix;
mod sub;
mod subc;
mod szext;
mod tanh;
mod tcgen05;
mod tensor;
mod tensormap;
#[cfg(test)]
mod testing;
mod testp;
mod trap;
pub mod unsupported;
mod video;
mod video_simd;
mod vote;
mod wgmma;
mod wmma;
mod xor;

use std::sync::LazyLock;

use rumba_ptx::ast::{self, Version};
use rustc_hash::FxHashMap;

use crate::lower::availability::Target;
pub use crate::lower::instruction::{Form, Instruction};
pub use crate::lower::notation;

/// Every instruction, by mnemonic.
pub static INSTRUCTIONS: &[&Instruction] = &[
    &abs::ABS,
    &activemask::ACTIVEMASK,
    &add::ADD,
    &addc::ADDC,
    &alloca::ALLOCA,
    &and::AND,
    &applypriority::APPLYPRIORITY,
    &atom::ATOM,
    &bar::BAR,
    &barrier::BARRIER,
    &bfe::BFE,
    &bfi::BFI,
    &bfind::BFIND,
    &bmsk::BMSK,
    &bra::BRA,
    &brev::BREV,
    &brkpt::BRKPT,
    &brx::BRX,
    &call::CALL,
    &clusterlaunchcontrol::CLUSTERLAUNCHCONTROL,
    &clz::CLZ,
    &cnot::CNOT,
    &copysign::COPYSIGN,
    &cos::COS,
    &cp::CP,
    &createpolicy::CREATEPOLICY,
    &cvt::CVT,
    &cvta::CVTA,
    &discard::DISCARD,
    &div::DIV,
    &dp2a::DP2A,
    &dp4a::DP4A,
    &elect::ELECT,
    &ex2::EX2,
    &exit::EXIT,
    &fence::FENCE,
    &fma::FMA,
    &fns::FNS,
    &getctarank::GETCTARANK,
    &griddepcontrol::GRIDDEPCONTROL,
    &isspacep::ISSPACEP,
    &ld::LD,
    &ldmatrix::LDMATRIX,
    &ldu::LDU,
    &lg2::LG2,
    &lop3::LOP3,
    &mad::MAD,
    &mad24::MAD24,
    &madc::MADC,
    &mapa::MAPA,
    &match_::MATCH,
    &max::MAX,
    &mbarrier::MBARRIER,
    &membar::MEMBAR,
    &min::MIN,
    &mma::MMA,
    &mov::MOV,
    &movmatrix::MOVMATRIX,
    &mul::MUL,
    &mul24::MUL24,
    &multimem::MULTIMEM,
    &nanosleep::NANOSLEEP,
    &neg::NEG,
    &not::NOT,
    &or::OR,
    &pmevent::PMEVENT,
    &popc::POPC,
    &prefetch::PREFETCH,
    &prefetchu::PREFETCHU,
    &prmt::PRMT,
    &rcp::RCP,
    &red::RED,
    &redux::REDUX,
    &rem::REM,
    &ret::RET,
    &rsqrt::RSQRT,
    &sad::SAD,
    &selp::SELP,
    &set::SET,
    &setmaxnreg::SETMAXNREG,
    &setp::SETP,
    &shf::SHF,
    &shfl::SHFL,
    &shl::SHL,
    &shr::SHR,
    &sin::SIN,
    &slct::SLCT,
    &sqrt::SQRT,
    &st::ST,
    &stackrestore::STACKRESTORE,
    &stacksave::STACKSAVE,
    &stmatrix::STMATRIX,
    &sub::SUB,
    &subc::SUBC,
    &szext::SZEXT,
    &tanh::TANH,
    &tcgen05::TCGEN05,
    &tensormap::TENSORMAP,
    &testp::TESTP,
    &trap::TRAP,
    &video::VABSDIFF,
    &video_simd::VABSDIFF2,
    &video_simd::VABSDIFF4,
    &video::VADD,
    &video_simd::VADD2,
    &video_simd::VADD4,
    &video_simd::VAVRG2,
    &video_simd::VAVRG4,
    &video::VMAD,
    &video::VMAX,
    &video_simd::VMAX2,
    &video_simd::VMAX4,
    &video::VMIN,
    &video_simd::VMIN2,
    &video_simd::VMIN4,
    &vote::VOTE,
    &video::VSET,
    &video_simd::VSET2,
    &video_simd::VSET4,
    &video::VSHL,
    &video::VSHR,
    &video::VSUB,
    &video_simd::VSUB2,
    &video_simd::VSUB4,
    &wgmma::WGMMA,
    &wmma::WMMA,
    &xor::XOR,
];

/// The instruction of a mnemonic.
pub fn find(name: &str) -> Option<&'static Instruction> {
    static BY_NAME: LazyLock<FxHashMap<&'static str, &'static Instruction>> =
        LazyLock::new(|| INSTRUCTIONS.iter().map(|instruction| (instruction.name, *instruction)).collect());
    BY_NAME.get(name).copied()
}

/// The reason why a module cannot have this instruction, as a sentence.
pub(crate) fn missing(instruction: &ast::Instruction<'_>, version: Version, target: Target) -> Option<String> {
    let opcode = &instruction.opcode;
    find(opcode.mnemonic)?
        .availability
        .iter()
        .filter(|availability| availability.concerns(instruction))
        .find_map(|availability| availability.missing((version.major, version.minor), target))
        .map(|reason| format!("`{opcode}` {reason}"))
}
