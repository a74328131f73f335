//! Loads and stores of neighbouring lanes, whose elements lie one behind the other in memory: as vectors, from which the elements of a
//! register are taken and into which they are put.

use crate::base::ir::{Element, Value};
use crate::base::lanes::{GROUP, LANES};
use crate::compile::function::Function;
use crate::compile::memory::integer;
use crate::compile::shape::Version;

/// Lanes whose elements are transposed together.
const TRANSPOSED: usize = 8;

impl Function<'_> {
    /// Loads the elements of active neighbouring lanes, given the address of each group of lanes: all first ones, all second ones, …
    pub(super) fn load_neighbours(&mut self, addresses: &[Value], element: u64, count: usize) -> Vec<Value> {
        match self.version {
            Version::Full => self.load_groups(addresses, element, count),
            Version::Masked => self.load_masked(addresses, element, count),
        }
    }

    fn load_groups(&mut self, addresses: &[Value], element: u64, count: usize) -> Vec<Value> {
        let (name, group) = (integer(element).name(), LANES / addresses.len());
        let loaded: Vec<String> = addresses
            .iter()
            .map(|address| {
                let (place, loaded) = (self.pointer(address), self.w.name("%t"));
                let lanes = group * count;
                self.w.line(format_args!("{loaded} = load <{lanes} x {name}>, ptr {place}, align {element}"));
                loaded
            })
            .collect();
        let parts = loaded.iter().map(|loaded| self.taken_apart(loaded, integer(element), group, count));
        let parts: Vec<_> = parts.collect();
        let whole = (0..count).map(|part| {
            let parts = parts.iter().map(|group| group[part].clone()).collect();
            let (mut whole, _) = self.concatenated(name, group, parts, 1);
            Value::named(whole.swap_remove(0), integer(element), true)
        });
        whole.collect()
    }

    /// All first elements, all second ones, … of `lanes` neighbouring lanes.
    fn taken_apart(&mut self, loaded: &str, element: Element, lanes: usize, count: usize) -> Vec<String> {
        let name = element.name();
        match (element, count) {
            (_, 1) => vec![loaded.to_owned()],
            (Element::I32, 4) if lanes.is_multiple_of(TRANSPOSED) => {
                let pieces = (0..lanes / TRANSPOSED).map(|piece| {
                    let start = piece * 4 * TRANSPOSED;
                    let quarters = [0, 1, 2, 3].map(|quarter| {
                        let start = start + quarter * TRANSPOSED;
                        self.shuffle([loaded, "poison"], name, 4 * lanes, start..start + TRANSPOSED)
                    });
                    self.transposed(&quarters)
                });
                let pieces: Vec<_> = pieces.collect();
                let whole = (0..4).map(|part| {
                    let parts = pieces.iter().map(|piece| piece[part].clone()).collect();
                    self.concatenated(name, TRANSPOSED, parts, 1).0.swap_remove(0)
                });
                whole.collect()
            }
            _ => {
                let parts = (0..count).map(|part| {
                    let numbers = (0..lanes).map(|lane| lane * count + part);
                    self.shuffle([loaded, "poison"], name, lanes * count, numbers)
                });
                parts.collect()
            }
        }
    }

    /// Transposes 8 lanes of 4 elements of 32 bits, by shuffles that each are one instruction for vectors of 256 bits; LLVM needs twice as
    /// many where every fourth element of the whole is asked for.
    fn transposed(&mut self, [a, b, c, d]: &[String; 4]) -> [String; 4] {
        let mut shuffle = |a: &String, b: &String, numbers: [usize; TRANSPOSED]| {
            self.shuffle([a, b], "i32", TRANSPOSED, numbers.into_iter())
        };
        // The lanes 0 and 4, 1 and 5, 2 and 6, 3 and 7.
        let (low, high) = ([0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]);
        let lanes = [shuffle(a, c, low), shuffle(a, c, high), shuffle(b, d, low), shuffle(b, d, high)];
        let (low, high) = ([0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]);
        let [first, second, third, fourth] = &lanes;
        let pairs = [shuffle(first, second, low), shuffle(third, fourth, low)];
        let others = [shuffle(first, second, high), shuffle(third, fourth, high)];
        let (low, high) = ([0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]);
        let [[a, b], [c, d]] = &[pairs, others];
        [shuffle(a, b, low), shuffle(a, b, high), shuffle(c, d, low), shuffle(c, d, high)]
    }

    /// Vectors of `lanes` elements one behind the other, in at most so many vectors, and the elements of each.
    pub(super) fn concatenated(
        &mut self,
        name: &str,
        mut lanes: usize,
        mut parts: Vec<String>,
        most: usize,
    ) -> (Vec<String>, usize) {
        while parts.len() > most {
            let pairs = parts.chunks(2).map(|pair| {
                self.shuffle([&pair[0], pair.get(1).map_or("poison", String::as_str)], name, lanes, 0..2 * lanes)
            });
            parts = pairs.collect();
            lanes *= 2;
        }
        (parts, lanes)
    }

    /// The elements of so many lanes as they lie in memory, given all first elements, all second ones, … of all lanes.
    fn interleaved(
        &mut self,
        name: &str,
        ([first, second], length): &([String; 2], usize),
        lanes: std::ops::Range<usize>,
        count: usize,
    ) -> String {
        let numbers = (0..lanes.len() * count).map(|at| at % count * LANES + lanes.start + at / count);
        self.shuffle([first, second], name, *length, numbers)
    }

    /// All first elements, all second ones, …, in two vectors, and the elements of each.
    fn in_two(&mut self, name: &str, values: &[Value]) -> ([String; 2], usize) {
        let parts = values.iter().map(|value| value.text().to_owned()).collect();
        let (mut parts, lanes) = self.concatenated(name, LANES, parts, 2);
        let second = parts.get(1).cloned().unwrap_or_else(|| "poison".to_owned());
        ([parts.swap_remove(0), second], lanes)
    }

    /// Stores elements of active neighbouring lanes, given the address of each group of lanes.
    pub(super) fn store_neighbours(&mut self, addresses: &[Value], element: u64, values: &[Value]) {
        match self.version {
            Version::Full => self.store_groups(addresses, element, values),
            Version::Masked => self.store_masked(addresses, element, values),
        }
    }

    fn store_groups(&mut self, addresses: &[Value], element: u64, values: &[Value]) {
        let (name, group, count) = (integer(element).name(), LANES / addresses.len(), values.len());
        let parts = self.in_two(name, values);
        for (number, address) in addresses.iter().enumerate() {
            let start = number * group;
            let stored = self.interleaved(name, &parts, start..start + group, count);
            let place = self.pointer(address);
            let lanes = group * count;
            self.w.line(format_args!("store <{lanes} x {name}> {stored}, ptr {place}, align {element}"));
        }
    }

    /// A vector of some elements of two vectors of `lanes` elements.
    pub(super) fn shuffle(
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

    /// The active lanes as a vector of truth values.
    pub(super) fn active_lanes(&mut self) -> Value {
        let active = self.mask_of_active();
        if self.version == Version::Full {
            Value::named("splat (i1 true)", Element::I1, true)
        } else {
            self.truth(&active)
        }
    }

    /// The mask of active lanes, repeated for each of the `count` elements that a lane accesses, of type `ty`.
    ///
    /// Where truth values are shuffled, LLVM extracts each bit of the mask for processors without registers for masks. So each element
    /// looks for its lane's bit in the mask, or, where an element is shorter than the mask, numbers of the elements' size are shuffled.
    fn active_elements(&mut self, ty: Element, count: usize) -> String {
        if count == 1 {
            return self.active_lanes().text().to_owned();
        }
        let elements = LANES * count;
        if ty.bits() >= LANES as u32 {
            let mask = self.mask_of_active();
            let mask = self.w.extended(&mask, ty);
            let (first, of_lane, truth) = (self.w.name("%t"), self.w.name("%t"), self.w.name("%t"));
            let (vector, name) = (format!("<{elements} x {}>", ty.name()), ty.name());
            self.w.line(format_args!("{first} = insertelement {vector} poison, {mask}, i32 0"));
            let all = self.shuffle([&first, "poison"], name, elements, (0..elements).map(|_| 0));
            let bits: Vec<_> = (0..elements).map(|at| format!("{name} {}", 1_u64 << (at / count))).collect();
            let bits = format!("<{}>", bits.join(", "));
            self.w.line(format_args!("{of_lane} = and {vector} {all}, {bits}"));
            self.w.line(format_args!("{truth} = icmp eq {vector} {of_lane}, {bits}"));
            return truth;
        }
        let active = self.active_lanes();
        let wide = self.w.convert("sext", &active, ty);
        let numbers = (0..elements).map(|at| at / count);
        let repeated = self.shuffle([wide.text(), "poison"], ty.name(), LANES, numbers);
        let truth = self.w.name("%t");
        self.w.line(format_args!("{truth} = icmp slt <{elements} x {}> {repeated}, zeroinitializer", ty.name()));
        truth
    }

    /// Loads neighbouring elements for the active lanes: all first ones, all second ones, …
    fn load_masked(&mut self, addresses: &[Value], element: u64, count: usize) -> Vec<Value> {
        let ty = integer(element);
        let repeated = self.active_elements(ty, count);
        let (name, elements) = (ty.name(), LANES / addresses.len() * count);
        self.w.declare(format!(
            "declare <{elements} x {name}> @llvm.masked.load.v{elements}{name}.p0(ptr, i32 immarg, <{elements} x i1>, <{elements} x {name}>)"
        ));
        let groups = addresses.iter().enumerate().map(|(group, address)| {
            let active = match addresses {
                [_] => repeated.clone(),
                _ => {
                    let numbers = group * elements..(group + 1) * elements;
                    self.shuffle([&repeated, "poison"], "i1", LANES * count, numbers)
                }
            };
            let (place, loaded) = (self.pointer(address), self.w.name("%t"));
            self.w.line(format_args!(
                "{loaded} = call <{elements} x {name}> @llvm.masked.load.v{elements}{name}.p0(ptr {place}, i32 {element}, <{elements} x i1> {active}, <{elements} x {name}> zeroinitializer)"
            ));
            loaded
        });
        let groups = groups.collect();
        let (mut loaded, _) = self.concatenated(name, elements, groups, 1);
        let parts = self.taken_apart(&loaded.swap_remove(0), ty, LANES, count);
        parts.into_iter().map(|part| Value::named(part, ty, true)).collect()
    }

    /// Stores neighbouring elements of the active lanes, group by group. A group whose lanes are all active needs no mask:
    /// masked stores are slow on processors without registers for masks.
    fn store_masked(&mut self, addresses: &[Value], element: u64, values: &[Value]) {
        let group_lanes = LANES / addresses.len();
        let (ty, count) = (integer(element), values.len());
        let (name, elements) = (ty.name(), GROUP * count);
        let repeated = self.active_elements(ty, count);
        let active = self.mask_of_active();
        let parts = self.in_two(name, values);
        self.w.declare(format!(
            "declare void @llvm.masked.store.v{elements}{name}.p0(<{elements} x {name}>, ptr, i32 immarg, <{elements} x i1>)"
        ));
        for start in (0..LANES).step_by(GROUP) {
            let stored = self.interleaved(name, &parts, start..start + GROUP, count);
            let numbers = start * count..start * count + elements;
            let mask = self.shuffle([&repeated, "poison"], "i1", LANES * count, numbers);
            let (base, lane) = (&addresses[start / group_lanes], start % group_lanes);
            let address = self.w.add_with(base, (lane * count) as u64 * element);
            let place = self.pointer(&address);
            let all = ((1_u32 << GROUP) - 1) << start;
            let members = self.w.and_with(&active, all.into());
            let (whole, part, next) = (self.w.name("l"), self.w.name("l"), self.w.name("l"));
            self.w.line(format_args!(
                "switch {members}, label %{part} [ i32 {all}, label %{whole} i32 0, label %{next} ]"
            ));
            self.w.label(&whole);
            self.w.line(format_args!("store <{elements} x {name}> {stored}, ptr {place}, align {element}"));
            self.w.line(format_args!("br label %{next}"));
            self.w.label(&part);
            self.w.line(format_args!(
                "call void @llvm.masked.store.v{elements}{name}.p0(<{elements} x {name}> {stored}, ptr {place}, i32 {element}, <{elements} x i1> {mask})"
            ));
            self.w.line(format_args!("br label %{next}"));
            self.w.label(&next);
        }
    }
}
