//! Makes a program of a seed.
//!
//! Half of the numbers that it draws as operands are what engines treat in ways of their own: constants at the edges of types, values that all
//! threads share, and affine functions of a thread's place.

use super::{
    Binary, Collective, Comparison, Expr, Function, Program, RESULTS, Rmw, Slice, Special, Stmt, Tile, Type, Unary,
    unsigned,
};
use fastrand::Rng;

/// Blocks of one to three dimensions. Rows of 8, 16, 24 and 32 threads fall on the groups of 8 lanes that the native code computes with;
/// rows of 5, 7 and 33 do not.
pub(crate) const BLOCKS: [[u32; 3]; 22] = [
    [32, 1, 1],
    [64, 1, 1],
    [128, 1, 1],
    [256, 1, 1],
    [33, 1, 1],
    [100, 1, 1],
    [7, 1, 1],
    [8, 4, 1],
    [16, 2, 1],
    [16, 4, 1],
    [8, 8, 1],
    [16, 16, 1],
    [32, 4, 1],
    [64, 2, 1],
    [24, 4, 1],
    [4, 8, 1],
    [5, 7, 1],
    [1, 32, 1],
    [33, 3, 1],
    [4, 4, 4],
    [8, 2, 4],
    [3, 5, 2],
];

const GRIDS: [[u32; 2]; 5] = [[1, 1], [2, 1], [3, 1], [2, 2], [1, 3]];

pub(crate) const SPECIALS: [Special; 8] = [
    Special::ThreadX,
    Special::ThreadY,
    Special::ThreadZ,
    Special::BlockX,
    Special::BlockY,
    Special::Lane,
    Special::IndexInBlock,
    Special::Number,
];

/// Factors of affine functions: strides whose multiples by 7 and 31 are around the edges of 32 and 64 bits among them.
const STRIDES: [u64; 22] = [
    1,
    2,
    3,
    4,
    8,
    12,
    16,
    20,
    28,
    64,
    0x0924_9249,
    0x1249_2492,
    0x2000_0000,
    0x4000_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffc,
    0xffff_ffff,
    0x1_0000_0000,
    0x1000_0000_0000_0000,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_fff8,
];

pub(crate) const COLLECTIVES: [Collective; 17] = [
    Collective::Shuffle,
    Collective::ShuffleUp,
    Collective::ShuffleDown,
    Collective::ShuffleXor,
    Collective::All,
    Collective::Any,
    Collective::Ballot,
    Collective::MatchAny,
    Collective::MatchAll,
    Collective::ReduceSum,
    Collective::ReduceMin,
    Collective::ReduceMax,
    Collective::ReduceAnd,
    Collective::ReduceOr,
    Collective::ReduceXor,
    Collective::InclusiveSum,
    Collective::ExclusiveSum,
];

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut rng = Rng::with_seed(seed);
    let block = *pick(&mut rng, &BLOCKS);
    let tile = (rng.u8(..4) > 0).then(|| Tile {
        of: *pick(&mut rng, &[Type::U8, Type::U16, Type::U32, Type::U32, Type::U64, Type::I32, Type::F32, Type::F64]),
        words: match rng.u8(..4) {
            0 => 1,
            1 => 3,
            _ => rng.usize(1..=16),
        },
        is_table: rng.bool(),
    });
    let has_bins = rng.u8(..4) == 0;
    let mut generator = Generator {
        // Statements find a variable of each type.
        vars: Type::ALL.to_vec(),
        counters: 0,
        arrays: rng.usize(..3),
        can_read_tile: false,
        can_read_own: false,
        in_function: false,
        program: Program {
            block,
            grid: *pick(&mut rng, &GRIDS),
            functions: Vec::new(),
            vars: Vec::new(),
            arrays: 0,
            tile,
            has_bins,
            rmw: *pick(&mut rng, &[Rmw::Add, Rmw::Add, Rmw::Min, Rmw::Max, Rmw::And, Rmw::Or, Rmw::Xor]),
            body: Vec::new(),
            results: [const { Expr::Var(0) }; RESULTS],
            writes: None,
            number: if rng.bool() { rng.u32(..) } else { rng.u32(..8) },
        },
        rng,
    };
    for _ in 0..generator.rng.usize(..4) {
        let ty = *pick(&mut generator.rng, &Type::ALL);
        generator.vars.push(ty);
    }
    for _ in 0..generator.rng.usize(..3) {
        let function = generator.function();
        generator.program.functions.push(function);
    }
    generator.kernel()
}

fn pick<'a, T>(rng: &mut Rng, of: &'a [T]) -> &'a T {
    &of[rng.usize(..of.len())]
}

