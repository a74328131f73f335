//! Runs programs on the host: each statement for all threads of a block before the next one.
//!
//! Values are bits in a `u64`. Operations are Rust's own arithmetic of their type, so no code is shared with a device.
#![allow(clippy::unnecessary_cast, reason = "macros write casts for every integer type, some of them to the same type")]

use super::{
    BINS, Binary, COUNTERS, Collective, Comparison, Expr, Function, LOCAL, Program, RESULTS, Rmw, Slice, Special, Stmt,
    Type, Unary,
};

/// The inputs of every kernel.
pub(crate) struct Data {
    pub(crate) words: Vec<u32>,
    pub(crate) longs: Vec<u64>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) shorts: Vec<i16>,
    pub(crate) floats: Vec<f32>,
    pub(crate) doubles: Vec<f64>,
}

impl Data {
    fn element(&self, slice: Slice, index: usize) -> u64 {
        match slice {
            Slice::Words => u64::from(self.words[index]),
            Slice::Longs => self.longs[index],
            Slice::Bytes => u64::from(self.bytes[index]),
            Slice::Shorts => u64::from(self.shorts[index].cast_unsigned()),
            Slice::Floats => u64::from(self.floats[index].to_bits()),
            Slice::Doubles => self.doubles[index].to_bits(),
        }
    }
}

/// The outputs of a launch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) counters: Vec<u32>,
    pub(crate) results: Vec<[u64; RESULTS]>,
}

/// Evaluates a launch from these contents of memory on.
pub(crate) fn launch(program: &Program, data: &Data, outcome: &mut Outcome) {
    let [columns, rows] = program.grid;
    for block_y in 0..rows {
        for block_x in 0..columns {
            Block::new(program, data, [block_x, block_y]).run(outcome);
        }
    }
}

/// The variables of a thread, or of a call of a function.
#[derive(Clone)]
struct Frame {
    vars: Vec<u64>,
    arrays: Vec<[u32; LOCAL]>,
}

struct Block<'a> {
    program: &'a Program,
    data: &'a Data,
    block: [u32; 2],
    tile: Vec<Vec<u64>>,
    counters: Vec<u32>,
}

impl<'a> Block<'a> {
    fn new(program: &'a Program, data: &'a Data, block: [u32; 2]) -> Self {
        let words = program.tile.map_or(0, |tile| tile.words);
        Self { program, data, block, tile: vec![vec![0; words]; program.threads()], counters: Vec::new() }
    }

    fn run(&mut self, outcome: &mut Outcome) {
        let program = self.program;
        let frame = Frame { vars: vec![0; program.vars.len()], arrays: vec![[0; LOCAL]; program.arrays] };
        let mut frames = vec![frame; program.threads()];
        self.counters = std::mem::take(&mut outcome.counters);
        self.uniform(&program.body, &mut frames);
        outcome.counters = std::mem::take(&mut self.counters);
        for (thread, frame) in frames.iter_mut().enumerate() {
            let at = Scope { thread, vars: &program.vars };
            if program.writes.as_ref().is_none_or(|condition| self.expr(condition, frame, at) != 0) {
                let results = std::array::from_fn(|i| self.expr(&program.results[i], frame, at));
                outcome.results[self.index_of_results(thread)] = results;
            }
        }
    }

    fn place(&self, thread: usize) -> [u32; 3] {
        let [x, y, _] = self.program.block;
        let thread = u32::try_from(thread).expect("a block has at most 1024 threads");
        [thread % x, thread / x % y, thread / (x * y)]
    }

    fn index_of_results(&self, thread: usize) -> usize {
        let [x, y, z] = self.place(thread).map(|place| place as usize);
        let [bx, by, _] = self.program.block.map(|length| length as usize);
        let [column, row] = [self.block[0] as usize * bx + x, self.block[1] as usize * by + y];
        let [columns, rows] = [self.program.grid[0] as usize * bx, self.program.grid[1] as usize * by];
        (z * rows + row) * columns + column
    }

