//! Programs from choices: statements of many kinds, in the places where they are defined.
//!
//! The result of a program does not depend on the order of threads: threads share words only through commutative
//! operations, through memory behind barriers, or within a warp whose lanes are converged. Each register is written
//! before it is read, and no clock is read. So engines must agree about all memory.

use std::collections::BTreeSet;

use crate::area::{Area, KINDS, Owner, STRIDES, Space};
use crate::case::{Argument, Case, Shape};
use crate::choices::Choices;
use crate::module::{COUNTERS, DUMP, module};
use crate::tables;
use crate::template::Operands;

/// Bytes of the buffer that is only read.
const READ: usize = 8192;

/// Bytes of shared memory for cells.
const MOST_SHARED: usize = 40 << 10;

/// A program and those of the [`features`] that the program has.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program with its launches.
    pub case: Case,
    /// Kinds of statements, rows of tables and shapes of launches.
    pub features: BTreeSet<&'static str>,
}

/// The lanes that execute a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Participants {
    /// Any.
    Lanes,
    /// All lanes of a warp that have not exited, or none of them.
    Warp,
    /// All threads of the block that have not exited.
    Block,
}

/// A kind of statement.
struct Kind {
    name: &'static str,
    weight: u32,
    /// The least place.
    place: Participants,
    write: fn(&mut Generator),
}

/// A row of the statements.
const fn kind(name: &'static str, weight: u32, place: Participants, write: fn(&mut Generator)) -> Kind {
    Kind { name, weight, place, write }
}

const STATEMENTS: &[Kind] = &[
    kind("linear", 24, Participants::Lanes, |g| g.row(tables::LINEAR)),
    kind("uniform", 6, Participants::Warp, |g| g.row(tables::UNIFORM)),
    kind("test", 7, Participants::Lanes, |g| g.row(tables::TESTS)),
    kind("multiple", 4, Participants::Lanes, |g| g.row(tables::MULTIPLES)),
    kind("value", 20, Participants::Lanes, |g| g.row(tables::VALUES)),
    kind("form", 4, Participants::Lanes, Generator::form),
    kind("read", 8, Participants::Lanes, |g| g.row(tables::READS)),
    kind("cells", 14, Participants::Lanes, Generator::cells),
    kind("cells of several", 4, Participants::Warp, Generator::cells_of_several),
    kind("local", 4, Participants::Lanes, |g| g.row(tables::LOCAL)),
    kind("atomic", 4, Participants::Lanes, Generator::atomic),
    kind("atomic of several", 1, Participants::Warp, Generator::atomic_of_several),
    kind("counter", 4, Participants::Lanes, Generator::counter),
    kind("together", 6, Participants::Warp, |g| g.row(tables::TOGETHER)),
    kind("shuffle", 5, Participants::Warp, Generator::shuffle),
    kind("matrix", 1, Participants::Warp, Generator::matrix),
    kind("parts", 2, Participants::Warp, Generator::parts),
    kind("region", 2, Participants::Warp, Generator::region),
    kind("barrier", 3, Participants::Block, Generator::barrier),
    kind("exchange", 3, Participants::Block, Generator::exchange),
    kind("fence", 1, Participants::Lanes, Generator::fence),
    kind("if", 7, Participants::Lanes, Generator::branch),
    kind("uniform if", 3, Participants::Warp, Generator::uniform_branch),
    kind("loop", 5, Participants::Lanes, Generator::repeat),
    kind("uniform loop", 3, Participants::Block, Generator::uniform_repeat),
    kind("switch", 2, Participants::Lanes, Generator::switch),
    kind("call", 2, Participants::Lanes, Generator::call),
    kind("exit", 1, Participants::Lanes, Generator::exit),
    kind("panic", 1, Participants::Lanes, Generator::panic),
];

/// Other features.
pub(crate) const GUARD: &str = "a guarded instruction";
const LONG: &str = "a long program";
const LONGEST: &str = "a program of thousands of instructions";
const FAULT: &str = "an access that may fail";
const REQUIRED: &str = "a required shape of blocks";
const ROWS_1: &str = "blocks of one dimension";
const ROWS_8: &str = "rows of 8 times an odd number of threads";
const ROWS_16: &str = "rows of 16 times an odd number of threads";
const ROWS_32: &str = "rows of a multiple of 32 threads";
const ROWS_ODD: &str = "rows of no multiple of 8 threads";
const CUBES: &str = "blocks of three dimensions";
const PARTIAL: &str = "warps that lack lanes";
const LARGE: &str = "blocks of more than 512 threads";
const OTHERS: &[&str] =
    &[GUARD, LONG, LONGEST, FAULT, REQUIRED, ROWS_1, ROWS_8, ROWS_16, ROWS_32, ROWS_ODD, CUBES, PARTIAL, LARGE];

