//! The syntax tree: what a PTX module says, piece by piece, with the place each piece stands at.
//!
//! Names and strings are borrowed from the source. Constant expressions are already evaluated
//! (PTX manual, section 4.6), so a tree holds literals and symbol addresses only, and a declaration
//! of several variables is already split into one [`Variable`] each.
//!
//! The tree knows no semantics: no instruction, no register type and no scope is looked up, and a
//! label, a register and a function are all just a name.
//!
//! Trees compare by what they say: two [`Span`]s are always equal.

/// A range of byte offsets in the source.
///
/// All spans compare equal, so that derived equality of the tree ignores where things stand;
/// compare [`Span::range`] to compare places.
#[derive(Clone, Copy, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset just behind the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` to just before `end`.
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The span as a range that indexes the source text.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Span {}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// A whole PTX source (manual, chapters 4, 5 and 11).
#[derive(Clone, Debug, PartialEq)]
pub struct Module<'s> {
    /// `.version 8.7`.
    pub version: Version,
    /// `.target sm_90a, debug`: the architecture first, then options, as written.
    pub targets: Vec<&'s str>,
    /// `.address_size 64`, where it is given.
    pub address_size: Option<u32>,
    /// Everything that follows, in the order of the source.
    pub items: Vec<Item<'s>>,
}

/// The number behind `.version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Before the dot.
    pub major: u32,
    /// Behind the dot.
    pub minor: u32,
}

/// An item at the top level of a module.
#[derive(Clone, Debug, PartialEq)]
pub enum Item<'s> {
    /// `.entry` and `.func`, declared or defined.
    Function(Box<Function<'s>>),
    /// A variable outside of any function.
    Variable(Box<Variable<'s>>),
    /// `.alias a, b;`.
    Alias(Alias<'s>),
    /// `.file 1 "name"`.
    File(File<'s>),
    /// `.section .debug_info { … }`.
    Section(Section<'s>),
    /// `.pragma "…";` for the whole module.
    Pragma(Pragma<'s>),
}

/// A linking directive (manual, section 11.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// `.extern`
    Extern,
    /// `.visible`
    Visible,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

/// `.alias alias, target;`.
#[derive(Clone, Debug, PartialEq)]
pub struct Alias<'s> {
    /// The new name.
    pub alias: &'s str,
    /// The function it stands for.
    pub target: &'s str,
    /// The whole directive.
    pub span: Span,
}

/// `.file index "name" [, timestamp, size]`.
#[derive(Clone, Debug, PartialEq)]
pub struct File<'s> {
    /// The number that `.loc` uses.
    pub index: u32,
    /// The text between the quotes.
    pub name: &'s str,
    /// Timestamp and size, where they are given.
    pub stamp: Option<(u64, u64)>,
    /// The whole directive.
    pub span: Span,
}

/// `.section name { … }`: debugging information.
#[derive(Clone, Debug, PartialEq)]
pub struct Section<'s> {
    /// The name with its leading dot.
    pub name: &'s str,
    /// Labels and data in order.
    pub contents: Vec<SectionEntry<'s>>,
    /// The whole directive.
    pub span: Span,
}

/// One piece of a [`Section`].
#[derive(Clone, Debug, PartialEq)]
pub enum SectionEntry<'s> {
    /// `name:`
    Label(Label<'s>),
    /// `.b8 1, 2, 3`
    Data {
        /// The width of each value.
        ty: Type,
        /// The values.
        values: Vec<Constant<'s>>,
    },
}

/// `.pragma "a", "b";`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pragma<'s> {
    /// The texts between the quotes.
    pub strings: Vec<&'s str>,
    /// The whole directive.
    pub span: Span,
}

/// `.entry` or `.func` (manual, sections 5.4 and 11.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Function<'s> {
    /// `.visible`, `.extern`, `.weak`.
    pub linkage: Option<Linkage>,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// `.attribute(…)` between the directive and the name.
    pub attributes: Vec<Attribute>,
    /// The parameters in parentheses before the name.
    pub returns: Vec<Variable<'s>>,
    /// The name.
    pub name: &'s str,
    /// Where the name stands.
    pub name_span: Span,
    /// The parameters behind the name.
    pub parameters: Vec<Variable<'s>>,
    /// `.maxntid` and its like.
    pub directives: Vec<FunctionDirective<'s>>,
    /// The body; a declaration has none.
    pub body: Option<Block<'s>>,
    /// From the linking directive to the closing brace.
    pub span: Span,
}

