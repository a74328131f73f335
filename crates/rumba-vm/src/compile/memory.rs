//! Loads and stores: the comparison with the bounds that are known, and the access; everything else is the handler's.
//!
//! The bounds are those of the interpreter: what each operation learnt about the memory that it accesses, or the block's
//! shared memory. An access that they do not let pass is executed by the handler, which looks closer, remembers, and reports.

use std::mem::offset_of;

use crate::base::flow::Set;
use crate::base::ir::{Element, Value};
use crate::base::lanes::{LANES, SHARED_START};
use crate::base::report::AccessKind;
use crate::compile::function::Function;
use crate::compile::kernel::Place;
use crate::compile::registers::{Written, raw};
use crate::compile::shape::{Copy, Shape};
use crate::machine::bounds::{Bounds, CACHES};
use crate::machine::program::Class;
use crate::machine::warp::Warp;

/// An access that is being written.
pub(super) struct Access {
    pub(super) index: usize,
    /// Bytes of a lane.
    pub(super) bytes: u64,
    pub(super) kind: AccessKind,
    pub(super) shared: bool,
}

/// The addresses of an access.
pub(super) enum Addresses {
    /// One for each group of lanes, or for the warp: all lanes of the group access the same bytes.
    Same(Vec<Value>),
    /// One for each group of lanes: the lanes access bytes one behind the other.
    Neighbouring(Vec<Value>),
    /// One for each lane.
    Any(Value),
}

/// The integer of so many bytes.
pub(super) fn integer(bytes: u64) -> Element {
    match bytes {
        1 => Element::I8,
        2 => Element::I16,
        4 => Element::I32,
        _ => Element::I64,
    }
}

