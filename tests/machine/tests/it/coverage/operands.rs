//! Operands that suit an opcode, so that it can be put to the machine as an instruction.
//!
//! The registers are those that [`module`] declares: `%p`, `%b`, `%h`, `%r`, `%rd` and `%q` by width. Nothing here says
//! what the machine supports: that it finds out by loading the instruction.

use rumba_vm::isa::{self, notation};

use super::fragments;

/// A module of one kernel that holds the instruction and the declarations that it refers to.
pub(super) fn module(instruction: &str) -> String {
    // Votes and shuffles without `.sync` ended with sm_70.
    let is_old = ["shfl.", "vote."].iter().any(|start| instruction.starts_with(start));
    let header = if is_old && !instruction.contains(".sync") {
        ".version 6.0
.target sm_60"
    } else if instruction.starts_with("wgmma.") {
        ".version 9.1
.target sm_90a"
    } else {
        ".version 9.1
.target sm_100a"
    };
    format!(
        "{header}
.address_size 64
.shared .align 128 .b8 smem[4096];
.global .align 128 .b8 gmem[4096];
.const .align 128 .b8 cmem[4096];
.func callee()
{{
    ret;
}}
.func taker(.param .align 32 .b8 argument[32])
{{
    ret;
}}
.visible .entry k(.param .align 128 .b8 in[256])
{{
    .reg .pred %p<10>;
    .reg .b8 %b<10>;
    .reg .b16 %h<10>;
    .reg .b32 %r<160>;
    .reg .b64 %rd<99>;
    .reg .b128 %q<10>;
    .local .align 128 .b8 lmem[1024];
    {instruction}
    ret;
}}
"
    )
}

/// The bits of a value of a type; 0 if the modifier names no type.
pub(super) fn bits(ty: &str) -> u32 {
    match ty {
        "pred" => 1,
        "e2m1x2" => 8,
        "e4m3x2" | "e5m2x2" | "e2m3x2" | "e3m2x2" | "ue8m0x2" | "e2m1x4" | "s2f6x2" => 16,
        "e4m3x4" | "e5m2x4" | "e2m3x4" | "e3m2x4" | "tf32" => 32,
        "f32x2" => 64,
        "f16x2" | "bf16x2" | "u16x2" | "s16x2" | "u8x4" | "s8x4" => 32,
        _ => {
            let digits = ty.trim_start_matches(['b', 'u', 's', 'f']);
            if digits.len() == ty.len() { 0 } else { digits.parse().unwrap_or(0) }
        }
    }
}

/// The register of a number that suits values of a type.
fn register(ty: &str, number: usize) -> String {
    register_of(bits(ty), number)
}

fn register_of(bits: u32, number: usize) -> String {
    let prefix = match bits {
        1 => "%p",
        8 => "%b",
        16 => "%h",
        64 => "%rd",
        128 => "%q",
        _ => "%r",
    };
    format!("{prefix}{number}")
}

/// `{r, r+1, …}` of registers that suit a type.
pub(super) fn vector(ty: &str, first: usize, count: usize) -> String {
    let list: Vec<_> = (first..first + count).map(|number| register(ty, number)).collect();
    format!("{{{}}}", list.join(", "))
}

/// An opcode, taken apart.
pub(super) struct Opcode<'t> {
    pub(super) text: &'t str,
    pub(super) mnemonic: &'t str,
    pub(super) modifiers: Vec<&'t str>,
}