    /// Statements that the whole block executes.
    fn uniform(&mut self, statements: &[Stmt], frames: &mut [Frame]) {
        for statement in statements {
            match statement {
                Stmt::Rounds(count, body) => (0..*count).for_each(|_| self.uniform(body, frames)),
                Stmt::Together(var, collective, value, lane) => self.together(*var, *collective, [value, lane], frames),
                Stmt::Phase(words, readers) => {
                    for (thread, frame) in frames.iter_mut().enumerate() {
                        for (word, value) in words {
                            let at = Scope { thread, vars: &self.program.vars };
                            self.tile[thread][*word] = self.expr(value, frame, at);
                        }
                    }
                    self.uniform(readers, frames);
                }
                Stmt::Bins(var, index, value) => {
                    let mut bins = [0_u32; BINS];
                    for (thread, frame) in frames.iter_mut().enumerate() {
                        let at = Scope { thread, vars: &self.program.vars };
                        let index = self.expr(index, frame, at) as usize % BINS;
                        bins[index] = bins[index].wrapping_add(self.expr(value, frame, at) as u32);
                    }
                    for (thread, frame) in frames.iter_mut().enumerate() {
                        frame.vars[*var] = u64::from(bins.get(thread).copied().unwrap_or(0));
                    }
                }
                _ => {
                    for (thread, frame) in frames.iter_mut().enumerate() {
                        let at = Scope { thread, vars: &self.program.vars };
                        self.statement(statement, frame, at);
                    }
                }
            }
        }
    }

    fn together(&mut self, var: usize, collective: Collective, [value, lane]: [&Expr; 2], frames: &mut [Frame]) {
        let vars = &self.program.vars;
        let ty = self.program.type_of(value, vars);
        for first in (0..frames.len()).step_by(32) {
            let end = frames.len().min(first + 32);
            let values: Vec<u64> =
                (first..end).map(|thread| self.expr(value, &mut frames[thread], Scope { thread, vars })).collect();
            let lanes: Vec<usize> = (first..end)
                .map(|thread| self.expr(lane, &mut frames[thread], Scope { thread, vars }) as usize % 32)
                .collect();
            for (own, thread) in (first..end).enumerate() {
                frames[thread].vars[var] = collective_value(collective, ty, &values, own, lanes[own]);
            }
        }
    }

    /// Statements of one thread. False if it leaves the loop around it.
    fn statements(&mut self, statements: &[Stmt], frame: &mut Frame, at: Scope<'_>) {
        for statement in statements {
            self.statement(statement, frame, at);
        }
    }

    fn statement(&mut self, statement: &Stmt, frame: &mut Frame, at: Scope<'_>) {
        match statement {
            Stmt::Set(var, value) => frame.vars[*var] = self.expr(value, frame, at),
            Stmt::SetLocal(array, index, value) => {
                let index = self.expr(index, frame, at) as usize % LOCAL;
                frame.arrays[*array][index] = self.expr(value, frame, at) as u32;
            }
            Stmt::If(condition, then, otherwise) => match self.expr(condition, frame, at) {
                0 => self.statements(otherwise, frame, at),
                _ => self.statements(then, frame, at),
            },
            Stmt::Loop { round, count, body, last } => {
                let rounds = self.expr(count, frame, at) & 7;
                frame.vars[*round] = 0;
                while frame.vars[*round] < rounds {
                    self.statements(body, frame, at);
                    if last.as_ref().is_some_and(|last| self.expr(last, frame, at) != 0) {
                        break;
                    }
                    frame.vars[*round] += 1;
                }
            }
            Stmt::Match(value, arms) => {
                let arm = self.expr(value, frame, at) as usize % arms.len();
                self.statements(&arms[arm], frame, at);
            }
            Stmt::Count(index, value) => {
                let index = self.expr(index, frame, at) as usize % COUNTERS;
                let value = self.expr(value, frame, at) as u32;
                let counter = &mut self.counters[index];
                *counter = match self.program.rmw {
                    Rmw::Add => counter.wrapping_add(value),
                    Rmw::Min => value.min(*counter),
                    Rmw::Max => value.max(*counter),
                    Rmw::And => *counter & value,
                    Rmw::Or => *counter | value,
                    Rmw::Xor => *counter ^ value,
                };
            }
            Stmt::Rounds(..) | Stmt::Together(..) | Stmt::Phase(..) | Stmt::Bins(..) => {
                unreachable!("the whole block executes them")
            }
        }
    }