struct Generator {
    rng: Rng,
    program: Program,
    /// The types of the variables of the function that is written.
    vars: Vec<Type>,
    /// How many variables behind them count the rounds of loops.
    counters: usize,
    arrays: usize,
    can_read_tile: bool,
    can_read_own: bool,
    in_function: bool,
}

impl Generator {
    fn kernel(mut self) -> Program {
        let mut body = Vec::new();
        // Variables begin with what differs by thread.
        for var in 0..self.vars.len() {
            let value = self.expr(self.vars[var], 2);
            body.push(Stmt::Set(var, value));
        }
        if let Some(tile) = self.program.tile {
            body.push(self.phase(tile, true, 2));
        }
        for _ in 0..self.rng.usize(3..9) {
            let statement = self.uniform(2);
            body.push(statement);
        }
        self.program.results = std::array::from_fn(|_| self.expr(Type::U64, 3));
        self.program.writes = (self.rng.u8(..3) == 0).then(|| self.expr(Type::Bool, 3));
        self.program.body = body;
        self.program.vars = self.all_vars();
        self.program.arrays = self.arrays;
        self.program
    }

    fn all_vars(&self) -> Vec<Type> {
        let mut vars = self.vars.clone();
        vars.extend(std::iter::repeat_n(Type::U32, self.counters));
        vars
    }

    fn function(&mut self) -> Function {
        let parameters: Vec<Type> = (0..self.rng.usize(1..5)).map(|_| *pick(&mut self.rng, &Type::ALL)).collect();
        let mut vars = parameters.clone();
        vars.extend([Type::U32, Type::U64, Type::Bool]);
        let outer = (std::mem::replace(&mut self.vars, vars), self.counters, self.arrays);
        let takes_array = self.arrays > 0 && self.rng.bool();
        (self.counters, self.arrays, self.in_function) = (0, usize::from(takes_array), true);
        let mut body = Vec::new();
        for var in parameters.len()..self.vars.len() {
            let value = self.expr(self.vars[var], 2);
            body.push(Stmt::Set(var, value));
        }
        for _ in 0..self.rng.usize(1..4) {
            let statement = self.divergent(2);
            body.push(statement);
        }
        let ty = *pick(&mut self.rng, &Type::ALL);
        let result = (ty, self.expr(ty, 3));
        let vars = self.all_vars();
        (self.vars, self.counters, self.arrays) = outer;
        self.in_function = false;
        Function { parameters, takes_array, vars, body, result }
    }

    /// A statement that the whole block executes.
    fn uniform(&mut self, depth: u32) -> Stmt {
        match self.rng.u8(..12) {
            0..4 => self.together(),
            4..6 if depth > 0 => match self.program.tile {
                Some(tile) => self.phase(tile, false, depth),
                None => self.together(),
            },
            6 if depth > 0 => {
                let rounds = self.rng.u32(1..4);
                let body = (0..self.rng.usize(1..4)).map(|_| self.uniform(depth - 1)).collect();
                Stmt::Rounds(rounds, body)
            }
            7 if self.program.has_bins => {
                let var = self.var_of(Type::U32);
                let (index, value) = (self.expr(Type::U32, 2), self.expr(Type::U32, 2));
                Stmt::Bins(var, index, value)
            }
            _ => self.divergent(depth + 1),
        }
    }

    fn phase(&mut self, tile: Tile, is_first: bool, depth: u32) -> Stmt {
        self.can_read_own = !is_first;
        let mut words: Vec<usize> = (0..tile.words).collect();
        if !is_first {
            self.rng.shuffle(&mut words);
            words.truncate(self.rng.usize(1..=tile.words));
        }
        let words = words.into_iter().map(|word| (word, self.expr(tile.of, 2))).collect();
        self.can_read_own = false;
        self.can_read_tile = true;
        let readers = (0..self.rng.usize(1..4))
            .map(|_| match self.rng.u8(..4) {
                0 => self.together(),
                _ => self.divergent(depth),
            })
            .collect();
        self.can_read_tile = false;
        Stmt::Phase(words, readers)
    }

