//! Programs from choices: statements of many kinds, in the places where they are defined.
//!
//! What a program computes does not depend on the order of threads: threads share words only through operations whose order does
//! not matter, through memory behind barriers, or within a warp whose lanes are together. Each register is written before it is
//! read, and no clock is read. So engines must agree about all memory.

use std::collections::BTreeSet;

use crate::area::{Area, KINDS, Owner, Part, STRIDES, Space};
use crate::case::{Argument, Case, Shape};
use crate::choices::Choices;
use crate::functions;
use crate::module::{COUNTERS, DUMP, module};
use crate::tables;
use crate::template::Operands;

/// Bytes of the buffer that is only read.
const READ: usize = 8192;

/// Bytes of shared memory for cells.
const MOST_SHARED: usize = 40 << 10;

/// A program and which of [`features`] it has.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program with its launches.
    pub case: Case,
    /// Kinds of statements, rows of tables and shapes of launches.
    pub features: BTreeSet<&'static str>,
}

/// Which lanes execute a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
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
    place: Place,
    write: fn(&mut Generator<'_>),
}

const STATEMENTS: &[Kind] = &[
    Kind {
        name: "linear",
        weight: 24,
        place: Place::Lanes,
        write: |g| g.row(tables::LINEAR),
    },
    Kind {
        name: "uniform",
        weight: 6,
        place: Place::Warp,
        write: |g| g.row(tables::UNIFORM),
    },
    Kind {
        name: "test",
        weight: 7,
        place: Place::Lanes,
        write: |g| g.row(tables::TESTS),
    },
    Kind {
        name: "multiple",
        weight: 4,
        place: Place::Lanes,
        write: |g| g.row(tables::MULTIPLES),
    },
    Kind {
        name: "value",
        weight: 20,
        place: Place::Lanes,
        write: |g| g.row(tables::VALUES),
    },
    Kind {
        name: "form",
        weight: 4,
        place: Place::Lanes,
        write: |g| g.form(),
    },
    Kind {
        name: "read",
        weight: 8,
        place: Place::Lanes,
        write: |g| g.row(tables::READS),
    },
    Kind {
        name: "cells",
        weight: 14,
        place: Place::Lanes,
        write: |g| g.cells(),
    },
    Kind {
        name: "cells of several",
        weight: 4,
        place: Place::Warp,
        write: |g| g.cells_of_several(),
    },
    Kind {
        name: "local",
        weight: 4,
        place: Place::Lanes,
        write: |g| g.row(tables::LOCAL),
    },
    Kind {
        name: "atomic",
        weight: 4,
        place: Place::Lanes,
        write: |g| g.atomic(),
    },
    Kind {
        name: "atomic of several",
        weight: 1,
        place: Place::Warp,
        write: |g| g.atomic_of_several(),
    },
    Kind {
        name: "counter",
        weight: 4,
        place: Place::Lanes,
        write: |g| g.counter(),
    },
    Kind {
        name: "together",
        weight: 6,
        place: Place::Warp,
        write: |g| g.row(tables::TOGETHER),
    },
    Kind {
        name: "shuffle",
        weight: 5,
        place: Place::Warp,
        write: |g| g.shuffle(),
    },
    Kind {
        name: "region",
        weight: 2,
        place: Place::Warp,
        write: |g| g.region(),
    },
    Kind {
        name: "barrier",
        weight: 3,
        place: Place::Block,
        write: |g| g.barrier(),
    },
    Kind {
        name: "exchange",
        weight: 3,
        place: Place::Block,
        write: |g| g.exchange(),
    },
    Kind {
        name: "fence",
        weight: 1,
        place: Place::Lanes,
        write: |g| g.fence(),
    },
    Kind {
        name: "if",
        weight: 7,
        place: Place::Lanes,
        write: |g| g.branch(),
    },
    Kind {
        name: "uniform if",
        weight: 3,
        place: Place::Warp,
        write: |g| g.uniform_branch(),
    },
    Kind {
        name: "loop",
        weight: 5,
        place: Place::Lanes,
        write: |g| g.repeat(),
    },
    Kind {
        name: "uniform loop",
        weight: 3,
        place: Place::Block,
        write: |g| g.uniform_repeat(),
    },
    Kind {
        name: "switch",
        weight: 2,
        place: Place::Lanes,
        write: |g| g.switch(),
    },
    Kind {
        name: "call",
        weight: 2,
        place: Place::Lanes,
        write: |g| g.call(),
    },
    Kind {
        name: "exit",
        weight: 1,
        place: Place::Lanes,
        write: |g| g.exit(),
    },
];