impl<'t> Opcode<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut parts = text.split('.');
        Self { text, mnemonic: parts.next().unwrap_or_default(), modifiers: parts.collect() }
    }

    pub(super) fn has(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }

    fn starts(&self, prefix: &str) -> bool {
        self.modifiers.iter().any(|modifier| modifier.starts_with(prefix))
    }

    /// The last modifier that names a type.
    pub(super) fn last_type(&self) -> &'t str {
        self.types().last().copied().unwrap_or("b32")
    }

    pub(super) fn types(&self) -> Vec<&'t str> {
        let types = self.modifiers.iter().copied();
        types.filter(|modifier| bits(modifier) > 0).collect()
    }

    /// How many operands it has at least, by the machine's syntax.
    fn operands(&self) -> Option<usize> {
        let instruction = isa::find(self.mnemonic)?;
        let modifiers: Vec<String> = self.modifiers.iter().map(|modifier| format!(".{modifier}")).collect();
        let modifiers: Vec<&str> = modifiers.iter().map(String::as_str).collect();
        (0..=8).find(|count| notation::match_forms(instruction.forms, self.mnemonic, &modifiers, *count).is_ok())
    }

    /// An address in the state space that the opcode names.
    fn address(&self) -> &'static str {
        if self.starts("shared") {
            "[smem]"
        } else if self.has("global") {
            "[gmem]"
        } else if self.has("const") {
            "[cmem]"
        } else if self.has("local") {
            "[lmem]"
        } else if self.has("param") {
            "[in]"
        } else {
            "[%rd20]"
        }
    }

    /// Elements of a memory vector.
    fn count(&self) -> usize {
        [("v2", 2), ("v4", 4), ("v8", 8)].iter().find(|(name, _)| self.has(name)).map_or(1, |(_, count)| *count)
    }

    /// A destination and sources, each as the given type.
    fn lanes(&self, dst: &str, sources: &[&str]) -> String {
        let mut operands = vec![register(dst, 0)];
        operands.extend(sources.iter().enumerate().map(|(index, ty)| register(ty, index + 1)));
        format!("{} {};", self.text, operands.join(", "))
    }

    fn with(&self, operands: impl std::fmt::Display) -> String {
        format!("{} {operands};", self.text)
    }
}

