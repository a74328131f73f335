//! Where native code keeps registers: variables that LLVM makes values of, and the register file of the warp.

use std::fmt;

use crate::base::ir::{Element, Value, ty};
use crate::base::lanes::LANES;
use crate::compile::function::Function;
use crate::compile::kernel::{Location, Register, raw};
use crate::compile::nan::Nans;
use crate::compile::shape::{Shape, Version};
use crate::compile::variables::Variable;
use crate::machine::program::Class;
use crate::machine::warp::UNIT;

/// The value written to a register.
pub(super) enum Written {
    /// All lanes.
    Lanes(Value),
    /// The first lane of each group, or of the warp.
    Bases(Vec<Value>),
}

/// The most registers that are loaded without a fence between them: LLVM's instruction selection compares each vector load with all loads
/// since the last fence, several times, which took 100 of 113 seconds for a kernel of 454 vectors.
const LOADED: usize = 32;

impl Function<'_> {
    /// Declares a variable.
    pub(super) fn variable(&mut self, variable: Variable) -> Variable {
        let (name, ty) = (variable.pointer.clone(), variable.ty());
        let known = self.variables.entry(name).or_insert_with(|| ty.clone()).clone();
        if known != ty {
            self.refuse(format_args!("{} is a variable of {known} and of {ty}", variable.pointer));
        }
        variable
    }

    /// Lets the kernel stay interpreted. The text is wrong in a way that LLVM does not see, which is a mistake of this crate.
    fn refuse(&mut self, why: fmt::Arguments<'_>) {
        debug_assert!(false, "{}: {why}", self.kernel.program.name);
        self.is_wrong = true;
    }

    /// Reads a variable.
    pub(super) fn get(&mut self, variable: &Variable) -> Value {
        let Variable { pointer, element, is_vector } = variable;
        let text = format!("load {}, ptr {pointer}{}", variable.ty(), variable.alignment());
        self.w.value(*element, *is_vector, text)
    }

    /// Writes a variable, with a value of its type: of any other one, bytes beside it would be written.
    pub(super) fn set(&mut self, variable: &Variable, value: &Value) {
        if value.ty() != variable.ty() {
            let Variable { pointer, .. } = variable;
            self.refuse(format_args!("{pointer} is a place of {}, and {value} is stored there", variable.ty()));
        }
        let (pointer, alignment) = (&variable.pointer, variable.alignment());
        self.w.line(format_args!("store {value}, ptr {pointer}{alignment}"));
    }
}

