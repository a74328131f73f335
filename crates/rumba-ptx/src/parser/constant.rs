//! Numbers and constant expressions, evaluated on the spot (PTX manual, sections 4.5 and 4.6).

use super::{Parsed, Parser, Problem};
use crate::ast::{Constant, Literal, Span, Symbol};
use crate::lexer::TokenKind;

/// The only name that is a number: the manual's predefined constant, 32 on every architecture.
const WARP_SZ: (&str, u64) = ("WARP_SZ", 32);

/// An integer literal: bits and whether its type is `.u64`.
#[derive(Clone, Copy)]
struct Integer {
    value: u64,
    unsigned: bool,
}

impl Integer {
    fn literal(self) -> Literal {
        Literal::Integer { value: self.value, unsigned: self.unsigned }
    }
}

fn truth(value: bool) -> Literal {
    Literal::signed(i64::from(value))
}

impl<'s> Parser<'s> {
    /// Whether a constant expression can begin here, symbols aside.
    pub(super) fn at_constant(&self) -> bool {
        match self.token.kind {
            TokenKind::Number
            | TokenKind::ParenOpen
            | TokenKind::Plus
            | TokenKind::Minus
            | TokenKind::Not
            | TokenKind::Tilde => true,
            TokenKind::Identifier => self.token_text() == WARP_SZ.0,
            TokenKind::Dotted => self.token_text().as_bytes()[1].is_ascii_digit(),
            _ => false,
        }
    }