/// A complete statement of this opcode; `None` if it is not known what operands it has.
///
/// What follows the opcode in a list says which of several kinds of operands is meant (`{}`, `{_}`, `_`), or it is the
/// operands (`: %r0, %p1, -1`). An opcode that is not here has registers of its last type, so many as the machine's syntax
/// says.
pub(super) fn statement(listed: &str) -> Option<String> {
    let (text, kind) = listed.split_once(' ').unwrap_or((listed, ""));
    let opcode = Opcode::new(text);
    if let Some(operands) = kind.strip_prefix(": ") {
        return Some(opcode.with(operands));
    }
    let ty = opcode.last_type();
    Some(match opcode.mnemonic {
        "alloca" => opcode.with(format!("{0}, {1}, 8", register(ty, 0), register(ty, 1))),
        "getctarank" => opcode.lanes("u32", &[ty]),
        "popc" | "clz" | "bfind" => opcode.lanes("u32", &[ty]),
        "min" | "max" if kind == "three" => opcode.lanes(ty, &[ty, ty, ty]),
        "add" | "sub" | "fma" | "mul" | "mad" | "madc" => arithmetic(&opcode, ty)?,
        "createpolicy" if opcode.has("range") => opcode.with("%rd0, [gmem], %r1, %r2"),
        "createpolicy" if opcode.has("fractional") => opcode.with("%rd0, 0.5"),
        "createpolicy" => opcode.with("%rd0, %rd1"),
        "shl" | "shr" => opcode.lanes(ty, &[ty, "u32"]),
        "bfe" => opcode.lanes(ty, &[ty, "u32", "u32"]),
        "bfi" => opcode.lanes(ty, &[ty, ty, "u32", "u32"]),
        "lop3" if opcode.has("b32") && opcode.modifiers.len() == 1 => opcode.with("%r0, %r1, %r2, %r3, 0x6b"),
        "lop3" => opcode.with("%r0|%p0, %r1, %r2, %r3, 0x6b, %p1"),
        "selp" => opcode.with(format!("{0}, {1}, {2}, %p1", register(ty, 0), register(ty, 1), register(ty, 2))),
        "slct" => opcode.lanes(opcode.types()[0], &[opcode.types()[0], opcode.types()[0], ty]),
        "setp" => {
            let dst = if bits(ty) == 32 && ty.ends_with("x2") { "%p0|%p1" } else { "%p0" };
            let tail = if opcode.has("and") || opcode.has("or") || opcode.has("xor") { ", %p2" } else { "" };
            opcode.with(format!("{dst}, {}, {}{tail}", register(ty, 1), register(ty, 2)))
        }
        "set" => opcode.lanes(opcode.types()[0], &[ty, ty]),
        "testp" => opcode.lanes("pred", &[ty]),
        "isspacep" => opcode.with("%p0, %rd1"),
        "mapa" => opcode.lanes(ty, &[ty, "u32"]),
        "mov" => moves(&opcode, kind, ty),
        "cvt" => conversion(&opcode),
        "ld" | "ldu" => load(&opcode, ty),
        "st" => store(&opcode, ty),
        "atom" => atomic(&opcode, ty, true),
        "red" => atomic(&opcode, ty, false),
        "applypriority" => opcode.with(format!("{}, 128", opcode.address())),
        "discard" => opcode.with(format!("{}, 128", opcode.address())),
        "prefetch" | "prefetchu" => opcode.with(opcode.address()),
        "bar" | "barrier" => barrier(&opcode),
        "shfl" => opcode.with(if opcode.has("sync") { "%r0, %r1, %r2, 31, -1" } else { "%r0, %r1, %r2, 31" }),
        "vote" => {
            let tail = if opcode.has("sync") { ", -1" } else { "" };
            let dst = if opcode.has("ballot") { "%r0" } else { "%p0" };
            opcode.with(format!("{dst}, %p1{tail}"))
        }
        "match" => {
            let dst = if opcode.has("all") { "%r0|%p0" } else { "%r0" };
            opcode.with(format!("{dst}, {}, -1", register(ty, 1)))
        }
        "redux" => opcode.with("%r0, %r1, -1"),
        "elect" => opcode.with("%r0|%p0, -1"),
        "fence" if opcode.has("proxy") && opcode.starts("tensormap") && opcode.has("acquire") => {
            opcode.with("[%rd20], 128")
        }
        "fence" | "membar" | "griddepcontrol" | "exit" | "ret" | "trap" | "brkpt" => opcode.with(""),
        "pmevent" => opcode.with("1"),
        "nanosleep" => opcode.with("%r1"),
        "setmaxnreg" => opcode.with("64"),
        "bra" => format!("{text} OVER;\nOVER:"),
        "call" => format!("{text} callee;"),
        "mbarrier" => mbarrier(&opcode, kind),
        "cp" => async_copy(&opcode)?,
        "clusterlaunchcontrol" if opcode.has("pred") => opcode.with("%p0, %q1"),
        "clusterlaunchcontrol" if opcode.has("v4") => opcode.with("{%r0, %r1, %r2, _}, %q1"),
        "clusterlaunchcontrol" if opcode.has("query_cancel") => opcode.with("%r0, %q1"),
        "clusterlaunchcontrol" => opcode.with("[smem], [smem+64]"),
        "mma" | "wmma" | "ldmatrix" | "stmatrix" => fragments::statement(&opcode)?,
        "tensormap" if opcode.has("replace") => {
            let value = if ty == "b64" { "%rd1" } else { "1" };
            let axis = ["box_dim", "global_dim", "global_stride", "element_stride"];
            let axis = if axis.iter().any(|name| opcode.has(name)) { "1, " } else { "" };
            opcode.with(format!("{}, {axis}{value}", opcode.address()))
        }
        "tensormap" => opcode.with("[gmem], [smem], 128"),
        "tcgen05" => tensor(&opcode)?,
        "wgmma" => fragments::by_group(&opcode, kind)?,
        mnemonic if mnemonic.starts_with('v') => video(&opcode, kind),
        _ => opcode.lanes(ty, &vec![ty; opcode.operands()?.checked_sub(1)?]),
    })
}