    fn together(&mut self) -> Stmt {
        let collective = *pick(&mut self.rng, &COLLECTIVES);
        let of = match collective {
            Collective::All | Collective::Any | Collective::Ballot => Type::Bool,
            Collective::MatchAny | Collective::MatchAll | Collective::ReduceSum => {
                *pick(&mut self.rng, &[Type::U32, Type::I32, Type::U64, Type::I64])
            }
            Collective::ReduceMin | Collective::ReduceMax | Collective::InclusiveSum | Collective::ExclusiveSum => {
                *pick(&mut self.rng, &[Type::U32, Type::I32, Type::U64, Type::I64])
            }
            Collective::ReduceAnd | Collective::ReduceOr | Collective::ReduceXor => {
                *pick(&mut self.rng, &[Type::U32, Type::U64])
            }
            Collective::Shuffle | Collective::ShuffleUp | Collective::ShuffleDown | Collective::ShuffleXor => {
                *pick(&mut self.rng, &[Type::U8, Type::U16, Type::U32, Type::I32, Type::U64, Type::F32, Type::F64])
            }
        };
        let is_partial = !self.program.threads().is_multiple_of(32);
        if is_partial && !collective.takes_partial_warps(of) {
            return self.divergent(2);
        }
        let result = match collective {
            Collective::All | Collective::Any | Collective::MatchAll => Type::Bool,
            Collective::Ballot | Collective::MatchAny => Type::U32,
            _ => of,
        };
        let var = self.var_of(result);
        let value = self.expr(of, 2);
        let lane = self.expr(Type::U32, 1);
        Stmt::Together(var, collective, value, lane)
    }

    /// A statement for any of the threads.
    fn divergent(&mut self, depth: u32) -> Stmt {
        match self.rng.u8(..16) {
            0..3 if depth > 0 => {
                let condition = self.expr(Type::Bool, 3);
                let then = self.block(depth - 1);
                let otherwise = if self.rng.bool() { self.block(depth - 1) } else { Vec::new() };
                Stmt::If(condition, then, otherwise)
            }
            3..5 if depth > 0 => {
                let round = self.vars.len() + self.counters;
                self.counters += 1;
                let count = self.expr(Type::U32, 2);
                let body = self.block(depth - 1);
                let last = (self.rng.u8(..3) == 0).then(|| self.expr(Type::Bool, 2));
                Stmt::Loop { round, count, body, last }
            }
            5 if depth > 0 => {
                let value = self.expr(Type::U32, 2);
                let arms = (0..self.rng.usize(2..6)).map(|_| self.block(depth - 1)).collect();
                Stmt::Match(value, arms)
            }
            6 | 7 if self.arrays > 0 => {
                let array = self.rng.usize(..self.arrays);
                let (index, value) = (self.expr(Type::U32, 2), self.expr(Type::U32, 2));
                Stmt::SetLocal(array, index, value)
            }
            8 if !self.in_function => {
                let (index, value) = (self.expr(Type::U32, 2), self.expr(Type::U32, 2));
                Stmt::Count(index, value)
            }
            _ => {
                let var = self.rng.usize(..self.vars.len());
                let value = self.expr(self.vars[var], 3);
                Stmt::Set(var, value)
            }
        }
    }

    fn block(&mut self, depth: u32) -> Vec<Stmt> {
        (0..self.rng.usize(1..4)).map(|_| self.divergent(depth)).collect()
    }

    /// A variable of a type. Kernels have one of each.
    fn var_of(&mut self, ty: Type) -> usize {
        let of: Vec<usize> = (0..self.vars.len()).filter(|&var| self.vars[var] == ty).collect();
        *pick(&mut self.rng, &of)
    }

    fn expr(&mut self, ty: Type, depth: u32) -> Expr {
        if depth == 0 || self.rng.u8(..8) == 0 {
            return self.leaf(ty);
        }
        if self.rng.u8(..4) == 0 && ty.is_integer() {
            return self.affine(ty);
        }
        match self.rng.u8(..20) {
            0..3 => {
                let from = *pick(&mut self.rng, &Type::ALL);
                self.cast(ty, from, depth)
            }
            3 | 4 => {
                let condition = self.expr(Type::Bool, depth - 1);
                let (a, b) = (self.expr(ty, depth - 1), self.expr(ty, depth - 1));
                Expr::Select(Box::new([condition, a, b]))
            }
            5 | 6 => self.element(ty, depth),
            7 if self.can_read_tile => {
                let tile = self.program.tile.expect("it can be read");
                let index = self.expr(Type::U32, depth - 1);
                let word = self.rng.usize(..tile.words);
                convert(ty, tile.of, Expr::Shared { word, index: Box::new(index) })
            }
            7 | 8 if self.can_read_own => {
                let tile = self.program.tile.expect("it can be read");
                let word = self.rng.usize(..tile.words);
                convert(ty, tile.of, Expr::Own(word))
            }
            8 | 9 if self.arrays > 0 => {
                let array = self.rng.usize(..self.arrays);
                let index = self.expr(Type::U32, depth - 1);
                convert(ty, Type::U32, Expr::Local(array, Box::new(index)))
            }
            10 if !self.in_function && !self.program.functions.is_empty() => self.call(ty, depth),
            11..14 => self.unary(ty, depth),
            _ => self.binary(ty, depth),
        }
    }