    /// A number, a symbol with something added, or one byte of a symbol's address.
    pub(super) fn constant(&mut self) -> Parsed<Constant<'s>> {
        if self.at(TokenKind::Number) {
            let (lexer, token, previous) = (self.lexer, self.token, self.previous);
            let mask = self.bump().span;
            if self.at(TokenKind::ParenOpen) {
                let mask = self.integer_literal(mask)?.value;
                self.bump();
                let symbol = self.symbol()?;
                self.expect(TokenKind::ParenClose, "`)`")?;
                return Ok(Constant::Symbol(Symbol { mask: Some(mask), ..symbol }));
            }
            if matches!(self.token.kind, TokenKind::Comma | TokenKind::BraceClose) {
                return Ok(Constant::Literal(self.number(mask)?));
            }
            (self.lexer, self.token, self.previous) = (lexer, token, previous);
        }
        if self.at_constant() {
            return Ok(Constant::Literal(self.expression()?));
        }
        Ok(Constant::Symbol(self.symbol()?))
    }

    /// `name`, `generic(name)`, each with `+ constant` behind or not.
    fn symbol(&mut self) -> Parsed<Symbol<'s>> {
        let (name, _) = self.identifier("a number or a name")?;
        let mut symbol = Symbol { name, generic: false, addend: 0, mask: None };
        if name == "generic" && self.eat(TokenKind::ParenOpen) {
            symbol.name = self.identifier("the name of a variable or function")?.0;
            symbol.generic = true;
            self.expect(TokenKind::ParenClose, "`)`")?;
        }
        symbol.addend = self.addend()?;
        Ok(symbol)
    }

    /// `+ constant` behind an address, 0 if there is none.
    pub(super) fn addend(&mut self) -> Parsed<i64> {
        if self.at(TokenKind::Minus) {
            return self.fail(self.token.span, &Problem::NegativeOffset);
        }
        if !self.eat(TokenKind::Plus) {
            return Ok(0);
        }
        let start = self.token.span;
        match self.expression()? {
            Literal::Integer { value, .. } => Ok(value.cast_signed()),
            Literal::F32(_) | Literal::F64(_) => self.fail(start.to(self.previous), &Problem::OffsetNotInteger),
        }
    }

    /// A constant expression without symbols.
    pub(super) fn expression(&mut self) -> Parsed<Literal> {
        self.nested(Self::conditional)
    }

    /// `a ? b : c`, and everything that binds more tightly.
    fn conditional(&mut self) -> Parsed<Literal> {
        let start = self.token.span;
        let condition = self.binary(0)?;
        if !self.eat(TokenKind::Question) {
            return Ok(condition);
        }
        let condition = self.integer_of(condition, start, "?:")?;
        let yes = self.expression()?;
        self.expect(TokenKind::Colon, "`:`")?;
        let no = self.expression()?;
        match (yes, no) {
            (Literal::Integer { value: yes, unsigned: a }, Literal::Integer { value: no, unsigned: b }) => {
                let value = if condition.value != 0 { yes } else { no };
                Ok(Literal::Integer { value, unsigned: a || b })
            }
            (Literal::F64(yes), Literal::F64(no)) => Ok(Literal::F64(if condition.value != 0 { yes } else { no })),
            _ => self.fail(start.to(self.previous), &Problem::MixedTypes),
        }
    }

    /// Operators of at least this precedence, by precedence climbing.
    fn binary(&mut self, least: u8) -> Parsed<Literal> {
        let start = self.token.span;
        let mut left = self.unary()?;
        while let Some((precedence, operator)) = binary_operator(self.token.kind)
            && precedence >= least
        {
            self.bump();
            let right = self.binary(precedence + 1)?;
            left = self.apply(operator, left, right, start.to(self.previous))?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Literal> {
        let start = self.token.span;
        match self.token.kind {
            TokenKind::Number => {
                self.bump();
                self.number(start)
            }
            TokenKind::Dotted if self.at_constant() => {
                // A fraction such as `.5` reads like a modifier.
                self.token = self.lexer.fraction(start);
                let span = self.bump().span;
                self.number(span)
            }
            TokenKind::Identifier if self.at_constant() => {
                self.bump();
                Ok(Literal::Integer { value: WARP_SZ.1, unsigned: false })
            }
            TokenKind::Plus => {
                self.bump();
                self.nested(Self::unary)
            }
            TokenKind::Minus => {
                self.bump();
                let value = self.nested(Self::unary)?;
                self.negate(value, start.to(self.previous))
            }
            TokenKind::Not => {
                self.bump();
                let value = self.nested(Self::unary)?;
                let value = self.integer_of(value, start, "!")?.value;
                Ok(truth(value == 0))
            }
            TokenKind::Tilde => {
                self.bump();
                let value = self.nested(Self::unary)?;
                let value = self.integer_of(value, start, "~")?.value;
                Ok(Literal::Integer { value: !value, unsigned: true })
            }
            TokenKind::ParenOpen => {
                self.bump();
                if self.at_dotted(".s64") || self.at_dotted(".u64") {
                    let unsigned = self.at_dotted(".u64");
                    self.bump();
                    self.expect(TokenKind::ParenClose, "`)`")?;
                    let value = self.nested(Self::unary)?;
                    let value = self.integer_of(value, start, "a cast")?.value;
                    return Ok(Literal::Integer { value, unsigned });
                }
                let value = self.expression()?;
                self.expect(TokenKind::ParenClose, "`)`")?;
                Ok(value)
            }
            _ => self.unexpected("a number"),
        }
    }

    fn negate(&mut self, value: Literal, span: Span) -> Parsed<Literal> {
        match value {
            // 2^63 does not fit .s64, its negative does: compilers print it for i64::MIN.
            Literal::Integer { value, unsigned } => {
                Ok(Literal::Integer { value: value.wrapping_neg(), unsigned: unsigned && value != 1 << 63 })
            }
            Literal::F64(bits) => Ok(Literal::F64((-f64::from_bits(bits)).to_bits())),
            Literal::F32(_) => self.fail(span, &Problem::SingleInExpression),
        }
    }

    fn integer_of(&mut self, literal: Literal, start: Span, operator: &'static str) -> Parsed<Integer> {
        match literal {
            Literal::Integer { value, unsigned } => Ok(Integer { value, unsigned }),
            Literal::F32(_) | Literal::F64(_) => {
                self.fail(start.to(self.previous), &Problem::IntegerOperator { operator })
            }
        }
    }

    fn apply(&mut self, operator: Operator, left: Literal, right: Literal, span: Span) -> Parsed<Literal> {
        let result = match (left, right) {
            (Literal::Integer { value: a, unsigned: left }, Literal::Integer { value: b, unsigned: right }) => {
                operator.integers(Integer { value: a, unsigned: left }, Integer { value: b, unsigned: right })
            }
            (Literal::F64(a), Literal::F64(b)) => operator.doubles(f64::from_bits(a), f64::from_bits(b)),
            (Literal::F32(_), _) | (_, Literal::F32(_)) => Err(Problem::SingleInExpression),
            _ => Err(Problem::MixedTypes),
        };
        result.or_else(|problem| self.fail(span, &problem))
    }

    /// The value of the number that stands at `span`.
    pub(super) fn number(&mut self, span: Span) -> Parsed<Literal> {
        let text = self.text(span);
        match read_number(text) {
            Ok(literal) => Ok(literal),
            Err(problem) => self.fail(span, &problem),
        }
    }

    fn integer_literal(&mut self, span: Span) -> Parsed<Integer> {
        match self.number(span)? {
            Literal::Integer { value, unsigned } => Ok(Integer { value, unsigned }),
            Literal::F32(_) | Literal::F64(_) => {
                let problem = Problem::Expected { expected: "an integer", found: super::Found(self.text(span)) };
                self.fail(span, &problem)
            }
        }
    }

    /// A plain integer literal.
    pub(super) fn u64(&mut self, expected: &'static str) -> Parsed<u64> {
        let span = self.expect(TokenKind::Number, expected)?;
        Ok(self.integer_literal(span)?.value)
    }

    /// A plain integer literal of at most 32 bits.
    pub(super) fn u32(&mut self, expected: &'static str) -> Parsed<u32> {
        let span = self.token.span;
        let value = self.u64(expected)?;
        match u32::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => self.fail(span, &Problem::OutOfRange { value, most: u64::from(u32::MAX) }),
        }
    }
}

