//! Syntax trees at random: all that the parser can produce, and nothing else.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use rumba_ptx::ast::{
    Address, Alias, Attribute, Block, CallPrototype, Constant, Element, File, Function, FunctionDirective,
    FunctionKind, Guard, Initializer, Instruction, Item, Label, Linkage, Literal, Loc, Module, NameList, Opcode,
    Operand, OperandKind, Pointer, PointerTarget, Pragma, Section, SectionEntry, Span, StateSpace, Statement, Symbol,
    Type, Variable, Version,
};

type Name = &'static str;

const NAMES: &[Name] = &[
    "%r1",
    "%rd12",
    "%p",
    "_",
    "foo",
    "$L__BB0_1",
    "param0",
    "a_b$c",
    "_Z3fooi",
    "%_",
    "call",
    "x2",
    "$str$1",
    "%laneid",
    "retval0",
    "e5",
    "U",
];

const MEMBERS: &[Name] = &[".x", ".y", ".z", ".w", ".r", ".b0", ".h1"];

const MODIFIERS: &[Name] = &[
    ".b32",
    ".global",
    ".v4",
    ".L2::128B",
    ".shared::cta",
    ".2d",
    ".m16n8k16",
    ".sync",
    ".rn",
    ".mbarrier::complete_tx::bytes",
    ".f32",
];

const STRINGS: &[Name] = &["", "nounroll", "a/b c.cu", "// no comment", "C:\\x", "ünïcode", "{;"];

/// A word or sign of PTX, sensible or not.
pub(crate) fn word() -> impl Strategy<Value = Name> {
    prop_oneof![
        select(NAMES),
        select(MODIFIERS),
        select(
            &[
                ",", ";", ":", "(", ")", "{", "}", "[", "]", "<", ">", "+", "-", "*", "/", "%", "!", "~", "&", "|",
                "^", "=", "?", "@", "@!", "<<", ">>", "==", "&&", "||", "::", ".", "#", "\"", "\"a\"", "//", "/*",
                "*/", "\n",
            ][..]
        ),
        select(
            &[
                "0",
                "1",
                "-1",
                "0x7FU",
                "0f3F800000",
                "0d3FF0000000000000",
                "1.5",
                "8.0",
                "1e5",
                "0x",
                "99999999999999999999",
                "0b2",
                "WARP_SZ",
                "generic",
            ][..]
        ),
        select(
            &[
                ".version",
                ".target",
                ".address_size",
                ".visible",
                ".extern",
                ".weak",
                ".common",
                ".entry",
                ".func",
                ".global",
                ".const",
                ".shared",
                ".local",
                ".param",
                ".reg",
                ".sreg",
                ".align",
                ".ptr",
                ".attribute",
                ".managed",
                ".unified",
                ".loc",
                ".file",
                ".section",
                ".pragma",
                ".alias",
                ".branchtargets",
                ".calltargets",
                ".callprototype",
                ".maxntid",
                ".noreturn",
                ".b8",
                ".pred",
                ".texref",
                "function_name",
                "inlined_at",
                "ret",
                "bra",
                "mov",
                "call",
                "sm_90",
            ][..]
        ),
    ]
}

fn a_name() -> impl Strategy<Value = Name> {
    select(NAMES)
}

fn span() -> Span {
    Span::default()
}

fn operand_of(kind: OperandKind<'static>) -> Operand<'static> {
    Operand { kind, span: span() }
}

fn number() -> impl Strategy<Value = Literal> {
    prop_oneof![
        any::<i64>().prop_map(Literal::signed),
        (-9_i64..100).prop_map(Literal::signed),
        any::<u64>().prop_map(|value| Literal::Integer { value, unsigned: true }),
        Just(Literal::signed(i64::MIN)),
    ]
}

fn any_literal() -> impl Strategy<Value = Literal> {
    prop_oneof![number(), any::<u32>().prop_map(Literal::F32), any::<u64>().prop_map(Literal::F64),]
}

pub(crate) fn name() -> impl Strategy<Value = Operand<'static>> {
    a_name().prop_map(|name| operand_of(OperandKind::Name(name)))
}

