//! Syntax tree to PTX text, laid out as compilers do it. Parsing the printed text gives an equal
//! tree.

use std::fmt::{self, Display, Formatter, Write};

use crate::ast::{
    Address, Alias, Attribute, Block, CallPrototype, Constant, File, Function, FunctionDirective, Guard, Initializer,
    Instruction, Item, Literal, Loc, Module, NameList, Opcode, Operand, OperandKind, Pointer, PointerTarget, Pragma,
    Section, SectionEntry, Statement, Symbol, Variable, Version,
};

impl Display for Module<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, ".version {}", self.version)?;
        writeln!(f, ".target {}", List(&self.targets, ", "))?;
        if let Some(bits) = self.address_size {
            writeln!(f, ".address_size {bits}")?;
        }
        for item in &self.items {
            write!(f, "\n{item}")?;
        }
        Ok(())
    }
}

impl Display for Version {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Things with a separator between.
struct List<'a, T>(&'a [T], &'static str);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (place, item) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_str(self.1)?;
            }
            write!(f, "{item}")?;
        }
        Ok(())
    }
}

/// Ends with a line break, unlike the parts below.
impl Display for Item<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function(function) => writeln!(f, "{function}"),
            Self::Variable(variable) => writeln!(f, "{variable};"),
            Self::Alias(alias) => writeln!(f, "{alias}"),
            Self::File(file) => writeln!(f, "{file}"),
            Self::Section(section) => writeln!(f, "{section}"),
            Self::Pragma(pragma) => writeln!(f, "{pragma}"),
        }
    }
}

impl Display for Alias<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".alias {}, {};", self.alias, self.target)
    }
}

impl Display for File<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".file {} \"{}\"", self.index, self.name)?;
        match self.stamp {
            Some((timestamp, size)) => write!(f, ", {timestamp}, {size}"),
            None => Ok(()),
        }
    }
}

impl Display for Section<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, ".section {}\n{{", self.name)?;
        for entry in &self.contents {
            writeln!(f, "{entry}")?;
        }
        f.write_char('}')
    }
}

impl Display for SectionEntry<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(label) => write!(f, "{}:", label.name),
            Self::Data { ty, values } => write!(f, "{ty} {}", List(values, ", ")),
        }
    }
}

impl Display for Pragma<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(".pragma ")?;
        for (place, string) in self.strings.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}\"{string}\"")?;
        }
        f.write_char(';')
    }
}

impl Display for Function<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(linkage) = self.linkage {
            write!(f, "{linkage} ")?;
        }
        write!(f, "{}", self.kind)?;
        attributes(f, &self.attributes)?;
        if !self.returns.is_empty() {
            write!(f, " ({})", List(&self.returns, ", "))?;
        }
        write!(f, " {}(", self.name)?;
        if !self.parameters.is_empty() {
            write!(f, "\n\t{}\n", List(&self.parameters, ",\n\t"))?;
        }
        f.write_char(')')?;
        for directive in &self.directives {
            write!(f, "\n{directive}")?;
        }
        match &self.body {
            Some(body) => {
                f.write_char('\n')?;
                block(f, body, 0)
            }
            None => f.write_char(';'),
        }
    }
}

fn attributes(f: &mut Formatter<'_>, attributes: &[Attribute]) -> fmt::Result {
    if attributes.is_empty() { Ok(()) } else { write!(f, " .attribute({})", List(attributes, ", ")) }
}

impl Display for Attribute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Managed => f.write_str(".managed"),
            Self::Unified(high, low) => write!(f, ".unified({high:#x}, {low:#x})"),
        }
    }
}