/// A binary operator.
#[derive(Clone, Copy)]
enum Operator {
    Multiply,
    Divide,
    Remainder,
    Add,
    Subtract,
    ShiftLeft,
    ShiftRight,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
    Equal,
    NotEqual,
    BitAnd,
    BitXor,
    BitOr,
    And,
    Or,
}

/// Precedence (higher binds more tightly, as in C) and operator.
fn binary_operator(kind: TokenKind) -> Option<(u8, Operator)> {
    Some(match kind {
        TokenKind::OrOr => (0, Operator::Or),
        TokenKind::AndAnd => (1, Operator::And),
        TokenKind::Or => (2, Operator::BitOr),
        TokenKind::Xor => (3, Operator::BitXor),
        TokenKind::And => (4, Operator::BitAnd),
        TokenKind::EqualEqual => (5, Operator::Equal),
        TokenKind::NotEqual => (5, Operator::NotEqual),
        TokenKind::Less => (6, Operator::Less),
        TokenKind::Greater => (6, Operator::Greater),
        TokenKind::LessEqual => (6, Operator::LessEqual),
        TokenKind::GreaterEqual => (6, Operator::GreaterEqual),
        TokenKind::ShiftLeft => (7, Operator::ShiftLeft),
        TokenKind::ShiftRight => (7, Operator::ShiftRight),
        TokenKind::Plus => (8, Operator::Add),
        TokenKind::Minus => (8, Operator::Subtract),
        TokenKind::Star => (9, Operator::Multiply),
        TokenKind::Slash => (9, Operator::Divide),
        TokenKind::Percent => (9, Operator::Remainder),
        _ => return None,
    })
}

impl Operator {
    /// The manual's table 5: `.s64` as long as both sides are, `.u64` otherwise; bitwise operators
    /// always give `.u64`, comparisons `.s64`, a shift has the type of its left side.
    fn integers<'s>(self, left: Integer, right: Integer) -> Result<Literal, Problem<'s>> {
        let unsigned = left.unsigned || right.unsigned;
        let (a, b) = (left.value, right.value);
        let order = if unsigned { a.cmp(&b) } else { a.cast_signed().cmp(&b.cast_signed()) };
        let number = |value, unsigned| Ok(Integer { value, unsigned }.literal());
        let shift = u32::try_from(b).unwrap_or(u32::MAX);
        match self {
            Self::Multiply => number(a.wrapping_mul(b), unsigned),
            Self::Add => number(a.wrapping_add(b), unsigned),
            Self::Subtract => number(a.wrapping_sub(b), unsigned),
            Self::Divide | Self::Remainder if b == 0 => Err(Problem::DivisionByZero),
            Self::Divide if unsigned => number(a / b, true),
            Self::Divide => number(a.cast_signed().wrapping_div(b.cast_signed()).cast_unsigned(), false),
            Self::Remainder if unsigned => number(a % b, true),
            Self::Remainder => number(a.cast_signed().wrapping_rem(b.cast_signed()).cast_unsigned(), false),
            Self::ShiftLeft => number(a.checked_shl(shift).unwrap_or(0), left.unsigned),
            Self::ShiftRight if left.unsigned => number(a.checked_shr(shift).unwrap_or(0), true),
            Self::ShiftRight => number((a.cast_signed() >> shift.min(63)).cast_unsigned(), false),
            Self::Less => Ok(truth(order.is_lt())),
            Self::Greater => Ok(truth(order.is_gt())),
            Self::LessEqual => Ok(truth(order.is_le())),
            Self::GreaterEqual => Ok(truth(order.is_ge())),
            Self::Equal => Ok(truth(a == b)),
            Self::NotEqual => Ok(truth(a != b)),
            Self::BitAnd => number(a & b, true),
            Self::BitXor => number(a ^ b, true),
            Self::BitOr => number(a | b, true),
            Self::And => Ok(truth(a != 0 && b != 0)),
            Self::Or => Ok(truth(a != 0 || b != 0)),
        }
    }

