//! Atomic operations: lane after lane in their order, as the handlers have it, where all addresses are known to be good.
//!
//! Elsewhere in memory other threads work at the same time, so that an operation there is an instruction of the processor, or is
//! tried until nothing has come between. Shared memory is its block's alone, which stays on one thread.

use std::mem::offset_of;

use crate::base::ir::{Element, Value};
use crate::base::lanes::LANES;
use crate::base::report::AccessKind;
use crate::compile::function::Function;
use crate::compile::kernel::Location;
use crate::compile::memory::{Access, Addresses, Memory};
use crate::compile::registers::Written;
use crate::compile::shape::{Shape, Version};
use crate::compile::variables::Variable;
use crate::machine::fuel::POLL_COST;
use crate::machine::op::opcode::AtomicForm;
use crate::machine::warp::Warp;

/// How many lanes take their turns in one iteration of the loop over all lanes: of those whose operands lie in memory, and of
/// those whose addresses are taken from vector registers. Powers of two.
const TURNS: u64 = 4;
const TURNS_OF_REGISTERS: u64 = 8;

/// An operand of an atomic operation: one number, or a place in memory with one for each lane.
enum Operand {
    One(Value),
    Lanes(Variable),
}

impl Function<'_> {
    pub(super) fn write_atomic(&mut self, index: usize, shared: bool, keeps: bool, form: AtomicForm) {
        let places = [1, 2, 3].map(|position| self.kernel.operand(index, position));
        let [Some(_), Some(b), c] = places else {
            self.call(index);
            return;
        };
        let c = c.unwrap_or(b);
        let bytes = u64::from(form.element.bits()) / 8;
        let access = Access {
            index,
            places: Vec::new(),
            element: bytes,
            bytes,
            offset: self.kernel.op(index).imm,
            kind: AccessKind::Atomic,
            memory: Memory::of(shared),
        };
        self.write_access(&access, |function, addresses| {
            function.change_active(&access, addresses, [b, c], keeps, form);
        });
    }

    fn change_active(
        &mut self,
        access: &Access,
        addresses: &Addresses,
        [b, c]: [Location; 2],
        keeps: bool,
        form: AtomicForm,
    ) {
        let is_used = keeps && self.is_result_used(access.index);
        let address = if let Some(address) = addresses.common() {
            Operand::One(self.w.add_with(address, access.offset))
        } else {
            // Addresses in shared memory have 32 bits.
            let element = if access.memory == Memory::Shared { Element::I32 } else { Element::I64 };
            let lanes = self.addresses_of_lanes(access, addresses);
            let lanes = self.w.bits_as(&lanes, element);
            self.kept("address", &lanes)
        };
        match (&address, form.reduction) {
            (Operand::One(address), Some((reduction, neutral))) if !keeps => {
                let address = address.clone();
                let b = self.reduced(b, form.element, reduction, neutral);
                self.change(access, &address, [&b, &b], form);
            }
            _ => {
                let b = self.operand_of_atomic(b, form.element, "b");
                let c = self.operand_of_atomic(c, form.element, "c");
                self.change_all(access, &address, [&b, &c], is_used, form);
            }
        }
        if is_used {
            let old = self.old_lanes(form.element);
            let old = self.get(&old);
            self.finish_operation(access.index, Written::Lanes(old));
        }
        if keeps {
            self.poll();
        }
    }

    /// Whether an operation's old values are read before they are written again, or the register has what lanes hold that wait
    /// meanwhile: with the result it may become a vector.
    fn is_result_used(&self, index: usize) -> bool {
        if self.version == Version::Masked {
            return true;
        }
        let block = self.kernel.block_of[index];
        let live = self.kernel.live_before(block, index + 1);
        match self.kernel.operand(index, 0) {
            Some(Location::Register(number)) => live.has(number),
            Some(Location::Memory(..)) => true,
            Some(Location::Constant(_) | Location::Given { .. }) | None => false,
        }
    }

    /// A vector in memory, from which lanes are read one after the other.
    fn kept(&mut self, name: &str, lanes: &Value) -> Operand {
        let lanes = self.w.spread(lanes);
        let element = lanes.element();
        let place = self.variable(Variable::lanes(format!("%atomic.{name}{}", element.name()), element));
        self.set(&place, &lanes);
        Operand::Lanes(place)
    }

    /// The variable with the old values, for each lane.
    fn old_lanes(&mut self, element: Element) -> Variable {
        self.variable(Variable::lanes(format!("%atomic.old{}", element.name()), element))
    }

    fn operand_of_atomic(&mut self, place: Location, element: Element, name: &str) -> Operand {
        if self.kernel.shape(place, &self.shapes) == Shape::Uniform {
            return Operand::One(self.base(place, element, 0));
        }
        let lanes = self.lanes(place, element);
        self.kept(name, &lanes)
    }

    /// The reduction of the operands of the active lanes.
    fn reduced(&mut self, place: Location, element: Element, reduction: &str, neutral: u64) -> Value {
        let lanes = self.lanes(place, element);
        let lanes = self.w.spread(&lanes);
        let active = self.mask_of_active();
        let active = self.truth(&active);
        let neutral = Value::integer(element, neutral);
        let lanes = self.w.select(&active, &lanes, &neutral);
        self.w.reduced(reduction, &lanes)
    }

    /// Lets the active lanes take their turns, in a loop.
    ///
    /// One instruction for each lane instead of a loop would be slower: processors predict for each load which store it
    /// depends on, and mispredict or wait where hundreds of loads and stores access random elements of one table. A
    /// histogram of bytes by 512 such instructions took 5.5 ns for a byte on an AMD Zen 4, by loops 0.43 ns. For the same
    /// reason addresses of 32 bits are taken from vector registers: loads of addresses that were just stored wait for the
    /// stores to the table, 1.0 ns for a byte on an Intel Xeon of 2023, and 0.5 to 0.9 ns from registers.
    fn change_all(
        &mut self,
        access: &Access,
        address: &Operand,
        operands: [&Operand; 2],
        keeps: bool,
        form: AtomicForm,
    ) {
        let is_full = self.version == Version::Full;
        let rotating = match address {
            Operand::Lanes(addresses) if is_full && access.memory == Memory::Shared => Some(addresses),
            Operand::One(_) | Operand::Lanes(_) => None,
        };
        let turns = match rotating {
            _ if !is_full => 1,
            Some(_) => TURNS_OF_REGISTERS,
            None => TURNS,
        };
        let rest = self.variable(Variable::word("%atomic.rest"));
        let first = if is_full { Value::integer(Element::I32, 0) } else { self.mask_of_active() };
        self.set(&rest, &first);
        let (turn, on) = (self.w.name("l"), self.w.name("l"));
        self.w.line(format_args!("br label %{turn}"));
        self.w.label(&turn);
        let now = self.get(&rest);
        let first = if is_full { now.clone() } else { self.w.first_lane(&now) };
        let lanes: Vec<_> = (0..turns).map(|number| self.w.add_with(&first, number)).collect();
        let addresses = match rotating {
            Some(addresses) => self.rotate(addresses, turns),
            None => lanes.iter().map(|lane| self.taken(address, lane)).collect(),
        };
        for (lane, address) in lanes.iter().zip(&addresses) {
            let [b, c] = operands.map(|operand| self.taken(operand, lane));
            let old = self.change(access, address, [&b, &c], form);
            if keeps {
                let lanes = self.old_lanes(form.element);
                let place = self.lane_of(&lanes, lane);
                self.set(&place, &old);
            }
        }
        let (left, end) = if is_full {
            (self.w.add_with(&now, turns), LANES as u64)
        } else {
            let less = self.w.sub_with(&now, 1);
            (self.w.and(&now, &less), 0)
        };
        self.set(&rest, &left);
        let done = self.w.compare_with("icmp eq", &left, end);
        self.w.line(format_args!("br {done}, label %{on}, label %{turn}"));
        self.w.label(&on);
    }

    /// The first lanes of a vector of 32-bit numbers, which is then rotated by as many.
    fn rotate(&mut self, vector: &Variable, turns: u64) -> Vec<Value> {
        let lanes = self.get(vector);
        let rotated = (turns as usize..LANES + turns as usize).map(|lane| lane % LANES);
        let rotated = self.shuffle([lanes.text(), "poison"], "i32", LANES, rotated);
        self.set(vector, &Value::named(rotated, Element::I32, true));
        // Two lanes at once leave the vector.
        let pairs = self.w.name("%t");
        self.w.line(format_args!("{pairs} = bitcast {lanes} to <{} x i64>", LANES / 2));
        let pairs: Vec<_> = (0..turns / 2)
            .map(|pair| {
                let text = format!("extractelement <{} x i64> {pairs}, i32 {pair}", LANES / 2);
                self.w.value(Element::I64, false, text)
            })
            .collect();
        let halves = pairs
            .iter()
            .flat_map(|pair| [self.w.and_with(pair, u32::MAX.into()), self.w.binary_with("lshr", pair, 32)]);
        halves.collect()
    }

    fn lane_of(&mut self, vector: &Variable, lane: &Value) -> Variable {
        let place = self.w.name("%t");
        let (name, pointer) = (vector.element.name(), &vector.pointer);
        self.w.line(format_args!("{place} = getelementptr {name}, ptr {pointer}, {lane}"));
        Variable::one(place, vector.element)
    }

    /// The value of an operand in a lane.
    fn taken(&mut self, operand: &Operand, lane: &Value) -> Value {
        match operand {
            Operand::One(value) => value.clone(),
            Operand::Lanes(vector) => {
                let place = self.lane_of(vector, lane);
                self.get(&place)
            }
        }
    }

    /// Updates the element at an address; returns the old value.
    fn change(&mut self, access: &Access, address: &Value, [b, c]: [&Value; 2], form: AtomicForm) -> Value {
        let address = self.w.extended(address, Element::I64);
        let address = self.host(access, &address);
        let (place, name) = (self.pointer(&address), form.element.name());
        let align = form.element.bits() / 8;
        if access.memory == Memory::Shared {
            let text = format!("load {name}, ptr {place}, align {align}");
            let old = self.w.value(form.element, false, text);
            let new = form.update.write(&mut self.w, 0, &[old.clone(), b.clone(), c.clone()]);
            self.w.line(format_args!("store {new}, ptr {place}, align {align}"));
            return old;
        }
        if let Some(instruction) = form.instruction {
            let text = format!("atomicrmw {instruction} ptr {place}, {b} seq_cst, align {align}");
            return self.w.value(form.element, false, text);
        }
        let last = self.variable(Variable::one(format!("%atomic.last{name}"), form.element));
        let text = format!("load atomic {name}, ptr {place} monotonic, align {align}");
        let old = self.w.value(form.element, false, text);
        self.set(&last, &old);
        let (again, on) = (self.w.name("l"), self.w.name("l"));
        self.w.line(format_args!("br label %{again}"));
        self.w.label(&again);
        let old = self.get(&last);
        let new = form.update.write(&mut self.w, 0, &[old.clone(), b.clone(), c.clone()]);
        let both = self.w.name("%t");
        self.w.line(format_args!("{both} = cmpxchg ptr {place}, {old}, {new} seq_cst seq_cst, align {align}"));
        let text = format!("extractvalue {{ {name}, i1 }} {both}, 0");
        let found = self.w.value(form.element, false, text);
        self.set(&last, &found);
        let text = format!("extractvalue {{ {name}, i1 }} {both}, 1");
        let good = self.w.value(Element::I1, false, text);
        self.w.line(format_args!("br {good}, label %{on}, label %{again}"));
        self.w.label(&on);
        found
    }

    /// Writes the order of a load and what follows it, or of a store and what precedes it.
    pub(super) fn write_fence(&mut self, index: usize, polls: bool) {
        if self.kernel.op(index).extra != 0 {
            self.call(index);
            return;
        }
        self.w.line(if polls { "fence acquire" } else { "fence release" });
        if polls {
            self.poll();
        }
    }

    /// As [`crate::machine::fuel::Fuel::poll`].
    fn poll(&mut self) {
        let cost = u64::from(POLL_COST.unsigned_abs());
        let left = Variable::word("%fuel");
        let fuel = self.get(&left);
        let rest = self.w.sub_with(&fuel, cost);
        self.set(&left, &rest);
        let place = self.offset("%warp", offset_of!(Warp, fuel.polled));
        let polled = self.w.value(Element::I64, false, format_args!("load i64, ptr {place}"));
        let polled = self.w.add_with(&polled, cost);
        self.w.line(format_args!("store {polled}, ptr {place}"));
    }
}