impl Function<'_> {
    fn element(&self, number: usize) -> Element {
        match self.kernel.registers[number] {
            Register::Slot(_, class) => raw(class),
            Register::Predicate(_) => Element::I32,
        }
    }

    fn is_predicate(&self, number: usize) -> bool {
        matches!(self.kernel.registers[number], Register::Predicate(_))
    }

    /// The variable for the lanes of a register, or for the mask of a predicate.
    fn whole(&mut self, number: usize) -> Variable {
        let name = format!("%r{number}");
        self.variable(if self.is_predicate(number) {
            Variable::word(name)
        } else {
            Variable::lanes(name, self.element(number))
        })
    }

    /// The variable for the first lane of a group.
    fn single(&mut self, number: usize, group: usize) -> Variable {
        if self.is_predicate(number) {
            return self.whole(number);
        }
        self.variable(Variable::one(format!("%r{number}.{group}"), self.element(number)))
    }

    /// All lanes of a slot in the register file.
    pub(super) fn file(&mut self, slot: u16, class: Class) -> Variable {
        let Variable { pointer, element, .. } = self.file_lane(slot, class, 0);
        Variable::lanes(pointer, element)
    }

    /// One lane of a slot in the register file.
    pub(super) fn file_lane(&mut self, slot: u16, class: Class, lane: usize) -> Variable {
        let lane_bytes = raw(class).bits() as usize / 8;
        let offset = usize::from(slot) * UNIT + lane * lane_bytes;
        Variable::one(self.place_in_file("registers", offset), raw(class))
    }

    fn predicate_file(&mut self, index: u16) -> Variable {
        Variable::word(self.place_in_file("predicates", usize::from(index) * 4))
    }

    /// A place in the register file, named once: there are many ways out of the code, which store all that lives.
    fn place_in_file(&mut self, base: &str, offset: usize) -> String {
        let name = format!("%{base}.{offset}");
        if self.known.insert(name.clone()) {
            self.in_prologue(|function| {
                let place = format!("getelementptr i8, ptr %{base}, i64 {offset}");
                function.w.line(format_args!("{name} = {place}"));
            });
        }
        name
    }

    /// All lanes of an operand.
    pub(super) fn lanes(&mut self, place: Location, element: Element) -> Value {
        match place {
            Location::Constant(bits) => Value::integer(element, bits),
            Location::Given { slot, class, shape } => match shape {
                Shape::Varying => self.given(slot, class, None),
                Shape::Uniform => self.base(place, element, 0),
                Shape::Affine(stride) => self.expanded(place, element, stride),
            },
            Location::Register(number) if self.is_predicate(number) => {
                let variable = self.whole(number);
                self.get(&variable)
            }
            Location::Register(number) => match self.shapes[number] {
                Shape::Varying => {
                    let variable = self.whole(number);
                    self.get(&variable)
                }
                Shape::Uniform => self.base(place, element, 0),
                Shape::Affine(stride) => self.expanded(place, element, stride),
            },
            Location::Memory(slot, class) => {
                let file = self.file(slot, class);
                self.get(&file)
            }
        }
    }

    /// The first lane of a group, or of the warp, of an operand that is not varying.
    pub(super) fn base(&mut self, place: Location, element: Element, group: usize) -> Value {
        match place {
            Location::Constant(bits) => Value::integer(element, bits),
            Location::Given { slot, class, shape } => {
                let group = if shape == Shape::Uniform { 0 } else { group };
                self.given(slot, class, Some(group))
            }
            Location::Register(number) => {
                let group = if self.shapes[number] == Shape::Uniform { 0 } else { group };
                let variable = self.single(number, group);
                self.get(&variable)
            }
            Location::Memory(..) => self.lanes(place, element),
        }
    }

    /// The lanes of an affine operand.
    fn expanded(&mut self, place: Location, element: Element, stride: i64) -> Value {
        let bases: Vec<_> = (0..self.kernel.groups()).map(|group| self.base(place, element, group)).collect();
        self.expand(&bases, stride)
    }

    /// The lanes of an affine value.
    pub(super) fn expand(&mut self, bases: &[Value], stride: i64) -> Value {
        let element = bases[0].element();
        let vector = ty(element, true);
        let spread = if let [base] = bases {
            self.w.spread(base)
        } else {
            let mut few = Value::named("poison", element, true);
            for (group, base) in bases.iter().enumerate() {
                let text = format!("insertelement {vector} {}, {base}, i32 {group}", few.text());
                few = self.w.value(element, true, text);
            }
            let lanes: Vec<_> = (0..LANES).map(|lane| format!("i32 {}", lane / self.kernel.group)).collect();
            let text = format!("shufflevector {few}, {vector} poison, <{LANES} x i32> <{}>", lanes.join(", "));
            self.w.value(element, true, text)
        };
        if stride == 0 {
            return spread;
        }
        let steps = self.steps(element, stride);
        self.w.add(&spread, &steps)
    }

    /// How far lanes are from the first one of their group. The vector is named once: it is longer than any instruction.
    fn steps(&mut self, element: Element, stride: i64) -> Value {
        let ty = element.name();
        let name = format!("%steps.{ty}.{}", stride.cast_unsigned());
        if self.known.insert(name.clone()) {
            let group = self.kernel.group;
            let steps = (0..LANES).map(|lane| {
                let step = stride.wrapping_mul((lane % group) as i64).cast_unsigned();
                Value::integer(element, step).to_string()
            });
            let steps: Vec<_> = steps.collect();
            self.in_prologue(|function| {
                let steps = steps.join(", ");
                function.w.line(format_args!("{name} = add <{LANES} x {ty}> <{steps}>, zeroinitializer"));
            });
        }
        Value::named(name, element, true)
    }

    /// A slot that the launch fills: the first lane of a group, or all lanes.
    fn given(&mut self, slot: u16, class: Class, group: Option<usize>) -> Value {
        let name = match group {
            Some(group) => format!("%g{slot}.{group}"),
            None => format!("%g{slot}"),
        };
        let element = raw(class);
        let is_vector = group.is_none();
        if self.known.insert(name.clone()) {
            let file = match group {
                Some(group) => self.file_lane(slot, class, group * self.kernel.group),
                None => self.file(slot, class),
            };
            let (text, pointer) = (file.ty(), file.pointer);
            self.in_prologue(|function| function.w.line(format_args!("{name} = load {text}, ptr {pointer}")));
        }
        Value::named(name, element, is_vector)
    }

    /// Writes the results of an operation for the active lanes. Waiting lanes keep the values that they need.
    pub(super) fn write_active(&mut self, place: Location, shape: Shape, written: Written) {
        let keeps = match place {
            Location::Register(number) => self.kernel.is_kept(number, &self.pending),
            Location::Memory(..) => self.version == Version::Masked,
            Location::Constant(_) | Location::Given { .. } => false,
        };
        if !keeps {
            self.write(place, shape, written);
            return;
        }
        let is_predicate = matches!(place, Location::Register(number) if self.is_predicate(number));
        let element = match place {
            Location::Register(number) => self.element(number),
            Location::Memory(_, class) => raw(class),
            Location::Constant(_) | Location::Given { .. } => Element::I32,
        };
        let new = match written {
            Written::Lanes(value) => value,
            Written::Bases(bases) => self.expand(&bases, shape.stride().unwrap_or(0)),
        };
        let old = self.lanes(place, element);
        let mask = self.mask_of_active();
        let value = if is_predicate {
            let other = self.w.xor_with(&mask, u64::MAX);
            let (new, old) = (self.w.and(&new, &mask), self.w.and(&old, &other));
            self.w.or(&new, &old)
        } else {
            let truth = self.truth(&mask);
            self.w.select(&truth, &new, &old)
        };
        self.write(place, Shape::Varying, Written::Lanes(value));
    }

    /// Writes a register, which has this shape from now on.
    pub(super) fn write(&mut self, place: Location, shape: Shape, written: Written) {
        match (place, written) {
            (Location::Register(number), Written::Lanes(value)) => {
                let value = if self.is_predicate(number) { value } else { self.w.spread(&value) };
                let variable = self.whole(number);
                self.set(&variable, &value);
                self.shapes[number] = shape;
            }
            (Location::Register(number), Written::Bases(values)) => {
                for (group, value) in values.iter().enumerate() {
                    let variable = self.single(number, group);
                    self.set(&variable, value);
                }
                self.shapes[number] = shape;
            }
            (Location::Memory(slot, class), Written::Lanes(value)) => {
                let value = self.w.spread(&value);
                let file = self.file(slot, class);
                self.set(&file, &value);
            }
            (Location::Memory(slot, class), Written::Bases(values)) => {
                let lanes = self.expand(&values, shape.stride().unwrap_or(0));
                self.write(Location::Memory(slot, class), shape, Written::Lanes(lanes));
            }
            // Results that nothing reads go to the constant predicates' places.
            (Location::Constant(_) | Location::Given { .. }, _) => {}
        }
    }

    /// Stores an operand to the register file, where it is not there anyway.
    pub(super) fn store(&mut self, place: Location) {
        let Location::Register(number) = place else { return };
        match self.kernel.registers[number] {
            Register::Slot(slot, class) => {
                let value = self.lanes(place, raw(class));
                let value = self.canonical(number, value);
                let value = self.w.spread(&value);
                let file = self.file(slot, class);
                self.set(&file, &value);
            }
            Register::Predicate(index) => {
                let value = self.lanes(place, Element::I32);
                let file = self.predicate_file(index);
                self.set(&file, &value);
            }
        }
    }

    /// Stores a register to the register file; of one that is uniform or affine the first lanes only.
    pub(super) fn store_bases(&mut self, number: usize) {
        let place = Location::Register(number);
        let (Register::Slot(slot, class), Some(_)) = (self.kernel.registers[number], self.shapes[number].stride())
        else {
            self.store(place);
            return;
        };
        let groups = if self.shapes[number] == Shape::Uniform { 1 } else { self.kernel.groups() };
        for group in 0..groups {
            let base = self.base(place, raw(class), group);
            let base = self.canonical(number, base);
            let file = self.file_lane(slot, class, group * self.kernel.group);
            self.set(&file, &base);
        }
    }

    /// Loads a register of this shape from the register file.
    pub(super) fn load(&mut self, number: usize, shape: Shape) -> Written {
        match (self.kernel.registers[number], shape) {
            (Register::Predicate(index), _) => {
                let file = self.predicate_file(index);
                let mut mask = self.get(&file);
                if shape == Shape::Uniform {
                    // All or none of the warp's lanes.
                    let active = self.mask_of_active();
                    let set = self.w.and(&mask, &active);
                    let any = self.w.compare_with("icmp ne", &set, 0);
                    mask = self.w.convert("sext", &any, Element::I32);
                }
                Written::Lanes(mask)
            }
            (Register::Slot(slot, class), Shape::Uniform) => Written::Bases(vec![self.first_lane(slot, class, 0, 1)]),
            (Register::Slot(slot, class), Shape::Affine(0)) if self.version == Version::Masked => {
                let groups = self.kernel.groups();
                Written::Bases((0..groups).map(|group| self.first_lane(slot, class, group, groups)).collect())
            }
            (Register::Slot(slot, class), Shape::Affine(_)) => {
                let bases = (0..self.kernel.groups()).map(|group| {
                    let file = self.file_lane(slot, class, group * self.kernel.group);
                    self.get(&file)
                });
                Written::Bases(bases.collect())
            }
            (Register::Slot(slot, class), Shape::Varying) => {
                Written::Lanes(self.lanes(Location::Memory(slot, class), raw(class)))
            }
        }
    }

    /// Loads the first active lane of one of so many groups from a slot of the register file; of a group without active lanes, any lane.
    fn first_lane(&mut self, slot: u16, class: Class, group: usize, groups: usize) -> Value {
        let Variable { pointer, element, .. } = self.file_lane(slot, class, 0);
        let active = self.active_of_group(group, groups);
        let first = self.w.first_lane(&active);
        let lane = self.w.name("%t");
        self.w.line(format_args!("{lane} = getelementptr {}, ptr {pointer}, {first}", element.name()));
        self.get(&Variable::one(lane, element))
    }

    /// Loads the registers that the warp comes in with. The mask of lanes in which a register is not as its shape says.
    pub(super) fn enter(&mut self, registers: &[usize], shapes: &[Shape]) -> Option<Value> {
        let mut wrong = None;
        for (place, register) in registers.iter().enumerate() {
            self.end_chain(place);
            if let Some(differing) = self.enter_one(*register, shapes[*register]) {
                wrong = Some(match wrong {
                    None => differing,
                    Some(wrong) => self.w.or(&wrong, &differing),
                });
            }
        }
        wrong
    }

    /// Writes a fence before each [`LOADED`]th of the registers that are loaded together: no instruction, which no load moves across.
    pub(super) fn end_chain(&mut self, place: usize) {
        if place % LOADED == LOADED - 1 {
            self.w.line("fence syncscope(\"singlethread\") acq_rel");
        }
    }

    fn enter_one(&mut self, number: usize, shape: Shape) -> Option<Value> {
        let loaded = self.load(number, shape);
        self.write(Location::Register(number), shape, loaded);
        if self.stores_early && shape.stride() == Some(0) && self.version == Version::Masked {
            // The first of the active lanes may be another one than the first lane, of the warp or of a group.
            self.store_bases(number);
        }
        match (self.kernel.registers[number], shape) {
            (_, Shape::Varying) => None,
            (Register::Predicate(index), _) => {
                let file = self.predicate_file(index);
                let mask = self.get(&file);
                let expected = self.lanes(Location::Register(number), Element::I32);
                Some(self.w.xor(&expected, &mask))
            }
            (Register::Slot(slot, class), _) => {
                let expected = self.lanes(Location::Register(number), raw(class));
                let lanes = self.lanes(Location::Memory(slot, class), raw(class));
                let differing = self.w.compare("icmp ne", &lanes, &expected);
                Some(self.mask(&differing))
            }
        }
    }

    /// Converts the live registers to the shapes that they have where control goes.
    pub(super) fn reshape(&mut self, number: usize, to: Shape) {
        let (from, place) = (self.shapes[number], Location::Register(number));
        if from == to || self.is_predicate(number) {
            return;
        }
        let element = self.element(number);
        match to {
            Shape::Varying => {
                if self.stores_early {
                    self.store(place);
                }
                let lanes = self.lanes(place, element);
                self.write(place, from, Written::Lanes(lanes));
            }
            Shape::Affine(_) => {
                let base = self.base(place, element, 0);
                let bases = vec![base; self.kernel.groups()];
                self.write(place, to, Written::Bases(bases));
                if self.stores_early {
                    self.store_bases(number);
                }
                self.shapes[number] = from;
            }
            Shape::Uniform => {}
        }
    }

    /// Where all lanes have met before a block: gives registers the shapes that they have in its version for all lanes, and goes
    /// elsewhere if they have others.
    pub(super) fn test_shapes(&mut self, block: usize, elsewhere: &str) {
        let Some(state) = self.states.at(Version::Full, block) else {
            return;
        };
        let (mut wrong, mut tested): (Option<Value>, _) = (None, Vec::new());
        for number in self.kernel.liveness.before(block).members() {
            let (from, to) = (self.shapes[number], state.shapes[number]);
            let (false, Some(stride)) = (from.join(to) == to, to.stride()) else {
                continue;
            };
            let lanes = self.lanes(Location::Register(number), self.element(number));
            let lanes = self.w.spread(&lanes);
            let groups = if to == Shape::Uniform { 1 } else { self.kernel.groups() };
            let bases: Vec<_> = (0..groups).map(|group| self.w.lane(&lanes, group * self.kernel.group)).collect();
            let expected = self.expand(&bases, stride);
            let differing = self.w.compare("icmp ne", &lanes, &expected);
            wrong = Some(match wrong {
                None => differing,
                Some(wrong) => self.w.or(&wrong, &differing),
            });
            tested.push((number, to, bases));
        }
        let Some(wrong) = wrong else { return };
        let wrong = self.mask(&wrong);
        let good = self.w.compare_with("icmp eq", &wrong, 0);
        let on = self.w.name("l");
        self.w.line(format_args!("br {good}, label %{on}, label %{elsewhere}, !prof !0"));
        self.w.label(&on);
        for (number, shape, bases) in tested {
            self.write(Location::Register(number), shape, Written::Bases(bases));
        }
    }

    /// 0, 1, 2, …
    pub(super) fn lane_numbers(&self, element: Element) -> Value {
        let name = element.name();
        let lanes: Vec<_> = (0..LANES).map(|lane| format!("{name} {lane}")).collect();
        Value::named(format!("<{}>", lanes.join(", ")), element, true)
    }

    /// A vector of truth values as a mask.
    pub(super) fn mask(&mut self, truth: &Value) -> Value {
        if truth.is_vector() {
            self.w.value(Element::I32, false, format_args!("bitcast {truth} to i32"))
        } else {
            self.w.convert("sext", truth, Element::I32)
        }
    }

    /// A mask as a vector of truth values.
    pub(super) fn truth(&mut self, mask: &Value) -> Value {
        self.w.value(Element::I1, true, format_args!("bitcast {mask} to <{LANES} x i1>"))
    }
}