/// Kernel or device function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// `.entry`
    Entry,
    /// `.func`
    Func,
}

/// A directive between a function's parameters and its body (manual, sections 11.3 and 11.4).
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionDirective<'s> {
    /// `.maxnreg n`
    MaxNReg(u32),
    /// `.maxntid x, y, z`; a missing dimension is 1.
    MaxNTid([u32; 3]),
    /// `.reqntid x, y, z`; a missing dimension is 1.
    ReqNTid([u32; 3]),
    /// `.minnctapersm n`
    MinNCtaPerSm(u32),
    /// `.maxnctapersm n`, the old name of a similar wish.
    MaxNCtaPerSm(u32),
    /// `.noreturn`
    NoReturn,
    /// `.pragma "…";`
    Pragma(Pragma<'s>),
    /// `.reqnctapercluster x, y, z`; a missing dimension is 1.
    ReqNCtaPerCluster([u32; 3]),
    /// `.explicitcluster`
    ExplicitCluster,
    /// `.maxclusterrank n`
    MaxClusterRank(u32),
    /// `.blocksareclusters`
    BlocksAreClusters,
    /// `.abi_preserve n`
    AbiPreserve(u32),
    /// `.abi_preserve_control n`
    AbiPreserveControl(u32),
}

/// One entry of `.attribute(…)` (manual, section 5.4.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// `.managed`
    Managed,
    /// `.unified(a, b)`: a 128-bit identity in two halves.
    Unified(u64, u64),
}

/// One declared variable, parameter or range of registers (manual, section 5.4).
#[derive(Clone, Debug, PartialEq)]
pub struct Variable<'s> {
    /// `.visible`, `.extern`, `.weak`, `.common`.
    pub linkage: Option<Linkage>,
    /// `.reg`, `.shared`, …
    pub space: StateSpace,
    /// `.attribute(…)`.
    pub attributes: Vec<Attribute>,
    /// `.align n`.
    pub align: Option<u32>,
    /// `.v2`, `.v4`, `.v8`: the number of elements.
    pub vector: Option<u8>,
    /// The (element) type.
    pub ty: Type,
    /// `.ptr …` of a kernel parameter.
    pub pointer: Option<Pointer>,
    /// The name; `_` for an unnamed parameter of a prototype.
    pub name: &'s str,
    /// Where the name stands.
    pub name_span: Span,
    /// `%r<100>` declares `%r0` to `%r99`: the number in angle brackets.
    pub range: Option<u32>,
    /// `[4][8]`; `None` for `[]`.
    pub dimensions: Vec<Option<u64>>,
    /// The initial value behind `=`.
    pub initializer: Option<Initializer<'s>>,
    /// The whole declaration.
    pub span: Span,
}

/// `.ptr [.space] [.align n]` (manual, section 5.4.1.1: kernel parameter attributes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The state space pointed at: generic if none is given.
    pub target: PointerTarget,
    /// `.align n`: the alignment of the memory pointed at.
    pub align: Option<u32>,
}

/// The target of a `.ptr` parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerTarget {
    /// Any state space.
    Generic,
    /// One state space.
    Space(StateSpace),
    /// `.texref`, `.samplerref` or `.surfref`.
    Opaque(Type),
}

/// A state space (manual, section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateSpace {
    /// `.reg`
    Reg,
    /// `.sreg`
    Sreg,
    /// `.const`
    Const,
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// `.param`
    Param,
    /// `.shared`
    Shared,
    /// `.tex`, the old way to declare a texture.
    Tex,
}

/// A type (manual, section 5.2 and 5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `.pred`
    Pred,
    /// `.b8`
    B8,
    /// `.b16`
    B16,
    /// `.b32`
    B32,
    /// `.b64`
    B64,
    /// `.b128`
    B128,
    /// `.u8`
    U8,
    /// `.u16`
    U16,
    /// `.u32`
    U32,
    /// `.u64`
    U64,
    /// `.s8`
    S8,
    /// `.s16`
    S16,
    /// `.s32`
    S32,
    /// `.s64`
    S64,
    /// `.f16`
    F16,
    /// `.f16x2`
    F16x2,
    /// `.bf16`
    Bf16,
    /// `.bf16x2`
    Bf16x2,
    /// `.f32`
    F32,
    /// `.f64`
    F64,
    /// `.texref`
    TexRef,
    /// `.samplerref`
    SamplerRef,
    /// `.surfref`
    SurfRef,
}

