//! Source text to tokens (PTX manual, section 4.3 and 4.4).
//!
//! A token is a kind and a place; what a number is worth and which directives exist is the
//! parser's business.

use crate::ast::Span;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// `foo`, `%r1`, `$L__BB0_1`, `_`.
    Identifier,
    /// `.foo`, `.L2::128B`, `.2d`.
    Dotted,
    /// Anything that starts with a digit.
    Number,
    /// `"…"`, on one line.
    String,
    Comma,
    Semicolon,
    Colon,
    ParenOpen,
    ParenClose,
    BraceOpen,
    BraceClose,
    BracketOpen,
    BracketClose,
    At,
    Equal,
    Question,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Not,
    Tilde,
    And,
    Or,
    Xor,
    Less,
    Greater,
    ShiftLeft,
    ShiftRight,
    LessEqual,
    GreaterEqual,
    EqualEqual,
    NotEqual,
    AndAnd,
    OrOr,
    /// A character that PTX has no use for.
    Stray,
    /// A `"` without another one on the line.
    OpenString,
    /// A `/*` without a `*/`.
    OpenComment,
    /// Nothing is left.
    End,
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

/// Reads tokens one after the other. Cheap to copy: a copy is a place to come back to.
#[derive(Clone, Copy)]
pub(crate) struct Lexer<'s> {
    source: &'s str,
    at: usize,
}

/// Byte classes: what may follow in an identifier, white space, and what ends a block or may hide the end.
const FOLLOWS: u8 = 1;
const SPACE: u8 = 2;
const STOPS: u8 = 4;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'$' => FOLLOWS,
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => SPACE,
            b'{' | b'}' | b'"' | b'/' => STOPS,
            _ => 0,
        };
        byte += 1;
    }
    class
};

impl<'s> Lexer<'s> {
    /// `source` is below 4 GiB: spans are 32-bit.
    pub(crate) fn new(source: &'s str) -> Self {
        Self { source, at: 0 }
    }

