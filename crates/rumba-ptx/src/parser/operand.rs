//! Operands (PTX manual, chapter 6).

use super::{Parsed, Parser, Problem};
use crate::ast::{Address, Element, Literal, Operand, OperandKind, Span};
use crate::lexer::TokenKind;

impl<'s> Parser<'s> {
    /// One operand; parenthesised lists belong to `call` only, elsewhere a parenthesis begins a
    /// constant expression.
    pub(super) fn operand(&mut self, of_call: bool) -> Parsed<Operand<'s>> {
        let start = self.token.span;
        let kind = match self.token.kind {
            TokenKind::BracketOpen => {
                self.bump();
                OperandKind::Address(Box::new(self.address()?))
            }
            TokenKind::BraceOpen => self.vector()?,
            TokenKind::ParenOpen if of_call => {
                self.bump();
                OperandKind::List(self.list(TokenKind::ParenClose, "`,` or `)`", Self::scalar)?)
            }
            _ => {
                let scalar = self.scalar()?;
                if !self.at(TokenKind::Or) {
                    return Ok(scalar);
                }
                scalar.kind
            }
        };
        let operand = Operand {
            kind,
            span: start.to(self.previous),
        };
        if !self.at(TokenKind::Or) {
            return Ok(operand);
        }
        self.bump();
        let second = self.scalar()?;
        let span = start.to(self.previous);
        Ok(Operand {
            kind: OperandKind::Pair(Box::new([operand, second])),
            span,
        })
    }

    /// `{a, b}`.
    fn vector(&mut self) -> Parsed<OperandKind<'s>> {
        self.bump();
        if self.at(TokenKind::BraceClose) {
            return self.unexpected("the first element of the vector");
        }
        let elements = self.list(TokenKind::BraceClose, "`,` or `}`", Self::scalar)?;
        Ok(OperandKind::Vector(elements))
    }

    /// An operand without brackets around it.
    fn scalar(&mut self) -> Parsed<Operand<'s>> {
        let start = self.token.span;
        let kind = match self.token.kind {
            TokenKind::Identifier if !self.at_constant() => {
                self.bump();
                self.named(start)?
            }
            TokenKind::Number => self.literal()?,
            TokenKind::Not | TokenKind::Minus => self.signed()?,
            _ if self.at_constant() => OperandKind::Literal(self.expression()?),
            _ => return self.unexpected("an operand"),
        };
        Ok(Operand {
            kind,
            span: start.to(self.previous),
        })
    }

    /// What a name at `span`, taken already, begins.
    fn named(&mut self, span: Span) -> Parsed<OperandKind<'s>> {
        let name = self.text(span);
        Ok(match self.token.kind {
            TokenKind::Dotted if self.is_joined() || !self.on_new_line() => {
                let member = self.token_text();
                self.bump();
                OperandKind::Member(name, member)
            }
            TokenKind::Plus => OperandKind::Offset(name, self.addend()?),
            TokenKind::Minus => {
                return self.fail(self.token.span, &Problem::NegativeOffset);
            }
            TokenKind::BracketOpen => {
                self.bump();
                let (index, offset) = self.base_and_offset()?;
                self.expect(TokenKind::BracketClose, "`]`")?;
                OperandKind::Element(Box::new(Element { name, index, offset }))
            }
            _ => OperandKind::Name(name),
        })
    }

    /// A number, or an expression that begins with one.
    fn literal(&mut self) -> Parsed<OperandKind<'s>> {
        let (lexer, token, previous) = (self.lexer, self.token, self.previous);
        self.bump();
        if matches!(self.token.kind, TokenKind::Comma | TokenKind::Semicolon) {
            return Ok(OperandKind::Literal(self.number(token.span)?));
        }
        (self.lexer, self.token, self.previous) = (lexer, token, previous);
        Ok(OperandKind::Literal(self.expression()?))
    }

    /// `!%p1`, `-%r1`, or an expression that begins with such a sign.
    fn signed(&mut self) -> Parsed<OperandKind<'s>> {
        let (lexer, token, previous) = (self.lexer, self.token, self.previous);
        self.bump();
        if self.at(TokenKind::Identifier) && !self.at_constant() {
            let span = self.bump().span;
            let name = self.text(span);
            let kind = if self.at(TokenKind::Dotted) && !self.on_new_line() {
                let member = self.token_text();
                self.bump();
                OperandKind::Member(name, member)
            } else {
                OperandKind::Name(name)
            };
            let operand = Box::new(Operand {
                kind,
                span: span.to(self.previous),
            });
            return Ok(if token.kind == TokenKind::Not {
                OperandKind::Not(operand)
            } else {
                OperandKind::Negative(operand)
            });
        }
        (self.lexer, self.token, self.previous) = (lexer, token, previous);
        Ok(OperandKind::Literal(self.expression()?))
    }

    /// `base+offset, coordinates].qualifiers`; the bracket is taken already.
    fn address(&mut self) -> Parsed<Address<'s>> {
        let (base, offset) = self.base_and_offset()?;
        let mut coordinates = Vec::new();
        while self.eat(TokenKind::Comma) {
            let start = self.token.span;
            coordinates.push(if self.at(TokenKind::BraceOpen) {
                let kind = self.vector()?;
                Operand {
                    kind,
                    span: start.to(self.previous),
                }
            } else {
                self.scalar()?
            });
        }
        self.expect(TokenKind::BracketClose, "`]`")?;
        let mut qualifiers = Vec::new();
        while self.at(TokenKind::Dotted) && !self.on_new_line() {
            qualifiers.push(self.token_text());
            self.bump();
        }
        Ok(Address {
            base,
            offset,
            coordinates,
            qualifiers,
        })
    }

    /// A name with something added, or an integer.
    fn base_and_offset(&mut self) -> Parsed<(Operand<'s>, i64)> {
        let start = self.token.span;
        if self.at_constant() {
            let value = self.expression()?;
            let span = start.to(self.previous);
            return match value {
                Literal::Integer { .. } => Ok((
                    Operand {
                        kind: OperandKind::Literal(value),
                        span,
                    },
                    0,
                )),
                Literal::F32(_) | Literal::F64(_) => self.fail(span, &Problem::OffsetNotInteger),
            };
        }
        let (name, span) = self.identifier("a register, a variable or a number")?;
        let kind = if self.at(TokenKind::Dotted) && !self.on_new_line() {
            let member = self.token_text();
            self.bump();
            OperandKind::Member(name, member)
        } else {
            OperandKind::Name(name)
        };
        let base = Operand {
            kind,
            span: span.to(self.previous),
        };
        Ok((base, self.addend()?))
    }
}
