//! Operations of checks: native code computes what they do for lanes that pass the check, and calls the handler for others.
//!
//! A shadow is the predicate of the lanes in which a register is defined.

use std::mem::offset_of;

use crate::base::ir::{Element, Value};
use crate::base::lanes::FULL;
use crate::base::report::AccessKind;
use crate::compile::bounds::Extent;
use crate::compile::function::Function;
use crate::compile::kernel::Location;
use crate::compile::memory::{Access, Memory};
use crate::compile::registers::Written;
use crate::compile::variables::Variable;
use crate::exec::memory::Space;
use crate::load::instrument::Probe;
use crate::machine::block::BlockState;
use crate::machine::op::opcode::{CheckForm, ShadowForm};
use crate::machine::warp::Warp;

impl Function<'_> {
    pub(super) fn write_check(&mut self, index: usize, form: CheckForm) {
        match form {
            CheckForm::Shadow(form) => self.compute_shadow(index, form),
            CheckForm::ShadowOfMemory => self.load_shadow(index),
            CheckForm::Defined(position) => match self.kernel.operand(index, position) {
                Some(place) => {
                    let shadow = self.lanes(place, Element::I32);
                    let good = self.is_defined(&shadow);
                    self.inline_if(index, &good, |_| ());
                }
                None => self.call_through(index),
            },
            CheckForm::Bounds => self.compare_bounds(index),
            CheckForm::Copies => self.count_copies(index),
        }
    }

    /// Whether all active lanes are in a shadow.
    pub(super) fn is_defined(&mut self, shadow: &Value) -> Value {
        let active = self.mask_of_active();
        let defined = self.w.and(shadow, &active);
        self.w.compare("icmp eq", &defined, &active)
    }

    fn compute_shadow(&mut self, index: usize, form: ShadowForm) {
        let sources = (1..=3).filter_map(|position| self.kernel.operand(index, position));
        let sources: Vec<_> = sources.map(|place| self.lanes(place, Element::I32)).collect();
        let shadow = form(&mut self.w, &sources);
        let good = self.is_defined(&shadow);
        self.inline_if(index, &good, |function| function.finish_operation(index, Written::Lanes(shadow)));
    }

    /// Memory whose accesses need no report is defined, and memory that was written.
    fn load_shadow(&mut self, index: usize) {
        let probe = Probe::of(&self.kernel.op(index));
        let access = Access {
            index,
            places: Vec::new(),
            element: probe.bytes,
            bytes: probe.bytes,
            offset: self.kernel.op(index).imm,
            kind: AccessKind::Read,
            memory: Memory::of_space(probe.space),
        };
        let Some(address) = self.kernel.operand(index, 1) else {
            self.call_through(index);
            return;
        };
        let addresses = self.addresses(address);
        let known = self.is_known(&access, &addresses);
        let good = self.variable(Variable::one("%is_good", Element::I1));
        let (look, on) = (self.w.name("l"), self.w.name("l"));
        self.set(&good, &known);
        self.w.line(format_args!("br {known}, label %{on}, label %{look}"));
        self.w.label(&look);
        let written = self.are_written(&access, &addresses);
        self.set(&good, &written);
        self.w.line(format_args!("br label %{on}"));
        self.w.label(&on);
        let good = self.get(&good);
        self.inline_if(index, &good, |function| {
            function.finish_operation(index, Written::Lanes(Value::integer(Element::I32, FULL.into())));
        });
    }

    fn count_copies(&mut self, index: usize) {
        let place = self.offset("%warp", offset_of!(Warp, block));
        let block = self.w.name("%t");
        self.w.line(format_args!("{block} = load ptr, ptr {place}"));
        let count = self.load_field(&block, offset_of!(BlockState, flights.count));
        let good = self.w.compare_with("icmp eq", &count, 0);
        self.inline_if(index, &good, |_| ());
    }

    fn compare_bounds(&mut self, index: usize) {
        let op = self.kernel.op(index);
        let probe = Probe::of(&op);
        let places = [1, 2, 4].map(|position| self.kernel.operand(index, position));
        let [Some(address), Some(Location::Constant(start)), Some(Location::Constant(end))] = places else {
            self.call_through(index);
            return;
        };
        if probe.space != Space::Shared {
            self.call_through(index);
            return;
        }
        let [start, size] = [start, end - start].map(|number| Value::integer(Element::I64, number));
        let addresses = self.addresses(address);
        let good = self.is_inside(&addresses, Extent::unaligned(op.imm, probe.bytes), (&start, &size));
        self.inline_if(index, &good, |_| ());
    }
}