    fn cast(&mut self, ty: Type, from: Type, depth: u32) -> Expr {
        let value = self.expr(from, depth - 1);
        convert(ty, from, value)
    }

    fn call(&mut self, ty: Type, depth: u32) -> Expr {
        let function = self.rng.usize(..self.program.functions.len());
        let Function { parameters, result, takes_array, .. } = &self.program.functions[function];
        let (parameters, result, takes_array) = (parameters.clone(), result.0, *takes_array);
        if takes_array && self.arrays == 0 {
            return self.leaf(ty);
        }
        let arguments = parameters.into_iter().map(|of| self.expr(of, depth - 1)).collect();
        let array = if takes_array { self.rng.usize(..self.arrays) } else { 0 };
        convert(ty, result, Expr::Call(function, arguments, array))
    }

    fn element(&mut self, ty: Type, depth: u32) -> Expr {
        let slice = *pick(&mut self.rng, &Slice::ALL);
        let of = *pick(&mut self.rng, &[Type::U32, Type::U64]);
        let index = Box::new(self.expr(of, depth - 1));
        let element = match self.rng.bool() {
            true => Expr::Element(slice, index),
            false => Expr::ElementOr(slice, index, constant(&mut self.rng, slice.element())),
        };
        convert(ty, slice.element(), element)
    }

    fn unary(&mut self, ty: Type, depth: u32) -> Expr {
        let (unary, of) = match ty {
            Type::Bool => (Unary::Not, ty),
            Type::F32 | Type::F64 => {
                let of = [Unary::Negate, Unary::Abs, Unary::Sqrt, Unary::Floor, Unary::Trunc];
                (*pick(&mut self.rng, &of), ty)
            }
            Type::U32 if self.rng.bool() => {
                let of = [Type::U8, Type::U16, Type::U32, Type::U64, Type::I32, Type::I64];
                let unary = [Unary::CountOnes, Unary::LeadingZeros, Unary::TrailingZeros];
                (*pick(&mut self.rng, &unary), *pick(&mut self.rng, &of))
            }
            Type::U32 if self.rng.bool() => (Unary::ToBits, Type::F32),
            Type::U64 if self.rng.bool() => (Unary::ToBits, Type::F64),
            _ => {
                let of = [Unary::Not, Unary::Negate, Unary::SwapBytes, Unary::ReverseBits];
                (*pick(&mut self.rng, &of), ty)
            }
        };
        Expr::Unary(unary, Box::new(self.expr(of, depth - 1)))
    }

    fn binary(&mut self, ty: Type, depth: u32) -> Expr {
        if ty == Type::Bool && self.rng.u8(..4) > 0 {
            let of = *pick(&mut self.rng, &Type::ALL[1..]);
            let comparison = *pick(
                &mut self.rng,
                &[
                    Comparison::Equal,
                    Comparison::NotEqual,
                    Comparison::Less,
                    Comparison::LessEqual,
                    Comparison::Greater,
                    Comparison::GreaterEqual,
                ],
            );
            let (a, b) = match of.is_integer() && self.rng.bool() {
                true => self.affine_and_bound(of),
                false => (self.expr(of, depth - 1), self.expr(of, depth - 1)),
            };
            return Expr::Compare(comparison, Box::new(a), Box::new(b));
        }
        if ty.is_float() && self.rng.u8(..4) == 0 {
            return Expr::MulAdd(Box::new(std::array::from_fn(|_| self.expr(ty, depth - 1))));
        }
        let all: &[Binary] = match ty {
            Type::Bool => &[Binary::And, Binary::Or, Binary::Xor],
            Type::F32 | Type::F64 => &[Binary::Add, Binary::Subtract, Binary::Multiply, Binary::Divide],
            _ => &[
                Binary::Add,
                Binary::Add,
                Binary::Subtract,
                Binary::Multiply,
                Binary::Multiply,
                Binary::Divide,
                Binary::Remainder,
                Binary::And,
                Binary::Or,
                Binary::Xor,
                Binary::ShiftLeft,
                Binary::ShiftRight,
                Binary::RotateLeft,
                Binary::Min,
                Binary::Max,
                Binary::AbsDiff,
            ],
        };
        let mut binary = *pick(&mut self.rng, all);
        // For signed numbers, the type differs.
        if binary == Binary::AbsDiff && unsigned(ty) != ty {
            binary = Binary::Subtract;
        }
        let second = match binary {
            Binary::ShiftLeft | Binary::ShiftRight | Binary::RotateLeft => Type::U32,
            _ => ty,
        };
        let (a, b) = (self.expr(ty, depth - 1), self.expr(second, depth - 1));
        Expr::Binary(binary, Box::new(a), Box::new(b))
    }

