//! Prints programs as Rust.

use std::fmt::Write as _;

use super::{
    BINS, Binary, COUNTERS, Collective, Comparison, Expr, Function, LOCAL, Program, RESULTS, Rmw, Slice, Special, Stmt,
    Tile, Type, Unary, generate, unsigned,
};

/// The kernels of consecutive seeds, and on the host a function that makes a call of the kernel with a number.
pub(crate) fn crate_text(seed: u64, count: u64) -> String {
    let mut text = String::from("use cuda_std::prelude::*;\n\n");
    text.push_str(HELPERS);
    let mut calls = String::new();
    for number in 0..count {
        let program = generate::program(seed.wrapping_add(number));
        text.push_str(&kernel_text(&program, number));
        let shape = match program.rank() {
            1 => "results",
            2 => "(results, [shape[1], shape[2]])",
            _ => "(results, shape)",
        };
        let slices = Slice::ALL.map(|slice| format!("inputs.{}", slice.name())).join(", ");
        writeln!(calls, "        {number} => kernel_{number}({slices}, inputs.number, counters, {shape}),").expect(ANY);
    }
    writeln!(
        text,
        "/// A call of the kernel with this number.\n\
         #[cfg(not(target_arch = \"nvptx64\"))]\n\
         pub fn call<'a>(number: u64, inputs: &Inputs<'a>, counters: &'a mut [u32], results: &'a mut [[u64; {RESULTS}]], shape: [usize; 3]) \
         -> cuda_std::launch::Call<'a> {{\n    match number {{\n{calls}        _ => panic!(\"there is no kernel {{number}}\"),\n    }}\n}}"
    )
    .expect(ANY);
    text
}

const ANY: &str = "a string takes all text";

/// The bits of a float: every NaN has the same.
const HELPERS: &str = "\
#[inline(always)]\nfn bits_of_f32(x: f32) -> u32 { if x != x { 0x7fc0_0000 } else { x.to_bits() } }\n\
#[inline(always)]\nfn bits_of_f64(x: f64) -> u64 { if x != x { 0x7ff8_0000_0000_0000 } else { x.to_bits() } }\n\n";

/// A kernel and its functions.
pub(crate) fn kernel_text(program: &Program, number: u64) -> String {
    let mut printer = Printer { program, number, vars: &[], text: String::new(), indent: 1 };
    for (index, function) in program.functions.iter().enumerate() {
        printer.function(index, function);
    }
    printer.kernel();
    printer.text
}

struct Printer<'a> {
    program: &'a Program,
    number: u64,
    vars: &'a [Type],
    text: String,
    indent: usize,
}

fn slices() -> String {
    Slice::ALL.map(|slice| format!("{}: &[{}]", slice.name(), slice.element().name())).join(", ")
}

/// The type of shared memory.
fn tile_type(program: &Program, tile: Tile) -> String {
    let element = format!("[{}; {}]", tile.of.name(), tile.words);
    let [x, y, z] = program.block;
    match (tile.is_table, dimensions(program)) {
        (true, _) => format!("Table<{element}, {}>", program.threads()),
        (false, 1) => format!("Tile<{element}, {x}>"),
        (false, 2) => format!("Tile2<{element}, {y}, {x}>"),
        (false, _) => format!("Tile3<{element}, {z}, {y}, {x}>"),
    }
}

/// The number of dimensions of the block.
fn dimensions(program: &Program) -> usize {
    match program.block {
        [_, 1, 1] => 1,
        [_, _, 1] => 2,
        _ => 3,
    }
}

impl<'a> Printer<'a> {
    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.text.push_str("    ");
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn variables(&mut self, from: usize) {
        for (var, ty) in self.vars.iter().enumerate().skip(from) {
            let zero = match ty {
                Type::Bool => "false",
                Type::F32 | Type::F64 => "0.0",
                _ => "0",
            };
            self.line(&format!("let mut v{var}: {} = {zero};", ty.name()));
        }
    }

    fn function(&mut self, index: usize, function: &'a Function) {
        self.vars = &function.vars;
        let parameters: Vec<String> =
            function.parameters.iter().enumerate().map(|(i, ty)| format!("mut v{i}: {}", ty.name())).collect();
        let array = if function.takes_array { format!(", mut x0: [u32; {LOCAL}]") } else { String::new() };
        let (number, result) = (self.number, function.result.0.name());
        let head = format!(
            "#[inline(never)]\nfn function_{number}_{index}({}, {}{array}) -> {result} {{\n",
            slices(),
            parameters.join(", ")
        );
        self.text.push_str(&head);
        self.variables(function.parameters.len());
        self.statements(&function.body);
        let result = self.expr(&function.result.1);
        self.line(&result);
        self.text.push_str("}\n\n");
    }