/// The instructions of tensor memory.
fn tensor(opcode: &Opcode<'_>) -> Option<String> {
    let number = |modifier: &&str| modifier.strip_prefix('x')?.parse::<usize>().ok();
    let registers = opcode.modifiers.iter().find_map(number).unwrap_or(1)
        * if opcode.has("16x128b") { 2 } else { 1 }
        * if opcode.has("16x256b") { 4 } else { 1 };
    let list = vector("b32", 4, registers);
    let halves = if opcode.has("16x32bx2") { ", 4" } else { "" };
    Some(opcode.with(match *opcode.modifiers.first()? {
        "alloc" if opcode.has("shared::cta") => "[smem], 64".to_owned(),
        "alloc" => "[%rd1], 64".to_owned(),
        "dealloc" => "%r0, 64".to_owned(),
        "ld" => format!("{list}, [%r0]{halves}"),
        "st" => format!("[%r0]{halves}, {list}"),
        "cp" => "[%r0], %rd1".to_owned(),
        "commit" if opcode.has("multicast::cluster") => "[smem], %h1".to_owned(),
        "commit" => "[smem]".to_owned(),
        "mma" if opcode.has("block_scale") => "[%r0], %rd1, %rd2, %r3, [%r4], [%r5], %p1".to_owned(),
        "mma" if opcode.has("ashift") => "[%r0], [%r1], %rd2, %r3, %p1".to_owned(),
        "mma" => "[%r0], %rd1, %rd2, %r3, %p1".to_owned(),
        _ => String::new(),
    }))
}

/// The video instructions.
fn video(opcode: &Opcode<'_>, kind: &str) -> String {
    let elements = opcode.mnemonic.chars().last().and_then(|last| last.to_digit(10));
    opcode.with(match (elements, kind) {
        (Some(2), "part") => "%r0.h1, %r1.h03, %r2.h21, %r3",
        (Some(4), "part") => "%r0.b310, %r1.b7310, %r2.b0246, %r3",
        (None, "part") => "%r0.h1, %r1.b3, %r2.h0, %r3",
        (Some(_), _) => "%r0, %r1, %r2, %r3",
        (None, _) if opcode.mnemonic == "vmad" => "%r0, %r1, %r2, %r3",
        (None, _) if opcode.has("add") || opcode.has("min") || opcode.has("max") => "%r0, %r1, %r2, %r3",
        (None, _) => "%r0, %r1, %r2",
    })
}

/// Operands whose types are mostly all the same.
fn arithmetic(opcode: &Opcode<'_>, ty: &str) -> Option<String> {
    let sources = opcode.operands()?.checked_sub(1)?;
    if opcode.has("wide") {
        let wide = if bits(ty) == 16 { "b32" } else { "b64" };
        return Some(opcode.lanes(wide, [ty, ty, wide].get(..sources)?));
    }
    let mut list = vec![ty; sources];
    // `add.f32.f16`: the last operand has the wide type.
    if let [wide, _] = opcode.types()[..] {
        *list.last_mut()? = wide;
        return Some(opcode.lanes(wide, &list));
    }
    Some(opcode.lanes(ty, &list))
}

fn moves(opcode: &Opcode<'_>, kind: &str, ty: &str) -> String {
    let half = format!("b{}", bits(ty) / 2);
    match kind {
        "{}" => opcode.with(format!("{}, {}", vector(&half, 0, 2), register(ty, 1))),
        "{_}" => opcode.with(format!("{{_, {}}}, {}", register(&half, 0), register(ty, 1))),
        _ => opcode.lanes(ty, &[ty]),
    }
}

