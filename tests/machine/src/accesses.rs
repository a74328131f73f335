//! Statements that access memory: cells of threads, of rows and of warps, words that all threads count in.

use crate::area::{Area, Owner, Part, Space};
use crate::generator::{GUARD, Generator};
use crate::tables;

impl Generator {
    pub(crate) fn area(&mut self, wanted: impl Fn(&Area) -> bool) -> Option<Area> {
        let areas: Vec<Area> = self.areas.iter().filter(|area| wanted(area)).cloned().collect();
        let index = self.choices.below(areas.len());
        areas.get(index).cloned()
    }

    /// Writes accesses around one address.
    pub(crate) fn cells(&mut self) {
        match self.area(|area| !area.is_of_several()) {
            Some(area) => self.accesses(&area),
            None => self.row(tables::READS),
        }
    }

    /// The same where all lanes of a row or warp store to one place: the last one's number stays there.
    pub(crate) fn cells_of_several(&mut self) {
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

    pub(crate) fn accesses(&mut self, area: &Area) {
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

    pub(crate) fn accesses_at(&mut self, area: &Area, space: &str, base: &str, distance: i64) {
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
            let order = if part.element == 16 || part.count > 1 { "" } else { order };
            // If several lanes store to the same address, the last lane is the same in all of these cells.
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
    pub(crate) fn element(&mut self, part: Part, stores: bool) -> (String, String) {
        let (types, single, others): (&[&str], &[&str], &[&str]) = match part.element {
            1 => (&["u8", "s8", "b8"], &["$r", "$h", "$i"], &["$r", "$0", "$1", "$2"]),
            2 => (&["u16", "s16", "b16"], &["$h", "$r"], &["$h", "%th", "%ti", "%tj"]),
            4 => (&["u32", "s32", "b32", "f32"], &["$r", "$r", "$i", "$f"], &["$r", "$0", "$i", "$1"]),
            8 => (
                &["u64", "s64", "b64", "f64"],
                &["$q", "$q", "$j", "$d"],
                // The temporaries may hold addresses, which differ from device to device.
                if stores { &["$q", "$j", "$d", "$q"] } else { &["$q", "$A", "$j", "$B"] },
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
            let register =
                if stores && part.element < 16 && self.choices.once_in(6) { constant } else { self.choices.of(single) };
            let register = self.operands.expand(register, &mut self.choices);
            return (format!(".{ty}"), register);
        }
        let registers: Vec<String> =
            others.iter().take(part.count).map(|register| self.operands.expand(register, &mut self.choices)).collect();
        (format!(".v{}.{ty}", part.count), format!("{{{}}}", registers.join(", ")))
    }

    /// Writes an atomic operation on a cell of the thread's own.
    pub(crate) fn atomic(&mut self) {
        match self.area(|area| !area.is_of_several() && area.stride % 16 == 0) {
            Some(area) => self.atomic_on(&area),
            None => self.counter(),
        }
    }

    /// The same on a cell of the row or the warp, whose lanes take their turns in their order.
    pub(crate) fn atomic_of_several(&mut self) {
        if let Some(area) = self.area(|area| area.is_of_several() && area.stride % 16 == 0) {
            self.line("bar.warp.sync -1;");
            self.atomic_on(&area);
            self.line("bar.warp.sync -1;");
        } else {
            self.atomic();
        }
    }

    pub(crate) fn atomic_on(&mut self, area: &Area) {
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
    pub(crate) fn counter(&mut self) {
        let (space, count, wide) = match self.choices.below(4) {
            0 => ("", "%out", "%out"),
            1 => (".global", "%out", "%out"),
            2 => ("", "%sgen", "%sgen"),
            _ => (".shared", "%scnt", "%swide"),
        };
        let row = self.choices.of(tables::COUNTERS);
        self.features.insert(row);
        let mut text = row.replace("SPACE", space).replace("WIDE", wide).replace("COUNT", count);
        let is_atom = self.choices.below(2) == 0;
        let operation = if is_atom { "atom" } else { "red" };
        text = text.replace("<red|atom>", operation);
        let (old, wide) = if is_atom && row.contains("OLD") { ("%t8, ", "%a3, ") } else { ("", "") };
        text = text.replace("WOLD", wide).replace("OLD", old);
        let text = self.operands.expand(&text, &mut self.choices);
        self.guarded(row, &text);
    }

    /// Reads cells of other threads between two barriers.
    pub(crate) fn exchange(&mut self) {
        let Some(area) = self.area(|area| area.space == Space::Shared && area.stride % 4 == 0) else {
            return self.barrier();
        };
        let (n, stride, last) = (area.number, area.stride, self.threads - 1);
        let offset = 4 * self.choices.below(stride / 4);
        let index = match self.choices.below(4) {
            0 => format!("xor.b32 %t0, %ltid, {}; min.u32 %t0, %t0, {last};", self.choices.of(&[1, 7, 31])),
            1 => format!("and.b32 %t0, %u0, 31; min.u32 %t0, %t0, {last};"),
            2 => format!("sub.u32 %t0, {last}, %ltid;"),
            _ => format!("rem.u32 %t0, %r0, {};", self.threads),
        };
        // Cells of rows, of warps and of eight lanes are fewer than threads.
        let index = match area.owner {
            Owner::Row | Owner::Warp | Owner::Eight => "mov.u32 %t0, 0;".to_owned(),
            Owner::Forward | Owner::Reverse | Owner::Transposed | Owner::Grouped => index,
            Owner::Swapped => {
                if self.threads.is_multiple_of(2) {
                    index
                } else {
                    "mov.u32 %t0, 0;".to_owned()
                }
            }
        };
        let text = format!(
            "bar.sync 0; {index} mov.u32 %t1, cells{n}; mad.lo.u32 %t1, %t0, {stride}, %t1; \
             ld.shared.u32 <$r|$i>, [%t1+{offset}]; ld.shared.u32 $r, [%scnt+<0|20|80>]; bar.sync 0;"
        );
        let text = self.operands.expand(&text, &mut self.choices);
        self.line(&text);
    }
}
