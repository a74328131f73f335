//! The checks and the kinds of findings: the single list of both, which programs and the machine share.
//!
//! A check is a row of `checks!`, a kind of finding a row of `kinds!`. This crate does not say how a check works.

use std::fmt;

macro_rules! checks {
    ($($(#[doc = $doc:literal])+ $check:ident: $made:ident,)*) => {
        /// The checks.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize))]
        #[non_exhaustive]
        pub enum Check {
            $($(#[doc = $doc])+ $check,)*
        }

        impl Check {
            /// All checks.
            pub const ALL: &[Self] = &[$(Self::$check,)*];

            /// The runs in which the check is made.
            pub fn made(self) -> Made {
                match self {
                    $(Self::$check => Made::$made,)*
                }
            }
        }
    };
}

/// The runs in which a check is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Made {
    /// In all runs; nothing turns the check off.
    Always,
    /// In runs that ask for no checks.
    ByDefault,
    /// In runs that ask for checks without naming any: `rumba::check`, `RUMBA_CHECK=all`.
    InCheckedRuns,
    /// In runs that name the check.
    ByName,
    /// By the program that makes several runs and compares their results; the machine knows one of them.
    BetweenRuns,
}

checks! {
    /// Bounds, alignment and lifetime of every access. Without this check, only accesses that would crash the process
    /// are found.
    Mem: ByDefault,
    /// Memory that was never written: reads of global, shared and local memory, and copies to the host.
    Init: InCheckedRuns,
    /// Data races, in shared and in global memory, by happens-before. Launches run on one worker, several times slower.
    Race: InCheckedRuns,
    /// How threads synchronise: divergent barriers, masks that do not fit, misused mbarriers, broken promises of `.uni`.
    Sync: InCheckedRuns,
    /// Integer divisions by zero, and shifts beyond the width.
    Arith: InCheckedRuns,
    /// As [`Check::Init`], and reads of values of which only a part was written. Copies of structures with padding are
    /// reported, too.
    InitBytes: ByName,
    /// Failures that the kernel itself raises: panics, assertions, traps.
    Panic: Always,
    /// Results that depend on the order of threads: runs in several orders are compared.
    Portability: BetweenRuns,
}

impl Check {
    /// The name that users write to ask for the check: `race`.
    pub fn name(self) -> String {
        kebab(&format!("{self:?}"))
    }

    /// The checks that `RUMBA_CHECK` can name: checks of the machine that can be turned off.
    pub fn named() -> impl Iterator<Item = Self> {
        let is_named = |check: &Self| !matches!(check.made(), Made::Always | Made::BetweenRuns);
        Self::ALL.iter().copied().filter(is_named)
    }

    /// The checks of a run that asks for checks without naming any.
    pub fn in_checked_runs() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|check| check.made() != Made::ByName)
    }
}

/// A set of checks.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CheckSet(u32);

impl CheckSet {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// This set and another check.
    #[must_use]
    pub const fn with(self, check: Check) -> Self {
        Self(self.0 | 1 << check as u32)
    }

    /// Whether the set contains a check.
    #[inline]
    pub const fn contains(self, check: Check) -> bool {
        self.0 & 1 << check as u32 != 0
    }

    /// This set, and the checks that its members extend.
    #[must_use]
    pub const fn complete(self) -> Self {
        if self.contains(Check::InitBytes) { self.with(Check::Init) } else { self }
    }

    /// Whether a check of the set finds mistakes after which the kernel continues; a mistake that [`Check::Mem`] finds
    /// ends the kernel.
    pub const fn finds(self) -> bool {
        self.0 & !Self::NONE.with(Check::Mem).0 != 0
    }
}

impl Default for CheckSet {
    /// The checks of [`Made::ByDefault`].
    fn default() -> Self {
        let all = Check::ALL.iter().copied();
        all.filter(|check| check.made() == Made::ByDefault).collect()
    }
}

impl FromIterator<Check> for CheckSet {
    fn from_iter<I: IntoIterator<Item = Check>>(checks: I) -> Self {
        checks.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Debug for CheckSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = Check::ALL.iter();
        f.debug_set().entries(all.filter(|check| self.contains(**check))).finish()
    }
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Severity {
    /// Worth knowing; the program is right nevertheless.
    Info,
    /// It works on today's devices, or where the result is not used, and nothing promises that.
    Warning,
    /// The result is wrong, or left to chance.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// The number of findings of each severity.
///
/// # Examples
/// ```
/// use rumba_checks::{Severity, Tally};
///
/// let tally: Tally = [Severity::Error, Severity::Error, Severity::Info].into_iter().collect();
/// assert_eq!(tally.to_string(), "2 errors, 1 info");
/// assert_eq!(Tally::default().to_string(), "no findings");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Findings that are errors.
    pub errors: usize,
    /// Findings that are warnings.
    pub warnings: usize,
    /// Findings that are information.
    pub infos: usize,
}

impl FromIterator<Severity> for Tally {
    fn from_iter<I: IntoIterator<Item = Severity>>(severities: I) -> Self {
        let mut tally = Self::default();
        for severity in severities {
            *match severity {
                Severity::Error => &mut tally.errors,
                Severity::Warning => &mut tally.warnings,
                Severity::Info => &mut tally.infos,
            } += 1;
        }
        tally
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [(self.errors, Severity::Error), (self.warnings, Severity::Warning), (self.infos, Severity::Info)];
        let counts: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, severity)| counted(*count as u64, &severity.to_string()))
            .collect();
        if counts.is_empty() {
            return f.write_str("no findings");
        }
        f.write_str(&counts.join(", "))
    }
}