pub(crate) fn member() -> impl Strategy<Value = Operand<'static>> {
    (a_name(), select(MEMBERS)).prop_map(|(name, member)| operand_of(OperandKind::Member(name, member)))
}

pub(crate) fn literal() -> impl Strategy<Value = Operand<'static>> {
    any_literal().prop_map(|literal| operand_of(OperandKind::Literal(literal)))
}

pub(crate) fn offset() -> impl Strategy<Value = Operand<'static>> {
    (a_name(), any::<i64>()).prop_map(|(name, offset)| operand_of(OperandKind::Offset(name, offset)))
}

fn named() -> impl Strategy<Value = Operand<'static>> {
    prop_oneof![name(), member()]
}

pub(crate) fn not() -> impl Strategy<Value = Operand<'static>> {
    named().prop_map(|operand| operand_of(OperandKind::Not(Box::new(operand))))
}

pub(crate) fn negative() -> impl Strategy<Value = Operand<'static>> {
    named().prop_map(|operand| operand_of(OperandKind::Negative(Box::new(operand))))
}

fn scalar() -> impl Strategy<Value = Operand<'static>> {
    prop_oneof![name(), name(), literal(), member(), offset(), not(), negative(), element()]
}

pub(crate) fn vector() -> impl Strategy<Value = Operand<'static>> {
    vec(scalar(), 1..5).prop_map(|elements| operand_of(OperandKind::Vector(elements)))
}

pub(crate) fn list() -> impl Strategy<Value = Operand<'static>> {
    vec(scalar(), 0..4).prop_map(|items| operand_of(OperandKind::List(items)))
}

pub(crate) fn pair() -> impl Strategy<Value = Operand<'static>> {
    (prop_oneof![named(), vector(), not(), element()], prop_oneof![named(), not()])
        .prop_map(|(first, second)| operand_of(OperandKind::Pair(Box::new([first, second]))))
}

/// A name with an offset, or a number that includes it.
fn base_and_offset() -> impl Strategy<Value = (Operand<'static>, i64)> {
    prop_oneof![
        3 => (named(), any::<i64>()),
        3 => (named(), -64_i64..64),
        1 => number().prop_map(|number| (operand_of(OperandKind::Literal(number)), 0)),
    ]
}

pub(crate) fn element() -> impl Strategy<Value = Operand<'static>> {
    (a_name(), base_and_offset())
        .prop_map(|(name, (index, offset))| operand_of(OperandKind::Element(Box::new(Element { name, index, offset }))))
}

pub(crate) fn address() -> impl Strategy<Value = Operand<'static>> {
    let coordinates = vec(prop_oneof![scalar(), vector()], 0..3);
    let qualifiers = vec(Just(".unified"), 0..2);
    (base_and_offset(), coordinates, qualifiers).prop_map(|((base, offset), coordinates, qualifiers)| {
        let address = Address { base, offset, coordinates, qualifiers };
        operand_of(OperandKind::Address(Box::new(address)))
    })
}

fn operand() -> impl Strategy<Value = Operand<'static>> {
    prop_oneof![4 => scalar(), 2 => address(), 1 => vector(), 1 => pair()]
}

fn instruction() -> impl Strategy<Value = Instruction<'static>> {
    let guard =
        option::of((a_name(), any::<bool>()).prop_map(|(register, negated)| Guard { register, negated, span: span() }));
    let modifiers = vec(select(MODIFIERS), 0..6);
    let ordinary = (select(&["ld", "mov", "x", "ret"][..]), vec(operand(), 0..6).boxed());
    let call = (Just("call"), vec(prop_oneof![list(), scalar()], 0..4).boxed());
    (guard, modifiers, prop_oneof![3 => ordinary, 1 => call]).prop_map(|(guard, modifiers, (mnemonic, operands))| {
        Instruction { guard, opcode: Opcode { mnemonic, modifiers, span: span() }, operands, span: span() }
    })
}

fn symbol() -> impl Strategy<Value = Symbol<'static>> {
    (a_name(), any::<bool>(), prop_oneof![Just(0), any::<i64>()], option::of(any::<u64>()))
        .prop_map(|(name, generic, addend, mask)| Symbol { name, generic, addend, mask })
}