    fn doubles<'s>(self, a: f64, b: f64) -> Result<Literal, Problem<'s>> {
        let number = |value: f64| Ok(Literal::F64(value.to_bits()));
        let integers_only = |operator| Err(Problem::IntegerOperator { operator });
        match self {
            Self::Multiply => number(a * b),
            Self::Divide if b == 0.0 => Err(Problem::DivisionByZero),
            Self::Divide => number(a / b),
            Self::Add => number(a + b),
            Self::Subtract => number(a - b),
            Self::Less => Ok(truth(a < b)),
            Self::Greater => Ok(truth(a > b)),
            Self::LessEqual => Ok(truth(a <= b)),
            Self::GreaterEqual => Ok(truth(a >= b)),
            Self::Equal => Ok(truth(a == b)),
            Self::NotEqual => Ok(truth(a != b)),
            Self::Remainder => integers_only("%"),
            Self::ShiftLeft => integers_only("<<"),
            Self::ShiftRight => integers_only(">>"),
            Self::BitAnd => integers_only("&"),
            Self::BitXor => integers_only("^"),
            Self::BitOr => integers_only("|"),
            Self::And => integers_only("&&"),
            Self::Or => integers_only("||"),
        }
    }
}

/// The value of a literal.
fn read_number(text: &str) -> Result<Literal, Problem<'_>> {
    let invalid = || Problem::Number { text };
    let bytes = text.as_bytes();
    let prefix = if bytes[0] == b'0' { bytes.get(1).copied().unwrap_or(0) } else { 0 };
    match prefix {
        b'f' | b'F' => {
            let bits = hexadecimal(&text[2..], 8).ok_or_else(invalid)?;
            return Ok(Literal::F32(u32::try_from(bits).map_err(|_| invalid())?));
        }
        b'd' | b'D' => {
            return Ok(Literal::F64(hexadecimal(&text[2..], 16).ok_or_else(invalid)?));
        }
        b'x' | b'X' => return integer(text, &text[2..], 16),
        b'b' | b'B' => return integer(text, &text[2..], 2),
        _ => {}
    }
    if text.contains(['.', 'e', 'E']) {
        // Rust reads a superset of PTX's decimals, words such as `inf` aside.
        let decimal = text.bytes().all(|b| b.is_ascii_digit() || b".eE+-".contains(&b));
        return match text.parse::<f64>() {
            Ok(value) if decimal && value.is_infinite() => Err(Problem::Infinite { text }),
            Ok(value) if decimal => Ok(Literal::F64(value.to_bits())),
            _ => Err(invalid()),
        };
    }
    let octal = prefix.is_ascii_digit();
    integer(text, text, if octal { 8 } else { 10 })
}

/// Exactly `count` hexadecimal digits.
fn hexadecimal(digits: &str, count: usize) -> Option<u64> {
    let valid = digits.len() == count && digits.bytes().all(|b| b.is_ascii_hexdigit());
    valid.then(|| u64::from_str_radix(digits, 16).ok())?
}