    /// A thread's place times a stride, plus a constant; in 32 or in 64 bits.
    fn affine(&mut self, ty: Type) -> Expr {
        let wide = *pick(&mut self.rng, &[Type::U32, Type::U64, Type::I32, Type::I64]);
        let value = self.affine_of(wide).0;
        convert(ty, wide, value)
    }

    /// An affine value and a constant that it reaches within a block, so that they compare differently in its threads.
    fn affine_and_bound(&mut self, ty: Type) -> (Expr, Expr) {
        let (value, stride, start) = self.affine_of(ty);
        let bound = stride.wrapping_mul(self.rng.u64(..40)).wrapping_add(start);
        let bound = bound.wrapping_add(self.rng.u64(..3)).wrapping_sub(1);
        (value, Expr::Const(ty, bound & mask(ty)))
    }

    /// An affine value of an integer type, its stride and its start.
    fn affine_of(&mut self, ty: Type) -> (Expr, u64, u64) {
        let special = self.special();
        let place = convert(ty, Type::U32, special);
        let stride = pick(&mut self.rng, &STRIDES) & mask(ty);
        let product = Expr::Binary(Binary::Multiply, Box::new(place), Box::new(Expr::Const(ty, stride)));
        if self.rng.u8(..3) == 0 {
            return (product, stride, 0);
        }
        let start = constant(&mut self.rng, ty);
        let sum = Expr::Binary(Binary::Add, Box::new(product), Box::new(Expr::Const(ty, start)));
        (sum, stride, start)
    }

    fn special(&mut self) -> Expr {
        match self.in_function {
            // Functions get such values as arguments.
            true => Expr::Special(*pick(&mut self.rng, &SPECIALS[..7])),
            false => Expr::Special(*pick(&mut self.rng, &SPECIALS)),
        }
    }

    fn leaf(&mut self, ty: Type) -> Expr {
        let vars: Vec<usize> = (0..self.vars.len()).filter(|&var| self.vars[var] == ty).collect();
        match self.rng.u8(..8) {
            0..4 if !vars.is_empty() => Expr::Var(*pick(&mut self.rng, &vars)),
            4 if ty == Type::U32 && self.counters > 0 => Expr::Var(self.vars.len() + self.rng.usize(..self.counters)),
            4 | 5 if ty != Type::Bool => convert(ty, Type::U32, self.special()),
            _ => Expr::Const(ty, constant(&mut self.rng, ty)),
        }
    }
}

/// Converts a value to another type; types without a conversion are compared or selected.
fn convert(to: Type, from: Type, value: Expr) -> Expr {
    if to == from {
        return value;
    }
    match (to, from) {
        // NaN is not equal to itself.
        (Type::Bool, _) => Expr::Compare(Comparison::NotEqual, Box::new(value), Box::new(Expr::Const(from, 0))),
        (Type::F32 | Type::F64, Type::Bool) => Expr::Cast(to, Box::new(Expr::Cast(Type::U8, Box::new(value)))),
        _ => Expr::Cast(to, Box::new(value)),
    }
}

/// A constant: small, at an edge of a type, or any.
fn constant(rng: &mut Rng, ty: Type) -> u64 {
    let edges =
        [0, 1, 2, 3, 7, 31, 32, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
    let wide = [0x1_0000_0000, 0x7fff_ffff_ffff_ffff, 0x8000_0000_0000_0000, u64::MAX, u64::MAX - 1, 0x1249_2492_4924];
    let bits = match ty {
        Type::Bool => return u64::from(rng.bool()),
        Type::F32 => {
            let of = [0.0, -0.0, 1.0, -1.5, 0.1, 1e30, -1e-40, f32::INFINITY, f32::NAN, 16_777_217.0, -2.5e9];
            return u64::from(pick(rng, &of).to_bits());
        }
        Type::F64 => {
            let of = [0.0, -0.0, 1.0, -1.5, 0.1, 1e300, -1e-310, f64::NEG_INFINITY, f64::NAN, 9.007e15, -4e19];
            return pick(rng, &of).to_bits();
        }
        _ => match rng.u8(..4) {
            0 | 1 => *pick(rng, &edges),
            2 => *pick(rng, &wide),
            _ => rng.u64(..),
        },
    };
    bits & mask(ty)
}

/// The bits that a value of an integer type has.
fn mask(ty: Type) -> u64 {
    u64::MAX >> (64 - ty.bits())
}
