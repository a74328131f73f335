//! Variables, parameters, functions and their directives.

use super::{Parsed, Parser, Problem};
use crate::ast::{
    Attribute, Function, FunctionDirective, FunctionKind, Initializer, Linkage, Pointer, PointerTarget, Span,
    StateSpace, Type, Variable,
};
use crate::lexer::TokenKind;

/// The part of a declaration that all its variables share.
struct Prefix {
    linkage: Option<Linkage>,
    space: StateSpace,
    attributes: Vec<Attribute>,
    align: Option<u32>,
    vector: Option<u8>,
    ty: Type,
    pointer: Option<Pointer>,
    start: Span,
}

impl<'s> Parser<'s> {
    /// `.space … .type a, b[4] = {…}, c<5>;`, each handed to `take`. The linking directive is
    /// taken already.
    pub(super) fn variables(&mut self, linkage: Option<Linkage>, mut take: impl FnMut(Variable<'s>)) -> Parsed<()> {
        let prefix = self.prefix(linkage)?;
        loop {
            take(self.declarator(&prefix)?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.semicolon("declaration")?;
        Ok(())
    }

    /// `(.param .b32 a, .reg .u32 b)`.
    fn parameters(&mut self) -> Parsed<Vec<Variable<'s>>> {
        self.expect(TokenKind::ParenOpen, "`(`")?;
        self.list(TokenKind::ParenClose, "`,` or `)`", |parser| {
            let prefix = parser.prefix(None)?;
            parser.declarator(&prefix)
        })
    }

    /// The directives up to the name.
    fn prefix(&mut self, linkage: Option<Linkage>) -> Parsed<Prefix> {
        let start = if linkage.is_some() { self.previous } else { self.token.span };
        let (mut space, mut ty, mut align, mut vector, mut pointer) = (None, None, None, None, None);
        let mut attributes = Vec::new();
        while self.at(TokenKind::Dotted) {
            let text = self.token_text();
            let span = self.bump().span;
            // Only parameters have anything behind their type.
            if text == ".ptr" && ty.is_none() {
                return self.incomplete("its type before `.ptr`");
            }
            let is_of_parameter = text == ".ptr" || text == ".align" && space == Some(StateSpace::Param);
            if ty.is_some() && !is_of_parameter && Type::from_text(text).is_none() {
                return self.fail(span, &Problem::BehindType { text });
            }
            let twice = match text {
                ".align" => {
                    align = Some(self.u32("an alignment")?);
                    false
                }
                ".attribute" => {
                    self.attributes(&mut attributes)?;
                    false
                }
                ".v2" => vector.replace(2).is_some(),
                ".v4" => vector.replace(4).is_some(),
                ".v8" => vector.replace(8).is_some(),
                ".ptr" => pointer.replace(self.pointer()?).is_some(),
                _ => {
                    if let Some(found) = Type::from_text(text) {
                        ty.replace(found).is_some()
                    } else if let Some(found) = StateSpace::from_text(text) {
                        space.replace(found).is_some()
                    } else {
                        return self.fail(span, &Problem::UnknownType { text });
                    }
                }
            };
            if twice {
                return self.fail(span, &Problem::Twice { text });
            }
            if text == ".const" && self.at(TokenKind::BracketOpen) {
                return self.fail(self.token.span, &Problem::ConstantBank);
            }
        }
        let Some(space) = space else {
            let missing = "no state space such as `.param`, `.reg` or `.global`";
            return self.incomplete(missing);
        };
        let Some(ty) = ty else {
            return self.incomplete("no type such as `.b32`");
        };
        Ok(Prefix { linkage, space, attributes, align, vector, ty, pointer, start })
    }

    fn incomplete<T>(&mut self, missing: &'static str) -> Parsed<T> {
        if self.at(TokenKind::End) {
            return self.unexpected("a declaration");
        }
        self.fail(self.token.span, &Problem::IncompleteDeclaration { missing })
    }

    /// The attributes after `.ptr`: the state space or type pointed at, and its alignment.
    fn pointer(&mut self) -> Parsed<Pointer> {
        let mut target = PointerTarget::Generic;
        if self.at(TokenKind::Dotted) {
            let text = self.token_text();
            match (StateSpace::from_text(text), Type::from_text(text)) {
                (Some(space), _) => {
                    self.bump();
                    target = PointerTarget::Space(space);
                }
                (None, Some(ty @ (Type::TexRef | Type::SamplerRef | Type::SurfRef))) => {
                    self.bump();
                    target = PointerTarget::Opaque(ty);
                }
                _ => {}
            }
        }
        let align = if self.at_dotted(".align") {
            self.bump();
            Some(self.u32("an alignment")?)
        } else {
            None
        };
        Ok(Pointer { target, align })
    }

    /// `(.managed, .unified(1, 2))`.
    fn attributes(&mut self, attributes: &mut Vec<Attribute>) -> Parsed<()> {
        self.expect(TokenKind::ParenOpen, "`(`")?;
        let more = self.list(TokenKind::ParenClose, "`,` or `)`", |parser| {
            if parser.at_dotted(".managed") {
                parser.bump();
                return Ok(Attribute::Managed);
            }
            if !parser.at_dotted(".unified") {
                return parser.unexpected("`.managed` or `.unified`");
            }
            parser.bump();
            parser.expect(TokenKind::ParenOpen, "`(`")?;
            let high = parser.u64("the first half of the identity")?;
            parser.expect(TokenKind::Comma, "`,`")?;
            let low = parser.u64("the second half of the identity")?;
            parser.expect(TokenKind::ParenClose, "`)`")?;
            Ok(Attribute::Unified(high, low))
        })?;
        attributes.extend(more);
        Ok(())
    }

    /// `name`, `name<5>`, `name[4][8] = {…}`.
    fn declarator(&mut self, prefix: &Prefix) -> Parsed<Variable<'s>> {
        let (name, name_span) = self.identifier("a name")?;
        let mut range = None;
        if self.eat(TokenKind::Less) {
            range = Some(self.u32("the number of registers")?);
            self.expect(TokenKind::Greater, "`>`")?;
        }
        let mut dimensions = Vec::new();
        while self.eat(TokenKind::BracketOpen) {
            if self.eat(TokenKind::BracketClose) {
                dimensions.push(None);
            } else {
                dimensions.push(Some(self.u64("the number of elements")?));
                self.expect(TokenKind::BracketClose, "`]`")?;
            }
        }
        let initializer = if self.eat(TokenKind::Equal) { Some(self.initializer()?) } else { None };
        Ok(Variable {
            linkage: prefix.linkage,
            space: prefix.space,
            attributes: prefix.attributes.clone(),
            align: prefix.align,
            vector: prefix.vector,
            ty: prefix.ty,
            pointer: prefix.pointer,
            name,
            name_span,
            range,
            dimensions,
            initializer,
            span: prefix.start.to(self.previous),
        })
    }

    fn initializer(&mut self) -> Parsed<Initializer<'s>> {
        if !self.eat(TokenKind::BraceOpen) {
            return Ok(Initializer::Constant(self.constant()?));
        }
        if self.at(TokenKind::Identifier) {
            let (lexer, token, previous) = (self.lexer, self.token, self.previous);
            self.bump();
            let fields = self.at(TokenKind::Equal);
            (self.lexer, self.token, self.previous) = (lexer, token, previous);
            if fields {
                return Ok(Initializer::Fields(self.list(TokenKind::BraceClose, "`,` or `}`", |parser| {
                    let (field, _) = parser.identifier("a field")?;
                    parser.expect(TokenKind::Equal, "`=`")?;
                    Ok((field, parser.constant()?))
                })?));
            }
        }
        let list = self.nested(|parser| parser.list(TokenKind::BraceClose, "`,` or `}`", Self::initializer))?;
        Ok(Initializer::List(list))
    }

