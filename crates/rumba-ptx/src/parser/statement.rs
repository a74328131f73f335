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
                    return Ok(Block { statements, span: open.to(close) });
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

    /// From brace to brace, without the statements between.
    pub(super) fn skipped_block(&mut self) -> Parsed<Block<'s>> {
        self.lexer.skip_block();
        let open = self.expect(TokenKind::BraceOpen, "`{`")?;
        if self.at(TokenKind::End) {
            let (function, _) = self.body.unwrap_or_default();
            return self.ended(&Problem::OpenBody { function });
        }
        let close = self.expect(TokenKind::BraceClose, "`}`")?;
        Ok(Block { statements: Vec::new(), span: open.to(close) })
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

    /// The statement after a label: one of three directives, or any other statement.
    fn labelled(&mut self, label: Label<'s>) -> Parsed<Statement<'s>> {
        let directive = if self.at(TokenKind::Dotted) { self.token_text() } else { "" };
        Ok(match directive {
            ".branchtargets" => Statement::BranchTargets(self.names(label)?),
            ".calltargets" => Statement::CallTargets(self.names(label)?),
            ".callprototype" => {
                self.bump();
                let (returns, name, parameters, directives) = self.signature()?;
                let span = label.span.to(self.semicolon("directive")?);
                Statement::CallPrototype(Box::new(CallPrototype { label, returns, name, parameters, directives, span }))
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
        Ok(NameList { label, names, span: label.span.to(end) })
    }

    fn loc(&mut self) -> Parsed<Loc<'s>> {
        let start = self.bump().span;
        let [file, line, column] = self.place()?;
        let mut loc = Loc { file, line, column, function_name: None, inlined_at: None, span: start };
        while self.eat(TokenKind::Comma) {
            let (attribute, span) = self.identifier("`function_name` or `inlined_at`")?;
            match attribute {
                "function_name" => loc.function_name = Some(self.string_label()?),
                "inlined_at" => loc.inlined_at = Some(self.place()?),
                other => {
                    let expected = "`function_name` or `inlined_at`";
                    return self.fail(span, &Problem::Expected { expected, found: Found(other) });
                }
            }
        }
        loc.span = start.to(self.previous);
        Ok(loc)
    }

    /// File, line and column.
    fn place(&mut self) -> Parsed<[u32; 3]> {
        Ok([self.u32("the number of a file")?, self.u32("a line number")?, self.u32("a column number")?])
    }

    /// `$L__info_string0`, `.debug_str+24`.
    fn string_label(&mut self) -> Parsed<Symbol<'s>> {
        let name = self.token_text();
        if !self.eat(TokenKind::Dotted) {
            self.expect(TokenKind::Identifier, "a label in `.debug_str`")?;
        }
        Ok(Symbol { name, generic: false, addend: self.addend()?, mask: None })
    }

    fn guard(&mut self) -> Parsed<Guard<'s>> {
        let at = self.bump().span;
        let negated = self.eat(TokenKind::Not);
        let (register, end) = self.identifier("a predicate register")?;
        Ok(Guard { register, negated, span: at.to(end) })
    }

    /// The rest of an instruction, whose mnemonic is already consumed.
    fn instruction(&mut self, guard: Option<Guard<'s>>, mnemonic: Span) -> Parsed<Instruction<'s>> {
        let opcode = self.opcode(mnemonic)?;
        let mut operands = Operands::new();
        if self.at(TokenKind::Semicolon) {
            let end = self.bump().span;
            let span = guard.map_or(mnemonic, |guard| guard.span).to(end);
            return Ok(Instruction { guard, opcode, operands, span });
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
        Ok(Instruction { guard, opcode, operands, span })
    }

    fn opcode(&mut self, start: Span) -> Parsed<Opcode<'s>> {
        let mnemonic = self.text(start);
        if !mnemonic.as_bytes()[0].is_ascii_alphabetic() {
            let problem = Problem::Expected { expected: "an instruction", found: Found(mnemonic) };
            return self.fail(start, &problem);
        }
        let mut modifiers = Vec::new();
        // On a new line, a directive is more likely: the semicolon is missing.
        while self.at(TokenKind::Dotted) && (self.is_joined() || !self.on_new_line()) {
            modifiers.push(self.token_text());
            self.bump();
        }
        Ok(Opcode { mnemonic, modifiers, span: start.to(self.previous) })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::OperandKind;

    /// The statements of a body, and the errors in it.
    fn read(body: &str, test: impl FnOnce(&[Statement<'_>], &[String])) {
        let source = format!("{{{body}}}");
        let mut parser = Parser::new(&source);
        let block = parser.block();
        let errors: Vec<_> = parser.errors.iter().map(ToString::to_string).collect();
        let statements = block.map_or_else(|_| Vec::new(), |block| block.statements);
        test(&statements, &errors);
    }

    /// The printed statements of a body without errors.
    #[track_caller]
    fn printed(body: &str) -> Vec<String> {
        let mut lines = Vec::new();
        read(body, |statements, errors| {
            assert!(errors.is_empty(), "{errors:?}");
            lines = statements.iter().map(ToString::to_string).collect();
        });
        lines
    }

    #[test]
    fn instructions() {
        read("@!%p1 ld.global.L2::128B.b32 %r1, [a];", |statements, _| {
            let [Statement::Instruction(load)] = statements else { panic!("{statements:?}") };
            let guard = load.guard.unwrap();
            assert_eq!((guard.register, guard.negated), ("%p1", true));
            assert_eq!(load.opcode.mnemonic, "ld");
            assert_eq!(load.opcode.modifiers, [".global", ".L2::128B", ".b32"]);
            assert_eq!(load.opcode.to_string(), "ld.global.L2::128B.b32");
            assert_eq!(load.operands.len(), 2);
        });
        assert_eq!(printed("ret; bar.sync 0;\nret;"), ["ret;", "bar.sync 0;", "ret;"]);
        assert_eq!(printed("ld .global .b32 %r1, [a];"), ["ld.global.b32 %r1, [a];"]);
    }

    #[test]
    fn calls_over_several_lines() {
        read("call.uni (retval0), \nf, \n(\nparam0, \nparam1\n);", |statements, _| {
            let [Statement::Instruction(call)] = statements else { panic!("{statements:?}") };
            assert_eq!(call.operands.len(), 3);
            assert!(matches!(&call.operands[2].kind, OperandKind::List(list) if list.len() == 2));
        });
        assert_eq!(printed("call.uni \n\tf, \n\t(\n\t);"), ["call.uni f, ();"]);
    }

    #[test]
    fn labels_and_what_they_name() {
        assert_eq!(
            printed("a: b: ret; t: .branchtargets\n a,\n b; c: .calltargets f;"),
            ["a:", "b:", "ret;", "t: .branchtargets a, b;", "c: .calltargets f;"]
        );
        assert_eq!(
            printed("p : .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;"),
            ["p: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;"]
        );
    }

    #[test]
    fn directives() {
        assert_eq!(
            printed(
                ".reg .b32 a, %r<3>;\n.loc 1 2 3\n.loc 1 2 3, function_name $s+4, inlined_at 1 5 6\n\
                 .pragma \"nounroll\";"
            ),
            [
                ".reg .b32 a;",
                ".reg .b32 %r<3>;",
                ".loc 1 2 3",
                ".loc 1 2 3, function_name $s+4, inlined_at 1 5 6",
                ".pragma \"nounroll\";"
            ]
        );
    }

    #[test]
    fn one_error_leaves_the_rest_alone() {
        read("mov ?;\n ret;\n .odd 1;\n { exit; } add ] } ret;", |statements, errors| {
            assert_eq!(
                errors,
                [
                    "expected an operand, found `?`",
                    "`.odd` is not a directive that can stand in the body of a function",
                    "expected an operand, found `]`"
                ]
            );
            assert_eq!(statements.len(), 2);
        });
    }

    #[test]
    fn a_missing_semicolon_costs_nothing_else() {
        read("mov.b32 %r1, %r2\nret\n.loc 1 2 3\nexit\n@%p1 ret;", |statements, errors| {
            assert_eq!(errors.len(), 3, "{errors:?}");
            assert!(errors[0].contains("at the end of the instruction, found `ret` on the next line"));
            assert_eq!(statements.len(), 5);
        });
    }

    #[test]
    fn what_is_no_statement() {
        for (body, message) in [
            (";", "expected a statement, found `;`"),
            ("%r1 = 5;", "expected an instruction, found `%r1`"),
            ("@ret;", "expected an instruction, found `;`"),
            ("@%p1 {ret;}", "expected an instruction, found `{`"),
            (".callprototype _ ();", "a label is needed before `.callprototype`"),
            (".loc 1 2;", "expected a column number, found `;`"),
            (".loc 1 2 3, odd;", "expected `function_name` or `inlined_at`, found `odd`"),
        ] {
            read(body, |_, errors| assert_eq!(errors[0], message, "{body}"));
        }
    }
}