impl Display for FunctionDirective<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::MaxNReg(count) => write!(f, ".maxnreg {count}"),
            Self::MaxNTid(extent) => write!(f, ".maxntid {}", List(extent, ", ")),
            Self::ReqNTid(extent) => write!(f, ".reqntid {}", List(extent, ", ")),
            Self::MinNCtaPerSm(count) => write!(f, ".minnctapersm {count}"),
            Self::MaxNCtaPerSm(count) => write!(f, ".maxnctapersm {count}"),
            Self::NoReturn => f.write_str(".noreturn"),
            Self::Pragma(pragma) => write!(f, "{pragma}"),
            Self::ReqNCtaPerCluster(extent) => {
                write!(f, ".reqnctapercluster {}", List(extent, ", "))
            }
            Self::ExplicitCluster => f.write_str(".explicitcluster"),
            Self::MaxClusterRank(rank) => write!(f, ".maxclusterrank {rank}"),
            Self::BlocksAreClusters => f.write_str(".blocksareclusters"),
            Self::AbiPreserve(count) => write!(f, ".abi_preserve {count}"),
            Self::AbiPreserveControl(count) => write!(f, ".abi_preserve_control {count}"),
        }
    }
}

/// Without the `;`, which a parameter does not have.
impl Display for Variable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(linkage) = self.linkage {
            write!(f, "{linkage} ")?;
        }
        write!(f, "{}", self.space)?;
        attributes(f, &self.attributes)?;
        if let Some(align) = self.align {
            write!(f, " .align {align}")?;
        }
        if let Some(elements) = self.vector {
            write!(f, " .v{elements}")?;
        }
        write!(f, " {}", self.ty)?;
        if let Some(pointer) = self.pointer {
            write!(f, " {pointer}")?;
        }
        write!(f, " {}", self.name)?;
        if let Some(count) = self.range {
            write!(f, "<{count}>")?;
        }
        for dimension in &self.dimensions {
            match dimension {
                Some(count) => write!(f, "[{count}]")?,
                None => f.write_str("[]")?,
            }
        }
        match &self.initializer {
            Some(initializer) => write!(f, " = {initializer}"),
            None => Ok(()),
        }
    }
}

impl Display for Pointer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(".ptr")?;
        match self.target {
            PointerTarget::Generic => {}
            PointerTarget::Space(space) => write!(f, " {space}")?,
            PointerTarget::Opaque(ty) => write!(f, " {ty}")?,
        }
        match self.align {
            Some(align) => write!(f, " .align {align}"),
            None => Ok(()),
        }
    }
}

impl Display for Initializer<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(constant) => write!(f, "{constant}"),
            Self::List(items) => write!(f, "{{{}}}", List(items, ", ")),
            Self::Fields(fields) => {
                f.write_char('{')?;
                for (place, (name, value)) in fields.iter().enumerate() {
                    let comma = if place > 0 { ", " } else { "" };
                    write!(f, "{comma}{name} = {value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

impl Display for Constant<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(literal) => write!(f, "{literal}"),
            Self::Symbol(symbol) => write!(f, "{symbol}"),
            Self::Difference(left, right) => write!(f, "{left}-{right}"),
        }
    }
}

impl Display for Symbol<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(mask) = self.mask {
            write!(f, "{mask:#x}(")?;
        }
        if self.generic {
            write!(f, "generic({})", self.name)?;
        } else {
            f.write_str(self.name)?;
        }
        if self.addend != 0 {
            write!(f, "+{}", self.addend)?;
        }
        if self.mask.is_some() { f.write_char(')') } else { Ok(()) }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Integer { value, unsigned: true } => write!(f, "{value}U"),
            Self::Integer { value, unsigned: false } => write!(f, "{}", value.cast_signed()),
            Self::F32(bits) => write!(f, "0f{bits:08X}"),
            Self::F64(bits) => write!(f, "0d{bits:016X}"),
        }
    }
}

fn indent(f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
    (0..depth).try_for_each(|_| f.write_char('\t'))
}

/// A block whose braces are indented by `depth`; the cursor is there already.
fn block(f: &mut Formatter<'_>, block: &Block<'_>, depth: usize) -> fmt::Result {
    f.write_str("{\n")?;
    for inner in &block.statements {
        let is_label = matches!(inner, Statement::Label(_));
        indent(f, if is_label { depth } else { depth + 1 })?;
        statement(f, inner, depth + 1)?;
        f.write_char('\n')?;
    }
    indent(f, depth)?;
    f.write_char('}')
}