/// Other features.
const GUARD: &str = "a guarded instruction";
const LONG: &str = "a long program";
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
const OTHERS: &[&str] = &[
    GUARD, LONG, FAULT, REQUIRED, ROWS_1, ROWS_8, ROWS_16, ROWS_32, ROWS_ODD, CUBES, PARTIAL, LARGE,
];

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
pub fn program(choices: Choices<'_>) -> Program {
    let mut generator = Generator {
        choices,
        features: BTreeSet::new(),
        operands: Operands::default(),
        body: String::new(),
        areas: Vec::new(),
        threads: 0,
        rows_fit: false,
        place: Place::Block,
        depth: 0,
        labels: 0,
        have_exited: false,
        functions: BTreeSet::new(),
    };
    let case = generator.case();
    Program {
        case,
        features: generator.features,
    }
}

struct Generator<'a> {
    choices: Choices<'a>,
    features: BTreeSet<&'static str>,
    operands: Operands,
    body: String,
    areas: Vec<Area>,
    /// Threads of a block.
    threads: u32,
    /// Whether the threads of a row are of one warp.
    rows_fit: bool,
    place: Place,
    depth: u32,
    labels: u32,
    /// Whether some threads may have exited.
    have_exited: bool,
    functions: BTreeSet<usize>,
}