    fn kernel(&mut self) {
        let program = self.program;
        self.vars = &program.vars;
        let mut parameters = vec![slices(), "number: u32".to_owned(), "counters: &[Atomic<u32>]".to_owned()];
        parameters.push(format!("mut results: Disjoint<[u64; {RESULTS}], PerThread<{}>>", program.rank()));
        if let Some(tile) = program.tile {
            parameters.push(format!("mut tile: Shared<{}>", tile_type(program, tile)));
        }
        if program.has_bins {
            parameters.push(format!("mut bins: Shared<Table<Atomic<u32>, {BINS}>>"));
        }
        let head = format!("#[kernel]\npub fn kernel_{}({}) {{\n", self.number, parameters.join(", "));
        self.text.push_str(&head);
        self.variables(0);
        for array in 0..program.arrays {
            self.line(&format!("let mut x{array} = [0_u32; {LOCAL}];"));
        }
        self.statements(&program.body);
        if let Some(condition) = &program.writes {
            let condition = self.expr(condition);
            self.line(&format!("if !{condition} {{ return; }}"));
        }
        let results: Vec<String> = program.results.iter().map(|result| self.expr(result)).collect();
        self.line(&format!("results.store([{}]);", results.join(", ")));
        self.text.push_str("}\n\n");
    }

    fn statements(&mut self, statements: &[Stmt]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn inside(&mut self, head: &str, statements: &[Stmt]) {
        self.line(head);
        self.indent += 1;
        self.statements(statements);
        self.indent -= 1;
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Set(var, value) => {
                let value = self.expr(value);
                self.line(&format!("v{var} = {value};"));
            }
            Stmt::SetLocal(array, index, value) => {
                let (index, value) = (self.expr(index), self.expr(value));
                self.line(&format!("x{array}[({index} % {LOCAL}) as usize] = {value};"));
            }
            Stmt::If(condition, then, otherwise) => {
                let condition = self.expr(condition);
                self.inside(&format!("if {condition} {{"), then);
                if !otherwise.is_empty() {
                    self.inside("} else {", otherwise);
                }
                self.line("}");
            }
            Stmt::Loop { round, count, body, last } => {
                let count = self.expr(count);
                self.line(&format!("v{round} = 0;"));
                self.line(&format!("let rounds = {count} & 7;"));
                self.inside(&format!("while v{round} < rounds {{"), body);
                self.indent += 1;
                if let Some(last) = last {
                    let last = self.expr(last);
                    self.line(&format!("if {last} {{ break; }}"));
                }
                self.line(&format!("v{round} += 1;"));
                self.indent -= 1;
                self.line("}");
            }
            Stmt::Match(value, arms) => {
                let value = self.expr(value);
                self.line(&format!("match {value} % {} {{", arms.len()));
                self.indent += 1;
                for (number, arm) in arms.iter().enumerate() {
                    let pattern = if number + 1 < arms.len() { number.to_string() } else { "_".to_owned() };
                    self.inside(&format!("{pattern} => {{"), arm);
                    self.line("}");
                }
                self.indent -= 1;
                self.line("}");
            }
            Stmt::Count(index, value) => {
                let (index, value) = (self.expr(index), self.expr(value));
                let rmw = rmw(self.program.rmw);
                self.line(&format!("counters[({index} % {COUNTERS}) as usize].{rmw}({value});"));
            }
            Stmt::Rounds(count, body) => {
                self.inside(&format!("for _ in 0..{count} {{"), body);
                self.line("}");
            }
            Stmt::Together(var, collective, value, lane) => {
                let (value, lane) = (self.expr(value), self.expr(lane));
                let call = collective_call(*collective, &value, &lane);
                self.line(&format!("v{var} = {call};"));
            }
            Stmt::Phase(words, readers) => self.phase(words, readers),
            Stmt::Bins(var, index, value) => {
                let (index, value) = (self.expr(index), self.expr(value));
                self.line("if let Some(bin) = bins.own() { *bin.get_mut() = 0; }");
                self.line("let shared = bins.sync();");
                self.line(&format!("shared[({index} % {BINS}) as usize].fetch_add({value});"));
                self.line("bins = shared.sync();");
                self.line(&format!("v{var} = bins.own().map_or(0, |bin| *bin.get_mut());"));
            }
        }
    }