impl Function<'_> {
    /// The places of an access's elements.
    pub(super) fn elements(&self, index: usize, count: u8) -> Vec<Place> {
        [0, 2, 3, 4]
            .into_iter()
            .take(usize::from(count))
            .filter_map(|position| self.kernel.operand(index, position))
            .collect()
    }

    pub(super) fn write_load(&mut self, index: usize, bytes: u8, count: u8, shared: bool) {
        let places = self.elements(index, count);
        let element = u64::from(bytes) / u64::from(count);
        let access = Access {
            index,
            bytes: u64::from(bytes),
            kind: AccessKind::Read,
            shared,
        };
        let Some(address) = self.kernel.operand(index, 1).filter(|_| element <= 8) else {
            self.execute_access(index);
            return;
        };
        let addresses = self.addresses(&access, element, address);
        let before = self.shapes.clone();
        let good = self.passes(&access, &addresses);
        let (fast, slow, on) = (self.w.name("l"), self.w.name("l"), self.w.name("l"));
        self.w
            .line(format_args!("br {good}, label %{fast}, label %{slow}, !prof !0"));
        self.w.label(&slow);
        self.execute_access(index);
        let after = std::mem::replace(&mut self.shapes, before);
        let mut planned = self.shapes.clone();
        let none = Set::none(self.kernel.blocks.len());
        self.kernel.transfer(index, &mut planned, self.copy, &none);
        self.w.line(format_args!("br label %{on}"));
        self.w.label(&fast);
        match addresses {
            Addresses::Same(addresses) => {
                let addresses = self.hosts(&access, addresses);
                for (part, place) in places.iter().enumerate() {
                    let values = addresses.iter().map(|address| {
                        let address = self.w.add_with(address, part as u64 * element);
                        let value = self.load_from(&address, element);
                        self.w.extended(&value, lane_of(element))
                    });
                    let values: Vec<_> = values.collect();
                    let shape = self.kernel.shape(*place, &planned);
                    self.write_result(*place, shape, Written::Bases(values));
                }
            }
            Addresses::Neighbouring(addresses) => {
                let addresses = self.hosts(&access, addresses);
                let parts = if self.copy == Copy::Full {
                    self.load_groups(&addresses, element, places.len())
                } else {
                    vec![self.load_masked(&addresses[0], element)]
                };
                for (place, part) in places.iter().zip(parts) {
                    let value = self.w.extended(&part, lane_of(element));
                    self.write_result(*place, Shape::Varying, Written::Lanes(value));
                }
            }
            Addresses::Any(address) => {
                let address = self.host(&access, &address);
                for (part, place) in places.iter().enumerate() {
                    let value = self.gather(&address, part as u64 * element, element);
                    let value = self.w.extended(&value, lane_of(element));
                    self.write_result(*place, Shape::Varying, Written::Lanes(value));
                }
            }
        }
        self.shapes = after;
        self.w.line(format_args!("br label %{on}"));
        self.w.label(&on);
    }

    /// Writes what was loaded; lanes where bases are given, if the register has no shape.
    fn write_result(&mut self, place: Place, shape: Shape, written: Written) {
        match (shape, written) {
            (Shape::Varying, Written::Bases(bases)) => {
                let lanes = if let [base] = &bases[..] {
                    self.w.spread(base)
                } else {
                    self.expand(&bases, 0)
                };
                self.write_active(place, shape, Written::Lanes(lanes));
            }
            (_, written) => self.write_active(place, shape, written),
        }
    }

    pub(super) fn write_store(&mut self, index: usize, bytes: u8, count: u8, shared: bool) {
        let places = self.elements(index, count);
        let element = u64::from(bytes) / u64::from(count);
        let access = Access {
            index,
            bytes: u64::from(bytes),
            kind: AccessKind::Write,
            shared,
        };
        let Some(address) = self.kernel.operand(index, 1).filter(|_| element <= 8) else {
            self.execute_access(index);
            return;
        };
        let addresses = self.addresses(&access, element, address);
        let good = self.passes(&access, &addresses);
        let (fast, slow, on) = (self.w.name("l"), self.w.name("l"), self.w.name("l"));
        self.w
            .line(format_args!("br {good}, label %{fast}, label %{slow}, !prof !0"));
        self.w.label(&slow);
        self.execute_access(index);
        self.w.line(format_args!("br label %{on}"));
        self.w.label(&fast);
        let values: Vec<Value> = places
            .iter()
            .map(|place| {
                let value = self.lanes(*place, lane_of(element));
                let value = self.w.spread(&value);
                self.w.bits_as(&value, integer(element))
            })
            .collect();
        match addresses {
            Addresses::Same(addresses) => {
                let addresses = self.hosts(&access, addresses);
                let group = LANES / addresses.len();
                for (part, value) in values.iter().enumerate() {
                    for (number, address) in addresses.iter().enumerate() {
                        // Which lane wins is not specified; as in the interpreter it is the last.
                        let last = match self.copy {
                            Copy::Full => format!("i32 {}", number * group + group - 1),
                            Copy::Masked => {
                                let active = self.mask_of_active();
                                let behind = self.w.intrinsic_with("ctlz", &[&active], "i1 false");
                                self.w.xor_with(&behind, 31).to_string()
                            }
                        };
                        let text = format!("extractelement {value}, {last}");
                        let value = self.w.value(integer(element), false, text);
                        let address = self.w.add_with(address, part as u64 * element);
                        let place = self.pointer(&address);
                        self.w.line(format_args!("store {value}, ptr {place}, align {element}"));
                    }
                }
            }
            Addresses::Neighbouring(addresses) => {
                let addresses = self.hosts(&access, addresses);
                if self.copy == Copy::Full {
                    self.store_groups(&addresses, element, &values);
                } else {
                    self.store_masked(&addresses[0], element, &values[0]);
                }
            }
            Addresses::Any(address) => {
                let address = self.host(&access, &address);
                for (part, value) in values.iter().enumerate() {
                    self.scatter(&address, part as u64 * element, element, value);
                }
            }
        }
        self.w.line(format_args!("br label %{on}"));
        self.w.label(&on);
    }

    /// Lets the handler execute an access. What it does not return from is a fault.
    fn execute_access(&mut self, index: usize) {
        let next = self.execute(index);
        let expected = self.position(index + 1);
        let same = self
            .w
            .value(Element::I1, false, format_args!("icmp eq ptr {next}, {expected}"));
        let (on, out) = (self.w.name("l"), self.w.name("l"));
        self.w
            .line(format_args!("br {same}, label %{on}, label %{out}, !prof !0"));
        self.w.label(&out);
        self.w.line(format_args!("ret ptr {next}"));
        self.w.label(&on);
    }

    fn addresses(&mut self, access: &Access, element: u64, place: Place) -> Addresses {
        let offset = self.kernel.op(access.index).imm;
        let shape = self.kernel.shape(place, &self.shapes);
        let groups = if shape == Shape::Uniform {
            1
        } else {
            self.kernel.groups()
        };
        let is_full = self.copy == Copy::Full;
        let is_single = access.bytes == element;
        let mut bases = || {
            let bases = (0..groups).map(|group| {
                let base = self.base(place, Element::I64, group);
                self.w.add_with(&base, offset)
            });
            bases.collect()
        };
        match shape {
            Shape::Uniform => Addresses::Same(bases()),
            Shape::Affine(0) if is_full => Addresses::Same(bases()),
            Shape::Affine(stride)
                if stride == access.bytes.cast_signed() && (is_full || (groups == 1 && is_single)) =>
            {
                Addresses::Neighbouring(bases())
            }
            Shape::Affine(_) | Shape::Varying => {
                let lanes = self.lanes(place, Element::I64);
                Addresses::Any(self.w.add_with(&lanes, offset))
            }
        }
    }

    /// Whether all addresses are aligned and in bounds, and the lanes are those that the access is written for.
    pub(super) fn passes(&mut self, access: &Access, addresses: &Addresses) -> Value {
        let (start, size) = if access.shared {
            let end = self.field("shared_known", offset_of!(Warp, shared_known), Element::I64);
            let size = self.w.sub_with(&end, SHARED_START);
            (Value::integer(Element::I64, SHARED_START), size)
        } else {
            let half = match access.kind {
                AccessKind::Read => 0,
                AccessKind::Write | AccessKind::Atomic => CACHES,
            };
            let number = self.kernel.op(access.index).source as usize % CACHES + half;
            let place = self.offset("%caches", number * size_of::<Bounds>());
            let start = self.load_field(&place, offset_of!(Bounds, start));
            let bytes = self.load_field(&place, offset_of!(Bounds, bytes));
            (start, bytes)
        };
        let whole = match addresses {
            Addresses::Neighbouring(_) if self.copy == Copy::Full => access.bytes * self.kernel.group as u64,
            Addresses::Same(_) | Addresses::Any(_) | Addresses::Neighbouring(_) => access.bytes,
        };
        let mut good = self.w.compare_with("icmp uge", &size, whole);
        let room = self.w.sub_with(&size, whole);
        let each = match addresses {
            Addresses::Any(address) => {
                let distance = self.w.sub(address, &start);
                let outside = self.w.compare("icmp ugt", &distance, &room);
                let mut wrong = self.mask(&outside);
                if access.bytes > 1 {
                    let low = self.w.and_with(address, access.bytes - 1);
                    let odd = self.w.compare_with("icmp ne", &low, 0);
                    let odd = self.mask(&odd);
                    wrong = self.w.or(&wrong, &odd);
                }
                let active = self.mask_of_active();
                let wrong = self.w.and(&wrong, &active);
                let inside = self.w.compare_with("icmp eq", &wrong, 0);
                return self.w.and(&good, &inside);
            }
            Addresses::Neighbouring(each) if self.copy == Copy::Masked => {
                // Of the first and of the last active lane.
                let active = self.mask_of_active();
                let first = self.w.intrinsic_with("cttz", &[&active], "i1 false");
                let behind = self.w.intrinsic_with("ctlz", &[&active], "i1 false");
                let last = self.w.xor_with(&behind, 31);
                let ends = [first, last].map(|lane| {
                    let lane = self.w.convert("zext", &lane, Element::I64);
                    let way = self.w.mul_with(&lane, access.bytes);
                    self.w.add(&each[0], &way)
                });
                ends.to_vec()
            }
            Addresses::Same(each) | Addresses::Neighbouring(each) => each.clone(),
        };
        let mut low: Option<Value> = None;
        for address in &each {
            let distance = self.w.sub(address, &start);
            let inside = self.w.compare("icmp ule", &distance, &room);
            good = self.w.and(&good, &inside);
            let bits = self.w.and_with(address, access.bytes - 1);
            low = Some(match low {
                None => bits,
                Some(low) => self.w.or(&low, &bits),
            });
        }
        if let Some(low) = low.filter(|_| access.bytes > 1) {
            let aligned = self.w.compare_with("icmp eq", &low, 0);
            good = self.w.and(&good, &aligned);
        }
        good
    }

    fn load_field(&mut self, place: &str, offset: usize) -> Value {
        let place = self.offset(place, offset);
        self.w.value(Element::I64, false, format_args!("load i64, ptr {place}"))
    }

    /// The address in this process.
    pub(super) fn host(&mut self, access: &Access, address: &Value) -> Value {
        if access.shared {
            let base = self.field("shared_base", offset_of!(Warp, shared_base), Element::I64);
            self.w.add(address, &base)
        } else {
            address.clone()
        }
    }

    fn hosts(&mut self, access: &Access, addresses: Vec<Value>) -> Vec<Value> {
        let hosts = addresses.iter().map(|address| self.host(access, address));
        hosts.collect()
    }

    pub(super) fn pointer(&mut self, address: &Value) -> String {
        let name = self.w.name("%t");
        self.w.line(format_args!("{name} = inttoptr {address} to ptr"));
        name
    }

    fn load_from(&mut self, address: &Value, element: u64) -> Value {
        let (place, ty) = (self.pointer(address), integer(element));
        let text = format!("load {}, ptr {place}, align {element}", ty.name());
        self.w.value(ty, false, text)
    }

    /// Loads the elements of neighbouring lanes: all first ones, all second ones, …
    fn load_groups(&mut self, addresses: &[Value], element: u64, count: usize) -> Vec<Value> {
        let (name, group) = (integer(element).name(), LANES / addresses.len());
        let loaded: Vec<String> = addresses
            .iter()
            .map(|address| {
                let (place, loaded) = (self.pointer(address), self.w.name("%t"));
                let lanes = group * count;
                self.w.line(format_args!(
                    "{loaded} = load <{lanes} x {name}>, ptr {place}, align {element}"
                ));
                loaded
            })
            .collect();
        (0..count)
            .map(|part| {
                let mut parts: Vec<String> = loaded
                    .iter()
                    .map(|loaded| {
                        let numbers = (0..group).map(|lane| lane * count + part);
                        self.shuffle([loaded, "poison"], name, group * count, numbers)
                    })
                    .collect();
                let mut lanes = group;
                while parts.len() > 1 {
                    let pairs = parts.chunks(2).map(|pair| {
                        self.shuffle(
                            [&pair[0], pair.get(1).map_or("poison", String::as_str)],
                            name,
                            lanes,
                            0..2 * lanes,
                        )
                    });
                    parts = pairs.collect();
                    lanes *= 2;
                }
                Value::named(parts.swap_remove(0), integer(element), true)
            })
            .collect()
    }

    /// Stores the elements of neighbouring lanes.
    fn store_groups(&mut self, addresses: &[Value], element: u64, values: &[Value]) {
        let (name, group, count) = (integer(element).name(), LANES / addresses.len(), values.len());
        let mut wholes: Vec<String> = values.iter().map(|value| value.text().to_owned()).collect();
        let mut lanes = LANES;
        while wholes.len() > 2 {
            let pairs = wholes.chunks(2).map(|pair| {
                self.shuffle(
                    [&pair[0], pair.get(1).map_or("poison", String::as_str)],
                    name,
                    lanes,
                    0..2 * lanes,
                )
            });
            wholes = pairs.collect();
            lanes *= 2;
        }
        for (number, address) in addresses.iter().enumerate() {
            let first = number * group;
            let numbers = (0..group * count).map(|at| at % count * LANES + first + at / count);
            let second = wholes.get(1).cloned().unwrap_or_else(|| "poison".to_owned());
            let stored = self.shuffle([&wholes[0], &second], name, lanes, numbers);
            let place = self.pointer(address);
            let lanes = group * count;
            self.w.line(format_args!(
                "store <{lanes} x {name}> {stored}, ptr {place}, align {element}"
            ));
        }
    }

    /// A vector of some elements of two vectors of `lanes` elements.
    fn shuffle(
        &mut self,
        [a, b]: [&str; 2],
        element: &str,
        lanes: usize,
        numbers: impl Iterator<Item = usize>,
    ) -> String {
        let numbers: Vec<_> = numbers.map(|number| format!("i32 {number}")).collect();
        let name = self.w.name("%t");
        self.w.line(format_args!(
            "{name} = shufflevector <{lanes} x {element}> {a}, <{lanes} x {element}> {b}, <{} x i32> <{}>",
            numbers.len(),
            numbers.join(", ")
        ));
        name
    }

    fn pointers(&mut self, address: &Value, offset: u64) -> String {
        let address = self.w.add_with(address, offset);
        let name = self.w.name("%t");
        self.w
            .line(format_args!("{name} = inttoptr {address} to <{LANES} x ptr>"));
        name
    }

    /// The active lanes as a vector of truth values.
    fn active_lanes(&mut self) -> Value {
        let active = self.mask_of_active();
        if self.copy == Copy::Full {
            Value::named("splat (i1 true)", Element::I1, true)
        } else {
            self.truth(&active)
        }
    }

    /// Loads neighbouring elements for the active lanes.
    fn load_masked(&mut self, address: &Value, element: u64) -> Value {
        let (place, ty, active) = (self.pointer(address), integer(element), self.active_lanes());
        let (name, bits) = (ty.name(), ty.bits());
        self.w.declare(format!(
            "declare <{LANES} x {name}> @llvm.masked.load.v{LANES}i{bits}.p0(ptr, i32 immarg, <{LANES} x i1>, <{LANES} x {name}>)"
        ));
        let text = format!(
            "call <{LANES} x {name}> @llvm.masked.load.v{LANES}i{bits}.p0(ptr {place}, i32 {element}, {active}, <{LANES} x {name}> zeroinitializer)"
        );
        self.w.value(ty, true, text)
    }

    /// Stores neighbouring elements of the active lanes.
    fn store_masked(&mut self, address: &Value, element: u64, value: &Value) {
        let (place, ty, active) = (self.pointer(address), integer(element), self.active_lanes());
        let (name, bits) = (ty.name(), ty.bits());
        self.w.declare(format!(
            "declare void @llvm.masked.store.v{LANES}i{bits}.p0(<{LANES} x {name}>, ptr, i32 immarg, <{LANES} x i1>)"
        ));
        self.w.line(format_args!(
            "call void @llvm.masked.store.v{LANES}i{bits}.p0({value}, ptr {place}, i32 {element}, {active})"
        ));
    }

    pub(super) fn gather(&mut self, address: &Value, offset: u64, element: u64) -> Value {
        let (pointers, ty, active) = (self.pointers(address, offset), integer(element), self.active_lanes());
        let (name, bits) = (ty.name(), ty.bits());
        self.w.declare(format!(
            "declare <{LANES} x {name}> @llvm.masked.gather.v{LANES}i{bits}.v{LANES}p0(<{LANES} x ptr>, i32 immarg, <{LANES} x i1>, <{LANES} x {name}>)"
        ));
        let text = format!(
            "call <{LANES} x {name}> @llvm.masked.gather.v{LANES}i{bits}.v{LANES}p0(<{LANES} x ptr> {pointers}, i32 {element}, {active}, <{LANES} x {name}> zeroinitializer)"
        );
        self.w.value(ty, true, text)
    }

    pub(super) fn scatter(&mut self, address: &Value, offset: u64, element: u64, value: &Value) {
        let (pointers, ty, active) = (self.pointers(address, offset), integer(element), self.active_lanes());
        let (name, bits) = (ty.name(), ty.bits());
        self.w.declare(format!(
            "declare void @llvm.masked.scatter.v{LANES}i{bits}.v{LANES}p0(<{LANES} x {name}>, <{LANES} x ptr>, i32 immarg, <{LANES} x i1>)"
        ));
        self.w.line(format_args!(
            "call void @llvm.masked.scatter.v{LANES}i{bits}.v{LANES}p0({value}, <{LANES} x ptr> {pointers}, i32 {element}, {active})"
        ));
    }
}

/// The lane of an element: small ones are zero-extended.
pub(super) fn lane_of(element: u64) -> Element {
    raw(if element == 8 { Class::W64 } else { Class::W32 })
}