impl Function<'_> {
    /// Gives NaNs their bits where an operation sees them.
    pub(super) fn make_canonical(&mut self, index: usize) {
        for number in self.kernel.to_make_canonical(index, &self.nans, &self.pending) {
            self.make_register_canonical(number);
            self.nans.tighten(number);
        }
        if !self.kernel.gives_numbers(index, &self.nans, &self.pending) {
            for number in self.kernel.written(index) {
                self.nans.tighten(number);
            }
        }
    }

    /// Makes a register canonical before control goes to a block that does not expect it to be loose.
    pub(super) fn make_canonical_for(&mut self, number: usize, there: &Nans) {
        if self.nans.is_loose(number) && !there.is_numeric(number) {
            self.make_register_canonical(number);
        }
    }

    fn make_register_canonical(&mut self, number: usize) {
        let (place, shape) = (Location::Register(number), self.shapes[number]);
        let written = if shape == Shape::Varying {
            let value = self.lanes(place, Element::I32);
            Written::Lanes(self.canonical(number, value))
        } else {
            let groups = if shape == Shape::Uniform { 1 } else { self.kernel.groups() };
            let bases = (0..groups).map(|group| {
                let value = self.base(place, Element::I32, group);
                self.canonical(number, value)
            });
            Written::Bases(bases.collect())
        };
        self.write(place, shape, written);
    }

    /// The value of a register with canonical NaNs, for operations that see their bits.
    pub(super) fn canonical(&mut self, number: usize, value: Value) -> Value {
        if !self.nans.is_loose(number) {
            return value;
        }
        let value = self.w.bits_as(&value, Element::F32);
        let value = self.w.canonical(&value);
        self.w.bits_as(&value, Element::I32)
    }
}