    fn phase(&mut self, words: &[(usize, Expr)], readers: &[Stmt]) {
        let tile = self.program.tile.expect("a phase has a tile");
        // A table has an element for each thread as well.
        self.line("{");
        self.indent += 1;
        self.line(match tile.is_table {
            true => "let Some(own) = tile.own() else { return };",
            false => "let own = tile.own();",
        });
        for (word, value) in words {
            let value = self.expr(value);
            self.line(&format!("own[{word}] = {value};"));
        }
        self.indent -= 1;
        self.line("}");
        self.line("let view = tile.sync();");
        self.statements(readers);
        self.line("tile = view.sync();");
    }

    fn exprs(&self, of: &[Expr]) -> String {
        of.iter().map(|expr| self.expr(expr)).collect::<Vec<_>>().join(", ")
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Const(ty, bits) => constant(*ty, *bits),
            Expr::Var(var) => format!("v{var}"),
            Expr::Special(special) => special_call(*special).to_owned(),
            Expr::Unary(unary, of) => {
                let ty = self.program.type_of(of, self.vars);
                unary_text(*unary, ty, &self.expr(of))
            }
            Expr::Binary(binary, a, b) => {
                let ty = self.program.type_of(a, self.vars);
                binary_text(*binary, ty, &self.expr(a), &self.expr(b))
            }
            Expr::MulAdd(of) => {
                format!("({}).mul_add({}, {})", self.expr(&of[0]), self.expr(&of[1]), self.expr(&of[2]))
            }
            Expr::Compare(comparison, a, b) => {
                let sign = match comparison {
                    Comparison::Equal => "==",
                    Comparison::NotEqual => "!=",
                    Comparison::Less => "<",
                    Comparison::LessEqual => "<=",
                    Comparison::Greater => ">",
                    Comparison::GreaterEqual => ">=",
                };
                format!("({} {sign} {})", self.expr(a), self.expr(b))
            }
            Expr::Cast(ty, of) => format!("({} as {})", self.expr(of), ty.name()),
            Expr::Select(of) => {
                format!("(if {} {{ {} }} else {{ {} }})", self.expr(&of[0]), self.expr(&of[1]), self.expr(&of[2]))
            }
            Expr::Element(slice, index) => {
                let name = slice.name();
                format!("{name}[{} as usize % {name}.len()]", self.expr(index))
            }
            Expr::ElementOr(slice, index, other) => {
                let (name, other) = (slice.name(), constant(slice.element(), *other));
                format!("{name}.get({} as usize).copied().unwrap_or({other})", self.expr(index))
            }
            Expr::Local(array, index) => format!("x{array}[({} % {LOCAL}) as usize]", self.expr(index)),
            Expr::Shared { word, index } => {
                let tile = self.program.tile.expect("it is read");
                let [x, y, _] = self.program.block;
                let index = format!("({} as usize % {})", self.expr(index), self.program.threads());
                match (tile.is_table, dimensions(self.program)) {
                    (true, _) | (_, 1) => format!("view[{index}][{word}]"),
                    (_, 2) => format!("view[{index} / {x}][{index} % {x}][{word}]"),
                    _ => format!("view[{index} / {}][{index} / {x} % {y}][{index} % {x}][{word}]", x * y),
                }
            }
            Expr::Own(word) => format!("own[{word}]"),
            Expr::Call(function, arguments, array) => {
                let slices = Slice::ALL.map(Slice::name).join(", ");
                let arguments = self.exprs(arguments);
                let array = match self.program.functions[*function].takes_array {
                    true => format!(", x{array}"),
                    false => String::new(),
                };
                format!("function_{}_{function}({slices}, {arguments}{array})", self.number)
            }
        }
    }
}

fn constant(ty: Type, bits: u64) -> String {
    match ty {
        Type::Bool => (bits != 0).to_string(),
        Type::F32 => format!("f32::from_bits({bits:#x})"),
        Type::F64 => format!("f64::from_bits({bits:#x})"),
        _ if unsigned(ty) == ty => format!("{bits:#x}_{}", ty.name()),
        _ => format!("({bits:#x}_{} as {})", unsigned(ty).name(), ty.name()),
    }
}

