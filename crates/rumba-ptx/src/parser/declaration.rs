//! Variables, parameters, functions and their directives.

use super::{Parsed, Parser, Problem};
use crate::ast::{
    Attribute, Function, FunctionDirective, FunctionKind, Initializer, Linkage, Pointer, PointerTarget, Span,
    StateSpace, Type, Variable,
};
use crate::lexer::TokenKind;

/// What the variables of one declaration have in common.
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
        let start = if linkage.is_some() {
            self.previous
        } else {
            self.token.span
        };
        let (mut space, mut ty, mut align, mut vector, mut pointer) = (None, None, None, None, None);
        let mut attributes = Vec::new();
        while self.at(TokenKind::Dotted) {
            let text = self.token_text();
            let span = self.bump().span;
            let twice = match text {
                ".align" => align.replace(self.u32("an alignment")?).is_some(),
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
        Ok(Prefix {
            linkage,
            space,
            attributes,
            align,
            vector,
            ty,
            pointer,
            start,
        })
    }

    fn incomplete<T>(&mut self, missing: &'static str) -> Parsed<T> {
        if self.at(TokenKind::End) {
            return self.unexpected("a declaration");
        }
        self.fail(self.token.span, &Problem::IncompleteDeclaration { missing })
    }

    /// What follows `.ptr`: what it points at, and how that is aligned.
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
        let initializer = if self.eat(TokenKind::Equal) {
            Some(self.initializer()?)
        } else {
            None
        };
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
                return Ok(Initializer::Fields(self.list(
                    TokenKind::BraceClose,
                    "`,` or `}`",
                    |parser| {
                        let (field, _) = parser.identifier("a field")?;
                        parser.expect(TokenKind::Equal, "`=`")?;
                        Ok((field, parser.constant()?))
                    },
                )?));
            }
        }
        let list = self.nested(|parser| parser.list(TokenKind::BraceClose, "`,` or `}`", Self::initializer))?;
        Ok(Initializer::List(list))
    }

    /// What follows `.entry` or `.func`, up to the `;` or the closing brace.
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
        let returns = if self.at(TokenKind::ParenOpen) {
            self.parameters()?
        } else {
            Vec::new()
        };
        let (name, name_span) = self.identifier("the name of the function")?;
        let parameters = if self.at(TokenKind::ParenOpen) {
            self.parameters()?
        } else {
            Vec::new()
        };
        let directives = self.function_directives()?;
        let body = match self.token.kind {
            TokenKind::Semicolon => {
                self.bump();
                None
            }
            TokenKind::BraceOpen => {
                self.body = Some((name, self.token.span));
                let body = self.block()?;
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
    ) -> Parsed<(
        Vec<Variable<'s>>,
        &'s str,
        Vec<Variable<'s>>,
        Vec<FunctionDirective<'s>>,
    )> {
        let returns = if self.at(TokenKind::ParenOpen) {
            self.parameters()?
        } else {
            Vec::new()
        };
        let (name, _) = self.identifier("`_`")?;
        let parameters = if self.at(TokenKind::ParenOpen) {
            self.parameters()?
        } else {
            Vec::new()
        };
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
