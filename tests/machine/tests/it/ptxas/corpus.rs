//! The corpus: modules that are right, and modules with one thing wrong.
//!
//! It is a pure function of `forms.txt`, `modules.txt` and the PTX that nvcc made, so that a verdict can be kept beside
//! it. This module does not know which modules are valid.

/// A module to be judged.
pub(crate) struct Case {
    /// The origin of the module, and the change made to it.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
}

/// Statements of valid forms, one a line.
const FORMS: &str = include_str!("../../ptxas/forms.txt");
/// Bodies in odd spellings, right and wrong, one a line.
const BODIES: &str = include_str!("../../ptxas/bodies.txt");
/// Whole modules, each after a line `//# name`.
const MODULES: [&str; 2] = [include_str!("../../ptxas/modules.txt"), include_str!("../../ptxas/spellings.txt")];

macro_rules! nvcc {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../../../../nvcc/ptx/", $name, ".ptx")))),*]
    };
}

/// Statements in which `@` stands for a value: every kind of register and of immediate is tried there.
const VALUES: &[&str] = &[
    "add.u32 @, %r1, %r2;",
    "add.s32 %r0, @, %r2;",
    "add.f32 %f0, @, %f2;",
    "add.f16 @, %hf1, %hf1;",
    "add.f16x2 %hx0, %hx1, @;",
    "fma.rn.f64 %fd0, %fd1, @, %fd2;",
    "fma.rn.bf16 %h0, %h1, @, %h2;",
    "and.b32 %r0, @, %r2;",
    "xor.b64 @, %rd1, %rd2;",
    "mov.b32 %r0, @;",
    "mov.b64 @, %rd1;",
    "mov.u32 %r0, @;",
    "mov.f32 %r0, @;",
    "mov.f64 @, %rd1;",
    "mov.u16 @, %h1;",
    "mov.b64 {%r0, %r1}, @;",
    "mov.b32 %r0, {%h0, @};",
    "ld.global.u32 @, [gmem];",
    "ld.global.s8 @, [gmem];",
    "ld.global.f32 @, [gmem];",
    "ld.global.b32 @, [gmem];",
    "ld.global.b16 @, [gmem];",
    "ld.shared.v2.b32 {%r0, @}, [smem];",
    "ld.param.b64 @, [in];",
    "st.global.u8 [gmem], @;",
    "st.global.f32 [gmem], @;",
    "st.global.b64 [gmem], @;",
    "st.global.v2.u16 [gmem], {@, %h1};",
    "cvt.rn.f32.u32 @, %r1;",
    "cvt.rn.f32.s16 %f0, @;",
    "cvt.u64.u32 @, %r0;",
    "cvt.s8.s32 %r0, @;",
    "cvt.rn.f16.f32 %h0, @;",
    "setp.lt.s32 @, %r0, %r1;",
    "setp.lt.f32 %p0, %f0, @;",
    "setp.eq.b64 %p0, @, %rd1;",
    "selp.b32 %r0, @, %r1, %p1;",
    "selp.u64 %rd0, %rd1, @, %p1;",
    "selp.f32 %r0, %r1, %r2, @;",
    "shl.b64 %rd0, %rd1, @;",
    "shr.s16 %h0, @, %r1;",
    "mul.wide.u16 @, %h1, %h2;",
    "mad.wide.s32 %rd0, %r1, %r2, @;",
    "min.s16x2 %r0, @, %r2;",
    "popc.b64 @, %rd1;",
    "clz.b32 %r0, @;",
    "bfe.s64 %rd0, %rd1, @, %r1;",
    "prmt.b32 %r0, %r1, %r2, @;",
    "lop3.b32 %r0, %r1, @, %r3, 0x80;",
    "shfl.sync.idx.b32 %r0, @, %r1, 31, -1;",
    "shfl.sync.up.b32 %r0|%p0, %r1, @, 0, -1;",
    "vote.sync.ballot.b32 @, %p1, -1;",
    "bar.sync @;",
    "atom.global.add.u32 %r0, [gmem], @;",
    "atom.global.cas.b64 %rd0, [gmem], @, %rd2;",
    "atom.global.add.f32 @, [gmem], %f1;",
    "red.global.max.s32 [gmem], @;",
    "dp4a.u32.s32 %r0, %r1, @, %r2;",
    "sin.approx.f32 %f0, @;",
    "cvta.to.global.u64 %rd0, @;",
    "isspacep.shared %p0, @;",
    "and.pred %p0, @, %p1;",
    "not.pred @, %p1;",
    "sad.u16 %h0, %h1, %h2, @;",
    "testp.finite.f32 %p0, @;",
    "set.gt.u32.f32 @, %f1, %f2;",
    "slct.f32.s32 %f0, %f1, %f2, @;",
];