fn special_call(special: Special) -> &'static str {
    match special {
        Special::ThreadX => "thread::thread_idx_x()",
        Special::ThreadY => "thread::thread_idx_y()",
        Special::ThreadZ => "thread::thread_idx_z()",
        Special::BlockX => "thread::block_idx_x()",
        Special::BlockY => "thread::block_idx_y()",
        Special::Lane => "warp::lane_id()",
        Special::IndexInBlock => "thread::index_in_block()",
        Special::Number => "number",
    }
}

fn unary_text(unary: Unary, ty: Type, of: &str) -> String {
    match unary {
        Unary::Not => format!("(!{of})"),
        Unary::Negate if ty.is_float() => format!("(-{of})"),
        Unary::Negate => format!("({of}).wrapping_neg()"),
        Unary::CountOnes => format!("({of}).count_ones()"),
        Unary::LeadingZeros => format!("({of}).leading_zeros()"),
        Unary::TrailingZeros => format!("({of}).trailing_zeros()"),
        Unary::SwapBytes => format!("({of}).swap_bytes()"),
        Unary::ReverseBits => format!("({of}).reverse_bits()"),
        Unary::Abs => format!("({of}).abs()"),
        Unary::Sqrt => format!("({of}).sqrt()"),
        Unary::Floor => format!("({of}).floor()"),
        Unary::Trunc => format!("({of}).trunc()"),
        Unary::ToBits => format!("bits_of_{}({of})", ty.name()),
    }
}

fn binary_text(binary: Binary, ty: Type, a: &str, b: &str) -> String {
    let (sign, method) = match binary {
        Binary::Add => ("+", "wrapping_add"),
        Binary::Subtract => ("-", "wrapping_sub"),
        Binary::Multiply => ("*", "wrapping_mul"),
        Binary::Divide if ty.is_float() => ("/", ""),
        Binary::Divide => return format!("({a}).wrapping_div({b} | 1)"),
        Binary::Remainder => return format!("({a}).wrapping_rem({b} | 1)"),
        Binary::And => return format!("({a} & {b})"),
        Binary::Or => return format!("({a} | {b})"),
        Binary::Xor => return format!("({a} ^ {b})"),
        Binary::ShiftLeft => return format!("({a}).wrapping_shl({b})"),
        Binary::ShiftRight => return format!("({a}).wrapping_shr({b})"),
        Binary::RotateLeft => return format!("({a}).rotate_left({b} % {})", ty.bits()),
        Binary::Min => return format!("({a}).min({b})"),
        Binary::Max => return format!("({a}).max({b})"),
        Binary::AbsDiff => return format!("({a}).abs_diff({b})"),
    };
    match ty.is_float() {
        true => format!("({a} {sign} {b})"),
        false => format!("({a}).{method}({b})"),
    }
}

fn rmw(rmw: Rmw) -> &'static str {
    match rmw {
        Rmw::Add => "fetch_add",
        Rmw::Min => "fetch_min",
        Rmw::Max => "fetch_max",
        Rmw::And => "fetch_and",
        Rmw::Or => "fetch_or",
        Rmw::Xor => "fetch_xor",
    }
}

fn collective_call(collective: Collective, value: &str, lane: &str) -> String {
    match collective {
        Collective::Shuffle => format!("warp::shuffle({value}, {lane} % 32)"),
        Collective::ShuffleUp => format!("warp::shuffle_up({value}, {lane} % 32)"),
        Collective::ShuffleDown => format!("warp::shuffle_down({value}, {lane} % 32)"),
        Collective::ShuffleXor => format!("warp::shuffle_xor({value}, {lane} % 32)"),
        Collective::All => format!("warp::all({value})"),
        Collective::Any => format!("warp::any({value})"),
        Collective::Ballot => format!("warp::ballot({value})"),
        Collective::MatchAny => format!("warp::match_any_sync(warp::FULL_MASK, {value})"),
        Collective::MatchAll => format!("warp::match_all_sync(warp::FULL_MASK, {value})"),
        Collective::ReduceSum => format!("warp::reduce_sum({value})"),
        Collective::ReduceMin => format!("warp::reduce_min({value})"),
        Collective::ReduceMax => format!("warp::reduce_max({value})"),
        Collective::ReduceAnd => format!("warp::reduce_and({value})"),
        Collective::ReduceOr => format!("warp::reduce_or({value})"),
        Collective::ReduceXor => format!("warp::reduce_xor({value})"),
        Collective::InclusiveSum => format!("warp::inclusive_sum({value})"),
        Collective::ExclusiveSum => format!("warp::exclusive_sum({value})"),
    }
}
