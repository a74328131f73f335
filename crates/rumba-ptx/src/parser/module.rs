//! The head of a module and what stands at its top level.

use super::{Failed, Found, Parsed, Parser, Problem};
use crate::ast::{
    Alias, Constant, File, FunctionKind, Item, Label, Linkage, Module, Pragma, Section, SectionEntry, StateSpace,
    Symbol, Type, Version,
};
use crate::lexer::TokenKind;

const TOP_LEVEL: &str = "at the top level of a module";

/// Whether a directive can only stand outside of function bodies.
pub(super) fn is_top_level_only(directive: &str) -> bool {
    Linkage::from_text(directive).is_some()
        || FunctionKind::from_text(directive).is_some()
        || matches!(directive, ".file" | ".section" | ".alias" | ".version" | ".target" | ".address_size")
}

/// Whether a directive begins a variable declaration.
pub(super) fn begins_variable(directive: &str) -> bool {
    StateSpace::from_text(directive).is_some() || matches!(directive, ".align" | ".attribute")
}

impl<'s> Parser<'s> {
    pub(super) fn module(&mut self) -> Parsed<Module<'s>> {
        self.header(".version", "`.version`")?;
        let version = self.version()?;
        self.header(".target", "`.target` behind `.version`")?;
        let mut targets = Vec::new();
        loop {
            targets.push(self.identifier("an architecture such as `sm_90`")?.0);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        let address_size = if self.at_dotted(".address_size") {
            self.bump();
            Some(self.address_size()?)
        } else {
            None
        };
        let mut items = Vec::new();
        while !self.at(TokenKind::End) {
            let start = self.token.span.start;
            if self.item(&mut items).is_err() {
                self.next_item(start);
            }
        }
        Ok(Module { version, targets, address_size, items })
    }

    fn header(&mut self, directive: &str, expected: &'static str) -> Parsed<()> {
        if self.at_dotted(directive) {
            self.bump();
            return Ok(());
        }
        if self.at(TokenKind::End) {
            return self.unexpected(expected);
        }
        let found = Found(self.token_text());
        self.fail(self.token.span, &Problem::Header { expected, found })
    }

    fn version(&mut self) -> Parsed<Version> {
        let span = self.expect(TokenKind::Number, "a version such as `8.0`")?;
        let text = self.text(span);
        let version = text
            .split_once('.')
            .and_then(|(major, minor)| Some(Version { major: major.parse().ok()?, minor: minor.parse().ok()? }));
        match version {
            Some(version) => Ok(version),
            None => self.fail(span, &Problem::Version { text }),
        }
    }

    fn address_size(&mut self) -> Parsed<u32> {
        let span = self.token.span;
        match self.u64("32 or 64")? {
            32 => Ok(32),
            64 => Ok(64),
            bits => self.fail(span, &Problem::AddressSize { bits }),
        }
    }

    fn item(&mut self, items: &mut Vec<Item<'s>>) -> Parsed<()> {
        let span = self.token.span;
        match self.token.kind {
            TokenKind::Dotted => {}
            TokenKind::BraceClose => {
                self.bump();
                self.report(span, &Problem::StrayBrace);
                return Ok(());
            }
            _ => return self.unexpected("a directive"),
        }
        match self.token_text() {
            ".file" => items.push(Item::File(self.file()?)),
            ".section" => items.push(Item::Section(self.section()?)),
            ".pragma" => items.push(Item::Pragma(self.pragma()?)),
            ".alias" => items.push(Item::Alias(self.alias()?)),
            text @ (".version" | ".target" | ".address_size") => {
                return self.fail(span, &Problem::Twice { text });
            }
            text => return self.linked_item(text, items),
        }
        Ok(())
    }