/// Statements in which `@` stands for an address.
const PLACES: &[&str] = &[
    "ld.global.u32 %r0, @;",
    "ld.u32 %r0, @;",
    "ld.shared.u32 %r0, @;",
    "ld.const.f32 %f0, @;",
    "ld.param.u32 %r0, @;",
    "st.local.u32 @, %r0;",
    "st.global.v4.f32 @, {%f0, %f1, %f2, %f3};",
    "st.b8 @, %h0;",
    "atom.shared.add.u32 %r0, @, %r1;",
    "atom.add.f64 %fd0, @, %fd1;",
    "red.global.or.b32 @, %r1;",
    "prefetch.global.L1 @;",
    "ldu.global.f32 %f0, @;",
];

/// How many changed copies there are of each statement.
const COPIES: u64 = 2;

/// Atomic operations in which `@` stands for a memory order and a scope.
const ORDERED: &[&str] = &[
    "atom@.global.add.u32 %r0, [gmem], %r1;",
    "atom.shared.cas@.b64 %rd0, [smem], %rd1, %rd2;",
    "atom.cas@.b32 %r0, [gmem], %r1, %r2;",
    "atom.global@.exch.b128 %q0, [gmem], %q1;",
    "atom@.global.add.noftz.f16x2 %r0, [gmem], %r1;",
    "red.global.add@.f32 [gmem], %f1;",
    "red@.shared.max.s32 [smem], %r1;",
    "red@.global.add.noftz.v2.bf16x2 [gmem], {%r0, %r1};",
];
const ORDERS: &[&str] = &["", ".relaxed", ".acquire", ".release", ".acq_rel", ".sc", ".weak", ".volatile"];
const SCOPES: &[&str] = &["", ".cta", ".cluster", ".gpu", ".sys"];

/// Operations of `atom` and `red`, and types with a register of each.
const OPERATIONS: &[&str] =
    &[".and", ".or", ".xor", ".exch", ".cas", ".add", ".inc", ".dec", ".min", ".max", ".add.noftz"];
const ATOMIC_TYPES: &[(&str, &str)] = &[
    (".b16", "%h1"),
    (".b32", "%r1"),
    (".b64", "%rd1"),
    (".b128", "%q1"),
    (".u32", "%u1"),
    (".u64", "%ud1"),
    (".s32", "%s1"),
    (".s64", "%sd1"),
    (".f32", "%f1"),
    (".f64", "%fd1"),
    (".f16", "%hf1"),
    (".f16x2", "%hx1"),
    (".bf16", "%h1"),
    (".bf16x2", "%r1"),
];

/// Atomic operations with every order, scope and type, most of which do not exist.
fn atomics() -> Vec<String> {
    let mut list = Vec::new();
    for (template, order) in ORDERED.iter().flat_map(|template| ORDERS.iter().map(move |order| (template, order))) {
        list.extend(SCOPES.iter().map(|scope| template.replace('@', &format!("{order}{scope}"))));
    }
    for (operation, (ty, register)) in
        OPERATIONS.iter().flat_map(|operation| ATOMIC_TYPES.iter().map(move |ty| (operation, ty)))
    {
        let third = if *operation == ".cas" { format!(", {register}") } else { String::new() };
        list.push(format!("atom.global{operation}{ty} {register}, [gmem], {register}{third};"));
        list.push(format!("red.global{operation}{ty} [gmem], {register}{third};"));
    }
    list
}

/// The statement with its modifiers in another order; `None` if it has fewer than two.
fn reordered(statement: &str, random: &mut Random) -> Option<String> {
    let (head, tail) = statement.split_once(' ').unwrap_or((statement, ""));
    let mut parts = head.split('.');
    let mnemonic = parts.next()?;
    let mut modifiers: Vec<&str> = parts.collect();
    if modifiers.len() < 2 {
        return None;
    }
    let from = random.below(modifiers.len());
    let modifier = modifiers.remove(from);
    let to = (from + 1 + random.below(modifiers.len())) % (modifiers.len() + 1);
    modifiers.insert(to, modifier);
    Some(format!("{mnemonic}.{} {tail}", modifiers.join(".")))
}