fn plain_symbol() -> impl Strategy<Value = Symbol<'static>> {
    (prop_oneof![a_name(), Just(".debug_str")], any::<i64>()).prop_map(|(name, addend)| Symbol {
        name,
        generic: false,
        addend,
        mask: None,
    })
}

fn constant() -> impl Strategy<Value = Constant<'static>> {
    prop_oneof![any_literal().prop_map(Constant::Literal), symbol().prop_map(Constant::Symbol),]
}

fn initializer() -> impl Strategy<Value = Initializer<'static>> {
    let leaf = prop_oneof![
        8 => constant().prop_map(Initializer::Constant),
        1 => vec((a_name(), constant()), 1..3).prop_map(Initializer::Fields),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| vec(inner, 0..4).prop_map(Initializer::List))
}

fn attribute() -> impl Strategy<Value = Attribute> {
    prop_oneof![Just(Attribute::Managed), any::<(u64, u64)>().prop_map(|(high, low)| Attribute::Unified(high, low)),]
}

fn pointer() -> impl Strategy<Value = Pointer> {
    let target = prop_oneof![
        Just(PointerTarget::Generic),
        select(StateSpace::ALL).prop_map(PointerTarget::Space),
        select(&[Type::TexRef, Type::SamplerRef, Type::SurfRef][..]).prop_map(PointerTarget::Opaque),
    ];
    (target, option::of(any::<u32>())).prop_map(|(target, align)| Pointer { target, align })
}

fn variable() -> impl Strategy<Value = Variable<'static>> {
    let prefix = (
        select(StateSpace::ALL),
        vec(attribute(), 0..2),
        option::of(any::<u32>()),
        option::of(select(&[2_u8, 4, 8][..])),
        select(Type::ALL),
        option::of(pointer()),
    );
    let declarator =
        (a_name(), option::of(any::<u32>()), vec(option::of(any::<u64>()), 0..3), option::of(initializer()));
    (prefix, declarator).prop_map(
        |((space, attributes, align, vector, ty, pointer), (name, range, dimensions, initializer))| Variable {
            linkage: None,
            space,
            attributes,
            align,
            vector,
            ty,
            pointer,
            name,
            name_span: span(),
            range,
            dimensions,
            initializer,
            span: span(),
        },
    )
}

fn pragma() -> impl Strategy<Value = Pragma<'static>> {
    vec(select(STRINGS), 1..3).prop_map(|strings| Pragma { strings, span: span() })
}

fn label() -> impl Strategy<Value = Label<'static>> {
    a_name().prop_map(|name| Label { name, span: span() })
}

fn names() -> impl Strategy<Value = NameList<'static>> {
    (label(), vec(label(), 1..4)).prop_map(|(label, names)| NameList { label, names, span: span() })
}

fn prototype() -> impl Strategy<Value = CallPrototype<'static>> {
    let lists = (vec(variable(), 0..2), vec(variable(), 0..3));
    (label(), lists, a_name(), vec(directive(), 0..2)).prop_map(|(label, (returns, parameters), name, directives)| {
        CallPrototype { label, returns, name, parameters, directives, span: span() }
    })
}

fn loc() -> impl Strategy<Value = Loc<'static>> {
    let inlined = option::of(any::<[u32; 3]>());
    (any::<[u32; 3]>(), option::of(plain_symbol()), inlined).prop_map(
        |([file, line, column], function_name, inlined_at)| Loc {
            file,
            line,
            column,
            function_name,
            inlined_at,
            span: span(),
        },
    )
}

fn statement() -> impl Strategy<Value = Statement<'static>> {
    let leaf = prop_oneof![
        10 => instruction().prop_map(Statement::Instruction),
        3 => label().prop_map(Statement::Label),
        3 => variable().prop_map(|variable| Statement::Declaration(Box::new(variable))),
        2 => loc().prop_map(|loc| Statement::Loc(Box::new(loc))),
        1 => pragma().prop_map(Statement::Pragma),
        1 => names().prop_map(Statement::BranchTargets),
        1 => names().prop_map(Statement::CallTargets),
        1 => prototype().prop_map(|prototype| Statement::CallPrototype(Box::new(prototype))),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        vec(inner, 0..4).prop_map(|statements| Statement::Block(Block { statements, span: span() }))
    })
}