    /// A function or variables, with a linking directive in front or not.
    fn linked_item(&mut self, text: &'s str, items: &mut Vec<Item<'s>>) -> Parsed<()> {
        let start = self.token.span;
        let linkage = Linkage::from_text(text);
        if linkage.is_some() {
            self.bump();
        }
        let text = self.token_text();
        if let Some(kind) = FunctionKind::from_text(text) {
            self.bump();
            items.push(Item::Function(Box::new(self.function(start, linkage, kind)?)));
            return Ok(());
        }
        if begins_variable(text) {
            return self.variables(linkage, |variable| {
                items.push(Item::Variable(Box::new(variable)));
            });
        }
        if linkage.is_some() {
            return self.unexpected("`.entry`, `.func` or a state space");
        }
        self.fail(start, &Problem::UnknownDirective { text, place: TOP_LEVEL })
    }

    /// Skips to where the next item may begin: behind a `;` or the `}` of a body, or before a
    /// directive at the beginning of a line.
    fn next_item(&mut self, start: u32) {
        self.body = None;
        self.abandoned = false;
        self.nesting = 0;
        if self.token.span.start == start {
            self.bump();
        }
        let mut depth = 0_u32;
        loop {
            match self.token.kind {
                TokenKind::End => return,
                TokenKind::Semicolon if depth == 0 => {
                    self.bump();
                    return;
                }
                TokenKind::BraceOpen => depth += 1,
                TokenKind::BraceClose => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        self.bump();
                        return;
                    }
                }
                TokenKind::Dotted if self.on_new_line() && is_top_level_only(self.token_text()) => {
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    fn file(&mut self) -> Parsed<File<'s>> {
        let start = self.bump().span;
        let index = self.u32("the number of the file")?;
        let name = self.string("the name of the file in quotes")?;
        let stamp = if self.eat(TokenKind::Comma) {
            let timestamp = self.u64("a timestamp")?;
            let size = if self.eat(TokenKind::Comma) { self.u64("the size of the file")? } else { 0 };
            Some((timestamp, size))
        } else {
            None
        };
        Ok(File { index, name, stamp, span: start.to(self.previous) })
    }

    fn alias(&mut self) -> Parsed<Alias<'s>> {
        let start = self.bump().span;
        let (alias, _) = self.identifier("the new name")?;
        self.expect(TokenKind::Comma, "`,`")?;
        let (target, _) = self.identifier("the name of a function")?;
        let end = self.semicolon("directive")?;
        Ok(Alias { alias, target, span: start.to(end) })
    }

    pub(super) fn pragma(&mut self) -> Parsed<Pragma<'s>> {
        let start = self.bump().span;
        let mut strings = vec![self.string("a string")?];
        while self.eat(TokenKind::Comma) {
            strings.push(self.string("a string")?);
        }
        let end = self.semicolon("directive")?;
        Ok(Pragma { strings, span: start.to(end) })
    }

    fn section(&mut self) -> Parsed<Section<'s>> {
        let start = self.bump().span;
        let name = self.expect(TokenKind::Dotted, "the name of the section")?;
        self.expect(TokenKind::BraceOpen, "`{`")?;
        let mut contents = Vec::new();
        while !self.eat(TokenKind::BraceClose) {
            contents.push(self.section_entry()?);
        }
        Ok(Section { name: self.text(name), contents, span: start.to(self.previous) })
    }

    fn section_entry(&mut self) -> Parsed<SectionEntry<'s>> {
        let span = self.token.span;
        if self.eat(TokenKind::Identifier) {
            self.expect(TokenKind::Colon, "`:`")?;
            return Ok(SectionEntry::Label(Label { name: self.text(span), span }));
        }
        if !self.at(TokenKind::Dotted) {
            return self.unexpected("a label, data such as `.b8 1`, or `}`");
        }
        let Some(ty) = Type::from_text(self.token_text()) else {
            return self.fail(span, &Problem::UnknownType { text: self.token_text() });
        };
        self.bump();
        let mut values = vec![self.section_value()?];
        while self.eat(TokenKind::Comma) {
            values.push(self.section_value()?);
        }
        Ok(SectionEntry::Data { ty, values })
    }

    /// A number, `name`, `name+4`, `.section`, `.section+4`, `a-b`.
    fn section_value(&mut self) -> Parsed<Constant<'s>> {
        let name = match self.token.kind {
            TokenKind::Identifier | TokenKind::Dotted if !self.at_constant() => self.token_text(),
            _ => return Ok(Constant::Literal(self.expression()?)),
        };
        self.bump();
        if self.eat(TokenKind::Minus) {
            let (right, _) = self.identifier("a label")?;
            return Ok(Constant::Difference(name, right));
        }
        let addend = self.addend()?;
        Ok(Constant::Symbol(Symbol { name, generic: false, addend, mask: None }))
    }

    /// Ends every open block: what comes belongs outside of a body.
    pub(super) fn abandon_body<T>(&mut self) -> Parsed<T> {
        let (function, _) = self.body.unwrap_or_default();
        let found = self.token_text();
        self.report(self.token.span, &Problem::BodyRunsOn { function, found });
        self.abandoned = true;
        Err(Failed)
    }
}

