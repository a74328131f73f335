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
        let operand = Operand { kind, span: start.to(self.previous) };
        if !self.at(TokenKind::Or) {
            return Ok(operand);
        }
        self.bump();
        let second = self.scalar()?;
        let span = start.to(self.previous);
        Ok(Operand { kind: OperandKind::Pair(Box::new([operand, second])), span })
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
        Ok(Operand { kind, span: start.to(self.previous) })
    }

    /// The operand that begins with the name at `span`, which is already consumed.
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
            let operand = Box::new(Operand { kind, span: span.to(self.previous) });
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
                Operand { kind, span: start.to(self.previous) }
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
        Ok(Address { base, offset, coordinates, qualifiers })
    }

    /// A name with something added, or an integer.
    fn base_and_offset(&mut self) -> Parsed<(Operand<'s>, i64)> {
        let start = self.token.span;
        if self.at_constant() {
            let value = self.expression()?;
            let span = start.to(self.previous);
            return match value {
                Literal::Integer { .. } => Ok((Operand { kind: OperandKind::Literal(value), span }, 0)),
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
        let base = Operand { kind, span: span.to(self.previous) };
        Ok((base, self.addend()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The operand that is all of `source`, or the first error.
    fn read(source: &str, of_call: bool) -> Result<OperandKind<'_>, String> {
        let mut parser = Parser::new(source);
        match parser.operand(of_call) {
            Ok(operand) if parser.at(TokenKind::End) && parser.errors.is_empty() => {
                assert_eq!(&source[operand.span.range()], source);
                Ok(operand.kind)
            }
            Ok(operand) => Err(format!("{operand}, and something is left")),
            Err(_) => Err(parser.errors[0].message.clone()),
        }
    }

    #[track_caller]
    fn kind(source: &str) -> OperandKind<'_> {
        read(source, false).unwrap()
    }

    fn operand(kind: OperandKind<'_>) -> Operand<'_> {
        Operand { kind, span: Span::default() }
    }

    fn name(name: &str) -> Operand<'_> {
        operand(OperandKind::Name(name))
    }

    fn integer(value: i64) -> OperandKind<'static> {
        OperandKind::Literal(Literal::signed(value))
    }

    #[track_caller]
    fn address(source: &str) -> Address<'_> {
        match kind(source) {
            OperandKind::Address(address) => *address,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn names_and_members() {
        assert_eq!(kind("%r1"), OperandKind::Name("%r1"));
        assert_eq!(kind("_"), OperandKind::Name("_"));
        assert_eq!(kind("$L__BB0_1"), OperandKind::Name("$L__BB0_1"));
        assert_eq!(kind("%tid.x"), OperandKind::Member("%tid", ".x"));
        assert_eq!(kind("a.b0"), OperandKind::Member("a", ".b0"));
        assert_eq!(kind("!%p1"), OperandKind::Not(Box::new(name("%p1"))));
        let selected = operand(OperandKind::Member("%r1", ".h0"));
        assert_eq!(kind("-%r1.h0"), OperandKind::Negative(Box::new(selected)));
    }

    #[test]
    fn constants() {
        assert_eq!(kind("-5"), integer(-5));
        assert_eq!(kind("1|2"), OperandKind::Literal(Literal::Integer { value: 3, unsigned: true }));
        assert_eq!(kind("(1+2)*3"), integer(9));
        assert_eq!(kind("!0"), integer(1));
        assert_eq!(kind("-WARP_SZ"), integer(-32));
        assert_eq!(kind(".5"), OperandKind::Literal(Literal::F64(0.5_f64.to_bits())));
        assert_eq!(kind("array+4*2"), OperandKind::Offset("array", 8));
        assert_eq!(kind("array+-4"), OperandKind::Offset("array", -4));
    }

    #[test]
    fn addresses() {
        let plain = address("[%rd1]");
        assert_eq!((plain.base, plain.offset), (name("%rd1"), 0));
        let offset = address("[param0+0]");
        assert_eq!((offset.base, offset.offset), (name("param0"), 0));
        assert_eq!(address("[%rd1+-16]").offset, -16);
        assert_eq!(address("[%rd1+4+4]").offset, 8);
        assert_eq!(address("[16]").base, operand(integer(16)));
        assert_eq!(address("[%rd1].unified").qualifiers, [".unified"]);
        let texture = address("[t, s, {%r1, 0}]");
        let vector = operand(OperandKind::Vector(vec![name("%r1"), operand(integer(0))]));
        assert_eq!(texture.coordinates, [name("s"), vector]);
    }

    #[test]
    fn elements() {
        let OperandKind::Element(element) = kind("a[%r1+4]") else { panic!() };
        assert_eq!((element.name, element.index, element.offset), ("a", name("%r1"), 4));
        let OperandKind::Element(element) = kind("a[3]") else { panic!() };
        assert_eq!((element.index, element.offset), (operand(integer(3)), 0));
    }

    #[test]
    fn vectors_and_pairs() {
        let vector = OperandKind::Vector(vec![name("%r1"), name("_"), operand(integer(5))]);
        assert_eq!(kind("{%r1, _, 5}"), vector);
        let pair = OperandKind::Pair(Box::new([name("%p1"), name("_")]));
        assert_eq!(kind("%p1|_"), pair);
        let pair = OperandKind::Pair(Box::new([operand(vector), name("%p1")]));
        assert_eq!(kind("{%r1, _, 5}|%p1"), pair);
    }

    #[test]
    fn lists_belong_to_calls() {
        let list = OperandKind::List(vec![name("param0"), operand(integer(1))]);
        assert_eq!(read("(param0, 1)", true), Ok(list));
        assert_eq!(read("()", true), Ok(OperandKind::List(Vec::new())));
        assert_eq!(read("(param0)", false).unwrap_err(), "expected a number, found `param0`");
    }

    #[test]
    fn what_is_no_operand() {
        for (source, message) in [
            ("[%rd1-4]", "nothing can be subtracted from an address here"),
            ("[%rd1+%rd2]", "expected a number, found `%rd2`"),
            ("[%rd1+1.5]", "an offset is an integer"),
            ("[]", "expected a register, a variable or a number, found `]`"),
            ("[%rd1", "the source ends here, where `]` is expected"),
            ("{}", "expected the first element of the vector, found `}`"),
            ("{%r1, {%r2}}", "expected an operand, found `{`"),
            ("{%r1 %r2}", "expected `,` or `}`, found `%r2`"),
            (".global", "expected an operand, found `.global`"),
            ("%r1|", "the source ends here, where an operand is expected"),
            ("", "the source ends here, where an operand is expected"),
        ] {
            assert_eq!(read(source, false).unwrap_err(), message, "{source}");
        }
    }
}