fn statement(f: &mut Formatter<'_>, statement: &Statement<'_>, depth: usize) -> fmt::Result {
    match statement {
        Statement::Instruction(instruction) => write!(f, "{instruction}"),
        Statement::Label(label) => write!(f, "{}:", label.name),
        Statement::Declaration(variable) => write!(f, "{variable};"),
        Statement::Block(inner) => block(f, inner, depth),
        Statement::Loc(loc) => write!(f, "{loc}"),
        Statement::Pragma(pragma) => write!(f, "{pragma}"),
        Statement::BranchTargets(list) => names(f, ".branchtargets", list),
        Statement::CallTargets(list) => names(f, ".calltargets", list),
        Statement::CallPrototype(prototype) => write!(f, "{prototype}"),
    }
}

impl Display for Statement<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        statement(f, self, 0)
    }
}

impl Display for Block<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        block(f, self, 0)
    }
}

fn names(f: &mut Formatter<'_>, directive: &str, list: &NameList<'_>) -> fmt::Result {
    write!(f, "{}: {directive} ", list.label.name)?;
    for (place, name) in list.names.iter().enumerate() {
        let comma = if place > 0 { ", " } else { "" };
        write!(f, "{comma}{}", name.name)?;
    }
    f.write_char(';')
}

impl Display for CallPrototype<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: .callprototype ", self.label.name)?;
        if !self.returns.is_empty() {
            write!(f, "({}) ", List(&self.returns, ", "))?;
        }
        write!(f, "{} ({})", self.name, List(&self.parameters, ", "))?;
        for directive in &self.directives {
            write!(f, " {directive}")?;
        }
        f.write_char(';')
    }
}

impl Display for Loc<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".loc {} {} {}", self.file, self.line, self.column)?;
        if let Some(name) = &self.function_name {
            write!(f, ", function_name {name}")?;
        }
        match self.inlined_at {
            Some([file, line, column]) => write!(f, ", inlined_at {file} {line} {column}"),
            None => Ok(()),
        }
    }
}

impl Display for Instruction<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(guard) = &self.guard {
            write!(f, "{guard} ")?;
        }
        write!(f, "{}", self.opcode)?;
        if !self.operands.is_empty() {
            write!(f, " {}", List(&self.operands, ", "))?;
        }
        f.write_char(';')
    }
}

impl Display for Guard<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "@{}{}", if self.negated { "!" } else { "" }, self.register)
    }
}

impl Display for Opcode<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.mnemonic, List(&self.modifiers, ""))
    }
}

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl Display for OperandKind<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Member(name, member) => write!(f, "{name}{member}"),
            Self::Literal(literal) => write!(f, "{literal}"),
            Self::Offset(name, offset) => write!(f, "{name}+{offset}"),
            Self::Address(address) => write!(f, "{address}"),
            Self::Element(element) => {
                write!(f, "{}[{}", element.name, element.index)?;
                offset(f, element.offset)?;
                f.write_char(']')
            }
            Self::Vector(elements) => write!(f, "{{{}}}", List(elements, ", ")),
            Self::Pair(pair) => write!(f, "{}|{}", pair[0], pair[1]),
            Self::List(items) => write!(f, "({})", List(items, ", ")),
            Self::Not(operand) => write!(f, "!{operand}"),
            Self::Negative(operand) => write!(f, "-{operand}"),
        }
    }
}

impl Display for Address<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.base)?;
        offset(f, self.offset)?;
        for coordinate in &self.coordinates {
            write!(f, ", {coordinate}")?;
        }
        write!(f, "]{}", List(&self.qualifiers, ""))
    }
}

fn offset(f: &mut Formatter<'_>, offset: i64) -> fmt::Result {
    if offset == 0 { Ok(()) } else { write!(f, "+{offset}") }
}