/// A number with its noun: `1 launch`, `2 launches`.
///
/// # Examples
/// ```
/// assert_eq!(rumba_checks::counted(1, "launch"), "1 launch");
/// assert_eq!(rumba_checks::counted(0, "order"), "0 orders");
/// ```
pub fn counted(count: u64, noun: &str) -> String {
    let ending = match count {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

/// The texts and the severity of a kind.
struct Words {
    name: &'static str,
    severity: Severity,
    why: &'static str,
    advice: &'static str,
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident: $check:ident, $severity:ident, $name:literal, $why:literal, $advice:literal;)*) => {
        /// The kind of a kernel's mistake.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize))]
        #[non_exhaustive]
        pub enum FindingKind {
            $($(#[doc = $doc])+ $kind,)*
        }

        impl FindingKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The check that finds it.
            pub fn check(self) -> Check {
                match self {
                    $(Self::$kind => Check::$check,)*
                }
            }

            fn words(self) -> Words {
                match self {
                    $(Self::$kind => Words {
                        name: $name,
                        severity: Severity::$severity,
                        why: $why,
                        advice: $advice,
                    },)*
                }
            }
        }
    };
}

kinds! {
    /// Two threads access the same memory, one of them writes, and nothing orders the accesses.
    DataRace: Race, Error, "data race",
        "no barrier, `bar.warp.sync` or release and acquire orders these accesses, so either may come first",
        "let the threads meet at a barrier between the accesses, or make both atomic";
    /// A data race of two writes of the same value.
    SameValueRace: Race, Info, "unordered writes of the same value",
        "nothing orders these writes, but memory holds the same after either",
        "let one thread write, if the writes need not be there twice";
    /// A data race of atomic operations whose scopes do not include each other.
    ScopedRace: Race, Error, "race of atomic operations by scope",
        "an atomic operation is atomic for the threads of its scope only: `.cta` is its block, `.gpu` its device",
        "widen the scope of the operation to `.gpu`, or to `.sys` for threads of other devices";
    /// A data race of volatile accesses, which PTX defines as relaxed accesses of system scope.
    VolatileRace: Race, Info, "unordered volatile accesses",
        "PTX takes volatile accesses for relaxed atomic ones, which order nothing; no barrier, `bar.warp.sync` or \
         release and acquire orders these",
        "if this is a flag, use atomic accesses, with release and acquire; else let the threads meet at a barrier \
         between the accesses";
    /// A thread loads a value and stores another one that it has computed from it, and another thread may write in between.
    LostUpdate: Race, Error, "lost update",
        "each access is atomic, but another thread may write between the load and the store, which then replaces what that \
         thread wrote",
        "use one atomic operation (`fetch_add`, `fetch_max`, ...), or a loop with `compare_exchange`; or let a lock or a barrier \
         order the threads";
    /// Memory is accessed to or from which an asynchronous copy is under way.
    PendingCopy: Race, Error, "access to memory of a copy under way",
        "an asynchronous copy may arrive at any time until its thread has waited for it",
        "wait for the copy (`cp.async.wait_group`, `cp.async.bulk.wait_group`, or the phase of the mbarrier that tracks it) in \
         each thread, or let the threads meet at a barrier behind the wait";
    /// A bulk or tensor copy writes memory that threads, products or other copies still use.
    EarlyRefill: Race, Error, "asynchronous copy into memory in use",
        "nothing orders the copy behind this use of the memory, so it may write there first",
        "begin the copy when the memory is free: behind a wait for the mbarrier at which its readers arrive, products with \
         `wgmma.wait_group` before that, stores with `cp.async.bulk.wait_group.read`";
    /// A thread writes shared memory that a product under way reads.
    PendingProduct: Race, Error, "write to shared memory of a product under way",
        "a product reads its factors in shared memory until it was waited for",
        "wait with `wgmma.wait_group`, or for the mbarrier of a `tcgen05.commit`, then let the threads meet at a barrier, before \
         the memory is written again";
    /// Tensor memory is accessed by operations that nothing orders.
    PendingTensorOperation: Race, Error, "access to tensor memory of an operation under way",
        "operations on tensor memory are asynchronous, and nothing orders the later one behind the end of the earlier one",
        "wait for `tcgen05.mma` and `tcgen05.cp` by the mbarrier of a `tcgen05.commit`, for `tcgen05.ld` and `tcgen05.st` with \
         `tcgen05.wait::ld` and `tcgen05.wait::st`, and let the threads meet at a barrier behind the wait";
    /// An operation of the asynchronous proxy reads or writes what threads have written, without a proxy fence between.
    MissingProxyFence: Race, Error, "missing `fence.proxy.async`",
        "the threads are in order, but the later operation accesses memory through the asynchronous proxy, which sees what \
         threads have written only behind a proxy fence",
        "let each thread that writes execute `fence.proxy.async` behind its writes and before the barrier";
    /// A tensor copy uses a map that threads have changed, without the fences of the tensor map proxy between.
    StaleTensorMap: Race, Error, "missing `fence.proxy.tensormap`",
        "tensor copies read maps through a proxy of their own, which sees changes only when they were released and acquired",
        "release the change (`tensormap.cp_fenceproxy`, or `fence.proxy.tensormap::generic.release`), and execute \
         `fence.proxy.tensormap::generic.acquire` on the map before the copy";
    /// An mbarrier is used where nothing says that it is initialised.
    UnseenMbarrier: Race, Error, "mbarrier that may not be initialised yet",
        "nothing orders the initialisation of the mbarrier before this use of it, so either may come first",
        "let the threads meet at a barrier behind the initialisation; in a cluster, `fence.mbarrier_init` and the \
         barrier of the cluster";
    /// `ld.global.nc` of memory that the same kernel writes.
    StaleLoad: Race, Error, "read-only load of memory that the kernel writes",
        "`ld.global.nc` reads through a cache that does not see what is written while the kernel runs",
        "read with a plain load, or do not write to this memory in this kernel";
    /// A kernel reads memory that was never written.
    UnwrittenRead: Init, Error, "read of uninitialised memory",
        "neither the host nor a kernel has written there since the memory was allocated or the block began, so it \
         may hold anything",
        "write to the memory before it is read, or do not read beyond what was written";
    /// The host copies device memory that was never written; the count is that of bytes.
    UnwrittenCopy: Init, Error, "copy of uninitialised memory to the host",
        "neither the host nor a kernel has written there since the memory was allocated",
        "let the kernel write all of it, or copy only what it writes";
    /// A thread uses a register that it has not written.
    UnwrittenRegister: Init, Error, "use of an uninitialised register",
        "no instruction on the thread's way here has written the register, so it may hold anything",
        "give the variable a value on every path that leads here";
    /// Threads of one warp do not execute the same barrier.
    DivergentBarrier: Sync, Error, "divergent barrier",
        "all threads of a warp have to execute the same barrier instruction together",
        "move the barrier out of the branch or loop that only some of the threads take";
    /// Threads have exited at whose barrier others wait. They count as arrived.
    ExitBeforeBarrier: Sync, Info, "barrier without threads that have exited",
        "a barrier waits for the threads that have not exited, so it is complete without these",
        "if these threads have work before the barrier, let them return behind it; else nothing is to be done";
    /// Threads arrive at a barrier again before it was completed.
    RepeatedArrival: Sync, Error, "second arrival at a barrier",
        "a thread that has arrived may not arrive again before the barrier was completed",
        "let the producer wait on another barrier until the consumers have passed this one";
    /// Threads have arrived at a barrier that was never completed.
    AbandonedBarrier: Sync, Warning, "barrier that was never completed",
        "the block ended while threads that arrived were counted, and no thread waited for them",
        "compare the number of threads that the barrier is for with those that come";
    /// Lanes name each other in masks that differ.
    MaskMismatch: Sync, Error, "masks that do not agree",
        "lanes that a mask names have to execute the operation with the same mask",
        "compute the mask once where all lanes are together, and pass the same one in all of them";
    /// A lane gives a mask that it is not in.
    MaskWithoutCaller: Sync, Error, "mask without its caller",
        "the mask of a warp operation names all lanes that execute it, and what it does for others is not defined",
        "add the lane to the mask, or keep it from the operation by a branch";
    /// A mask names lanes that have exited.
    ExitedLanes: Sync, Info, "mask with lanes that have exited",
        "lanes that have exited are not waited for: the operation goes on without those that the mask names",
        "if they should take part, let lanes without work stay, with a neutral value; else leave them out of the mask";
    /// A shuffle reads a lane that does not take part in it.
    ShuffleSource: Sync, Warning, "shuffle from a lane that takes no part",
        "the value is undefined unless the lane that is read executes the same shuffle",
        "let all lanes of the warp shuffle, or choose the width so that only lanes of the mask are read";
    /// An mbarrier is initialized in memory that already holds a valid mbarrier.
    MbarrierInUse: Sync, Error, "initialisation of an mbarrier in use",
        "the memory holds a valid mbarrier, whose phase and arrivals would be lost",
        "let one thread initialise it once, or invalidate it first";
    /// A thread reads or writes a register of a product that is under way.
    PendingAccumulator: Sync, Error, "access to a register of a product under way",
        "`wgmma.mma_async` writes its sums, and reads a factor in registers, until its group was committed and waited for",
        "let `wgmma.commit_group` and `wgmma.wait_group` come before the access";
    /// A thread reads or writes a register of a load from tensor memory that is under way. Compilers move such accesses before the
    /// wait, and NVIDIA's assembler seems to allow for that.
    PendingTensorLoad: Sync, Warning, "access to a register of a load under way",
        "PTX promises the values of `tcgen05.ld` only behind the wait for the load",
        "let `tcgen05.wait::ld` come before the access";
    /// A block ends with tensor memory that its warps have allocated.
    UnfreedTensorMemory: Sync, Error, "tensor memory that was not freed",
        "columns of tensor memory stay allocated when their block has ended, and later blocks wait for them for ever",
        "let a warp execute `tcgen05.dealloc` for each allocation before the kernel ends";
    /// A product uses registers that were accessed before, without `wgmma.fence` between.
    MissingProductFence: Sync, Error, "missing `wgmma.fence`",
        "`wgmma.mma_async` sees what was done to its registers only behind a `wgmma.fence`; of products alone, those of one \
         shape are in order",
        "execute `wgmma.fence` behind the last access to sums and factors in registers, before the first product";
    /// Not all warps of a warp group execute an instruction that all have to.
    PartialWarpGroup: Sync, Error, "instruction of a warp group without some of its warps",
        "`wgmma` and `setmaxnreg` are for whole warp groups: their four warps execute the same instructions in the same order",
        "move it out of the branch that only some warps take, and divide roles by whole warp groups";
    /// `setmaxnreg` asks for what a warp group cannot get.
    RegisterCount: Sync, Error, "invalid change of the number of registers",
        "`setmaxnreg.inc` waits until other warp groups have released registers, and neither it nor `.dec` may go the other way",
        "state the threads of a block (`.maxntid` and `.minnctapersm`, or `.maxnreg`), and choose the numbers so that those of \
         all warp groups are no more in all than at the start";
    /// An mbarrier expects other bytes than copies bring.
    TransactionBytes: Sync, Error, "wrong transaction bytes",
        "a phase of an mbarrier ends when exactly the bytes have come that it expects: with more it never ends, with less it \
         ends before the copies have arrived",
        "let `mbarrier.arrive.expect_tx` or `mbarrier.expect_tx` expect the bytes of all copies of the phase, also of those \
         from other blocks";
    /// A thread waits for a phase of an mbarrier that it has waited for before.
    StaleParity: Sync, Warning, "wait for a phase that was over before",
        "the parity is that of a phase whose end the thread has seen, so the wait ends at once",
        "change the parity after each wait, in a ring of stages with each round";
    /// A copy or product is under way when its block or warp ends.
    AbandonedOperation: Sync, Error, "end of a block with an operation under way",
        "shared memory goes to another block when its own has ended, and the operation may still read or write there",
        "wait before the threads exit: for the phase of the mbarrier, with `cp.async.bulk.wait_group.read`, or with \
         `wgmma.wait_group`";
    /// A thread accesses the shared memory of a block of its cluster that has ended.
    ExitedBlock: Sync, Error, "access to shared memory of a block that has ended",
        "shared memory of a block is there for others of its cluster only until its threads have exited",
        "let all blocks meet at the barrier of the cluster (`barrier.cluster`) before they return";
    /// A branch or call that promises not to diverge does.
    DivergentUniform: Sync, Error, "divergence where none was promised",
        "`.uni` promises that all threads that execute the instruction together go the same way",
        "remove `.uni`";
    /// An integer is divided by zero.
    DivisionByZero: Arith, Error, "integer division by zero",
        "the quotient and the remainder are undefined",
        "test the divisor, or use `checked_div`";
    /// An integer is shifted by its width or more.
    ShiftBeyondWidth: Arith, Warning, "shift beyond the width",
        "PTX shifts everything out, the language it was written in leaves the result open or wraps the amount",
        "mask the amount (`wrapping_shl`), or test it (`checked_shl`)";
    /// An access to memory that is not the kernel's.
    IllegalAddress: Mem, Error, "illegal memory access",
        "the address lies in no live allocation that a kernel may use in this way",
        "compare the index with the length, also for the threads of the last block, of which there may be more than \
         elements";
    /// An access at an address that is not a multiple of its size.
    MisalignedAddress: Mem, Error, "misaligned memory access",
        "a GPU reads and writes 2, 4, 8 or 16 bytes only at multiples of as many",
        "index elements instead of bytes, and align what is accessed as a vector";
    /// Calls are nested too deep, or need more stack than there is.
    StackOverflow: Mem, Error, "stack overflow",
        "calls are nested deeper than the stack of a thread has room for",
        "end the recursion earlier, or raise the limit of the stack";
    /// A barrier or a warp operation was used in a way that has no meaning.
    Synchronisation: Sync, Error, "invalid synchronisation",
        "the threads that a barrier or a warp operation names are not those that come to it",
        "let all threads that it names reach the same call: move it out of the branch, or name only those that come";
    /// All threads of a block wait, and none can wake the others.
    Deadlock: Sync, Error, "deadlock",
        "all threads of the block wait, and none is left that could wake the others",
        "let every thread of the block reach every barrier, also those with nothing to do, and return only behind it";
    /// The launch executed more instructions than it may.
    Timeout: Sync, Error, "time limit exceeded",
        "threads were still at work when the time was over",
        "look for a loop whose condition no thread fulfils";
    /// A failed assertion.
    Assert: Panic, Error, "assertion failed",
        "the kernel itself says that this must not happen",
        "look at the condition, and at what the kernel was given";
    /// `trap` or `brkpt`: how compiled code ends when it panics.
    Trap: Panic, Error, "trap",
        "the kernel gave up, as compiled code does where it panics",
        "look at the line";
    /// An instruction with operands that it cannot have.
    InvalidInstruction: Panic, Error, "invalid instruction",
        "the instruction has no meaning with these operands",
        "look at the operands in the PTX";
    /// An index, an arithmetic operation or an assertion of a Rust kernel failed.
    Panic: Panic, Error, "panic",
        "an index, an arithmetic operation or an assertion of the kernel failed, and the thread ended there",
        "look at what the message names, on the line that it names";
    /// The interpreter and the compiled code of a kernel do not do the same (`RUMBA_ENGINE=compare`).
    EngineDifference: Portability, Error, "difference between the engines",
        "the compiled code of a kernel has to do what the interpreter does, in the same order of threads; one of the two is wrong",
        "report it with the kernel's PTX and its launch; `RUMBA_ENGINE=interpreter` and `RUMBA_ENGINE=compiled` choose one engine";
    /// The host reads something else in another order of the threads.
    ScheduleDependent: Portability, Warning, "result that depends on the order of threads",
        "blocks, warps and lanes run in any order, and in another one the host reads something else",
        "look where the kernel uses how far others are: places by atomic operations, `activemask`, volatile accesses of a \
         warp";
}

impl FindingKind {
    /// The kind in words.
    pub fn name(self) -> &'static str {
        self.words().name
    }

    /// The short name of the kind, as in reports: `data-race`.
    pub fn id(self) -> String {
        kebab(&format!("{self:?}"))
    }

    /// The severity of the kind; a single finding can be less severe.
    pub fn severity(self) -> Severity {
        self.words().severity
    }

    /// Why the kind is a mistake.
    pub fn why(self) -> &'static str {
        self.words().why
    }

    /// Advice.
    pub fn advice(self) -> &'static str {
        self.words().advice
    }

    /// Whether the sides of a finding follow each other in time.
    pub fn is_of_memory(self) -> bool {
        matches!(
            self,
            Self::DataRace
                | Self::SameValueRace
                | Self::ScopedRace
                | Self::VolatileRace
                | Self::LostUpdate
                | Self::PendingCopy
                | Self::EarlyRefill
                | Self::PendingProduct
                | Self::PendingTensorOperation
                | Self::MissingProxyFence
                | Self::StaleTensorMap
                | Self::UnseenMbarrier
                | Self::StaleLoad
        )
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `DataRace` as `data-race`.
fn kebab(name: &str) -> String {
    let mut id = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !id.is_empty() {
            id.push('-');
        }
        id.push(letter.to_ascii_lowercase());
    }
    id
}

