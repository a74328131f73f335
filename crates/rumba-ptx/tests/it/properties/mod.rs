//! Properties of every tree and every input: trees survive printing and reading, and no text
//! whatever makes the parser or the reports panic or hang.

mod tree;

use proptest::collection::vec;
use proptest::prelude::*;
use rumba_ptx::ast::Operand;
use rumba_ptx::ast::{Item, Module, Statement};
use rumba_ptx::{Report, parse};

/// Reads any text and shows whatever is wrong with it.
fn survive(source: &str) {
    if let Err(faults) = parse(source) {
        assert!(!faults.is_empty());
        assert!(faults.len() <= 20);
        let report = Report::new("any.ptx", source);
        for fault in &faults {
            assert!(fault.span.start <= fault.span.end);
            assert!(fault.span.end as usize <= source.len());
            assert!(source.get(fault.span.range()).is_some());
        }
        let _ = report.render_all(&faults);
        let _ = report.short_log(&faults);
    }
}

fn module_with(body: &str) -> String {
    format!(".version 8.7\n.target sm_90\n.address_size 64\n.func f()\n{{\n{body}\n}}\n")
}

/// The only statement of the only function.
fn only_statement<'m, 's>(module: &'m Module<'s>) -> &'m Statement<'s> {
    match module.items.as_slice() {
        [Item::Function(function)] => &function.body.as_ref().unwrap().statements[0],
        items => panic!("{items:?}"),
    }
}

/// One operand, printed into an instruction and read again.
fn operand_survives(operand: &Operand<'_>, mnemonic: &str) -> Result<(), TestCaseError> {
    let source = module_with(&format!("{mnemonic}.b32 {operand}, {operand};"));
    let module = parse(&source)
        .map_err(|faults| TestCaseError::fail(Report::new("operand.ptx", &source).render_all(&faults)))?;
    let Statement::Instruction(instruction) = only_statement(&module) else {
        return Err(TestCaseError::fail(source.clone()));
    };
    prop_assert_eq!(&instruction.operands, &[operand.clone(), operand.clone()]);
    let span = instruction.operands[1].span;
    prop_assert_eq!(&source[span.range()], operand.to_string());
    Ok(())
}

/// Every kind of operand, literal and statement has a property of its own, so that a failure
/// names what failed.
macro_rules! operands {
    ($($name:ident),* $(,)?) => {
        proptest! {
            $(
                #[test]
                fn $name(operand in tree::$name()) {
                    let mnemonic = if stringify!($name) == "list" { "call" } else { "op" };
                    operand_survives(&operand, mnemonic)?;
                }
            )*
        }
    };
}

operands!(name, member, literal, offset, address, element, vector, pair, list, not, negative);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_module_survives_printing(module in tree::module()) {
        let printed = module.to_string();
        let read = parse(&printed).map_err(|faults| {
            TestCaseError::fail(Report::new("printed.ptx", &printed).render_all(&faults))
        })?;
        prop_assert_eq!(read.to_string(), printed.as_str());
        prop_assert_eq!(&read, &module);
    }
}

