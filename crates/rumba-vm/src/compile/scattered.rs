//! Gathers and scatters: accesses of lanes whose bytes do not lie one behind the other.
//!
//! What all addresses of a gather or scatter have in common, LLVM adds up as one number. For processors with AVX-512 it takes
//! that number from the wrong lane of a vector if groups of lanes have different ones (docs/llvm-scatter). It looks for
//! it in vectors of one number, and in sums with them. So no vector of addresses is either: an affine register's addresses are a number
//! for each group and constant steps from there, and of other addresses, and of distances from the base of shared memory, LLVM does not
//! know what they are.

use crate::base::ir::{Element, Value};
use crate::base::lanes::LANES;
use crate::compile::function::Function;
use crate::compile::memory::{Access, Addresses, Memory, Pattern};
use crate::compile::shape::Version;
use crate::compile::variables::Variable;

/// The lanes of the widest vector of a processor, of 64 bits each.
const WIDEST: usize = 8;

impl Function<'_> {
    /// Pointers to what lanes access, `offset` bytes behind their addresses: a vector for each group of lanes, or one for all.
    pub(super) fn pointers(&mut self, access: &Access, addresses: &Addresses, offset: u64) -> Vec<String> {
        if let Pattern::Strided { bases, stride } = &addresses.pattern
            && access.memory != Memory::Local
        {
            return self.strided(access, bases, *stride, offset);
        }
        let lanes = self.addresses_of_lanes(access, addresses);
        if access.memory == Memory::Shared {
            // Addresses in shared memory have 32 bits: a gather by numbers of 32 bits has half as many instructions.
            let numbers = self.w.bits_as(&lanes, Element::I32);
            let numbers = self.hidden(&numbers);
            let base = self.host(access, &Value::integer(Element::I64, offset));
            let (place, pointers) = (self.pointer(&base), self.w.name("%t"));
            self.w.line(format_args!("{pointers} = getelementptr i8, ptr {place}, {numbers}"));
            return vec![pointers];
        }
        let lanes = self.host(access, &lanes);
        let lanes = self.w.add_with(&lanes, offset);
        vec![self.pointers_at(&lanes)]
    }

    /// The same numbers of 32 or 64 bits, opaque to LLVM.
    fn hidden(&mut self, numbers: &Value) -> Value {
        let element = numbers.element();
        let zeros = match element {
            Element::I32 => {
                let (zeros, words) = (self.zeros(WIDEST), self.w.name("%t"));
                let count = 2 * WIDEST;
                self.w.line(format_args!("{words} = bitcast <{WIDEST} x i64> {zeros} to <{count} x i32>"));
                self.shuffle([&words, "poison"], "i32", count, (0..LANES).map(|lane| lane % count))
            }
            _ => self.zeros(LANES),
        };
        self.w.xor(numbers, &Value::named(zeros, element, true))
    }

    fn strided(&mut self, access: &Access, bases: &[Value], stride: i64, offset: u64) -> Vec<String> {
        let lanes = LANES / bases.len();
        let steps = if stride == 0 { self.zeros(lanes) } else { self.steps_of_group(lanes, stride) };
        let hosts = self.hosts(access, bases);
        let pointers = hosts.iter().map(|host| {
            let base = self.w.add_with(host, offset);
            let (place, pointers) = (self.pointer(&base), self.w.name("%t"));
            self.w.line(format_args!("{pointers} = getelementptr i8, ptr {place}, <{lanes} x i64> {steps}"));
            pointers
        });
        pointers.collect()
    }

    /// How far the lanes of a group are from the first one.
    fn steps_of_group(&mut self, lanes: usize, stride: i64) -> String {
        let name = format!("%steps.{lanes}.{}", stride.cast_unsigned());
        if self.known.insert(name.clone()) {
            let steps = (0..lanes).map(|lane| format!("i64 {}", stride.wrapping_mul(lane as i64)));
            let steps: Vec<_> = steps.collect();
            self.in_prologue(|function| {
                let steps = steps.join(", ");
                function.w.line(format_args!("{name} = add <{lanes} x i64> <{steps}>, zeroinitializer"));
            });
        }
        name
    }

    /// A vector of zeros that is opaque to LLVM, so that LLVM knows neither its value nor its uniformity.
    fn zeros(&mut self, lanes: usize) -> String {
        let place = self.zeros_in_memory();
        if self.known.insert("%zeros".to_owned()) {
            self.in_prologue(|function| {
                function.w.line(format_args!("%zeros = load volatile <{WIDEST} x i64>, ptr {place}, align 64"));
            });
        }
        if lanes == WIDEST {
            return "%zeros".to_owned();
        }
        self.shuffle(["%zeros", "poison"], "i64", WIDEST, (0..lanes).map(|lane| lane % WIDEST))
    }

    /// A vector of zeros in memory.
    pub(super) fn zeros_in_memory(&mut self) -> &'static str {
        let place = "%zeros.place";
        if self.known.insert(place.to_owned()) {
            self.in_prologue(|function| {
                let ty = format!("<{WIDEST} x i64>");
                function.w.line(format_args!("{place} = alloca {ty}, align 64"));
                function.w.line(format_args!("store {ty} zeroinitializer, ptr {place}, align 64"));
            });
        }
        place
    }

    /// Reads elements of a vector in memory, given the number of an element for each lane.
    pub(super) fn gather_elements(&mut self, vector: &Variable, numbers: &Value) -> Value {
        let numbers = self.w.convert("zext", numbers, Element::I64);
        let numbers = self.hidden(&numbers);
        let pointers = self.w.name("%t");
        let (name, pointer) = (vector.element.name(), &vector.pointer);
        self.w.line(format_args!("{pointers} = getelementptr {name}, ptr {pointer}, {numbers}"));
        self.gather(&[pointers], vector.element)
    }

    /// Loads an element for each active lane from its address in this process.
    pub(super) fn gather_at(&mut self, addresses: &Value, element: Element) -> Value {
        let pointers = self.pointers_at(addresses);
        self.gather(&[pointers], element)
    }

    fn pointers_at(&mut self, addresses: &Value) -> String {
        let addresses = self.hidden(addresses);
        let pointers = self.w.name("%t");
        self.w.line(format_args!("{pointers} = inttoptr {addresses} to <{LANES} x ptr>"));
        pointers
    }

    /// Pointers for all lanes: those of inactive lanes point to `aside` instead. Processors without masked gathers and
    /// scatters would branch for each lane, and mispredict many of these branches.
    fn for_all_lanes(&mut self, pointers: &[String], aside: &str) -> Vec<String> {
        if self.version == Version::Full {
            return pointers.to_vec();
        }
        let groups = pointers.len();
        let lanes = LANES / groups;
        let active = self.active_lanes();
        let other = self.w.name("%t");
        self.w.line(format_args!("{other} = insertelement <{lanes} x ptr> poison, ptr {aside}, i32 0"));
        let others = self.shuffle([&other, "poison"], "ptr", lanes, (0..lanes).map(|_| 0));
        let chosen = pointers.iter().enumerate().map(|(group, pointers)| {
            let active = if groups == 1 {
                active.text().to_owned()
            } else {
                self.shuffle([active.text(), "poison"], "i1", LANES, group * lanes..(group + 1) * lanes)
            };
            let chosen = self.w.name("%t");
            self.w.line(format_args!(
                "{chosen} = select <{lanes} x i1> {active}, <{lanes} x ptr> {pointers}, <{lanes} x ptr> {others}"
            ));
            chosen
        });
        chosen.collect()
    }

    /// Loads an element for each active lane.
    pub(super) fn gather(&mut self, pointers: &[String], element: Element) -> Value {
        let (lanes, name, align) = (LANES / pointers.len(), element.name(), element.bits() / 8);
        let vector = format!("<{lanes} x {name}>");
        let function = format!("@llvm.masked.gather.v{lanes}{name}.v{lanes}p0");
        self.w.declare(format!("declare {vector} {function}(<{lanes} x ptr>, i32 immarg, <{lanes} x i1>, {vector})"));
        let zeros = self.zeros_in_memory();
        let parts = self.for_all_lanes(pointers, zeros).into_iter().map(|pointers| {
            let part = self.w.name("%t");
            self.w.line(format_args!(
                "{part} = call {vector} {function}(<{lanes} x ptr> {pointers}, i32 {align}, <{lanes} x i1> splat (i1 true), {vector} zeroinitializer)"
            ));
            part
        });
        let parts = parts.collect();
        let (mut whole, _) = self.concatenated(name, lanes, parts, 1);
        Value::named(whole.swap_remove(0), element, true)
    }

    /// Stores an element of each active lane.
    pub(super) fn scatter(&mut self, pointers: &[String], value: &Value) {
        let groups = pointers.len();
        let (lanes, name, align) = (LANES / groups, value.element().name(), value.element().bits() / 8);
        let vector = format!("<{lanes} x {name}>");
        let function = format!("@llvm.masked.scatter.v{lanes}{name}.v{lanes}p0");
        self.w.declare(format!("declare void {function}({vector}, <{lanes} x ptr>, i32 immarg, <{lanes} x i1>)"));
        let aside = self.variable(Variable::one("%aside", Element::I64)).pointer;
        for (group, pointers) in self.for_all_lanes(pointers, &aside).into_iter().enumerate() {
            let part = if groups == 1 {
                value.text().to_owned()
            } else {
                let numbers = group * lanes..(group + 1) * lanes;
                self.shuffle([value.text(), "poison"], name, LANES, numbers)
            };
            self.w.line(format_args!(
                "call void {function}({vector} {part}, <{lanes} x ptr> {pointers}, i32 {align}, <{lanes} x i1> splat (i1 true))"
            ));
        }
    }
}