fn directive() -> impl Strategy<Value = FunctionDirective<'static>> {
    use FunctionDirective as D;
    prop_oneof![
        any::<u32>().prop_map(D::MaxNReg),
        any::<[u32; 3]>().prop_map(D::MaxNTid),
        any::<[u32; 3]>().prop_map(D::ReqNTid),
        any::<u32>().prop_map(D::MinNCtaPerSm),
        any::<u32>().prop_map(D::MaxNCtaPerSm),
        Just(D::NoReturn),
        pragma().prop_map(D::Pragma),
        any::<[u32; 3]>().prop_map(D::ReqNCtaPerCluster),
        Just(D::ExplicitCluster),
        any::<u32>().prop_map(D::MaxClusterRank),
        Just(D::BlocksAreClusters),
        any::<u32>().prop_map(D::AbiPreserve),
        any::<u32>().prop_map(D::AbiPreserveControl),
    ]
}

fn linkage() -> impl Strategy<Value = Option<Linkage>> {
    option::of(select(Linkage::ALL))
}

fn function() -> impl Strategy<Value = Function<'static>> {
    let head = (linkage(), select(FunctionKind::ALL), vec(attribute(), 0..2), a_name());
    let lists = (vec(variable(), 0..2), vec(variable(), 0..4), vec(directive(), 0..3));
    let body = option::of(vec(statement(), 0..8));
    (head, lists, body).prop_map(|((linkage, kind, attributes, name), (returns, parameters, directives), body)| {
        Function {
            linkage,
            kind,
            attributes,
            returns,
            name,
            name_span: span(),
            parameters,
            directives,
            body: body.map(|statements| Block { statements, span: span() }),
            span: span(),
        }
    })
}

fn section() -> impl Strategy<Value = Section<'static>> {
    let value = prop_oneof![
        any_literal().prop_map(Constant::Literal),
        plain_symbol().prop_map(Constant::Symbol),
        (a_name(), a_name()).prop_map(|(left, right)| Constant::Difference(left, right)),
    ];
    let data = (select(Type::ALL), vec(value, 1..4)).prop_map(|(ty, values)| SectionEntry::Data { ty, values });
    let entry = prop_oneof![label().prop_map(SectionEntry::Label), data];
    (select(&[".debug_info", ".debug_str"][..]), vec(entry, 0..6)).prop_map(|(name, contents)| Section {
        name,
        contents,
        span: span(),
    })
}

fn file() -> impl Strategy<Value = File<'static>> {
    (any::<u32>(), select(STRINGS), option::of(any::<(u64, u64)>())).prop_map(|(index, name, stamp)| File {
        index,
        name,
        stamp,
        span: span(),
    })
}

fn item() -> impl Strategy<Value = Item<'static>> {
    let variable = (linkage(), variable())
        .prop_map(|(linkage, variable)| Item::Variable(Box::new(Variable { linkage, ..variable })));
    let alias = (a_name(), a_name()).prop_map(|(alias, target)| Item::Alias(Alias { alias, target, span: span() }));
    prop_oneof![
        3 => function().prop_map(|function| Item::Function(Box::new(function))),
        2 => variable,
        1 => alias,
        1 => file().prop_map(Item::File),
        1 => section().prop_map(Item::Section),
        1 => pragma().prop_map(Item::Pragma),
    ]
}

/// A whole module.
pub(crate) fn module() -> impl Strategy<Value = Module<'static>> {
    let version = (0_u32..20, 0_u32..20).prop_map(|(major, minor)| Version { major, minor });
    let targets = vec(select(&["sm_90", "sm_90a", "debug", "texmode_independent"][..]), 1..3);
    (version, targets, option::of(select(&[32, 64][..])), vec(item(), 0..5))
        .prop_map(|(version, targets, address_size, items)| Module { version, targets, address_size, items })
}