#[cfg(test)]
mod tests {
    use crate::ast::{Item, SectionEntry, Version};
    use crate::parse;

    #[track_caller]
    fn error(source: &str, message: &str) {
        assert_eq!(parse(source).unwrap_err()[0].message, message, "{source}");
    }

    #[test]
    fn the_head() {
        let module = parse(".version 8.10 .target sm_90a, debug").unwrap();
        assert_eq!(module.version, Version { major: 8, minor: 10 });
        assert_eq!(module.targets, ["sm_90a", "debug"]);
        assert_eq!(module.address_size, None);
        error("", "the source ends here, where `.version` is expected");
        error(".target sm_90", "a module begins with `.version`, not with `.target`");
        error(".version 8 .target sm_90", "`8` is not a PTX version");
        error(".version 8.0 .func", "a module begins with `.target` behind `.version`, not with `.func`");
        error(".version 8.0 .target", "the source ends here, where an architecture such as `sm_90` is expected");
    }

    #[test]
    fn files_sections_and_aliases() {
        let source = ".version 8.0 .target sm_90\n.file 1 \"a.cu\", 5, 6\n.alias a, b;\n\
                      .section .debug_str { $L: .b8 1, 2 .b32 .debug_abbrev+4 .b32 e-$L e: }";
        let module = parse(source).unwrap();
        let [Item::File(file), Item::Alias(alias), Item::Section(section)] = &module.items[..] else {
            panic!("{:?}", module.items);
        };
        assert_eq!((file.index, file.name, file.stamp), (1, "a.cu", Some((5, 6))));
        assert_eq!((alias.alias, alias.target), ("a", "b"));
        let entries: Vec<_> = section.contents.iter().map(SectionEntry::to_string).collect();
        assert_eq!(entries, ["$L:", ".b8 1, 2", ".b32 .debug_abbrev+4", ".b32 e-$L", "e:"]);
    }

    #[test]
    fn errors_in_several_items_are_all_found() {
        let source = ".version 8.0 .target sm_90\n.global .odd x;\n.func f( { ret; }\n}\n\
                      .func g() { op ?; ret; }\n.loc 1 2 3\n.func h()";
        let messages: Vec<_> = parse(source).unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            [
                "`.odd` is not a type or state space",
                "this declaration names no state space such as `.param`, `.reg` or `.global`",
                "this `}` closes nothing",
                "expected an operand, found `?`",
                "`.loc` is not a directive that can stand at the top level of a module",
                "the source ends here, where `{` or `;` is expected",
            ]
        );
    }

    #[test]
    fn the_list_of_errors_is_limited() {
        let source = format!(".version 8.0 .target sm_90\n{}", ".odd;\n".repeat(1000));
        let errors = parse(&source).unwrap_err();
        assert_eq!(errors.len(), 20);
        assert!(errors[19].message.ends_with("(and no more errors are shown)"));
    }
}