#[cfg(test)]
mod tests {
    use super::{Check, CheckSet, FindingKind};

    #[test]
    fn kinds_have_names_of_their_own() {
        for (index, kind) in FindingKind::ALL.iter().enumerate() {
            let others = &FindingKind::ALL[..index];
            assert!(others.iter().all(|other| other.id() != kind.id() && other.name() != kind.name()));
        }
        assert_eq!(FindingKind::MisalignedAddress.id(), "misaligned-address");
    }

    /// Sentences go on behind a colon, so they begin small (but for PTX) and end without a full stop.
    #[test]
    fn sentences_are_of_one_form() {
        for text in FindingKind::ALL.iter().flat_map(|kind| [kind.name(), kind.why(), kind.advice()]) {
            let begins_small = text.starts_with(|c: char| !c.is_uppercase()) || text.starts_with("PTX ");
            assert!(begins_small, "{text}");
            assert!(!text.ends_with('.') && !text.contains("  "), "{text}");
        }
    }

    #[test]
    fn a_set_holds_what_was_put_in() {
        let set: CheckSet = [Check::Race, Check::Sync].into_iter().collect();
        for check in Check::ALL {
            assert_eq!(set.contains(*check), [Check::Race, Check::Sync].contains(check), "{check:?}");
        }
        assert_eq!(format!("{set:?}"), "{Race, Sync}");
        assert!(set.finds() && !CheckSet::NONE.with(Check::Mem).finds());
    }
}