    /// The rest of a function after `.entry` or `.func`, up to the `;` or the closing brace.
    pub(super) fn function(
        &mut self,
        start: Span,
        linkage: Option<Linkage>,
        kind: FunctionKind,
    ) -> Parsed<Function<'s>> {
        let mut attributes = Vec::new();
        while self.at_dotted(".attribute") {
            self.bump();
            self.attributes(&mut attributes)?;
        }
        let returns = if self.at(TokenKind::ParenOpen) { self.parameters()? } else { Vec::new() };
        let (name, name_span) = self.identifier("the name of the function")?;
        let parameters = if self.at(TokenKind::ParenOpen) { self.parameters()? } else { Vec::new() };
        let directives = self.function_directives()?;
        let body = match self.token.kind {
            TokenKind::Semicolon => {
                self.bump();
                None
            }
            TokenKind::BraceOpen => {
                self.body = Some((name, self.token.span));
                let body = if self.skips_bodies { self.skipped_block()? } else { self.block()? };
                self.body = None;
                Some(body)
            }
            _ => return self.unexpected("`{` or `;`"),
        };
        Ok(Function {
            linkage,
            kind,
            attributes,
            returns,
            name,
            name_span,
            parameters,
            directives,
            body,
            span: start.to(self.previous),
        })
    }

    /// `(returns) name (parameters) directives`, for a prototype.
    #[expect(clippy::type_complexity, reason = "the four parts go straight into the tree")]
    pub(super) fn signature(
        &mut self,
    ) -> Parsed<(Vec<Variable<'s>>, &'s str, Vec<Variable<'s>>, Vec<FunctionDirective<'s>>)> {
        let returns = if self.at(TokenKind::ParenOpen) { self.parameters()? } else { Vec::new() };
        let (name, _) = self.identifier("`_`")?;
        let parameters = if self.at(TokenKind::ParenOpen) { self.parameters()? } else { Vec::new() };
        Ok((returns, name, parameters, self.function_directives()?))
    }

    fn function_directives(&mut self) -> Parsed<Vec<FunctionDirective<'s>>> {
        let mut directives = Vec::new();
        while self.at(TokenKind::Dotted) {
            directives.push(self.function_directive()?);
        }
        Ok(directives)
    }

    fn function_directive(&mut self) -> Parsed<FunctionDirective<'s>> {
        use FunctionDirective as D;
        let text = self.token_text();
        if text == ".pragma" {
            return Ok(D::Pragma(self.pragma()?));
        }
        let span = self.bump().span;
        Ok(match text {
            ".maxnreg" => D::MaxNReg(self.u32("the number of registers")?),
            ".maxntid" => D::MaxNTid(self.extent()?),
            ".reqntid" => D::ReqNTid(self.extent()?),
            ".minnctapersm" => D::MinNCtaPerSm(self.u32("the number of blocks")?),
            ".maxnctapersm" => D::MaxNCtaPerSm(self.u32("the number of blocks")?),
            ".noreturn" => D::NoReturn,
            ".reqnctapercluster" => D::ReqNCtaPerCluster(self.extent()?),
            ".explicitcluster" => D::ExplicitCluster,
            ".maxclusterrank" => D::MaxClusterRank(self.u32("the number of blocks")?),
            ".blocksareclusters" => D::BlocksAreClusters,
            ".abi_preserve" => D::AbiPreserve(self.u32("the number of registers")?),
            ".abi_preserve_control" => D::AbiPreserveControl(self.u32("the number of registers")?),
            _ => {
                let place = "between the head of a function and its body";
                return self.fail(span, &Problem::UnknownDirective { text, place });
            }
        })
    }

    /// One to three numbers.
    fn extent(&mut self) -> Parsed<[u32; 3]> {
        let mut extent = [self.u32("the extent in x")?, 1, 1];
        for slot in &mut extent[1..] {
            if !self.eat(TokenKind::Comma) {
                break;
            }
            *slot = self.u32("the extent in y or z")?;
        }
        Ok(extent)
    }
}