/// Every module, in an order that does not change.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for (line, statement) in FORMS.lines().enumerate() {
        cases.push(Case { name: format!("form {}: {statement}", line + 1), text: module(statement) });
        for copy in 0..COPIES {
            let mut random = Random(line as u64 * COPIES + copy);
            let (what, changed) = mutate(statement, &mut random);
            cases.push(Case { name: format!("form {}, {what}: {changed}", line + 1), text: module(&changed) });
        }
    }
    for template in VALUES {
        for value in REGISTERS.iter().chain(IMMEDIATES) {
            let statement = template.replace('@', value);
            cases.push(Case { name: format!("value: {statement}"), text: module(&statement) });
        }
    }
    for template in PLACES {
        // Of 16 bits the assembler only warns, and no device has such addresses.
        for address in ADDRESSES.iter().filter(|address| **address != "[%h1]") {
            let statement = template.replace('@', address);
            cases.push(Case { name: format!("address: {statement}"), text: module(&statement) });
        }
    }
    let orders = FORMS.lines().enumerate().filter_map(|(line, statement)| {
        let changed = reordered(statement, &mut Random(1 << 41 | line as u64))?;
        Some((format!("form {}, reordered", line + 1), changed))
    });
    let bodies = BODIES.lines().map(|body| ("body".to_owned(), body.to_owned()));
    let atomics = atomics().into_iter().map(|statement| ("atomic".to_owned(), statement));
    for (what, body) in orders.chain(bodies).chain(atomics) {
        cases.push(Case { text: module(&body), name: format!("{what}: {body}") });
    }
    for part in MODULES.iter().flat_map(|text| text.split("//# ").skip(1)) {
        let (name, text) = part.split_once('\n').unwrap_or((part, ""));
        cases.push(Case { name: name.to_owned(), text: expand(text) });
    }
    let programs =
        nvcc!["debug", "histogram", "kmeans", "life", "locks", "nbody", "print", "pipeline", "scan", "sparse"];
    for (seed, (name, text)) in programs.into_iter().enumerate() {
        cases.push(Case { name: format!("nvcc {name}"), text: text.to_owned() });
        for copy in 0..8 {
            let mut random = Random(1 << 40 | (seed as u64) << 8 | copy);
            let (what, changed) = damage(text, &mut random);
            cases.push(Case { name: format!("nvcc {name}, {what}"), text: changed });
        }
    }
    cases
}

/// A module of one kernel with registers of every type.
fn module(statement: &str) -> String {
    expand(&format!("HEADER\nKERNEL {{\n{statement}\nret;\n}}\n"))
}