proptest! {
    #[test]
    fn integers_of_either_sign_keep_their_value(value: i64) {
        let decimal = module_with(&format!("mov.b64 %rd1, {value};"));
        let hexadecimal = if value < 0 {
            format!("-0X{:x}", value.unsigned_abs())
        } else {
            format!("0x{value:X}")
        };
        let hexadecimal = module_with(&format!("mov.b64 %rd1, {hexadecimal};"));
        let expected = module_with(&format!(
            "mov.b64 %rd1, {};",
            rumba_ptx::ast::Literal::signed(value)
        ));
        prop_assert_eq!(parse(&decimal), parse(&expected));
        prop_assert_eq!(parse(&hexadecimal), parse(&expected));
    }

    #[test]
    fn unsigned_integers_read_alike_in_every_base(value: u64) {
        let read = |text: String| {
            parse(&module_with(&format!("mov.b64 %rd1, {text};"))).unwrap().to_string()
        };
        let decimal = read(format!("{value}U"));
        prop_assert_eq!(&decimal, &read(format!("{value:#x}U")));
        prop_assert_eq!(&decimal, &read(format!("{value:#b}U")));
        prop_assert_eq!(&decimal, &read(format!("0{value:o}U")));
    }

    #[test]
    fn decimals_are_doubles(value in proptest::num::f64::NORMAL | proptest::num::f64::ZERO) {
        for text in [format!("{value:?}"), format!("{value:e}")] {
            // Rust leaves the decimal point out of `1e5`, and PTX does not mind.
            let module = module_with(&format!("mov.f64 %fd1, {text};"));
            let expected = module_with(&format!("mov.f64 %fd1, 0d{:016X};", value.to_bits()));
            prop_assert_eq!(parse(&module), parse(&expected), "{}", text);
        }
    }

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        survive(&text);
        survive(&module_with(&text));
    }

    #[test]
    fn any_words_of_ptx_are_survived(words in vec(tree::word(), 0..60)) {
        survive(&words.join(" "));
        survive(&module_with(&words.join(" ")));
        survive(&module_with(&words.join("\n")));
        survive(&format!("{}\n{}", module_with(""), words.join("\n")));
    }

    #[test]
    fn a_damaged_sample_is_survived(
        sample in 0..SAMPLES.len(),
        edits in vec((any::<prop::sample::Index>(), edit()), 1..8),
    ) {
        let mut source: Vec<char> = SAMPLES[sample].chars().collect();
        for (place, edit) in edits {
            let at = place.index(source.len());
            match edit {
                Edit::Delete(count) => {
                    let end = (at + count).min(source.len() - 1);
                    source.drain(at..end.max(at));
                }
                Edit::Insert(text) => {
                    source.splice(at..at, text.chars());
                }
                Edit::Cut => source.truncate(at + 1),
            }
        }
        survive(&String::from_iter(source));
    }
}

const SAMPLES: &[&str] = &[
    include_str!("../../samples/forms.ptx"),
    include_str!("../../samples/legacy.ptx"),
    include_str!("../../samples/llvm.ptx"),
    include_str!("../../samples/numba.ptx"),
    include_str!("../../samples/nvcc_lineinfo.ptx"),
];

#[derive(Clone, Debug)]
enum Edit {
    Delete(usize),
    Insert(String),
    Cut,
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (1_usize..40).prop_map(Edit::Delete),
        4 => tree::word().prop_map(|word| Edit::Insert(format!(" {word} "))),
        2 => tree::word().prop_map(|word| Edit::Insert(word.to_owned())),
        1 => any::<String>().prop_map(Edit::Insert),
        1 => Just(Edit::Cut),
    ]
}

/// Nesting cannot exhaust the stack, and repetition costs linear time.
#[test]
fn depth_is_survived() {
    const MANY: usize = 200_000;
    for piece in [
        "{",
        "{\n",
        "(",
        "[",
        "op {",
        "op (",
        "op [",
        "op -",
        "op !",
        "call (",
        "@",
        "@!",
        "a:",
        "a:\n",
        "a?",
        "1+",
        "mov a, ((",
        "{ }",
        "}",
        "op a|",
        ".reg",
        ".reg .b32 a[",
        ";",
        "\"",
        "/*",
        ".loc 1 1 1,",
        "p: .callprototype (",
        "op 1?",
        "op 1?1:",
        "\u{e9}",
        "\0",
    ] {
        let repeated = piece.repeat(MANY);
        survive(&repeated);
        survive(&module_with(&repeated));
        survive(&format!("{}.global .b32 x = {repeated}", module_with("")));
        survive(&format!("{}.global .b32 x[1] = {{{repeated}", module_with("")));
        survive(&format!("{}.section .s {{ {repeated}", module_with("")));
    }
}

/// As deep as is allowed is read, printed and read again; one more is an error.
#[test]
fn the_limit_of_depth() {
    let nested = |depth: usize| module_with(&format!("{}ret;{}", "{\n".repeat(depth), "}\n".repeat(depth)));
    let source = nested(128);
    let module = parse(&source).unwrap();
    assert_eq!(parse(&module.to_string()).unwrap(), module);
    let faults = parse(&nested(129)).unwrap_err();
    assert!(faults[0].message.contains("nested too deeply"));
}