/// The initial value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Initializer<'s> {
    /// One value.
    Constant(Constant<'s>),
    /// `{ a, b, … }`; may be shorter than the array.
    List(Vec<Initializer<'s>>),
    /// `{ addr_mode_0 = clamp_to_border, … }` of textures, samplers and surfaces.
    Fields(Vec<(&'s str, Constant<'s>)>),
}

/// A value known before the program runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant<'s> {
    /// A number.
    Literal(Literal),
    /// The address of something.
    Symbol(Symbol<'s>),
    /// `a-b`: the distance of two labels, in a [`Section`] only.
    Difference(&'s str, &'s str),
}

/// `0xff00(generic(name)+4)`: the address of a variable or function, or one byte of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'s> {
    /// The name.
    pub name: &'s str,
    /// Whether it stands in `generic(…)`: the generic address instead of the one in its space.
    pub generic: bool,
    /// The constant added to the address.
    pub addend: i64,
    /// `0xff00(…)`: which byte of the address is meant.
    pub mask: Option<u64>,
}

/// A number as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// An integer. A negative one is kept in two's complement.
    Integer {
        /// The 64 bits.
        value: u64,
        /// Whether its type is `.u64` (suffix `U`, or too large for `.s64`) and not `.s64`.
        unsigned: bool,
    },
    /// `0f3F800000`: the bits of a single.
    F32(u32),
    /// `0d3FF0000000000000` or `1.0`: the bits of a double.
    F64(u64),
}

impl Literal {
    /// The signed integer `value`.
    pub fn signed(value: i64) -> Self {
        Self::Integer { value: value.cast_unsigned(), unsigned: false }
    }
}

/// `{ … }`: statements with a scope of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Block<'s> {
    /// The statements in order.
    pub statements: Vec<Statement<'s>>,
    /// From brace to brace.
    pub span: Span,
}

impl Block<'_> {
    /// The opcodes of all instructions in order, those of blocks within it among them.
    pub fn opcodes(&self) -> Vec<&Opcode<'_>> {
        let mut opcodes = Vec::new();
        for statement in &self.statements {
            match statement {
                Statement::Instruction(instruction) => opcodes.push(&instruction.opcode),
                Statement::Block(block) => opcodes.extend(block.opcodes()),
                _ => {}
            }
        }
        opcodes
    }
}