impl Generator<'_> {
    fn case(&mut self) -> Case {
        let faults = self.choices.once_in(12);
        let launches = self.launches(faults);
        let blocks = launches.iter().map(|shape| shape.grid.iter().product::<u32>()).max();
        let cells = blocks.unwrap_or(1) as usize * (self.threads as usize + 1);
        let mut out = COUNTERS + DUMP * cells;
        self.choose_areas(cells, &mut out);
        let is_long = self.choices.once_in(150);
        let count = if is_long {
            self.features.insert(LONG);
            60 + self.choices.below(140)
        } else {
            3 + self.choices.below(14)
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
        let ptx = module(
            &self.body,
            &self.areas,
            self.threads,
            required.then_some(launches[0].block),
        );
        let few = [0x0123_4567_89ab_cdef, 0xffff_ffff, 5 << 32 | 3, self.choices.wide()];
        let arguments = [
            Argument::Buffer(READ, 1 + self.choices.below(200) as u64),
            Argument::Buffer(out, 0),
        ]
        .into_iter()
        .chain([Argument::Word(1 + self.choices.below(9) as u32)])
        .chain(few.map(Argument::Wide));
        Case {
            arguments: arguments.collect(),
            launches,
            ptx,
        }
    }

    /// Shapes of launches with blocks of the same number of threads.
    fn launches(&mut self, faults: bool) -> Vec<Shape> {
        const ROWS: [usize; 20] = [8, 16, 8, 16, 24, 32, 48, 64, 40, 56, 4, 12, 5, 1, 2, 3, 33, 31, 20, 28];
        let most = if faults {
            32
        } else {
            self.choices.of(&[32, 64, 64, 96, 128, 128, 256, 1024])
        };
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
        let block = if one {
            [row * rows * layers, 1, 1]
        } else {
            [row, rows, layers]
        }
        .map(|number| number as u32);
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
            let block = self
                .choices
                .of(&[[y, x, z], [x * y, z, 1], [z, y, x], [x * y * z, 1, 1]]);
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
            self.features
                .extend(others.into_iter().filter_map(|(has, feature)| has.then_some(feature)));
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
            self.areas.push(Area {
                number,
                space,
                owner,
                stride,
                offset,
            });
        }
    }

    fn line(&mut self, line: &str) {
        self.body.push_str(line);
        self.body.push('\n');
    }

    /// Writes a statement that may stand at the place.
    fn statement(&mut self) {
        let (place, depth) = (self.place, self.depth);
        let is_nested = |kind: &Kind| {
            matches!(
                kind.name,
                "if" | "uniform if" | "loop" | "uniform loop" | "switch" | "region"
            )
        };
        let weights = STATEMENTS.iter().map(move |kind| {
            let fits = kind.place <= place && (depth < 3 || !is_nested(kind));
            if fits { kind.weight } else { 0 }
        });
        let kind = &STATEMENTS[self.choices.weighted(weights)];
        self.features.insert(kind.name);
        (kind.write)(self);
    }

    /// Writes statements that only some lanes, or some warps, execute.
    fn nested(&mut self, place: Place, most: usize) {
        let before = self.place;
        self.place = place.min(before);
        self.operands.is_together = self.place > Place::Lanes;
        self.depth += 1;
        for _ in 0..self.choices.below(most + 1) {
            self.statement();
        }
        self.depth -= 1;
        self.place = before;
        self.operands.is_together = before > Place::Lanes;
    }

    /// Writes a row of a table.
    fn row(&mut self, table: &'static [&'static str]) {
        let row = self.choices.of(table);
        self.features.insert(row);
        let text = self.operands.expand(row, &mut self.choices);
        self.guarded(row, &text);
    }

    /// Writes a row, for some of the lanes if it is a single instruction and may be executed by some.
    fn guarded(&mut self, row: &str, text: &str) {
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

    /// Writes a form of the instructions of values, one of many more than the tables have.
    fn form(&mut self) {
        let forms = crate::forms::values();
        let form = forms[self.choices.below(forms.len())];
        let text = crate::forms::with_registers(form, &mut self.choices);
        self.line(&text);
    }

    fn area(&mut self, wanted: impl Fn(&Area) -> bool) -> Option<Area> {
        let areas: Vec<Area> = self.areas.iter().filter(|area| wanted(area)).cloned().collect();
        let index = self.choices.below(areas.len());
        areas.get(index).cloned()
    }

    /// Writes accesses around one address.
    fn cells(&mut self) {
        match self.area(|area| !area.is_of_several()) {
            Some(area) => self.accesses(&area),
            None => self.row(tables::READS),
        }
    }

    /// The same where all lanes of a row or warp store to one place: the last one's number stays there.
    fn cells_of_several(&mut self) {
        if let Some(area) = self.area(Area::is_of_several) {
            self.line("bar.warp.sync -1;");
            for _ in 0..1 + self.choices.below(3) {
                self.accesses(&area);
            }
            self.line("bar.warp.sync -1;");
        } else {
            self.cells();
        }
    }

    fn accesses(&mut self, area: &Area) {
        let n = area.number;
        let (space, base) = match (area.space, self.choices.below(4)) {
            (Space::Global, 0) => ("", format!("%v{n}")),
            (Space::Global, _) => (".global", format!("%g{n}")),
            (Space::Shared, 0) => ("", format!("%v{n}")),
            (Space::Shared, 1) => (".shared", format!("%g{n}")),
            (Space::Shared, _) => (".shared", format!("%s{n}")),
        };
        // A register of its own, for addresses that are computed where they are used.
        let mut distance = 0_i64;
        let base = match self.choices.below(5) {
            0 if base.starts_with("%s") => {
                distance = self.choices.of(&[4, 1 << 10, -16]);
                self.line(&format!("add.u32 %t4, {base}, {distance};"));
                "%t4".to_owned()
            }
            0 => {
                distance = self.choices.of(&[4, 1 << 20, -16, 1 << 31]);
                self.line(&format!("add.s64 %a2, {base}, {distance};"));
                "%a2".to_owned()
            }
            1 if area.space == Space::Shared && space.is_empty() => {
                self.line(&format!("cvta.to.shared.u64 %a2, {base};"));
                self.accesses_at(area, ".shared", "%a2", 0);
                return;
            }
            _ => base,
        };
        self.accesses_at(area, space, &base, distance);
    }

    fn accesses_at(&mut self, area: &Area, space: &str, base: &str, distance: i64) {
        for _ in 0..self.choices.of(&[1, 2, 2, 3, 4, 6]) {
            let part = area.part(&mut self.choices);
            let offset = part.offset as i64 - distance;
            let place = match offset {
                0 => format!("[{base}]"),
                _ => format!("[{base}+{offset}]"),
            };
            let stores = self.choices.below(2) == 0;
            let (ty, registers) = self.element(part, stores);
            let order = match self.choices.below(12) {
                0 => ".volatile",
                1 if stores => ".release.gpu",
                1 => ".acquire.gpu",
                2 => ".relaxed.cta",
                _ => "",
            };
            let order = if part.element == 16 || part.count > 1 {
                ""
            } else {
                order
            };
            // Of several lanes that store to one place, the last one is the same where all of them do.
            let is_guarded = !area.is_of_several() && self.choices.once_in(5);
            let guard = if is_guarded {
                self.features.insert(GUARD);
                self.operands.expand("@$P ", &mut self.choices)
            } else {
                String::new()
            };
            if stores {
                self.line(&format!("{guard}st{order}{space}{ty} {place}, {registers};"));
            } else {
                self.line(&format!("{guard}ld{order}{space}{ty} {registers}, {place};"));
            }
        }
    }

    /// The type and the registers of a part of a cell.
    fn element(&mut self, part: Part, stores: bool) -> (String, String) {
        let (types, single, others): (&[&str], &[&str], &[&str]) = match part.element {
            1 => (&["u8", "s8", "b8"], &["$r", "$h", "$i"], &["$r", "$0", "$1", "$2"]),
            2 => (&["u16", "s16", "b16"], &["$h", "$r"], &["$h", "%th", "%ti", "%tj"]),
            4 => (
                &["u32", "s32", "b32", "f32"],
                &["$r", "$r", "$i", "$f"],
                &["$r", "$0", "$i", "$1"],
            ),
            8 => (
                &["u64", "s64", "b64", "f64"],
                &["$q", "$q", "$j", "$d"],
                &["$q", "$A", "$j", "$B"],
            ),
            _ => (&["b128"], &["$w"], &["$w"]),
        };
        let ty = self.choices.of(types);
        if part.count == 1 {
            // Constants are stored as well.
            let constant = match part.element {
                4 if ty == "f32" => "0f3F800000",
                8 if ty == "f64" => "0dBFE0000000000000",
                4 => "$c",
                8 => "$C",
                _ => "0",
            };
            let register = if stores && part.element < 16 && self.choices.once_in(6) {
                constant
            } else {
                self.choices.of(single)
            };
            let register = self.operands.expand(register, &mut self.choices);
            return (format!(".{ty}"), register);
        }
        let registers: Vec<String> = others
            .iter()
            .take(part.count)
            .map(|register| self.operands.expand(register, &mut self.choices))
            .collect();
        (
            format!(".v{}.{ty}", part.count),
            format!("{{{}}}", registers.join(", ")),
        )
    }

    /// Writes an atomic operation on a cell of the thread's own.
    fn atomic(&mut self) {
        match self.area(|area| !area.is_of_several() && area.stride % 16 == 0) {
            Some(area) => self.atomic_on(&area),
            None => self.counter(),
        }
    }

    /// The same on a cell of the row or the warp, whose lanes take their turns in their order.
    fn atomic_of_several(&mut self) {
        if let Some(area) = self.area(|area| area.is_of_several() && area.stride % 16 == 0) {
            self.line("bar.warp.sync -1;");
            self.atomic_on(&area);
            self.line("bar.warp.sync -1;");
        } else {
            self.atomic();
        }
    }

    fn atomic_on(&mut self, area: &Area) {
        let n = area.number;
        let (space, base) = match (area.space, self.choices.below(3)) {
            (_, 0) => ("", format!("%v{n}")),
            (Space::Global, _) => (".global", format!("%g{n}")),
            (Space::Shared, 1) => (".shared", format!("%g{n}")),
            (Space::Shared, _) => (".shared", format!("%s{n}")),
        };
        let row = self.choices.of(tables::ATOMS);
        self.features.insert(row);
        let text = row.replace("SPACE", space).replace("CELL", &base);
        // Types that an operation has.
        let (operation, ty, wide) = self.choices.of(&[
            ("add", "u32", "u64"),
            ("min", "s32", "s64"),
            ("max", "u32", "u64"),
            ("exch", "b32", "b64"),
            ("and", "b32", "b64"),
            ("or", "b32", "b64"),
            ("xor", "b32", "b64"),
            ("inc", "u32", "u64"),
            ("dec", "u32", "u64"),
        ]);
        // `red` has no `exch`, and there are no counters of 64 bits.
        let is_wide = text.contains("<WIDE>");
        let operation = match operation {
            "exch" if text.starts_with("red") => "xor",
            "inc" | "dec" if is_wide => "add",
            _ => operation,
        };
        let text = text
            .replace("<add|min|max|exch|and|or|xor|inc|dec>", operation)
            .replace("<add|min|max|exch|and|or|xor>", operation)
            .replace("<add|min|max|and|or|xor|inc|dec>", operation)
            .replace("<TYPE>", ty)
            .replace("<WIDE>", wide);
        let text = self.operands.expand(&text, &mut self.choices);
        if area.is_of_several() {
            self.line(&text);
        } else {
            self.guarded(row, &text);
        }
    }

    /// Writes an operation on words of the block or of the grid.
    fn counter(&mut self) {
        let (space, count, wide) = match self.choices.below(4) {
            0 => ("", "%out", "%out"),
            1 => (".global", "%out", "%out"),
            2 => ("", "%sgen", "%sgen"),
            _ => (".shared", "%scnt", "%swide"),
        };
        let row = self.choices.of(tables::COUNTERS);
        self.features.insert(row);
        let mut text = row
            .replace("SPACE", space)
            .replace("WIDE", wide)
            .replace("COUNT", count);
        let is_atom = self.choices.below(2) == 0;
        let operation = if is_atom { "atom" } else { "red" };
        text = text.replace("<red|atom>", operation);
        let (old, wide) = if is_atom && row.contains("OLD") {
            ("%t8, ", "%a3, ")
        } else {
            ("", "")
        };
        text = text.replace("WOLD", wide).replace("OLD", old);
        let text = self.operands.expand(&text, &mut self.choices);
        self.guarded(row, &text);
    }

    /// Writes a shuffle, if all the lanes are there that it may read.
    fn shuffle(&mut self) {
        if self.threads.is_multiple_of(32) && !self.have_exited {
            self.row(tables::SHUFFLES);
        } else {
            self.row(tables::TOGETHER);
        }
    }

    /// Writes what some lanes do together, by a mask.
    fn region(&mut self) {
        let label = self.label();
        let (predicate, mask) = if self.choices.below(2) == 0 {
            // The lanes are known.
            let bit = self.choices.below(5);
            let value = self.choices.below(2);
            let lanes = (0..32)
                .filter(|lane| (lane >> bit & 1) == value)
                .fold(0_u32, |mask, lane| mask | 1 << lane);
            self.line(&format!(
                "and.b32 %t5, %lane, {}; setp.ne.u32 %tp2, %t5, {};",
                1 << bit,
                value << bit
            ));
            ("%tp2", format!("{lanes:#x}"))
        } else {
            let text = "mov.pred %tp2, $P; vote.sync.ballot.b32 %t5, !%tp2, -1;".replace("$P", "<$p|$k>");
            let text = self.operands.expand(&text, &mut self.choices);
            self.line(&text);
            ("%tp2", "%t5".to_owned())
        };
        self.line(&format!("@{predicate} bra R{label};"));
        let before = self.operands.clone();
        self.operands.is_together = false;
        self.operands.mask = Some(mask);
        for _ in 0..1 + self.choices.below(3) {
            self.row(tables::TOGETHER);
            if self.choices.below(2) == 0 {
                self.row(tables::VALUES);
            }
        }
        self.operands = before;
        self.line(&format!("R{label}:"));
    }

    fn barrier(&mut self) {
        let threads = self.threads.next_multiple_of(32);
        let text = match self.choices.below(7) {
            0..3 => "bar.sync 0;".to_owned(),
            3 => "barrier.sync 0;".to_owned(),
            4 => format!("bar.sync 1, {threads};"),
            5 => "bar.red.<and|or>.pred $p, 0, $P;".to_owned(),
            _ => "bar.red.popc.u32 $r, 0, $P;".to_owned(),
        };
        let text = if self.have_exited && text.contains(',') {
            "bar.sync 0;".to_owned()
        } else {
            text
        };
        let text = self.operands.expand(&text, &mut self.choices);
        self.line(&text);
    }

    /// Reads cells of other threads between two barriers.
    fn exchange(&mut self) {
        let Some(area) = self.area(|area| area.space == Space::Shared && area.stride % 4 == 0) else {
            return self.barrier();
        };
        let (n, stride, last) = (area.number, area.stride, self.threads - 1);
        let offset = 4 * self.choices.below(stride / 4);
        let index = match self.choices.below(4) {
            0 => format!(
                "xor.b32 %t0, %ltid, {}; min.u32 %t0, %t0, {last};",
                self.choices.of(&[1, 7, 31])
            ),
            1 => format!("and.b32 %t0, %u0, 31; min.u32 %t0, %t0, {last};"),
            2 => format!("sub.u32 %t0, {last}, %ltid;"),
            _ => format!("rem.u32 %t0, %r0, {};", self.threads),
        };
        // Cells of rows and warps are fewer than threads.
        let index = match area.owner {
            Owner::Row | Owner::Warp => "mov.u32 %t0, 0;".to_owned(),
            Owner::Forward | Owner::Reverse | Owner::Transposed => index,
            Owner::Swapped => "mov.u32 %t0, %ltid;".replace("%ltid", if self.threads % 2 == 0 { "%ltid" } else { "1" }),
        };
        let text = format!(
            "bar.sync 0; {index} mov.u32 %t1, cells{n}; mad.lo.u32 %t1, %t0, {stride}, %t1; \
             ld.shared.u32 <$r|$i>, [%t1+{offset}]; ld.shared.u32 $r, [%scnt+<0|20|80>]; bar.sync 0;"
        );
        let text = self.operands.expand(&text, &mut self.choices);
        self.line(&text);
    }

    fn fence(&mut self) {
        let text = self
            .choices
            .of(&["membar.<cta|gl|sys>;", "fence.<acq_rel|sc>.<cta|gpu|sys>;"]);
        let text = self.operands.expand(text, &mut self.choices);
        self.line(&text);
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    /// Writes a branch by which lanes may part, with or without an other side.
    fn branch(&mut self) {
        let label = self.label();
        let test = self.operands.expand("@$P bra ", &mut self.choices);
        let has_else = self.choices.below(3) == 0;
        if has_else {
            self.line(&format!("{test}E{label};"));
            self.nested(Place::Lanes, 3);
            self.line(&format!("bra J{label};"));
            self.line(&format!("E{label}:"));
            self.nested(Place::Lanes, 3);
        } else {
            self.line(&format!("{test}J{label};"));
            self.nested(Place::Lanes, 4);
        }
        self.line(&format!("J{label}:"));
    }

    /// Writes a branch that all lanes of a warp take or none.
    fn uniform_branch(&mut self) {
        let label = self.label();
        let test = self.operands.expand("@<|!>$k bra<.uni|> ", &mut self.choices);
        self.line(&format!("{test}J{label};"));
        self.nested(Place::Warp, 4);
        self.line(&format!("J{label}:"));
    }

    /// Writes a loop whose trip counts differ from lane to lane, or from warp to warp.
    fn repeat(&mut self) {
        let (label, depth) = (self.label(), self.depth);
        let count = self.choices.of(&[
            "and.b32 %c0, <$R|$I>, <3|7>;",
            "and.b32 %c0, <%tx|%lane|%ty>, <1|3|7>;",
            "shr.u32 %c0, %ltid, <3|5>; and.b32 %c0, %c0, 3;",
            "and.b32 %c0, $U, 3;",
            "mov.u32 %c0, <1|2|5>;",
        ]);
        let count = count.replace("%c0", &format!("%c{depth}"));
        let count = self.operands.expand(&count, &mut self.choices);
        self.line(&format!("{count} add.u32 %c{depth}, %c{depth}, 1; // keep"));
        self.line(&format!("H{label}:"));
        self.nested(Place::Lanes, 4);
        if self.choices.once_in(4) {
            let out = self.operands.expand("@$P bra ", &mut self.choices);
            self.line(&format!("{out}J{label};"));
            self.nested(Place::Lanes, 2);
        }
        self.line(&format!(
            "sub.u32 %c{depth}, %c{depth}, 1; setp.ne.u32 %lp{depth}, %c{depth}, 0; @%lp{depth} bra H{label}; // keep"
        ));
        self.line(&format!("J{label}:"));
    }

    /// Writes a loop that all threads of the block execute as often.
    fn uniform_repeat(&mut self) {
        let (label, depth) = (self.label(), self.depth);
        let bound = self.choices.of(&["2", "3", "%n"]);
        self.line(&format!("mov.u32 %c{depth}, 0; // keep"));
        self.line(&format!("H{label}:"));
        self.nested(Place::Block, 5);
        self.line(&format!(
            "add.u32 %c{depth}, %c{depth}, 1; setp.lt.u32 %lp{depth}, %c{depth}, {bound}; @%lp{depth} bra H{label}; // keep"
        ));
    }

    /// Writes a jump through a table.
    fn switch(&mut self) {
        let label = self.label();
        let index = self.operands.expand("and.b32 %t6, <$R|$I|$U>, 3;", &mut self.choices);
        self.line(&format!(
            "{index} {{ T{label}: .branchtargets C{label}_0, C{label}_1, C{label}_2, C{label}_3; brx.idx %t6, T{label}; }}"
        ));
        for case in 0..4 {
            self.line(&format!("C{label}_{case}:"));
            self.nested(Place::Lanes, 2);
            if self.choices.below(4) != 0 {
                self.line(&format!("bra D{label};"));
            }
        }
        self.line(&format!("D{label}:"));
    }

    fn call(&mut self) {
        let function = self.choices.below(functions::CALLS.len());
        self.functions.insert(function);
        let text = self.operands.expand(functions::CALLS[function], &mut self.choices);
        self.line(&text);
    }

    /// Lets some lanes go to the end.
    fn exit(&mut self) {
        self.have_exited = true;
        let test = self.operands.expand("@$P bra LEAVE;", &mut self.choices);
        self.line(&test);
    }
}