#[cfg(test)]
mod tests {
    use crate::ast::{
        Constant, FunctionDirective, Initializer, Item, Literal, Pointer, PointerTarget, StateSpace, Type, Variable,
    };
    use crate::parse;

    const HEAD: &str = ".version 8.7 .target sm_90 .address_size 64\n";

    /// Hands the items of a module to `test`.
    #[track_caller]
    fn read(text: &str, test: impl FnOnce(&[Item<'_>])) {
        let source = format!("{HEAD}{text}");
        match parse(&source) {
            Ok(module) => test(&module.items),
            Err(errors) => panic!("{text}: {errors:?}"),
        }
    }

    #[track_caller]
    fn variable(text: &str, test: impl FnOnce(&Variable<'_>)) {
        read(text, |items| match items {
            [Item::Variable(variable)] => test(variable),
            items => panic!("{items:?}"),
        });
    }

    #[track_caller]
    fn error(text: &str, message: &str) {
        let source = format!("{HEAD}{text}");
        assert_eq!(parse(&source).unwrap_err()[0].message, message, "{text}");
    }

    #[test]
    fn arrays_and_their_values() {
        variable(".visible .global .align 8 .b8 g[2][3] = {{1}, {2, 3}};", |variable| {
            assert_eq!((variable.space, variable.ty), (StateSpace::Global, Type::B8));
            assert_eq!(variable.align, Some(8));
            assert_eq!(*variable.dimensions, [Some(2), Some(3)]);
            let Some(Initializer::List(rows)) = &variable.initializer else { panic!() };
            let one = Initializer::Constant(Constant::Literal(Literal::signed(1)));
            assert_eq!(rows[0], Initializer::List(vec![one]));
        });
        variable(".extern .shared .align 16 .b8 dyn[];", |variable| {
            assert_eq!(*variable.dimensions, [None]);
        });
    }

    #[test]
    fn addresses_as_values() {
        variable(".global .u64 p[3] = {f, generic(g)+4, 0xff00(generic(g)+8)};", |variable| {
            let text = variable.initializer.as_ref().unwrap().to_string();
            assert_eq!(text, "{f, generic(g)+4, 0xff00(generic(g)+8)}");
        });
        variable(".global .samplerref s = {addr_mode_0 = wrap, force = 1};", |variable| {
            let Some(Initializer::Fields(fields)) = &variable.initializer else { panic!() };
            assert_eq!(fields[0].0, "addr_mode_0");
        });
    }

    #[test]
    fn one_directive_many_names() {
        read(".global .b32 a, b[2], c = 5;", |items| assert_eq!(items.len(), 3));
    }

    #[test]
    fn kernel_parameters() {
        let text = ".entry k(.param .u64 .ptr .global .align 1 p, .param .align 8 .b8 q[16]);";
        read(text, |items| {
            let [Item::Function(kernel)] = items else { panic!("{items:?}") };
            let target = PointerTarget::Space(StateSpace::Global);
            assert_eq!(kernel.parameters[0].pointer, Some(Pointer { target, align: Some(1) }));
            assert_eq!(*kernel.parameters[1].dimensions, [Some(16)]);
            assert!(kernel.body.is_none());
        });
    }

    #[test]
    fn function_directives() {
        let text = ".entry k .maxntid 128, 2 .minnctapersm 2 .pragma \"nounroll\"; { ret; }";
        read(text, |items| {
            let [Item::Function(kernel)] = items else { panic!("{items:?}") };
            assert_eq!(kernel.directives[0], FunctionDirective::MaxNTid([128, 2, 1]));
            assert_eq!(kernel.directives.len(), 3);
            assert_eq!(kernel.body.as_ref().unwrap().statements.len(), 1);
        });
        read(".func (.reg .b32 r) f(.reg .b32 a) .noreturn\n;", |items| {
            let [Item::Function(function)] = items else { panic!("{items:?}") };
            assert_eq!(function.returns[0].name, "r");
            assert_eq!(function.directives, [FunctionDirective::NoReturn]);
        });
    }

    #[test]
    fn what_is_no_declaration() {
        error(".global x;", "this declaration names no type such as `.b32`");
        error(".global .b7 x;", "`.b7` is not a type or state space");
        error(".global .b32 .v2 x;", "`.v2` stands behind the type, and belongs before it");
        error(".global .b32 .align 8 x;", "`.align` stands behind the type, and belongs before it");
        error(".global .b32 .b64 x;", "the directive `.b64` is given twice");
        error(".const[2] .b32 x;", "constant banks (`.const[n]`) no longer exist since PTX 2.2");
        error(".global .b32 x[2;", "expected `]`, found `;`");
        error(".global .b32 x = {1,};", "expected a number or a name, found `}`");
        error(".global .u64 x = g-4;", "nothing can be subtracted from an address here");
        error(".global .u64 x = generic(g;", "expected `)`, found `;`");
        error(".reg .b32 %r<99999999999>;", "99999999999 is out of range here: at most 4294967295");
        error(".entry k() .maxntid 1,2, { ret; }", "expected the extent in y or z, found `{`");
        error(".entry k() ret;", "expected `{` or `;`, found `ret`");
        error(".visible x;", "expected `.entry`, `.func` or a state space, found `x`");
        let place = "between the head of a function and its body";
        error(".entry k() .odd {}", &format!("`.odd` is not a directive that can stand {place}"));
    }
}
