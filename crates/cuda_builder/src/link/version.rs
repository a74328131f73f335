//! How old the PTX may be.
//!
//! LLVM knows the floor of the instructions that it selects and refuses below it, but it copies
//! inline assembly as it stands. So the finished text is read once more against a table of floors.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::arch::NvvmArch;
use crate::llvm::{Context, LlvmError, Machine, Module, OptLevel};

/// A PTX version (times ten) and an architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Floor {
    pub(super) arch: NvvmArch,
    pub(super) version: u32,
}

/// The candidates without a requested architecture, in order: first the floor of all old devices, then newer PTX for
/// them, then newer devices.
const LADDER: [Floor; 8] = [
    Floor::new(NvvmArch::Compute70, 60),
    Floor::new(NvvmArch::Compute70, 63),
    Floor::new(NvvmArch::Compute70, 78),
    Floor::new(NvvmArch::Compute75, 78),
    Floor::new(NvvmArch::Compute80, 70),
    Floor::new(NvvmArch::Compute80, 78),
    Floor::new(NvvmArch::Compute90, 80),
    Floor::new(NvvmArch::Compute100, 86),
];

/// PTX versions tried in turn for an architecture that was asked for.
const VERSIONS: [u32; 11] = [60, 62, 63, 65, 70, 74, 78, 80, 83, 86, 88];

impl Floor {
    const fn new(arch: NvvmArch, version: u32) -> Self {
        Self { arch, version }
    }

    /// The version and architecture that every device and driver supports.
    pub(super) const OLDEST: Self = LADDER[0];

    /// LLVM's code generator for it.
    pub(super) fn machine(self, context: &Context, level: OptLevel) -> Result<Machine<'_>, LlvmError> {
        Machine::new(context, &self.arch.to_string(), &format!("+ptx{}", self.version), level)
    }

    /// Whether code that needs this may be written here.
    pub(super) fn allows(self, need: Need) -> bool {
        self.version >= need.version && need.is_met_by(self.arch)
    }
}

/// The versions to try, oldest first.
pub(super) fn ladder(asked: Option<NvvmArch>) -> Vec<Floor> {
    match asked {
        None => LADDER.into(),
        Some(arch) => std::iter::once(arch.ptx_version())
            .chain(VERSIONS.into_iter().filter(|&version| version > arch.ptx_version()))
            .map(|version| Floor { arch, version })
            .collect(),
    }
}

/// The oldest PTX version and architecture that some instruction works on. Ordered by how few architectures have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub(super) struct Need {
    /// Whether architectures of that capability have it only where PTX is written for them alone, or for their family.
    pub(super) specific: bool,
    pub(super) capability: u32,
    pub(super) version: u32,
}

impl Need {
    pub(super) const fn new(version: u32, capability: u32) -> Self {
        Self { version, capability, specific: false }
    }

    /// The maximum of both requirements.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            version: self.version.max(other.version),
            capability: self.capability.max(other.capability),
            specific: self.specific || other.specific,
        }
    }

    /// Whether an architecture has the instruction, in some version of PTX.
    pub(super) fn is_met_by(self, arch: NvvmArch) -> bool {
        arch.capability() >= self.capability && (arch.target().is_specific() || !self.specific)
    }

    /// The oldest architecture that has the instruction.
    pub(super) fn arch(self) -> String {
        let oldest = NvvmArch::ALL.iter().find(|arch| self.is_met_by(**arch));
        oldest.map_or_else(|| format!("sm_{}", self.capability), ToString::to_string)
    }
}

/// Instructions and modifiers newer than the first floor: opcode (`*` is any), a modifier that must be
/// among its dotted parts (empty is none), PTX version, compute capability. From the "PTX ISA Notes"
/// and "Target ISA Notes" of each instruction's page. Instructions that [`SPECIFIC`] names too need more than that.
const NEWER: [(&str, &str, u32, u32); 52] = [
    ("*", "L2::cache_hint", 74, 80),
    ("*", "b128", 83, 70),
    ("*", "bf16", 70, 80),
    ("*", "bf16x2", 70, 80),
    ("*", "cluster", 78, 90),
    ("*", "e4m3x2", 78, 89),
    ("*", "e5m2x2", 78, 89),
    ("*", "shared::cluster", 78, 90),
    ("*", "shared::cta", 78, 30),
    ("*", "tf32", 70, 80),
    ("*", "xorsign", 72, 86),
    ("activemask", "", 62, 30),
    ("alloca", "", 73, 52),
    ("applypriority", "", 74, 80),
    ("atom", "b16", 63, 70),
    ("atom", "bf16", 78, 90),
    ("atom", "bf16x2", 78, 90),
    ("atom", "f16", 63, 70),
    ("atom", "f16x2", 62, 60),
    ("barrier", "cluster", 78, 90),
    ("bmsk", "", 76, 70),
    ("clusterlaunchcontrol", "", 86, 100),
    ("cp", "async", 70, 80),
    ("cp", "bulk", 80, 90),
    ("createpolicy", "", 74, 80),
    ("cvta", "param", 77, 70),
    ("discard", "", 74, 80),
    ("elect", "", 80, 90),
    ("fence", "mbarrier_init", 80, 90),
    ("fence", "proxy", 75, 70),
    ("getctarank", "", 78, 90),
    ("griddepcontrol", "", 78, 90),
    ("isspacep", "param", 77, 70),
    ("ldmatrix", "", 65, 75),
    ("mapa", "", 78, 90),
    ("mbarrier", "", 70, 80),
    ("mma", "", 64, 70),
    ("movmatrix", "", 78, 75),
    ("multimem", "", 81, 90),
    ("nanosleep", "", 63, 70),
    ("prefetch", "tensormap", 80, 90),
    ("red", "async", 81, 90),
    ("redux", "", 70, 80),
    ("setmaxnreg", "", 80, 90),
    ("st", "async", 81, 90),
    ("stackrestore", "", 73, 52),
    ("stacksave", "", 73, 52),
    ("stmatrix", "", 78, 90),
    ("szext", "", 76, 70),
    ("tanh", "", 70, 75),
    ("tcgen05", "", 86, 100),
    ("wgmma", "", 80, 90),
];