    fn call(&mut self, function: &Function, arguments: &[Expr], array: usize, frame: &mut Frame, at: Scope<'_>) -> u64 {
        let mut vars: Vec<u64> = arguments.iter().map(|argument| self.expr(argument, frame, at)).collect();
        vars.resize(function.vars.len(), 0);
        let arrays = if function.takes_array { vec![frame.arrays[array]] } else { Vec::new() };
        let mut own = Frame { vars, arrays };
        let at = Scope { thread: at.thread, vars: &function.vars };
        self.statements(&function.body, &mut own, at);
        self.expr(&function.result.1, &mut own, at)
    }

    fn expr(&mut self, expr: &Expr, frame: &mut Frame, at: Scope<'_>) -> u64 {
        let program = self.program;
        match expr {
            Expr::Const(_, bits) => *bits,
            Expr::Var(var) => frame.vars[*var],
            Expr::Special(special) => u64::from(self.special(*special, at.thread)),
            Expr::Unary(unary, of) => unary_value(*unary, program.type_of(of, at.vars), self.expr(of, frame, at)),
            Expr::Binary(binary, a, b) => {
                let ty = program.type_of(a, at.vars);
                let (a, b) = (self.expr(a, frame, at), self.expr(b, frame, at));
                binary_value(*binary, ty, a, b)
            }
            Expr::MulAdd(of) => {
                let [a, b, c] = [0, 1, 2].map(|i| self.expr(&of[i], frame, at));
                match program.type_of(&of[0], at.vars) {
                    Type::F32 => u64::from(f32_of(a).mul_add(f32_of(b), f32_of(c)).to_bits()),
                    _ => f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)).to_bits(),
                }
            }
            Expr::Compare(comparison, a, b) => {
                let ty = program.type_of(a, at.vars);
                let (a, b) = (self.expr(a, frame, at), self.expr(b, frame, at));
                u64::from(compare(*comparison, ty, a, b))
            }
            Expr::Cast(ty, of) => cast(*ty, program.type_of(of, at.vars), self.expr(of, frame, at)),
            Expr::Select(of) => match self.expr(&of[0], frame, at) {
                0 => self.expr(&of[2], frame, at),
                _ => self.expr(&of[1], frame, at),
            },
            Expr::Element(slice, index) => {
                let index = self.expr(index, frame, at) % slice.len() as u64;
                self.data.element(*slice, index as usize)
            }
            Expr::ElementOr(slice, index, other) => {
                let index = self.expr(index, frame, at);
                match index < slice.len() as u64 {
                    true => self.data.element(*slice, index as usize),
                    false => *other,
                }
            }
            Expr::Local(array, index) => {
                let index = self.expr(index, frame, at) as usize % LOCAL;
                u64::from(frame.arrays[*array][index])
            }
            Expr::Shared { word, index } => {
                let index = self.expr(index, frame, at) as usize % program.threads();
                self.tile[index][*word]
            }
            Expr::Own(word) => self.tile[at.thread][*word],
            Expr::Call(function, arguments, array) => {
                self.call(&program.functions[*function], arguments, *array, frame, at)
            }
        }
    }

    fn special(&self, special: Special, thread: usize) -> u32 {
        let [x, y, z] = self.place(thread);
        match special {
            Special::ThreadX => x,
            Special::ThreadY => y,
            Special::ThreadZ => z,
            Special::BlockX => self.block[0],
            Special::BlockY => self.block[1],
            Special::Lane => thread as u32 % 32,
            Special::IndexInBlock => thread as u32,
            Special::Number => self.program.number,
        }
    }
}

