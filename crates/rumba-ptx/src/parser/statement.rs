//! The bodies of functions: labels, directives, blocks and instructions.

use super::module::{begins_variable, is_top_level_only};
use super::{Failed, Found, Parsed, Parser, Problem};
use crate::ast::{
    Block, CallPrototype, Guard, Instruction, Label, Loc, NameList, Opcode, Operands, Span, Statement, Symbol,
};
use crate::lexer::TokenKind;

impl<'s> Parser<'s> {
    /// From brace to brace. Errors inside are reported; the block fails only if its end is not
    /// found.
    pub(super) fn block(&mut self) -> Parsed<Block<'s>> {
        let open = self.expect(TokenKind::BraceOpen, "`{`")?;
        let mut statements = Vec::new();
        loop {
            match self.token.kind {
                TokenKind::BraceClose => {
                    let close = self.bump().span;
                    return Ok(Block {
                        statements,
                        span: open.to(close),
                    });
                }
                TokenKind::End => {
                    let (function, _) = self.body.unwrap_or_default();
                    return self.ended(&Problem::OpenBody { function });
                }
                _ => {}
            }
            let start = self.token.span.start;
            if self.statement(&mut statements).is_err() {
                if self.abandoned {
                    return Err(Failed);
                }
                self.next_statement(start);
            }
        }
    }

    /// Skips to where the next statement may begin.
    fn next_statement(&mut self, start: u32) {
        if self.token.span.start == start && !self.at(TokenKind::Semicolon) {
            self.bump();
        }
        let mut depth = 0_u32;
        loop {
            match self.token.kind {
                TokenKind::End => return,
                TokenKind::Semicolon => {
                    self.bump();
                    return;
                }
                TokenKind::BraceOpen if self.on_new_line() => return,
                TokenKind::BraceOpen => depth += 1,
                TokenKind::BraceClose if depth == 0 => return,
                TokenKind::BraceClose => depth -= 1,
                TokenKind::Dotted if self.on_new_line() && is_top_level_only(self.token_text()) => {
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    fn statement(&mut self, statements: &mut Vec<Statement<'s>>) -> Parsed<()> {
        let span = self.token.span;
        let statement = match self.token.kind {
            TokenKind::Identifier => {
                self.bump();
                let name = self.text(span);
                if self.eat(TokenKind::Colon) {
                    self.labelled(Label { name, span })?
                } else {
                    Statement::Instruction(self.instruction(None, span)?)
                }
            }
            TokenKind::At => {
                let guard = self.guard()?;
                let mnemonic = self.expect(TokenKind::Identifier, "an instruction")?;
                Statement::Instruction(self.instruction(Some(guard), mnemonic)?)
            }
            TokenKind::Dotted => match self.token_text() {
                ".loc" => Statement::Loc(Box::new(self.loc()?)),
                ".pragma" => Statement::Pragma(self.pragma()?),
                text if begins_variable(text) => {
                    return self.variables(None, |variable| {
                        statements.push(Statement::Declaration(Box::new(variable)));
                    });
                }
                directive @ (".branchtargets" | ".calltargets" | ".callprototype") => {
                    return self.fail(span, &Problem::NeedsLabel { directive });
                }
                text if is_top_level_only(text) => return self.abandon_body(),
                text => {
                    let place = "in the body of a function";
                    return self.fail(span, &Problem::UnknownDirective { text, place });
                }
            },
            TokenKind::BraceOpen => Statement::Block(self.nested(Self::block)?),
            _ => return self.unexpected("a statement"),
        };
        statements.push(statement);
        Ok(())
    }

    /// What a label stands before: one of three directives, or anything.
    fn labelled(&mut self, label: Label<'s>) -> Parsed<Statement<'s>> {
        let directive = if self.at(TokenKind::Dotted) {
            self.token_text()
        } else {
            ""
        };
        Ok(match directive {
            ".branchtargets" => Statement::BranchTargets(self.names(label)?),
            ".calltargets" => Statement::CallTargets(self.names(label)?),
            ".callprototype" => {
                self.bump();
                let (returns, name, parameters, directives) = self.signature()?;
                let span = label.span.to(self.semicolon("directive")?);
                Statement::CallPrototype(Box::new(CallPrototype {
                    label,
                    returns,
                    name,
                    parameters,
                    directives,
                    span,
                }))
            }
            _ => Statement::Label(label),
        })
    }

    fn names(&mut self, label: Label<'s>) -> Parsed<NameList<'s>> {
        self.bump();
        let mut names = Vec::new();
        loop {
            let (name, span) = self.identifier("a name")?;
            names.push(Label { name, span });
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        let end = self.semicolon("directive")?;
        Ok(NameList {
            label,
            names,
            span: label.span.to(end),
        })
    }

    fn loc(&mut self) -> Parsed<Loc<'s>> {
        let start = self.bump().span;
        let [file, line, column] = self.place()?;
        let mut loc = Loc {
            file,
            line,
            column,
            function_name: None,
            inlined_at: None,
            span: start,
        };
        while self.eat(TokenKind::Comma) {
            let (attribute, span) = self.identifier("`function_name` or `inlined_at`")?;
            match attribute {
                "function_name" => loc.function_name = Some(self.string_label()?),
                "inlined_at" => loc.inlined_at = Some(self.place()?),
                other => {
                    let expected = "`function_name` or `inlined_at`";
                    return self.fail(
                        span,
                        &Problem::Expected {
                            expected,
                            found: Found(other),
                        },
                    );
                }
            }
        }
        loc.span = start.to(self.previous);
        Ok(loc)
    }

    /// File, line and column.
    fn place(&mut self) -> Parsed<[u32; 3]> {
        Ok([
            self.u32("the number of a file")?,
            self.u32("a line number")?,
            self.u32("a column number")?,
        ])
    }

    /// `$L__info_string0`, `.debug_str+24`.
    fn string_label(&mut self) -> Parsed<Symbol<'s>> {
        let name = self.token_text();
        if !self.eat(TokenKind::Dotted) {
            self.expect(TokenKind::Identifier, "a label in `.debug_str`")?;
        }
        Ok(Symbol {
            name,
            generic: false,
            addend: self.addend()?,
            mask: None,
        })
    }

    fn guard(&mut self) -> Parsed<Guard<'s>> {
        let at = self.bump().span;
        let negated = self.eat(TokenKind::Not);
        let (register, end) = self.identifier("a predicate register")?;
        Ok(Guard {
            register,
            negated,
            span: at.to(end),
        })
    }

    /// What follows the mnemonic, which is taken already.
    fn instruction(&mut self, guard: Option<Guard<'s>>, mnemonic: Span) -> Parsed<Instruction<'s>> {
        let opcode = self.opcode(mnemonic)?;
        let mut operands = Operands::new();
        if self.at(TokenKind::Semicolon) {
            let end = self.bump().span;
            let span = guard.map_or(mnemonic, |guard| guard.span).to(end);
            return Ok(Instruction {
                guard,
                opcode,
                operands,
                span,
            });
        }
        let call = opcode.mnemonic == "call";
        if !self.at_next_statement() {
            loop {
                operands.push(self.operand(call)?);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        let end = self.semicolon("instruction")?;
        let span = guard.map_or(mnemonic, |guard| guard.span).to(end);
        Ok(Instruction {
            guard,
            opcode,
            operands,
            span,
        })
    }

    fn opcode(&mut self, start: Span) -> Parsed<Opcode<'s>> {
        let mnemonic = self.text(start);
        if !mnemonic.as_bytes()[0].is_ascii_alphabetic() {
            let problem = Problem::Expected {
                expected: "an instruction",
                found: Found(mnemonic),
            };
            return self.fail(start, &problem);
        }
        let mut modifiers = Vec::new();
        // On a new line, a directive is more likely: the semicolon is missing.
        while self.at(TokenKind::Dotted) && (self.is_joined() || !self.on_new_line()) {
            modifiers.push(self.token_text());
            self.bump();
        }
        Ok(Opcode {
            mnemonic,
            modifiers,
            span: start.to(self.previous),
        })
    }

    /// Whether nothing stands between the current token and the one before.
    pub(super) fn is_joined(&self) -> bool {
        self.previous.end == self.token.span.start
    }

    /// Whether another statement stands where the first operand could: on a new line, and such
    /// as no operand looks like.
    fn at_next_statement(&self) -> bool {
        match self.token.kind {
            TokenKind::Identifier => {
                let behind = self.source.as_bytes().get(self.token.span.end as usize);
                self.token_text().as_bytes()[0].is_ascii_alphabetic()
                    && matches!(behind, Some(b'.' | b':'))
                    && self.on_new_line()
            }
            TokenKind::At | TokenKind::Dotted | TokenKind::BraceClose => self.on_new_line(),
            _ => false,
        }
    }
}
