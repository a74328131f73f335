//! Tokens to syntax tree, by recursive descent.
//!
//! After an error the parser goes on behind the statement or item at fault, up to a limit of
//! errors. Nesting is limited too, so no source can exhaust the stack, here or where the tree is
//! walked later. The parser knows neither instructions nor the meaning of names.

mod constant;
mod declaration;
mod module;
mod operand;
mod problem;
mod statement;

use std::fmt::Write;

use crate::ast::{Module, Span};
use crate::diagnostic::Diagnostic;
use crate::lexer::{Lexer, Token, TokenKind};
use problem::{Found, Problem};

/// How many errors are reported before the rest of the source is left unread.
pub(crate) const MAX_ERRORS: usize = 20;

/// How deep blocks, initialisers and constant expressions may nest.
pub(crate) const MAX_NESTING: u32 = 128;

/// Reads a whole PTX source.
///
/// # Errors
///
/// Everything that is wrong with its syntax, in the order of the source, up to 20 diagnostics.
///
/// # Examples
///
/// ```
/// let module = rumba_ptx::parse(".version 8.0 .target sm_90 .address_size 64").unwrap();
/// assert_eq!(module.targets, ["sm_90"]);
/// ```
pub fn parse(source: &str) -> Result<Module<'_>, Vec<Diagnostic>> {
    read(source, false)
}

/// As [`parse`], but without the statements in bodies of functions: each body is an empty block, with its place in the source. For those who
/// ask what a module declares, in a tenth of the time.
///
/// # Errors
///
/// As for [`parse`], outside of bodies.
///
/// # Examples
///
/// ```
/// let module = rumba_ptx::parse_declarations(
///     ".version 8.0 .target sm_90 .address_size 64
///     .visible .entry k(.param .u64 x) { ret; }",
/// );
/// let Ok([rumba_ptx::ast::Item::Function(kernel)]) = module.as_ref().map(|module| &module.items[..]) else { panic!() };
/// assert_eq!((kernel.name, kernel.parameters.len()), ("k", 1));
/// assert!(kernel.body.as_ref().is_some_and(|body| body.statements.is_empty()));
/// ```
pub fn parse_declarations(source: &str) -> Result<Module<'_>, Vec<Diagnostic>> {
    read(source, true)
}

fn read(source: &str, skips_bodies: bool) -> Result<Module<'_>, Vec<Diagnostic>> {
    if u32::try_from(source.len()).is_err() {
        let problem = Problem::TooLarge { bytes: source.len() };
        return Err(vec![Diagnostic::new(Span::default(), problem.to_string())]);
    }
    let mut parser = Parser { skips_bodies, ..Parser::new(source) };
    match parser.module() {
        Ok(module) if parser.errors.is_empty() => Ok(module),
        _ => Err(parser.errors),
    }
}

/// A construct could not be read; the diagnostic is on the list already.
struct Failed;

type Parsed<T> = Result<T, Failed>;