/// A statement in a function's body.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement<'s> {
    /// An instruction.
    Instruction(Instruction<'s>),
    /// `name:`
    Label(Label<'s>),
    /// A variable, parameter or range of registers of this scope.
    Declaration(Box<Variable<'s>>),
    /// `{ … }`
    Block(Block<'s>),
    /// `.loc 1 2 3`
    Loc(Box<Loc<'s>>),
    /// `.pragma "…";`
    Pragma(Pragma<'s>),
    /// `name: .branchtargets a, b;`
    BranchTargets(NameList<'s>),
    /// `name: .calltargets f, g;`
    CallTargets(NameList<'s>),
    /// `name: .callprototype …;`
    CallPrototype(Box<CallPrototype<'s>>),
}

/// `name:`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'s> {
    /// The name.
    pub name: &'s str,
    /// Where the name stands.
    pub span: Span,
}

/// `label: .branchtargets a, b;` or `label: .calltargets f, g;` (manual, section 11.2).
#[derive(Clone, Debug, PartialEq)]
pub struct NameList<'s> {
    /// The name before the colon.
    pub label: Label<'s>,
    /// The names behind the directive.
    pub names: Vec<Label<'s>>,
    /// From the label to the semicolon.
    pub span: Span,
}

/// `label: .callprototype (returns) _ (parameters);` (manual, section 11.2).
#[derive(Clone, Debug, PartialEq)]
pub struct CallPrototype<'s> {
    /// The name before the colon.
    pub label: Label<'s>,
    /// The parameters in front.
    pub returns: Vec<Variable<'s>>,
    /// The name between the lists, usually `_`.
    pub name: &'s str,
    /// The parameters behind.
    pub parameters: Vec<Variable<'s>>,
    /// `.noreturn` and its like.
    pub directives: Vec<FunctionDirective<'s>>,
    /// From the label to the semicolon.
    pub span: Span,
}

/// `.loc file line column [, function_name label [+ n], inlined_at file line column]`
/// (manual, section 11.5): where the instructions that follow come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Loc<'s> {
    /// Which [`File`].
    pub file: u32,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 where unknown.
    pub column: u32,
    /// The function that was inlined: a label into the section `.debug_str`.
    pub function_name: Option<Symbol<'s>>,
    /// Where it was inlined: file, line and column.
    pub inlined_at: Option<[u32; 3]>,
    /// The whole directive.
    pub span: Span,
}

/// `@!%p1 ld.global.b32 %r1, [%rd1+4];`
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction<'s> {
    /// `@%p1` or `@!%p1`.
    pub guard: Option<Guard<'s>>,
    /// `ld.global.b32`.
    pub opcode: Opcode<'s>,
    /// The operands.
    pub operands: Operands<'s>,
    /// From the guard to the semicolon.
    pub span: Span,
}

/// The operands of an instruction.
pub type Operands<'s> = Vec<Operand<'s>>;

/// `@%p1` or `@!%p1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard<'s> {
    /// The predicate register.
    pub register: &'s str,
    /// Whether it is `@!`.
    pub negated: bool,
    /// From the `@` to the end of the name.
    pub span: Span,
}

/// `ld.global.L2::128B.b32`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opcode<'s> {
    /// The part before the first dot.
    pub mnemonic: &'s str,
    /// The modifiers, each with its dot: `.global`, `.L2::128B`, `.b32`.
    pub modifiers: Vec<&'s str>,
    /// All of it.
    pub span: Span,
}

/// One operand.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand<'s> {
    /// The operand's kind.
    pub kind: OperandKind<'s>,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of operands (manual, chapter 6).
#[derive(Clone, Debug, PartialEq)]
pub enum OperandKind<'s> {
    /// `%r1`, `foo`, `$L__BB0_1`, `%laneid`; `_` is the sink.
    Name(&'s str),
    /// `%tid.x`, `v.y`, `a.b0`: a name with one selector, the latter with its dot.
    Member(&'s str, &'s str),
    /// `5`, `-1`, `0xFFU`, `0f3F800000`, `(1+2)*3`.
    Literal(Literal),
    /// `foo+4`: the address of a variable with something added. (Without, it is a [`Self::Name`].)
    Offset(&'s str, i64),
    /// `[%rd1+4]`, `[tex, {x, y}]`.
    Address(Box<Address<'s>>),
    /// `a[3]`, `a[%r1+1]`.
    Element(Box<Element<'s>>),
    /// `{%r1, _, 5}`.
    Vector(Vec<Operand<'s>>),
    /// `%p1|%p2`, `%r1|%p1`, `{%f1, %f2}|%p1`.
    Pair(Box<[Operand<'s>; 2]>),
    /// `(param0, param1)`, of `call` only.
    List(Vec<Operand<'s>>),
    /// `!%p1`.
    Not(Box<Operand<'s>>),
    /// `-%r1`.
    Negative(Box<Operand<'s>>),
}

/// `[base+offset, coordinates].qualifiers`.
#[derive(Clone, Debug, PartialEq)]
pub struct Address<'s> {
    /// A register, a variable, or an integer literal (which then includes the offset).
    pub base: Operand<'s>,
    /// The constant added to the base; 0 without an offset.
    pub offset: i64,
    /// The part after the first comma: a sampler, coordinates `{%r1, %r2}`.
    pub coordinates: Vec<Operand<'s>>,
    /// `.unified` behind the bracket.
    pub qualifiers: Vec<&'s str>,
}

/// `name[index+offset]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Element<'s> {
    /// The array.
    pub name: &'s str,
    /// A register, or an integer literal (which then includes the offset).
    pub index: Operand<'s>,
    /// The constant added to the index; 0 without an offset.
    pub offset: i64,
}