/// The tables of rows, each of which is a feature.
const TABLES: &[&[&str]] = &[
    tables::LINEAR,
    tables::UNIFORM,
    tables::TESTS,
    tables::MULTIPLES,
    tables::VALUES,
    tables::READS,
    tables::TOGETHER,
    tables::SHUFFLES,
    tables::MATRICES,
    tables::ATOMS,
    tables::COUNTERS,
    tables::LOCAL,
    tables::FAULTS,
];

/// Everything that programs may have.
pub fn features() -> impl Iterator<Item = &'static str> {
    let rows = TABLES.iter().flat_map(|table| table.iter().copied());
    let kinds = STATEMENTS.iter().map(|kind| kind.name);
    let areas = KINDS.iter().map(|(name, ..)| *name);
    rows.chain(kinds).chain(areas).chain(OTHERS.iter().copied())
}

/// Makes a program.
pub fn program(choices: Choices) -> Program {
    let mut generator = Generator {
        choices,
        features: BTreeSet::new(),
        operands: Operands::default(),
        body: String::new(),
        areas: Vec::new(),
        threads: 0,
        rows_fit: false,
        place: Participants::Block,
        depth: 0,
        labels: 0,
        have_exited: false,
        functions: BTreeSet::new(),
    };
    let case = generator.case();
    Program { case, features: generator.features }
}

pub(crate) struct Generator {
    pub(crate) choices: Choices,
    pub(crate) features: BTreeSet<&'static str>,
    pub(crate) operands: Operands,
    pub(crate) body: String,
    pub(crate) areas: Vec<Area>,
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Whether the threads of a row are of one warp.
    pub(crate) rows_fit: bool,
    pub(crate) place: Participants,
    pub(crate) depth: u32,
    pub(crate) labels: u32,
    /// Whether some threads may have exited.
    pub(crate) have_exited: bool,
    pub(crate) functions: BTreeSet<usize>,
}

impl Generator {
    fn case(&mut self) -> Case {
        let faults = self.choices.once_in(12);
        let launches = self.launches(faults);
        let blocks = launches.iter().map(|shape| shape.grid.iter().product::<u32>()).max();
        let cells = blocks.unwrap_or(1) as usize * (self.threads as usize + 1);
        let mut out = COUNTERS + DUMP * cells;
        self.choose_areas(cells, &mut out);
        let count = match self.choices.below(300) {
            297 | 298 => {
                self.features.insert(LONG);
                60 + self.choices.below(140)
            }
            299 => {
                self.features.insert(LONGEST);
                let instructions = 2000 + self.choices.below(2000);
                self.straight(instructions);
                10
            }
            _ => 3 + self.choices.below(14),
        };
        let fault = faults.then(|| self.choices.below(count));
        for number in 0..count {
            if fault == Some(number) {
                self.features.insert(FAULT);
                self.line("bar.warp.sync -1;");
                self.row(tables::FAULTS);
            }
            self.statement();
        }
        let required = launches[..] == [launches[0]] && self.choices.once_in(6);
        if required {
            self.features.insert(REQUIRED);
        }
        let ptx = module(&self.body, &self.areas, self.threads, required.then_some(launches[0].block));
        let few = [0x0123_4567_89ab_cdef, 0xffff_ffff, 5 << 32 | 3, self.choices.wide()];
        let arguments = [Argument::Buffer(READ, 1 + self.choices.below(200) as u64), Argument::Buffer(out, 0)]
            .into_iter()
            .chain([Argument::Word(1 + self.choices.below(9) as u32)])
            .chain(few.map(Argument::Wide));
        Case { arguments: arguments.collect(), launches, variables: Vec::new(), ptx }
    }