fn conversion(opcode: &Opcode<'_>) -> String {
    let types = opcode.types();
    let (dst, src) = (types[0], types[types.len() - 1]);
    // Values of 8 bits live in registers of 16 bits, pairs of four-bit formats in registers of 8.
    let wide = |ty: &str| {
        if matches!(ty, "u8" | "s8") { "b16".to_owned() } else { ty.to_owned() }
    };
    let (dst_ty, src_ty) = (wide(dst), wide(src));
    let packed = dst.ends_with("x2") && src == "f32";
    if opcode.has("pack") {
        let tail = if types.len() > 2 { ", %r3" } else { "" };
        return opcode.with(format!("%r0, %r1, %r2{tail}"));
    }
    if dst.ends_with("x4") {
        return opcode.with(format!("{}, {{%r1, %r2, %r3, %r4}}, %r5", register(dst, 0)));
    }
    if packed && opcode.has("rs") {
        return opcode.with("%r0, %r1, %r2, %r3");
    }
    if packed {
        return opcode.lanes(&dst_ty, &["f32", "f32"]);
    }
    opcode.lanes(&dst_ty, &[&src_ty])
}

/// The type of a register for a value in memory.
fn memory_type(ty: &str) -> &str {
    if bits(ty) == 8 { "b16" } else { ty }
}

fn load(opcode: &Opcode<'_>, ty: &str) -> String {
    let ty = memory_type(ty);
    let count = opcode.count();
    let dst = if count == 1 { register(ty, 0) } else { vector(ty, 0, count) };
    let policy = if opcode.starts("L2::cache_hint") { ", %rd90" } else { "" };
    opcode.with(format!("{dst}, {}{policy}", opcode.address()))
}

fn store(opcode: &Opcode<'_>, ty: &str) -> String {
    if opcode.has("bulk") {
        return opcode.with("[%rd20], %rd1, 0");
    }
    let ty = memory_type(ty);
    let count = opcode.count();
    let source = if count == 1 { register(ty, 0) } else { vector(ty, 0, count) };
    if opcode.has("param") {
        let store = opcode.with(format!("[argument], {source}"));
        return format!("{{ .param .align 32 .b8 argument[32]; {store} call taker, (argument); }}");
    }
    let policy = if opcode.starts("L2::cache_hint") { ", %rd90" } else { "" };
    opcode.with(format!("{}, {source}{policy}", opcode.address()))
}

fn atomic(opcode: &Opcode<'_>, ty: &str, has_result: bool) -> String {
    let count = opcode.count();
    let operand = |first| {
        if count == 1 { register(ty, first) } else { vector(ty, first, count) }
    };
    let mut operands = Vec::new();
    if has_result {
        operands.push(operand(0));
    }
    operands.push(opcode.address().to_owned());
    operands.push(operand(1));
    if opcode.has("cas") {
        operands.push(operand(2));
    }
    if opcode.starts("L2::cache_hint") {
        operands.push("%rd90".to_owned());
    }
    opcode.with(operands.join(", "))
}

fn barrier(opcode: &Opcode<'_>) -> String {
    if opcode.text == "bar" {
        return "bar.sync 0;".to_owned();
    }
    if opcode.has("cluster") {
        return opcode.with("");
    }
    if opcode.has("warp") {
        return opcode.with("-1");
    }
    if opcode.has("red") {
        let dst = if opcode.has("popc") { "%r0" } else { "%p0" };
        return opcode.with(format!("{dst}, 1, %p1"));
    }
    opcode.with(if opcode.has("arrive") { "1, 64" } else { "0" })
}

fn mbarrier(opcode: &Opcode<'_>, kind: &str) -> String {
    let place = opcode.address();
    let operation = opcode.modifiers[0];
    match operation {
        "init" => opcode.with(format!("{place}, 1")),
        "inval" => opcode.with(place),
        "expect_tx" | "complete_tx" => opcode.with(format!("{place}, 16")),
        "pending_count" => opcode.with("%r0, %rd1"),
        "arrive" | "arrive_drop" => {
            let dst = if kind == "_" { "_" } else { "%rd0" };
            let count = if opcode.has("noComplete") || opcode.has("expect_tx") { ", 1" } else { "" };
            opcode.with(format!("{dst}, {place}{count}"))
        }
        _ => {
            let state = if opcode.has("parity") { "%r1" } else { "%rd1" };
            opcode.with(format!("%p0, {place}, {state}"))
        }
    }
}