/// Whose value an expression is.
#[derive(Clone, Copy)]
struct Scope<'a> {
    thread: usize,
    vars: &'a [Type],
}

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Runs the body for the integer type of a value: `$T` is the type, `$U` the unsigned one of its width.
macro_rules! integer {
    ($ty:expr, |$T:ident, $U:ident| $body:expr) => {
        match $ty {
            Type::U8 => {
                type $T = u8;
                type $U = u8;
                $body
            }
            Type::U16 => {
                type $T = u16;
                type $U = u16;
                $body
            }
            Type::U32 => {
                type $T = u32;
                type $U = u32;
                $body
            }
            Type::U64 => {
                type $T = u64;
                type $U = u64;
                $body
            }
            Type::I8 => {
                type $T = i8;
                type $U = u8;
                $body
            }
            Type::I16 => {
                type $T = i16;
                type $U = u16;
                $body
            }
            Type::I32 => {
                type $T = i32;
                type $U = u32;
                $body
            }
            Type::I64 => {
                type $T = i64;
                type $U = u64;
                $body
            }
            other => unreachable!("{other:?} is no integer"),
        }
    };
}

fn unary_value(unary: Unary, ty: Type, of: u64) -> u64 {
    match (unary, ty) {
        (Unary::Not, Type::Bool) => of ^ 1,
        (Unary::ToBits, Type::F32) => match f32_of(of).is_nan() {
            true => 0x7fc0_0000,
            false => of,
        },
        (Unary::ToBits, _) => match f64::from_bits(of).is_nan() {
            true => 0x7ff8_0000_0000_0000,
            false => of,
        },
        (_, Type::F32) => {
            let of = f32_of(of);
            let value = match unary {
                Unary::Negate => -of,
                Unary::Abs => of.abs(),
                Unary::Sqrt => of.sqrt(),
                Unary::Floor => of.floor(),
                _ => of.trunc(),
            };
            u64::from(value.to_bits())
        }
        (_, Type::F64) => {
            let of = f64::from_bits(of);
            let value = match unary {
                Unary::Negate => -of,
                Unary::Abs => of.abs(),
                Unary::Sqrt => of.sqrt(),
                Unary::Floor => of.floor(),
                _ => of.trunc(),
            };
            value.to_bits()
        }
        _ => integer!(ty, |T, U| {
            let of = of as T;
            match unary {
                Unary::CountOnes => u64::from(of.count_ones()),
                Unary::LeadingZeros => u64::from(of.leading_zeros()),
                Unary::TrailingZeros => u64::from(of.trailing_zeros()),
                Unary::Not => (!of) as U as u64,
                Unary::Negate => of.wrapping_neg() as U as u64,
                Unary::SwapBytes => of.swap_bytes() as U as u64,
                _ => of.reverse_bits() as U as u64,
            }
        }),
    }
}

fn binary_value(binary: Binary, ty: Type, a: u64, b: u64) -> u64 {
    match ty {
        Type::Bool => match binary {
            Binary::And => a & b,
            Binary::Or => a | b,
            _ => a ^ b,
        },
        Type::F32 => {
            let (a, b) = (f32_of(a), f32_of(b));
            let value = match binary {
                Binary::Add => a + b,
                Binary::Subtract => a - b,
                Binary::Multiply => a * b,
                _ => a / b,
            };
            u64::from(value.to_bits())
        }
        Type::F64 => {
            let (a, b) = (f64::from_bits(a), f64::from_bits(b));
            let value = match binary {
                Binary::Add => a + b,
                Binary::Subtract => a - b,
                Binary::Multiply => a * b,
                _ => a / b,
            };
            value.to_bits()
        }
        _ => integer!(ty, |T, U| {
            let count = b as u32;
            let (a, b) = (a as T, b as T);
            let value = match binary {
                Binary::Add => a.wrapping_add(b),
                Binary::Subtract => a.wrapping_sub(b),
                Binary::Multiply => a.wrapping_mul(b),
                Binary::Divide => a.wrapping_div(b | 1),
                Binary::Remainder => a.wrapping_rem(b | 1),
                Binary::And => a & b,
                Binary::Or => a | b,
                Binary::Xor => a ^ b,
                Binary::ShiftLeft => a.wrapping_shl(count),
                Binary::ShiftRight => a.wrapping_shr(count),
                Binary::RotateLeft => a.rotate_left(count % T::BITS),
                Binary::Min => a.min(b),
                Binary::Max => a.max(b),
                Binary::AbsDiff => a.abs_diff(b) as T,
            };
            value as U as u64
        }),
    }
}