    /// Shapes of launches with blocks of the same number of threads.
    fn launches(&mut self, faults: bool) -> Vec<Shape> {
        const ROWS: [usize; 20] = [8, 16, 8, 16, 24, 32, 48, 64, 40, 56, 4, 12, 5, 1, 2, 3, 33, 31, 20, 28];
        let most = if faults { 32 } else { self.choices.of(&[32, 64, 64, 96, 128, 128, 256, 1024]) };
        let row = match self.choices.below(3) {
            0 => 1 + self.choices.below(64),
            _ => self.choices.of(&ROWS),
        };
        let row = row.min(most);
        let (rows, layers) = match self.choices.below(4) {
            0 => (1, 1),
            1 | 2 => (1 + self.choices.below(most / row), 1),
            _ => {
                let rows = 1 + self.choices.below((most / row).min(8));
                (rows, 1 + self.choices.below((most / row / rows).min(6)))
            }
        };
        let one = self.choices.once_in(4) && !faults;
        let block = if one { [row * rows * layers, 1, 1] } else { [row, rows, layers] }.map(|number| number as u32);
        self.threads = block.iter().product();
        let grid = match self.choices.below(4) {
            _ if faults => [1; 3],
            0 | 1 => [1, 1, 1],
            2 => [2, 1, 1],
            _ => [1, 2, 1],
        };
        let mut launches = vec![Shape { grid, block }];
        if !faults && self.choices.once_in(4) {
            let [x, y, z] = block;
            let block = self.choices.of(&[[y, x, z], [x * y, z, 1], [z, y, x], [x * y * z, 1, 1]]);
            if block[2] <= 64 {
                launches.push(Shape { grid, block });
            }
        }
        let is_partial = !self.threads.is_multiple_of(32);
        self.rows_fit = launches.iter().all(|shape| 32 % shape.block[0] == 0);
        for shape in &launches {
            let [x, y, z] = shape.block;
            self.features.insert(match x {
                _ if y * z == 1 => ROWS_1,
                _ if x % 32 == 0 => ROWS_32,
                _ if x % 16 == 0 => ROWS_16,
                _ if x % 8 == 0 => ROWS_8,
                _ => ROWS_ODD,
            });
            let others = [(z > 1, CUBES), (is_partial, PARTIAL), (self.threads > 512, LARGE)];
            self.features.extend(others.into_iter().filter_map(|(has, feature)| has.then_some(feature)));
        }
        launches
    }

    fn choose_areas(&mut self, cells: usize, out: &mut usize) {
        let mut shared = 0;
        for number in 0..3 {
            let (name, space, owner) = self.choices.of(KINDS);
            if owner == Owner::Row && !self.rows_fit {
                continue;
            }
            let stride = self.choices.of(STRIDES);
            let used = (self.threads as usize + 1) * stride;
            if space == Space::Shared {
                if shared + used > MOST_SHARED {
                    continue;
                }
                shared += used;
            }
            self.features.insert(name);
            let offset = out.next_multiple_of(64);
            if space == Space::Global {
                *out = offset + cells * stride;
            }
            self.areas.push(Area { number, space, owner, stride, offset });
        }
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.body.push_str(line);
        self.body.push('\n');
    }

    /// Writes a statement that may stand at the place.
    pub(crate) fn statement(&mut self) {
        let (place, depth) = (self.place, self.depth);
        let is_nested =
            |kind: &Kind| matches!(kind.name, "if" | "uniform if" | "loop" | "uniform loop" | "switch" | "region");
        let weights = STATEMENTS.iter().map(move |kind| {
            let fits = kind.place <= place && (depth < 3 || !is_nested(kind));
            if fits { kind.weight } else { 0 }
        });
        let kind = &STATEMENTS[self.choices.weighted(weights)];
        self.features.insert(kind.name);
        (kind.write)(self);
    }

    /// Writes statements that only some lanes, or some warps, execute.
    pub(crate) fn nested(&mut self, place: Participants, most: usize) {
        let before = self.place;
        self.place = place.min(before);
        self.operands.is_together = self.place > Participants::Lanes;
        self.depth += 1;
        for _ in 0..self.choices.below(most + 1) {
            self.statement();
        }
        self.depth -= 1;
        self.place = before;
        self.operands.is_together = before > Participants::Lanes;
    }

    /// Writes a row of a table.
    pub(crate) fn row(&mut self, table: &'static [&'static str]) {
        let row = self.choices.of(table);
        self.features.insert(row);
        let text = self.operands.expand(row, &mut self.choices);
        self.guarded(row, &text);
    }

    /// Writes a row, for some of the lanes if it is a single instruction and may be executed by some.
    pub(crate) fn guarded(&mut self, row: &str, text: &str) {
        let is_single = text.matches(';').count() == 1 && !text.starts_with('@');
        let is_uniform = ["$u", "$k", "$z", "sync"].iter().any(|part| row.contains(part));
        if is_single && !is_uniform && self.choices.once_in(6) {
            self.features.insert(GUARD);
            let guard = self.operands.expand("@$P", &mut self.choices);
            self.line(&format!("{guard} {text}"));
        } else {
            self.line(text);
        }
    }

    /// Writes many rows of values, one behind the other.
    fn straight(&mut self, count: usize) {
        for _ in 0..count {
            let table = self.choices.of(&[tables::LINEAR, tables::VALUES, tables::TESTS]);
            self.row(table);
        }
    }

    /// Writes a form of the instructions of values, one of many more than the tables have.
    pub(crate) fn form(&mut self) {
        let forms = crate::forms::values();
        let form = forms[self.choices.below(forms.len())];
        let text = crate::forms::with_registers(form, &mut self.choices);
        self.line(&text);
    }
}
