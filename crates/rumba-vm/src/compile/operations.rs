//! Operations that are no accesses: those over lanes, tests, selections, shuffles, and calls of handlers.

use crate::arith::{Form, LaneForm, Steps, Stride, Truths};
use crate::base::ir::{Element, Value};
use crate::compile::function::{Function, GO_ON};
use crate::compile::kernel::{Location, raw};
use crate::compile::registers::Written;
use crate::compile::shape::{LanePlan, Shape, Version};
use crate::compile::variables::Variable;
use crate::machine::op::opcode::Opcode;
use crate::machine::program::Flow;

impl Function<'_> {
    /// Writes the result of an operation to its destination.
    pub(super) fn finish_operation(&mut self, index: usize, written: Written) {
        let shapes = self.shapes_after(&[index]);
        let Some(place) = self.kernel.operand(index, 0) else {
            return;
        };
        let shape = self.kernel.shape(place, &shapes);
        self.write_active(place, shape, written);
    }

    /// Stores the registers that operations read, for a handler.
    pub(super) fn store_operands(&mut self, operations: &[usize]) {
        let mut registers: Vec<_> = operations.iter().flat_map(|index| self.kernel.read(*index)).collect();
        registers.sort_unstable();
        registers.dedup();
        self.store_all(&registers);
    }

    /// Lets the interpreter's handler execute an operation. The position that it names next.
    fn execute(&mut self, index: usize, helper: &str) -> String {
        let end = self.kernel.blocks[self.block].ops.end;
        let extra = (index + 1..end).take_while(|next| self.kernel.has_extra_operands(*next));
        let all: Vec<usize> = std::iter::once(index).chain(extra).collect();
        self.store_operands(&all);
        self.store_fuel();
        if self.version == Version::Masked {
            let mask = self.mask_of_active();
            self.set(&Variable::word("%active.place"), &mask);
        }
        let position = self.position(index);
        let next = self.w.name("%t");
        self.w.line(format_args!("{next} = call ptr %{helper}(ptr %warp, ptr {position})"));
        let fuel = self.get(&Variable::word("%fuel.place"));
        self.set(&Variable::word("%fuel"), &fuel);
        let shapes = self.shapes_after(&all);
        for index in all {
            for number in self.kernel.written(index) {
                let loaded = self.load(number, shapes[number]);
                self.write_active(Location::Register(number), shapes[number], loaded);
            }
        }
        next
    }

    /// Calls the handler of an operation that lets no lanes wait: it goes on, or has found a fault.
    pub(super) fn call_through(&mut self, index: usize) {
        let descriptor = self.kernel.descriptor(index);
        let helper = if descriptor.flow == Flow::Park { "together" } else { "execute" };
        let next = self.execute(index, helper);
        if let Opcode::Lanes { .. } | Opcode::Test { .. } | Opcode::Select | Opcode::Masks { .. } = descriptor.opcode {
            return;
        }
        let good = self.is_behind(index, &next);
        self.unless(&good, |function| function.w.line(format_args!("ret ptr {next}")));
    }

    /// Whether a position is the one behind an operation: that of its extra operands, or the one behind these.
    fn is_behind(&mut self, index: usize, position: &str) -> Value {
        let [first, last] = [index + 1, self.following(index)].map(|index| {
            let expected = self.position(index);
            self.w.value(Element::I1, false, format_args!("icmp eq ptr {position}, {expected}"))
        });
        self.w.or(&first, &last)
    }

    /// The operation behind another one and its extra operands.
    fn following(&self, index: usize) -> usize {
        let end = self.kernel.blocks[self.block].ops.end;
        (index + 1..end).find(|next| !self.kernel.has_extra_operands(*next)).unwrap_or(end)
    }

    /// Calls the handler of an operation, and goes on if that does.
    pub(super) fn call(&mut self, index: usize) {
        let descriptor = self.kernel.descriptor(index);
        if descriptor.flow != Flow::Park {
            self.call_through(index);
            return;
        }
        self.exit_if_others_wait(index);
        let next = self.execute(index, "execute");
        let end = self.kernel.blocks[self.block].ops.end;
        let following = self.following(index);
        let good = self.is_behind(index, &next);
        let active = self.get(&Variable::word("%active.place"));
        let mask = self.mask_of_active();
        let same = self.w.compare("icmp eq", &active, &mask);
        let good = self.w.and(&good, &same);
        let (on, out) = (self.w.name("l"), self.w.name("l"));
        self.w.line(format_args!("br {good}, label %{on}, label %{out}, !prof !0"));
        self.w.label(&out);
        let live = if following < end {
            self.kernel.live_before(self.block, following)
        } else {
            self.kernel.liveness.after(&self.kernel.blocks[self.block])
        };
        // The register file has the written values, but not for waiting lanes.
        let written = match self.version {
            Version::Full => (index..following).flat_map(|index| self.kernel.written(index)).collect(),
            Version::Masked => Vec::new(),
        };
        self.spill(&live, &written, false);
        self.return_at(&next, GO_ON);
        self.w.label(&on);
    }

    /// Leaves at an operation that lanes execute together, unless all are here.
    fn exit_if_others_wait(&mut self, index: usize) {
        let mut waiting: Option<Value> = None;
        for block in self.pending.clone().members() {
            let place = self.wait(block);
            let lanes = self.get(&place);
            waiting = Some(match waiting {
                None => lanes,
                Some(waiting) => self.w.or(&waiting, &lanes),
            });
        }
        if let Some(waiting) = waiting {
            let none = self.w.compare_with("icmp eq", &waiting, 0);
            let (on, out) = (self.w.name("l"), self.w.name("l"));
            self.w.line(format_args!("br {none}, label %{on}, label %{out}"));
            self.w.label(&out);
            self.exit(index);
            self.w.label(&on);
        }
    }

    pub(super) fn write_lanes(&mut self, index: usize, form: LaneForm) {
        let LanePlan { result, steps, stride } =
            self.kernel.plan_lanes(index, form, &self.shapes, &self.bits, self.version);
        let Some(function) = form.form else {
            self.call(index);
            return;
        };
        self.check_wrapping(index, stride);
        let count = form.operands.len();
        let sources: Vec<(Location, Element, u64)> = (1..=count)
            .filter_map(|position| {
                let bits = self.kernel.bits(index, position, &self.bits);
                Some((self.kernel.operand(index, position)?, self.kernel.element(index, position), bits))
            })
            .collect();
        let extra = self.kernel.op(index).extra;
        let Some(class) = self.kernel.class(index, 0) else {
            return;
        };
        let firsts = self.kernel.firsts_in(self.version, index, count, &self.bits);
        let of_operands = Steps { steps: &steps[..count], firsts: &firsts, others: self.kernel.group as u64 - 1 };
        let compute = |writer: &mut Self, group: Option<usize>| {
            let operands: Vec<Value> = sources
                .iter()
                .map(|(place, raw, bits)| match group {
                    Some(group) => writer.base(*place, *raw, group).with_possible_bits(*bits),
                    None => writer.lanes(*place, *raw).with_possible_bits(*bits),
                })
                .collect();
            let stays = writer.kernel.leaves_nan(index, &writer.nans, &writer.pending);
            let (value, _) = writer.w.leave_nan(stays, |w| match result {
                Shape::Affine(_) => function.write_first(w, extra, &operands, &of_operands),
                Shape::Uniform | Shape::Varying => function.write(w, extra, &operands),
            });
            writer.w.extended(&value, raw(class))
        };
        let written = match result {
            Shape::Varying => Written::Lanes(compute(self, None)),
            Shape::Uniform => Written::Bases(vec![compute(self, Some(0))]),
            Shape::Affine(_) => {
                let groups = self.kernel.groups();
                Written::Bases((0..groups).map(|group| compute(self, Some(group))).collect())
            }
        };
        self.finish_operation(index, written);
    }

    /// Leaves if operands wrap within a group that must not.
    fn check_wrapping(&mut self, index: usize, stride: Stride) {
        let mut good: Option<Value> = None;
        let extended = [("zext", stride.unsigned), ("sext", stride.signed)];
        let extended = extended.into_iter().flat_map(|(extension, operands)| {
            (1..=4)
                .filter(move |position| operands >> (position - 1) & 1 != 0)
                .map(move |position| (extension, position))
        });
        for (extension, position) in extended {
            let Some(place) = self.kernel.operand(index, position) else {
                continue;
            };
            let Some(stride) = self.kernel.shape(place, &self.shapes).stride() else {
                continue;
            };
            let way = i64::from(stride as i32) * (self.kernel.group as i64 - 1);
            for group in 0..self.kernel.groups() {
                let base = self.base(place, Element::I32, group);
                // The function may take the low half of a register of 64 bits.
                let base = self.w.bits_as(&base, Element::I32);
                let first = self.w.convert(extension, &base, Element::I64);
                let last = self.w.add_with(&first, way.cast_unsigned());
                let cut = self.w.convert("trunc", &last, Element::I32);
                let same = self.w.convert(extension, &cut, Element::I64);
                let fits = self.w.compare("icmp eq", &last, &same);
                good = Some(match good {
                    None => fits,
                    Some(good) => self.w.and(&good, &fits),
                });
            }
        }
        if let Some(good) = good {
            self.unless(&good, |function| function.exit(index));
        }
    }

    pub(super) fn write_test(&mut self, index: usize, form: LaneForm) {
        let Some(function) = form.form else {
            self.call(index);
            return;
        };
        let extra = self.kernel.op(index).extra;
        let mut mask = match self.truths_of_groups(index, form, function) {
            None => self.truths_of_lanes(index, form, function),
            Some(Truths { lanes, fits: None }) => lanes,
            Some(Truths { lanes, fits: Some(fits) }) => {
                let found = self.variable(Variable::word("%truths"));
                let (wraps, on) = (self.w.name("l"), self.w.name("l"));
                self.set(&found, &lanes);
                // The numbers of groups without active lanes may be undefined.
                let fits = self.w.value(Element::I1, false, format_args!("freeze {fits}"));
                self.w.line(format_args!("br {fits}, label %{on}, label %{wraps}, !prof !0"));
                self.w.label(&wraps);
                let lanes = self.truths_of_lanes(index, form, function);
                self.set(&found, &lanes);
                self.w.line(format_args!("br label %{on}"));
                self.w.label(&on);
                self.get(&found)
            }
        };
        if extra & 1 != 0 {
            mask = self.w.xor_with(&mask, u64::MAX);
        }
        self.finish_operation(index, Written::Lanes(mask));
    }

    /// For which lanes a test is true, by vectors of its operands.
    fn truths_of_lanes(&mut self, index: usize, form: LaneForm, function: Form) -> Value {
        let operands: Vec<Value> = (1..=form.operands.len())
            .filter_map(|position| {
                let place = self.kernel.operand(index, position)?;
                let bits = self.kernel.bits(index, position, &self.bits);
                Some(self.lanes(place, self.kernel.element(index, position)).with_possible_bits(bits))
            })
            .collect();
        let truth = function.write(&mut self.w, self.kernel.op(index).extra, &operands);
        self.mask(&truth)
    }

    /// For which lanes a test is true that compares numbers whose lanes differ by steps, given the numbers of the first lane of each group.
    fn truths_of_groups(&mut self, index: usize, form: LaneForm, function: Form) -> Option<Truths> {
        let places: Vec<_> =
            (1..=form.operands.len()).map(|at| self.kernel.operand(index, at)).collect::<Option<_>>()?;
        let shapes: Vec<_> = places.iter().map(|place| self.kernel.shape(*place, &self.shapes)).collect();
        if shapes.iter().all(|shape| *shape == Shape::Uniform) {
            return None;
        }
        let steps: Vec<_> = shapes.iter().map(|shape| shape.stride()).collect::<Option<_>>()?;
        let (count, lanes) = (self.kernel.groups(), self.kernel.group);
        let firsts = self.kernel.firsts_in(self.version, index, places.len(), &self.bits);
        let steps = Steps { steps: &steps, firsts: &firsts, others: lanes as u64 - 1 };
        let extra = self.kernel.op(index).extra;
        let mut all: Option<Truths> = None;
        for group in 0..count {
            let operands = places.iter().enumerate().map(|(at, place)| {
                let bits = self.kernel.bits(index, at + 1, &self.bits);
                self.base(*place, self.kernel.element(index, at + 1), group).with_possible_bits(bits)
            });
            let operands: Vec<_> = operands.collect();
            let truths = function.write_truths(&mut self.w, extra, &operands, &steps)?;
            let held = self.w.mul_with(&truths.lanes, 1 << (group * lanes));
            all = Some(match all {
                None => Truths { lanes: held, ..truths },
                Some(all) => Truths {
                    lanes: self.w.or(&all.lanes, &held),
                    fits: all.fits.zip(truths.fits).map(|(all, here)| self.w.and(&all, &here)),
                },
            });
        }
        all
    }

    pub(super) fn write_select(&mut self, index: usize) {
        let result = self.kernel.plan_select(index, &self.shapes);
        let (Some(a), Some(b), Some(c), Some(class)) = (
            self.kernel.operand(index, 1),
            self.kernel.operand(index, 2),
            self.kernel.operand(index, 3),
            self.kernel.class(index, 0),
        ) else {
            self.call(index);
            return;
        };
        let mask = self.lanes(c, Element::I32);
        let written = if let Shape::Varying = result {
            let (a, b) = (self.lanes(a, raw(class)), self.lanes(b, raw(class)));
            let truth = if self.kernel.shape(c, &self.shapes) == Shape::Uniform {
                self.w.convert("trunc", &mask, Element::I1)
            } else {
                self.truth(&mask)
            };
            Written::Lanes(self.w.select(&truth, &a, &b))
        } else {
            let truth = self.w.convert("trunc", &mask, Element::I1);
            let groups = if result == Shape::Uniform { 1 } else { self.kernel.groups() };
            let bases = (0..groups).map(|group| {
                let (a, b) = (self.base(a, raw(class), group), self.base(b, raw(class), group));
                self.w.select(&truth, &a, &b)
            });
            Written::Bases(bases.collect())
        };
        self.finish_operation(index, written);
    }
}