/// The operands of a tensor copy.
fn tensor_copy(opcode: &Opcode<'_>) -> Option<String> {
    let dimensions = ["1d", "2d", "3d", "4d", "5d"].iter().position(|name| opcode.has(name))? + 1;
    let four_rows = opcode.starts("tile::gather4") || opcode.starts("tile::scatter4");
    let map = format!("[%rd20, {}]", vector("b32", 0, if four_rows { 5 } else { dimensions }));
    let policy = if opcode.has("L2::cache_hint") { ", %rd9" } else { "" };
    let offsets = if opcode.starts("im2col::w") {
        format!(", {}", vector("b16", 0, 2))
    } else if opcode.has("im2col") {
        format!(", {}", vector("b16", 0, dimensions - 2))
    } else {
        String::new()
    };
    if opcode.has("prefetch") {
        return Some(format!("{map}{offsets}{policy}"));
    }
    if opcode.has("bulk_group") {
        return Some(format!("{map}, [smem]{policy}"));
    }
    let mask = if opcode.has("multicast::cluster") { ", %h1" } else { "" };
    Some(format!("[smem], {map}, [smem+256]{offsets}{mask}{policy}"))
}

/// The operands of a bulk copy.
fn bulk_copy(opcode: &Opcode<'_>) -> String {
    let policy = if opcode.has("L2::cache_hint") { ", %rd9" } else { "" };
    if opcode.has("prefetch") {
        return format!("[gmem], 64{policy}");
    }
    if opcode.has("bulk_group") {
        let mask = if opcode.has("cp_mask") { ", %h1" } else { "" };
        return format!("[gmem], [smem], 64{policy}{mask}");
    }
    let mask = if opcode.has("multicast::cluster") { ", %h1" } else { "" };
    let from = if opcode.has("global") { "[gmem]" } else { "[smem+128]" };
    format!("[smem], {from}, 64, [smem+256]{mask}{policy}")
}

fn async_copy(opcode: &Opcode<'_>) -> Option<String> {
    if opcode.has("tensor") {
        return Some(opcode.with(tensor_copy(opcode)?));
    }
    if opcode.has("bulk") && !opcode.has("commit_group") && !opcode.has("wait_group") {
        return Some(opcode.with(bulk_copy(opcode)));
    }
    Some(if opcode.has("mbarrier") {
        opcode.with(opcode.address())
    } else if opcode.has("wait_group") {
        opcode.with("0")
    } else if opcode.has("wait_all") || opcode.has("commit_group") {
        opcode.with("")
    } else {
        opcode.with("[smem], [gmem], 16")
    })
}

#[cfg(test)]
mod tests {
    use super::statement;

    #[test]
    fn operands_fit_the_types() {
        let cases = [
            ("add.s32", "add.s32 %r0, %r1, %r2;"),
            ("mad.wide.u16", "mad.wide.u16 %r0, %h1, %h2, %r3;"),
            ("fma.rn.f32.bf16", "fma.rn.f32.bf16 %r0, %h1, %h2, %r3;"),
            ("mov.b64 {_}", "mov.b64 {_, %r0}, %rd1;"),
            ("ld.global.v2.b64", "ld.global.v2.b64 {%rd0, %rd1}, [gmem];"),
            ("cvt.rn.bf16x2.f32", "cvt.rn.bf16x2.f32 %r0, %r1, %r2;"),
            ("setp.lt.f16x2", "setp.lt.f16x2 %p0|%p1, %r1, %r2;"),
            ("mbarrier.arrive.shared::cluster.b64 _", "mbarrier.arrive.shared::cluster.b64 _, [smem];"),
        ];
        for (listed, expected) in cases {
            assert_eq!(statement(listed).as_deref(), Some(expected));
        }
        assert_eq!(statement("tex.1d.v4.f32.s32"), None);
    }
}