fn compare(comparison: Comparison, ty: Type, a: u64, b: u64) -> bool {
    fn of<T: PartialOrd>(comparison: Comparison, a: T, b: T) -> bool {
        match comparison {
            Comparison::Equal => a == b,
            Comparison::NotEqual => a != b,
            Comparison::Less => a < b,
            Comparison::LessEqual => a <= b,
            Comparison::Greater => a > b,
            Comparison::GreaterEqual => a >= b,
        }
    }
    match ty {
        Type::Bool => of(comparison, a, b),
        Type::F32 => of(comparison, f32_of(a), f32_of(b)),
        Type::F64 => of(comparison, f64::from_bits(a), f64::from_bits(b)),
        _ => integer!(ty, |T, _U| of(comparison, a as T, b as T)),
    }
}

fn cast(to: Type, from: Type, bits: u64) -> u64 {
    /// Rust's `as` from one value to each type.
    macro_rules! to {
        ($value:expr) => {
            match to {
                Type::F32 => u64::from(($value as f32).to_bits()),
                Type::F64 => ($value as f64).to_bits(),
                _ => integer!(to, |T, U| $value as T as U as u64),
            }
        };
    }
    match from {
        // Only integers are cast from `bool`.
        Type::Bool => bits,
        Type::F32 => to!(f32_of(bits)),
        Type::F64 => to!(f64::from_bits(bits)),
        _ => integer!(from, |F, _U| to!(bits as F)),
    }
}

fn collective_value(collective: Collective, ty: Type, values: &[u64], own: usize, lane: usize) -> u64 {
    let all = || values.iter().copied();
    let fold = |binary: Binary, of: &[u64]| of.iter().copied().reduce(|a, b| binary_value(binary, ty, a, b));
    let reduced = |binary| fold(binary, values).expect("a warp has a lane");
    // Lanes whose source does not exist keep their own value.
    let from = |other: Option<usize>| other.and_then(|other| values.get(other)).copied().unwrap_or(values[own]);
    match collective {
        Collective::Shuffle => from(Some(lane)),
        Collective::ShuffleUp => from(own.checked_sub(lane)),
        Collective::ShuffleDown => from(Some(own + lane)),
        Collective::ShuffleXor => from(Some(own ^ lane)),
        Collective::All => u64::from(all().all(|value| value != 0)),
        Collective::Any => u64::from(all().any(|value| value != 0)),
        Collective::Ballot => all().enumerate().fold(0, |mask, (lane, value)| mask | value << lane),
        Collective::MatchAny => {
            let equal = |(lane, value): (usize, u64)| u64::from(value == values[own]) << lane;
            all().enumerate().map(equal).sum()
        }
        Collective::MatchAll => u64::from(all().all(|value| value == values[0])),
        Collective::ReduceSum => reduced(Binary::Add),
        Collective::ReduceMin => reduced(Binary::Min),
        Collective::ReduceMax => reduced(Binary::Max),
        Collective::ReduceAnd => reduced(Binary::And),
        Collective::ReduceOr => reduced(Binary::Or),
        Collective::ReduceXor => reduced(Binary::Xor),
        Collective::InclusiveSum => fold(Binary::Add, &values[..=own]).expect("it is not empty"),
        Collective::ExclusiveSum => fold(Binary::Add, &values[..own]).unwrap_or(0),
    }
}