/// Instructions of a single architecture or family, as `sm_90a` is.
const SPECIFIC: [&str; 3] = ["setmaxnreg", "tcgen05", "wgmma"];

/// The requirements of the text.
pub(super) fn need(ptx: &str) -> Need {
    // A text has few opcodes, each many times.
    let opcodes: HashSet<&str> = ptx.lines().flat_map(|line| line.split([';', '{', '}'])).filter_map(opcode).collect();
    let mut need = Need::default();
    for opcode in opcodes {
        let mut parts = opcode.split('.');
        let mnemonic = parts.next().unwrap_or_default();
        let modifiers: Vec<&str> = parts.collect();
        for (name, modifier, version, capability) in NEWER {
            if (name == "*" || name == mnemonic) && (modifier.is_empty() || modifiers.contains(&modifier)) {
                need = need.max(Need::new(version, capability));
            }
        }
        need.specific |= SPECIFIC.contains(&mnemonic);
    }
    need
}

/// What inline assembly needs in each kernel and in the functions that the kernel calls. An estimate: branches that are never taken
/// count, and instructions that LLVM selects do not.
pub(super) fn estimates(module: &Module<'_>, kernels: &[String]) -> HashMap<String, Need> {
    let functions = module.functions().into_iter().map(|function| {
        let (mut own, mut callees) = (Need::default(), BTreeSet::new());
        for instruction in function.instructions() {
            if let Some(callee) = instruction.callee() {
                callees.insert(callee.name());
            } else if let Some(assembly) = instruction.assembly() {
                own = own.max(need(&assembly));
            }
        }
        (function.name(), (own, callees))
    });
    let functions: HashMap<String, (Need, BTreeSet<String>)> = functions.collect();
    let of_kernel = |kernel: &String| {
        let (mut total, mut seen, mut reached) = (Need::default(), HashSet::new(), vec![kernel]);
        while let Some(name) = reached.pop() {
            if let Some((own, callees)) = functions.get(name).filter(|_| seen.insert(name)) {
                total = total.max(*own);
                reached.extend(callees);
            }
        }
        (kernel.clone(), total)
    };
    kernels.iter().map(of_kernel).collect()
}

/// The opcode of a statement with its modifiers, if the statement is an instruction.
fn opcode(statement: &str) -> Option<&str> {
    let mut words = statement.split_ascii_whitespace();
    let first = words.next()?;
    let opcode = if first.starts_with('@') { words.next()? } else { first };
    (!opcode.starts_with(['.', '$', '/']) && !opcode.ends_with(':')).then_some(opcode)
}

#[cfg(test)]
mod tests {
    use super::{LADDER, NEWER, Need, estimates, need};
    use crate::llvm::{self, Context, Module};

    #[test]
    fn ordinary_code_needs_nothing_new() {
        let ptx = ".version 6.0\n.visible .entry match(\n)\n{\n\tld.global.nc.b32 \t%r1, [%rd1];\n\tret;\n}\n";
        assert_eq!(need(ptx), Need::default());
    }

    #[test]
    fn inline_assembly_is_read() {
        let need_of = Need::new;
        assert_eq!(need("\tactivemask.b32 %r1;\n"), need_of(62, 30));
        assert_eq!(need("\t@%p1 cp.async.ca.shared.global [%r1], [%rd2], 16;\n"), need_of(70, 80));
        assert_eq!(need("{ .reg .b32 t; redux.sync.add.s32 %r1, %r2, %r3; }"), need_of(70, 80));
    }

    #[test]
    fn what_one_generation_has_needs_its_name() {
        let wgmma = need("\twgmma.fence.sync.aligned;\n");
        assert_eq!((wgmma.version, wgmma.arch().as_str()), (80, "sm_90a"));
        assert!(!LADDER.iter().any(|floor| floor.allows(wgmma)));
        assert_eq!(need("\ttcgen05.fence::before_thread_sync;\n").arch(), "sm_100a");
        assert_eq!(need("\telect.sync %r1|%p1, -1;\n").arch(), "sm_90");
        assert_eq!(Need::new(99, 130).arch(), "sm_130");
    }

    #[test]
    fn assembly_of_called_functions_is_estimated() {
        let library = rumba_llvm::find::library().expect("the toolchain has an LLVM");
        let context = Context::new(llvm::load(&library).expect("it can be loaded"));
        let module = Module::parse(
            &context,
            "define void @plain() { ret void }
              define void @inner() { call void asm sideeffect \"cp.async.wait_all;\", \"\"() call void @outer() ret void }
              define void @outer() { call void @inner() ret void }
              define void @kernel() { call void @outer() call void @plain() ret void }",
        );
        let module = module.expect("it is LLVM's assembly");
        let estimates = estimates(&module, &["kernel".to_owned(), "plain".to_owned()]);
        assert_eq!(estimates["kernel"], Need::new(70, 80));
        assert_eq!(estimates["plain"], Need::default());
    }

    #[test]
    fn every_need_has_a_step() {
        for (name, modifier, version, capability) in NEWER {
            let need = Need::new(version, capability);
            assert!(LADDER.iter().any(|floor| floor.allows(need)), "{name} {modifier}");
        }
    }

    #[test]
    fn table_is_sorted_and_unique() {
        assert!(NEWER.is_sorted_by(|a, b| (a.0, a.1) < (b.0, b.1)));
    }
}