    /// Goes back (or forth) to a byte offset.
    pub(crate) fn seek(&mut self, offset: u32) {
        self.at = offset as usize;
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.source.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_class(&mut self, class: u8) {
        let bytes = self.source.as_bytes();
        while self.at < bytes.len() && CLASS[bytes[self.at] as usize] & class != 0 {
            self.at += 1;
        }
    }

    fn token(&self, kind: TokenKind, start: usize) -> Token {
        // The source is below 4 GiB, so offsets fit.
        Token { kind, span: Span::new(start as u32, self.at as u32) }
    }

    /// The next token; [`TokenKind::End`] for ever once nothing is left.
    pub(crate) fn next(&mut self) -> Token {
        if let Some(open) = self.skip_blanks() {
            return open;
        }
        let start = self.at;
        let kind = match self.byte(0) {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => {
                self.skip_class(FOLLOWS);
                TokenKind::Identifier
            }
            b'%' if CLASS[self.byte(1) as usize] & FOLLOWS != 0 => {
                self.at += 1;
                self.skip_class(FOLLOWS);
                TokenKind::Identifier
            }
            b'.' if CLASS[self.byte(1) as usize] & FOLLOWS != 0 => {
                self.dotted();
                TokenKind::Dotted
            }
            b'0'..=b'9' => {
                self.number();
                TokenKind::Number
            }
            b'"' => self.string(),
            0 if start >= self.source.len() => TokenKind::End,
            _ => self.punctuation(),
        };
        self.token(kind, start)
    }

    /// Skips white space and comments; answers with the comment that has no end.
    fn skip_blanks(&mut self) -> Option<Token> {
        loop {
            self.skip_class(SPACE);
            if self.byte(0) != b'/' {
                return None;
            }
            let rest = &self.source.as_bytes()[self.at..];
            match self.byte(1) {
                b'/' => self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
                b'*' => match memchr::memmem::find(&rest[2..], b"*/") {
                    Some(end) => self.at += end + 4,
                    None => {
                        let start = self.at;
                        self.at += 2;
                        let open = self.token(TokenKind::OpenComment, start);
                        self.at = self.source.len();
                        return Some(open);
                    }
                },
                _ => return None,
            }
        }
    }

    /// Goes from a place within a block to the brace that closes the block, or to the end of the source.
    pub(crate) fn skip_block(&mut self) {
        let mut depth = 0_usize;
        loop {
            let rest = &self.source.as_bytes()[self.at..];
            let stop = rest.iter().position(|byte| CLASS[*byte as usize] & STOPS != 0);
            self.at += stop.unwrap_or(rest.len());
            match self.byte(0) {
                b'{' => depth += 1,
                b'}' if depth == 0 => return,
                b'}' => depth -= 1,
                b'"' => {
                    self.string();
                    continue;
                }
                b'/' if matches!(self.byte(1), b'/' | b'*') => {
                    self.skip_blanks();
                    continue;
                }
                b'/' => {}
                _ => return,
            }
            self.at += 1;
        }
    }

    /// `.a`, and `::b` as often as it follows at once.
    fn dotted(&mut self) {
        self.at += 1;
        self.skip_class(FOLLOWS);
        while self.byte(0) == b':' && self.byte(1) == b':' && CLASS[self.byte(2) as usize] & FOLLOWS != 0 {
            self.at += 2;
            self.skip_class(FOLLOWS);
        }
    }

    /// Digits and letters, at most one decimal point, the sign of an exponent.
    fn number(&mut self) {
        let start = self.at;
        self.skip_class(FOLLOWS);
        let prefixed = self.source.as_bytes()[start] == b'0'
            && matches!(self.source.as_bytes().get(start + 1), Some(b'a'..=b'z' | b'A'..=b'Z'));
        if prefixed {
            return;
        }
        if self.byte(0) == b'.' && !self.source[start..self.at].contains(['e', 'E']) {
            self.at += 1;
            self.skip_class(FOLLOWS);
        }
        let exponent = matches!(self.source.as_bytes()[self.at - 1], b'e' | b'E');
        if exponent && matches!(self.byte(0), b'+' | b'-') && self.byte(1).is_ascii_digit() {
            self.at += 1;
            self.skip_class(FOLLOWS);
        }
    }

    /// Reads a number that begins with its decimal point, where `dotted` stands.
    pub(crate) fn fraction(&mut self, dotted: Span) -> Token {
        let start = dotted.start as usize;
        self.at = start + 1;
        self.number();
        self.token(TokenKind::Number, start)
    }

    fn string(&mut self) -> TokenKind {
        let rest = &self.source.as_bytes()[self.at + 1..];
        match memchr::memchr2(b'"', b'\n', rest) {
            Some(end) if rest[end] == b'"' => {
                self.at += end + 2;
                TokenKind::String
            }
            end => {
                self.at += 1 + end.unwrap_or(rest.len());
                TokenKind::OpenString
            }
        }
    }

    fn punctuation(&mut self) -> TokenKind {
        use TokenKind as T;
        let (kind, length) = match (self.byte(0), self.byte(1)) {
            (b',', _) => (T::Comma, 1),
            (b';', _) => (T::Semicolon, 1),
            (b':', _) => (T::Colon, 1),
            (b'(', _) => (T::ParenOpen, 1),
            (b')', _) => (T::ParenClose, 1),
            (b'{', _) => (T::BraceOpen, 1),
            (b'}', _) => (T::BraceClose, 1),
            (b'[', _) => (T::BracketOpen, 1),
            (b']', _) => (T::BracketClose, 1),
            (b'@', _) => (T::At, 1),
            (b'?', _) => (T::Question, 1),
            (b'+', _) => (T::Plus, 1),
            (b'-', _) => (T::Minus, 1),
            (b'*', _) => (T::Star, 1),
            (b'/', _) => (T::Slash, 1),
            (b'%', _) => (T::Percent, 1),
            (b'~', _) => (T::Tilde, 1),
            (b'^', _) => (T::Xor, 1),
            (b'&', b'&') => (T::AndAnd, 2),
            (b'&', _) => (T::And, 1),
            (b'|', b'|') => (T::OrOr, 2),
            (b'|', _) => (T::Or, 1),
            (b'<', b'<') => (T::ShiftLeft, 2),
            (b'<', b'=') => (T::LessEqual, 2),
            (b'<', _) => (T::Less, 1),
            (b'>', b'>') => (T::ShiftRight, 2),
            (b'>', b'=') => (T::GreaterEqual, 2),
            (b'>', _) => (T::Greater, 1),
            (b'=', b'=') => (T::EqualEqual, 2),
            (b'=', _) => (T::Equal, 1),
            (b'!', b'=') => (T::NotEqual, 2),
            (b'!', _) => (T::Not, 1),
            _ => {
                let character = self.source[self.at..].chars().next();
                (T::Stray, character.map_or(1, char::len_utf8))
            }
        };
        self.at += length;
        kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<(TokenKind, &str)> {
        let mut lexer = Lexer::new(source);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next();
            if token.kind == TokenKind::End {
                return tokens;
            }
            tokens.push((token.kind, &source[token.span.range()]));
        }
    }

    fn words(source: &str) -> Vec<&str> {
        texts(source).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn opcodes_split_at_the_dots() {
        assert_eq!(
            words("ld.global.L1::no_allocate.L2::128B.v4.f32 tex.2d.shared::cta"),
            ["ld", ".global", ".L1::no_allocate", ".L2::128B", ".v4", ".f32", "tex", ".2d", ".shared::cta"]
        );
        assert_eq!(words("mbarrier::complete_tx"), ["mbarrier", ":", ":", "complete_tx"]);
        assert_eq!(words(".mbarrier::complete_tx::bytes"), [".mbarrier::complete_tx::bytes"]);
    }

    #[test]
    fn a_block_is_skipped_to_its_own_brace() {
        for (source, rest) in [
            (" ret; } .func", "} .func"),
            (" { { } { ret; } } } {", "} {"),
            (" // }\n /* } */ .pragma \"}\"; a / b; }", "}"),
            (" \"}\n }", "}"),
            (" /* }", ""),
            (" { }", ""),
            ("", ""),
        ] {
            let mut lexer = Lexer::new(source);
            lexer.skip_block();
            assert_eq!(&source[lexer.at..], rest, "{source}");
        }
    }

    #[test]
    fn names() {
        let kinds = texts("%r1 $L__BB0_1 _ foo %tid.x % 3");
        assert_eq!(kinds[0], (TokenKind::Identifier, "%r1"));
        assert_eq!(kinds[1], (TokenKind::Identifier, "$L__BB0_1"));
        assert_eq!(kinds[2], (TokenKind::Identifier, "_"));
        assert_eq!(kinds[5], (TokenKind::Dotted, ".x"));
        assert_eq!(kinds[6], (TokenKind::Percent, "%"));
    }

    #[test]
    fn numbers() {
        for number in
            ["0", "17", "0x7771U", "0b101", "0f3F800000", "0d3FF0000000000000", "1.5", "5.", "1e5", "1.5e-3", "8.10"]
        {
            assert_eq!(texts(number), [(TokenKind::Number, number)]);
        }
        assert_eq!(words("0x1e+5"), ["0x1e", "+", "5"]);
        assert_eq!(words("5+3"), ["5", "+", "3"]);
        assert_eq!(words("0d3FE+1"), ["0d3FE", "+", "1"]);
    }

    #[test]
    fn comments_are_skipped() {
        assert_eq!(words("a // b\nc /* d\n*/ e /**/ f /"), ["a", "c", "e", "f", "/"]);
    }

    #[test]
    fn what_is_left_open() {
        assert_eq!(texts("a /* b c"), [(TokenKind::Identifier, "a"), (TokenKind::OpenComment, "/*")]);
        assert_eq!(texts("\"ab\nc"), [(TokenKind::OpenString, "\"ab"), (TokenKind::Identifier, "c")]);
        assert_eq!(texts("/*/"), [(TokenKind::OpenComment, "/*")]);
    }

    #[test]
    fn stray_characters_are_whole_characters() {
        assert_eq!(texts("é#"), [(TokenKind::Stray, "é"), (TokenKind::Stray, "#")]);
        assert_eq!(texts("\0"), [(TokenKind::Stray, "\0")]);
    }
}