fn integer<'s>(text: &'s str, digits: &'s str, radix: u32) -> Result<Literal, Problem<'s>> {
    let (digits, suffixed) = match digits.strip_suffix('U') {
        Some(digits) => (digits, true),
        None => (digits, false),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err(Problem::Number { text });
    }
    let value = u64::from_str_radix(digits, radix).map_err(|_| Problem::Overflow { text })?;
    let unsigned = suffixed || i64::try_from(value).is_err();
    Ok(Literal::Integer { value, unsigned })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(source: &str) -> Result<Literal, String> {
        let mut parser = Parser::new(source);
        let value = parser.expression();
        match value {
            Ok(value) if parser.at(TokenKind::End) && parser.errors.is_empty() => Ok(value),
            _ => Err(parser.errors.first().map_or("left over".into(), ToString::to_string)),
        }
    }

    #[track_caller]
    fn signed(source: &str, value: i64) {
        assert_eq!(evaluate(source), Ok(Literal::signed(value)), "{source}");
    }

    #[track_caller]
    fn unsigned(source: &str, value: u64) {
        assert_eq!(evaluate(source), Ok(Literal::Integer { value, unsigned: true }), "{source}");
    }

    #[track_caller]
    fn double(source: &str, value: f64) {
        assert_eq!(evaluate(source), Ok(Literal::F64(value.to_bits())), "{source}");
    }

    #[test]
    fn integers() {
        signed("17", 17);
        signed("017", 15);
        signed("0x7771", 0x7771);
        signed("0b101", 5);
        signed("0", 0);
        unsigned("0x7771U", 0x7771);
        unsigned("5U", 5);
        signed("9223372036854775807", i64::MAX);
        unsigned("9223372036854775808", 1 << 63);
        signed("-9223372036854775808", i64::MIN);
        unsigned("0xFFFFFFFFFFFFFFFF", u64::MAX);
        signed("-1", -1);
        unsigned("-1U", u64::MAX);
    }

    #[test]
    fn floats() {
        assert_eq!(evaluate("0f3F800000"), Ok(Literal::F32(0x3F80_0000)));
        assert_eq!(evaluate("0F3f800000"), Ok(Literal::F32(0x3F80_0000)));
        double("0d3FF8000000000000", 1.5);
        double("1.5", 1.5);
        double(".5", 0.5);
        double("-.5e-3", -0.5e-3);
        double("5.", 5.0);
        double("1e5", 1e5);
        double("-0.0", -0.0);
    }

    #[test]
    fn expressions() {
        signed("1+2*3", 7);
        signed("(1+2)*3", 9);
        signed("-7/2", -3);
        signed("-7 % 3", -1);
        unsigned("-1/2U", u64::MAX / 2);
        signed("10-2-3", 5);
        signed("1<<4", 16);
        signed("-16>>2", -4);
        unsigned("0xFU&~3", 12);
        unsigned("1|2^3&1", 3);
        signed("1<2", 1);
        signed("-1<0U", 0);
        signed("1==1&&2!=3||0", 1);
        signed("1?2:3", 2);
        unsigned("0?2:3U", 3);
        signed("!5", 0);
        signed("- - 5", 5);
        signed("WARP_SZ*2-1", 63);
        signed("(.s64)3U", 3);
        unsigned("(.u64)-1", u64::MAX);
        double("1.5+2.0*2.0", 5.5);
        signed("1.5>1.0", 1);
        signed("-9223372036854775808/-1", i64::MIN);
        signed("1<<64", 0);
    }

    #[test]
    fn what_is_no_constant() {
        for (source, message) in [
            ("1/0", "this constant expression divides by zero"),
            ("1 % 0U", "this constant expression divides by zero"),
            ("1+1.5", "this constant expression mixes integers and floating point"),
            ("1.5<<1.0", "`<<` works on integers only"),
            ("~1.5", "`~` works on integers only"),
            ("-0f3f800000", "a hexadecimal single (`0f…`) cannot be calculated with"),
            ("0f3F80", "`0f3F80` is not a number that PTX knows"),
            ("0d3F", "`0d3F` is not a number that PTX knows"),
            ("0x", "`0x` is not a number that PTX knows"),
            ("018", "`018` is not a number that PTX knows"),
            ("5u", "`5u` is not a number that PTX knows"),
            ("12ab", "`12ab` is not a number that PTX knows"),
            ("1.2.3", "left over"),
            ("99999999999999999999", "`99999999999999999999` does not fit into 64 bits"),
            ("0x1FFFFFFFFFFFFFFFF", "`0x1FFFFFFFFFFFFFFFF` does not fit into 64 bits"),
            ("1+", "the source ends here, where a number is expected"),
            ("(1", "the source ends here, where `)` is expected"),
        ] {
            assert_eq!(evaluate(source).unwrap_err(), message, "{source}");
        }
    }

    #[test]
    fn depth_is_limited() {
        for deep in ["(", "-", "~ ", "1?", "(.s64)", "1?1:"] {
            let message = evaluate(&deep.repeat(100_000)).unwrap_err();
            assert_eq!(message, "this is nested too deeply: more than 128 levels", "{deep}");
        }
        signed(&format!("1{}", "+1".repeat(100_000)), 100_001);
    }
}