/// A text with its abbreviations written out.
fn expand(text: &str) -> String {
    const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";
    const KERNEL: &str = "\
.shared .align 128 .b8 smem[4096];
.global .align 128 .b8 gmem[4096];
.const .align 128 .b8 cmem[4096];
.func callee()
{
ret;
}
.func taker(.param .align 32 .b8 argument[32])
{
ret;
}
.visible .entry k(.param .align 128 .b8 in[256])
{
.reg .pred %p<10>;
.reg .b8 %b<10>;
.reg .b16 %h<10>;
.reg .b32 %r<99>;
.reg .b64 %rd<99>;
.reg .b128 %q<10>;
.reg .f32 %f<10>;
.reg .f64 %fd<10>;
.reg .f16 %hf<10>;
.reg .f16x2 %hx<10>;
.reg .u16 %hu<10>;
.reg .s16 %hs<10>;
.reg .u32 %u<10>;
.reg .s32 %s<10>;
.reg .u64 %ud<10>;
.reg .s64 %sd<10>;
.local .align 128 .b8 lmem[1024];
";
    text.replace("HEADER\n", HEADER).replace("KERNEL {\n", KERNEL)
}

/// A generator of numbers that are the same everywhere (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

const TYPES: &[&str] = &[
    "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "f16x2", "bf16", "f32",
    "f64", "pred",
];
const REGISTERS: &[&str] = &[
    "%p1", "%b1", "%h1", "%r1", "%rd1", "%q1", "%f1", "%fd1", "%hf1", "%hx1", "%hu1", "%hs1", "%u1", "%s1", "%ud1",
    "%sd1",
];
const SPACES: &[&str] = &[".global", ".shared", ".local", ".const", ".param"];
const IMMEDIATES: &[&str] = &["0", "1", "-1", "70000", "0xFFFFFFFFFF", "0f3F800000", "0d3FF0000000000000", "1.5", "5U"];
const ADDRESSES: &[&str] = &[
    "[%rd1]",
    "[%rd1+8]",
    "[%rd1+-4]",
    "[%r1]",
    "[%f1]",
    "[%p1]",
    "[%h1]",
    "[gmem]",
    "[smem+16]",
    "[nowhere]",
    "[%rd99]",
    "[64]",
    "%rd1",
    "[gmem+%r1]",
    "[%ud1]",
    "[%fd1]",
];

/// The statement with one change, and a name of the change.
fn mutate(statement: &str, random: &mut Random) -> (&'static str, String) {
    for _ in 0..20 {
        let (what, changed) = attempt(statement, random);
        if changed != statement {
            return (what, changed);
        }
    }
    ("nothing after it", format!("{statement} bogus"))
}

fn attempt(statement: &str, random: &mut Random) -> (&'static str, String) {
    let (head, tail) = statement.split_once(' ').unwrap_or((statement.trim_end_matches(';'), ";"));
    let mut operands = split(tail.trim_end().trim_end_matches(';'));
    let join = |operands: &[String]| format!("{head} {};", operands.join(", "));
    let place = random.below(operands.len());
    match random.below(20) {
        0..3 => ("a type", with_modifier(head, tail, random, TYPES)),
        3..7 if !operands.is_empty() => {
            let name = registers(&operands[place]);
            let Some(name) = name.get(random.below(name.len())) else {
                return ("a register", statement.to_owned());
            };
            operands[place] = operands[place].replacen(name.as_str(), random.pick(REGISTERS), 1);
            ("a register", join(&operands))
        }
        7 if !operands.is_empty() => {
            let name = registers(&operands[place]);
            let Some(name) = name.first() else {
                return ("an undeclared name", statement.to_owned());
            };
            operands[place] = operands[place].replacen(name.as_str(), random.pick(&["%zz1", "%r100", "nowhere"]), 1);
            ("an undeclared name", join(&operands))
        }
        8 if !operands.is_empty() => {
            operands.remove(place);
            ("an operand less", join(&operands))
        }
        9 => {
            operands.insert(place, random.pick(REGISTERS).to_owned());
            ("an operand more", join(&operands))
        }
        10 | 11 if !operands.is_empty() => {
            operands[place] = random.pick(IMMEDIATES).to_owned();
            ("an immediate", join(&operands))
        }
        12 => {
            let Some(open) = tail.find('{') else {
                return ("a vector", statement.to_owned());
            };
            let changed = if random.below(2) == 0 {
                format!("{head} {}%r1, {}", &tail[..=open], &tail[open + 1..])
            } else {
                let end = tail[open..].find([',', '}']).map_or(tail.len(), |at| open + at);
                let rest = tail[end..].strip_prefix(',').unwrap_or(&tail[end..]);
                format!("{head} {}{}", &tail[..=open], rest.trim_start())
            };
            ("a vector", changed)
        }
        13 => {
            let modifiers: Vec<&str> = head.split('.').collect();
            let at = 1 + random.below(modifiers.len() - 1);
            let mut fewer = modifiers.clone();
            if at < fewer.len() {
                fewer.remove(at);
            }
            ("a modifier less", format!("{} {tail}", fewer.join(".")))
        }
        14 => {
            let more = random.pick(&[".zz", ".sat", ".ftz", ".rn", ".v2", ".uni", ".global", ".relu", ".wide", ".lo"]);
            let at = head.rfind('.').unwrap_or(head.len());
            ("a modifier more", format!("{}{more}{} {tail}", &head[..at], &head[at..]))
        }
        15 => {
            let guard = random.pick(&["@%p1", "@!%p2", "@%r1", "@%zz", "@%f1", "@!%rd1"]);
            ("a guard", format!("{guard} {statement}"))
        }
        16 => {
            let Some(space) = SPACES.iter().find(|space| head.contains(**space)) else {
                return ("a space", statement.to_owned());
            };
            ("a space", format!("{} {tail}", head.replacen(space, random.pick(SPACES), 1)))
        }
        17 => {
            let Some(at) = operands.iter().position(|operand| operand.starts_with('[')) else {
                return ("an address", statement.to_owned());
            };
            operands[at] = random.pick(ADDRESSES).to_owned();
            ("an address", join(&operands))
        }
        18 if operands.len() > 1 => {
            let other = random.below(operands.len());
            operands.swap(place, other);
            ("an exchange", join(&operands))
        }
        19 => {
            let changed = match random.below(5) {
                0 => statement.trim_end_matches(';').to_owned(),
                1 => statement.replacen(',', "", 1),
                2 => statement.replacen(['[', '{'], "", 1),
                3 => statement.replacen('%', "", 1),
                _ => format!("{statement} {statement}"),
            };
            ("a character", changed)
        }
        _ => ("nothing", statement.to_owned()),
    }
}

/// Replaces one of the modifiers that are in `list` by another one of it.
fn with_modifier(head: &str, tail: &str, random: &mut Random, list: &[&str]) -> String {
    let mut parts: Vec<&str> = head.split('.').collect();
    let places: Vec<usize> = (1..parts.len()).filter(|at| list.contains(&parts[*at])).collect();
    let Some(at) = places.get(random.below(places.len())) else {
        return format!("{head} {tail}");
    };
    parts[*at] = random.pick(list);
    format!("{} {tail}", parts.join("."))
}

/// The operands, split at the commas outside braces, brackets and parentheses.
fn split(text: &str) -> Vec<String> {
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for character in text.chars() {
        match character {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(character);
        }
    }
    let parts = parts.into_iter().map(|part| part.trim().to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

/// The registers that an operand names.
fn registers(operand: &str) -> Vec<String> {
    let starts = operand.match_indices('%').map(|(at, _)| &operand[at..]);
    let name = |text: &str| {
        let end = text[1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(text.len(), |at| at + 1);
        text[..end].to_owned()
    };
    starts.map(name).collect()
}

/// A whole module with one thing wrong or changed, and what that was.
fn damage(text: &str, random: &mut Random) -> (String, String) {
    let lines: Vec<&str> = text.lines().collect();
    let is_code = |line: &&str| line.starts_with('\t') && line.ends_with(';') && !line.trim_start().starts_with('.');
    let code: Vec<usize> = (0..lines.len()).filter(|at| is_code(&lines[*at])).collect();
    let at = code[random.below(code.len())];
    let without = |at: usize| {
        let kept = lines.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, line)| *line);
        kept.collect::<Vec<_>>().join("\n")
    };
    let with = |at: usize, line: &str| {
        let mut lines = lines.clone();
        lines[at] = line;
        lines.join("\n")
    };
    let find = |start: &str| lines.iter().position(|line| line.trim_start().starts_with(start));
    match random.below(9) {
        0 => {
            let end = text.len() / 3 + random.below(text.len() / 2);
            let end = (end..).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
            (format!("truncated at {end}"), text[..end].to_owned())
        }
        1 => {
            let label = lines.iter().position(|line| line.starts_with("$L") && line.ends_with(':'));
            let Some(label) = label else {
                return ("unchanged".into(), text.into());
            };
            let line = format!("{}\n{}", lines[label], lines[label]);
            ("a label twice".into(), with(label, &line))
        }
        2 => {
            let label = lines.iter().position(|line| line.starts_with("$L") && line.ends_with(':'));
            label.map_or(("unchanged".into(), text.into()), |label| ("a label less".into(), without(label)))
        }
        3 => {
            let line = find(".reg").unwrap_or(at);
            (format!("without line {}", line + 1), without(line))
        }
        4 => {
            let line = find(".version").unwrap_or(at);
            let version = random.pick(&[".version 3.2", ".version 99.9", ".version 6.0", ".version", ".version 7.5"]);
            (version.to_owned(), with(line, version))
        }
        5 => {
            let line = find(".target").unwrap_or(at);
            let target =
                random.pick(&[".target sm_30", ".target sm_10", ".target sm_999", ".target sm_60", ".target foo"]);
            (target.to_owned(), with(line, target))
        }
        6 => {
            let (what, changed) = mutate(lines[at].trim(), random);
            (format!("line {}: {what}: {changed}", at + 1), with(at, &changed))
        }
        7 => {
            let line = format!("{}\n{}", lines[at], lines[at]);
            (format!("line {} twice", at + 1), with(at, &line))
        }
        _ => {
            let line = find("ld.param").unwrap_or(at);
            (format!("another parameter in line {}", line + 1), with(line, &lines[line].replace("_param_", "_other_")))
        }
    }
}