struct Parser<'s> {
    source: &'s str,
    lexer: Lexer<'s>,
    /// The token that is looked at.
    token: Token,
    /// The one before it.
    previous: Span,
    errors: Vec<Diagnostic>,
    /// The function whose body is being read, and its opening brace.
    body: Option<(&'s str, Span)>,
    nesting: u32,
    /// The body ends without its brace: give up every block up to the function.
    abandoned: bool,
    /// Bodies of functions are not read.
    skips_bodies: bool,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str) -> Self {
        let nothing = Token { kind: TokenKind::End, span: Span::default() };
        let mut parser = Self {
            source,
            lexer: Lexer::new(source),
            token: nothing,
            previous: nothing.span,
            errors: Vec::new(),
            body: None,
            nesting: 0,
            abandoned: false,
            skips_bodies: false,
        };
        parser.bump();
        parser
    }

    /// Takes the current token and looks at the next.
    fn bump(&mut self) -> Token {
        let taken = self.token;
        self.previous = taken.span;
        self.token = self.lexer.next();
        if matches!(self.token.kind, TokenKind::Stray | TokenKind::OpenString | TokenKind::OpenComment) {
            self.skip_unusable();
        }
        taken
    }

    /// Reports characters that are no token, and moves to the next token.
    #[cold]
    fn skip_unusable(&mut self) {
        let mut reported_at = None;
        loop {
            let span = self.token.span;
            let problem = match self.token.kind {
                TokenKind::Stray => {
                    let character = self.text(span).chars().next().unwrap_or_default();
                    Problem::Stray { character }
                }
                TokenKind::OpenString => Problem::OpenString,
                TokenKind::OpenComment => Problem::OpenComment,
                _ => return,
            };
            // Several in a row are one mistake, in a binary file for example.
            if reported_at != Some(span.start) {
                self.report(span, &problem);
            }
            reported_at = Some(span.end);
            self.previous = span;
            self.token = self.lexer.next();
        }
    }

    fn text(&self, span: Span) -> &'s str {
        &self.source[span.range()]
    }

    fn token_text(&self) -> &'s str {
        self.text(self.token.span)
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.token.kind == kind
    }

    /// Whether the current token is this directive.
    fn at_dotted(&self, text: &str) -> bool {
        self.at(TokenKind::Dotted) && self.token_text() == text
    }

    /// Takes the current token if it is of this kind.
    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, kind: TokenKind, expected: &'static str) -> Parsed<Span> {
        if self.at(kind) { Ok(self.bump().span) } else { self.unexpected(expected) }
    }

    fn identifier(&mut self, expected: &'static str) -> Parsed<(&'s str, Span)> {
        let span = self.expect(TokenKind::Identifier, expected)?;
        Ok((self.text(span), span))
    }

    /// The text between the quotes.
    fn string(&mut self, expected: &'static str) -> Parsed<&'s str> {
        let span = self.expect(TokenKind::String, expected)?;
        Ok(self.source.get(span.start as usize + 1..span.end as usize - 1).unwrap_or_default())
    }

    /// The `;` of something that may as well have been forgotten at the end of a line.
    fn semicolon(&mut self, of: &'static str) -> Parsed<Span> {
        if self.at(TokenKind::Semicolon) {
            return Ok(self.bump().span);
        }
        if self.at(TokenKind::End) || !self.on_new_line() {
            return self.unexpected("`;`");
        }
        // The rest is fine: go on with the next line at once.
        let found = Found(self.token_text());
        let last = self.text(self.previous).chars().next_back().map_or(0, char::len_utf8);
        let place = Span::new(self.previous.end - last as u32, self.previous.end);
        self.report(place, &Problem::MissingSemicolon { of, found });
        Ok(self.previous)
    }

    /// Whether the current token is the first of its line.
    fn on_new_line(&self) -> bool {
        let between = self.previous.end as usize..self.token.span.start as usize;
        self.source[between].contains('\n')
    }

    fn unexpected<T>(&mut self, expected: &'static str) -> Parsed<T> {
        if self.at(TokenKind::End) {
            self.ended(&Problem::Ends { expected })
        } else {
            let found = Found(self.token_text());
            self.fail(self.token.span, &Problem::Expected { expected, found })
        }
    }

    /// The source is over, but should not be.
    fn ended<T>(&mut self, problem: &Problem<'s>) -> Parsed<T> {
        let end = self.previous.end;
        self.fail(Span::new(end, end), problem)
    }

    fn fail<T>(&mut self, span: Span, problem: &Problem<'s>) -> Parsed<T> {
        self.report(span, problem);
        Err(Failed)
    }

    #[cold]
    fn report(&mut self, span: Span, problem: &Problem<'s>) {
        // One place gets one error: at the end of the source every open construct would report one.
        let ends = matches!(problem, Problem::Ends { .. } | Problem::OpenBody { .. });
        let told = self
            .errors
            .last()
            .is_some_and(|last| last.span.range() == span.range() || (ends && last.span.end == span.end));
        if self.errors.len() >= MAX_ERRORS || told {
            return;
        }
        let mut diagnostic = Diagnostic::new(span, problem.to_string());
        diagnostic.help = problem.help().map(str::to_owned);
        if let Some((function, brace)) = self.body
            && (ends || matches!(problem, Problem::BodyRunsOn { .. }))
        {
            diagnostic = diagnostic.with_note(brace, format!("the body of `{function}` opens here"));
        }
        let cut = span.end as usize == self.source.len() && !span.range().is_empty();
        if cut {
            diagnostic = diagnostic.with_help("the source ends in this word; is it cut off?");
        }
        if self.errors.len() + 1 == MAX_ERRORS {
            let _ = write!(diagnostic.message, " (and no more errors are shown)");
            self.lexer.seek(u32::try_from(self.source.len()).unwrap_or(u32::MAX));
            self.token = self.lexer.next();
        }
        self.errors.push(diagnostic);
    }

    /// Reads something one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= MAX_NESTING {
            return self.fail(self.token.span, &Problem::TooDeep { limit: MAX_NESTING });
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    /// Reads `item, item, …` up to `close`, which is taken. The opening token is taken already.
    fn list<T>(
        &mut self,
        close: TokenKind,
        expected: &'static str,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if !self.eat(TokenKind::Comma) {
                self.expect(close, expected)?;
                return Ok(items);
            }
        }
    }
}
