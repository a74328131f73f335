//! Loads and stores: the comparison with known bounds, and the access; the handler does everything else.
//!
//! The bounds are those of the interpreter: the memory that each operation has accessed before, or the block's shared
//! memory. The handler executes accesses outside of the known bounds: it checks them, updates the bounds, and reports
//! faults.

use std::collections::HashMap;
use std::mem::offset_of;

use rumba_checks::Check;

use crate::base::ir::{Element, Value};
use crate::base::lanes::{FULL, GROUP, GROUPS, LANES, SHARED_START, STACK_START};
use crate::base::report::AccessKind;
use crate::compile::bounds::Extent;
use crate::compile::function::Function;
use crate::compile::kernel::{Location, raw};
use crate::compile::registers::Written;
use crate::compile::shape::{Shape, Version, way};
use crate::compile::variables::Variable;
use crate::exec::memory::Space;
use crate::exec::native::{SCATTERED, report_bits};
use crate::machine::op::opcode::Opcode;
use crate::machine::program::Class;
use crate::machine::warp::Warp;

/// The memory that an access names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    /// By addresses of this process.
    Flat,
    /// The block's shared memory.
    Shared,
    /// The stacks of threads, at a fixed distance from lane to lane.
    Local,
}

impl Memory {
    pub(super) fn of(is_shared: bool) -> Self {
        if is_shared { Self::Shared } else { Self::Flat }
    }

    pub(super) fn of_space(space: Space) -> Self {
        match space {
            Space::Shared => Self::Shared,
            Space::Local => Self::Local,
            Space::Generic | Space::Global | Space::Const | Space::Param => Self::Flat,
        }
    }
}

/// An access that is being written.
pub(super) struct Access {
    pub(super) index: usize,
    /// The elements loaded or stored, and the bytes of each element.
    pub(super) places: Vec<Location>,
    pub(super) element: u64,
    /// Bytes of a lane.
    pub(super) bytes: u64,
    /// The offset that the instruction adds to addresses.
    pub(super) offset: u64,
    pub(super) kind: AccessKind,
    pub(super) memory: Memory,
}

/// The addresses of the lanes of an access, without the access's offset. [`Function::addresses`] decides once for each access what they are:
/// the same numbers are compared with bounds and accessed.
pub(super) struct Addresses {
    pub(super) pattern: Pattern,
    /// No bit above the bits of this number is set in an address.
    pub(super) highest: u64,
}

/// How the addresses of lanes lie.
pub(super) enum Pattern {
    /// The address of the first lane of each group, or of the warp, and the distance of each lane's address from that of the lane before.
    Strided { bases: Vec<Value>, stride: i64 },
    /// An address for each lane.
    Any(Value),
}

/// How the active lanes access memory.
enum Placed {
    /// The lanes of each group, or of the warp, access the same bytes, which lie at these addresses of the process.
    Common(Vec<Value>),
    /// The bytes of each lane of a group lie right behind those of the lane before, the first ones at these addresses of the process.
    Neighbours(Vec<Value>),
    /// Each lane accesses bytes of its own.
    Anywhere,
}

impl Addresses {
    /// The address that all lanes of the warp have in common.
    pub(super) fn common(&self) -> Option<&Value> {
        match &self.pattern {
            Pattern::Strided { bases, stride: 0 } if bases.len() == 1 => bases.first(),
            Pattern::Strided { .. } | Pattern::Any(_) => None,
        }
    }

    /// The distance from the address of the first lane of a group to that of the last lane, if the addresses of the lanes between lie between
    /// these two.
    pub(super) fn way(&self) -> Option<i64> {
        match &self.pattern {
            Pattern::Strided { bases, stride } => way(*stride, LANES / bases.len()),
            Pattern::Any(_) => None,
        }
    }
}

/// The largest offset of accesses that are compared with the bounds of shared memory together.
const MOST_SHARED: u64 = 1 << 20;

/// The integer of `bytes` bytes.
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
    fn elements(&self, index: usize, count: u8) -> Vec<Location> {
        [0, 2, 3, 4]
            .into_iter()
            .take(usize::from(count))
            .filter_map(|position| self.kernel.operand(index, position))
            .collect()
    }

    pub(super) fn write_load(&mut self, index: usize, bytes: u8, count: u8, memory: Memory) {
        let access = self.access(index, (bytes, count), AccessKind::Read, memory);
        let load = |function: &mut Self, addresses: &Addresses| function.load_active(&access, addresses);
        match self.kernel.operand(index, 1) {
            // The first access of a group compares the bounds for the others, too. A mask for single elements takes no longer than another
            // comparison.
            _ if self.together.contains_key(&index) => {
                self.write_access(&access, |function, addresses| match &addresses.pattern {
                    Pattern::Strided { stride, .. } if *stride == access.element.cast_signed() => {
                        load(function, addresses);
                    }
                    _ => function.load_all_or(&access, addresses, |function| load(function, addresses)),
                });
            }
            Some(address) if access.element <= 8 => {
                let addresses = self.addresses(address);
                self.load_all_or(&access, &addresses, |function| function.write_access(&access, load));
            }
            _ => self.write_access(&access, load),
        }
    }

    pub(super) fn write_store(&mut self, index: usize, bytes: u8, count: u8, memory: Memory) {
        let access = self.access(index, (bytes, count), AccessKind::Write, memory);
        self.write_access(&access, |function, addresses| function.store_active(&access, addresses));
    }

    fn access(&self, index: usize, (bytes, count): (u8, u8), kind: AccessKind, memory: Memory) -> Access {
        Access {
            index,
            places: self.elements(index, count),
            element: u64::from(bytes) / u64::from(count),
            bytes: u64::from(bytes),
            offset: self.kernel.op(index).imm,
            kind,
            memory,
        }
    }

    /// Writes an access: `inline`, where its addresses are known to be good, and the handler's otherwise.
    pub(super) fn write_access(&mut self, access: &Access, inline: impl FnOnce(&mut Self, &Addresses)) {
        let address = self.kernel.operand(access.index, 1);
        let Some(address) = address.filter(|_| access.element <= 8) else {
            self.call_through(access.index);
            return;
        };
        let addresses = self.addresses(address);
        if let Some(extent) = self.together.get(&access.index).copied() {
            if let Some(extent) = extent {
                let good = self.is_in_shared(&addresses, extent);
                self.unless(&good, |function| function.exit(access.index));
            }
            inline(self, &addresses);
            return;
        }
        let is_monitored = self.kernel.program.is_monitored();
        let good = if is_monitored {
            self.is_known_or_reported(access, &addresses)
        } else {
            self.is_known(access, &addresses)
        };
        self.inline_if(access.index, &good, |function| inline(function, &addresses));
    }

    /// Whether an access is to known memory, or to monitored memory, which is then reported.
    fn is_known_or_reported(&mut self, access: &Access, addresses: &Addresses) -> Value {
        let (other, report, on) = (self.w.name("l"), self.w.name("l"), self.w.name("l"));
        let good = self.variable(Variable::one("%is_good", Element::I1));
        self.set(&good, &Value::integer(Element::I1, 1));
        // All memory that threads share is monitored where races are looked for.
        let is_mostly_monitored = self.kernel.program.checks.contains(Check::Race) && access.memory != Memory::Local;
        if is_mostly_monitored {
            self.take_in(access, addresses, &on);
            self.go_if_monitored(access, addresses, (&report, &other));
            self.w.label(&other);
            let known = self.is_known(access, addresses);
            self.set(&good, &known);
            self.w.line(format_args!("br label %{on}"));
        } else {
            let unknown = self.w.name("l");
            let known = self.is_known(access, addresses);
            self.w.line(format_args!("br {known}, label %{on}, label %{other}"));
            self.w.label(&other);
            self.go_if_monitored(access, addresses, (&report, &unknown));
            self.w.label(&unknown);
            self.set(&good, &Value::integer(Element::I1, 0));
            self.w.line(format_args!("br label %{on}"));
        }
        self.w.label(&report);
        self.report(access, addresses);
        self.w.line(format_args!("br label %{on}"));
        self.w.label(&on);
        self.get(&good)
    }

    /// Goes to one of two labels: the first one if an access is to monitored memory.
    fn go_if_monitored(&mut self, access: &Access, addresses: &Addresses, (report, other): (&str, &str)) {
        if self.is_faster_for_all(addresses) {
            let all = self.holds_for_all(|function| function.is_monitored(access, addresses));
            let exactly = self.w.name("l");
            self.w.line(format_args!("br {all}, label %{report}, label %{exactly}, !prof !0"));
            self.w.label(&exactly);
        }
        let monitored = self.is_monitored(access, addresses);
        self.w.line(format_args!("br {monitored}, label %{report}, label %{other}"));
    }

    /// Whether an access is to monitored memory.
    fn is_monitored(&mut self, access: &Access, addresses: &Addresses) -> Value {
        let extent = Extent::aligned(access.offset, access.bytes);
        match access.memory {
            Memory::Flat => self.is_in_cache(access, addresses, extent, true),
            Memory::Shared => {
                let end = self.field("shared_end", offset_of!(Warp, shared_end), Element::I64);
                self.is_in_window(addresses, extent, SHARED_START, &end)
            }
            Memory::Local => {
                let end = self.field("stack_stride", offset_of!(Warp, stack_stride), Element::I64);
                self.is_in_window(addresses, extent, STACK_START, &end)
            }
        }
    }

    /// Reports an access to the monitor.
    fn report(&mut self, access: &Access, addresses: &Addresses) {
        if access.kind == AccessKind::Write {
            // The check of races compares values that are stored.
            access.places.iter().for_each(|place| self.store(*place));
        }
        if self.version == Version::Masked {
            let mask = self.mask_of_active();
            self.set(&Variable::word("%active.place"), &mask);
        }
        // Lanes do not write to each other's bytes.
        let strided = self
            .strided_hosts(access, addresses)
            .filter(|(_, stride)| access.kind == AccessKind::Read || *stride == 0 || *stride >= access.bytes);
        let place = self.variable(Variable::lanes("%hosts", Element::I64));
        let stride = match strided {
            Some((bases, stride)) => {
                let each = GROUPS / bases.len();
                let step = stride * GROUP as u64;
                let hosts = (0..GROUPS).map(|group| {
                    let offset = (group % each) as u64 * step;
                    self.w.add_with(&bases[group / each], offset)
                });
                let hosts: Vec<_> = hosts.collect();
                // One store, as the processor forwards a vector that is read as a whole only from one.
                let mut all = "poison".to_owned();
                for (group, host) in hosts.iter().enumerate() {
                    let more = self.w.name("%t");
                    self.w.line(format_args!("{more} = insertelement <{GROUPS} x i64> {all}, {host}, i32 {group}"));
                    all = more;
                }
                self.w.line(format_args!("store <{GROUPS} x i64> {all}, ptr {}, align 8", place.pointer));
                stride.cast_signed()
            }
            None => {
                let lanes = self.addresses_of_lanes(access, addresses);
                let lanes = self.host(access, &lanes);
                let lanes = self.w.spread(&lanes);
                self.set(&place, &lanes);
                SCATTERED
            }
        };
        let position = self.position(access.index);
        let what = report_bits(access.bytes, access.kind);
        self.w.line(format_args!(
            "call void %report(ptr %warp, ptr {position}, ptr {}, i64 {stride}, i32 {what})",
            place.pointer
        ));
    }

    /// Writes an operation that is executed `inline` if a value is true, as it nearly always is, and by its handler
    /// otherwise.
    pub(super) fn inline_if(&mut self, index: usize, good: &Value, inline: impl FnOnce(&mut Self)) {
        self.usually(good, inline, |function| function.call_through(index));
    }

    /// Writes one of two ways to the same registers: `fast` if a value is true, as it nearly always is, and `slow` otherwise.
    pub(super) fn usually(&mut self, good: &Value, fast: impl FnOnce(&mut Self), slow: impl FnOnce(&mut Self)) {
        let (yes, no, on) = (self.w.name("l"), self.w.name("l"), self.w.name("l"));
        self.w.line(format_args!("br {good}, label %{yes}, label %{no}, !prof !0"));
        self.w.label(&no);
        let before = self.shapes.clone();
        slow(self);
        self.w.line(format_args!("br label %{on}"));
        let after = std::mem::replace(&mut self.shapes, before);
        self.w.label(&yes);
        fast(self);
        self.shapes = after;
        self.w.line(format_args!("br label %{on}"));
        self.w.label(&on);
    }

    /// The accesses of a basic block to shared memory whose addresses are offsets from one register, and which are
    /// therefore compared with the bounds together: the first access with the extent of the whole group, the others
    /// with `None`. The block executes every access of a group, so if the comparison fails, an access of the group is
    /// out of bounds.
    pub(super) fn accesses_together(&self, block: usize) -> HashMap<usize, Option<Extent>> {
        let mut found = HashMap::new();
        // The handlers report monitored accesses, which are outside of the known bounds.
        if self.kernel.program.is_monitored() {
            return found;
        }
        let mut known: HashMap<usize, (Vec<usize>, Extent)> = HashMap::new();
        let mut take = |(members, extent): (Vec<usize>, Extent)| {
            if members.len() > 1 {
                found.extend(members.iter().map(|member| (*member, None)));
                found.insert(members[0], Some(extent));
            }
        };
        for index in self.kernel.blocks[block].ops.clone() {
            if let Opcode::Load { bytes, count, shared: true, .. } | Opcode::Store { bytes, count, shared: true, .. } =
                self.kernel.descriptor(index).opcode
                && let Some(Location::Register(base)) = self.kernel.operand(index, 1)
                && let (bytes, offset) = (i64::from(bytes), self.kernel.op(index).imm.cast_signed())
                && bytes <= 8 * i64::from(count)
                && offset % bytes == 0
                && offset.unsigned_abs() <= MOST_SHARED
            {
                let (members, extent) = known.entry(base).or_insert_with(|| {
                    let nothing = Extent { low: offset, end: offset, aligned: 0, align: 1 };
                    (Vec::new(), nothing)
                });
                members.push(index);
                extent.low = extent.low.min(offset);
                extent.end = extent.end.max(offset + bytes);
                extent.align = extent.align.max(bytes.unsigned_abs());
            }
            for written in self.kernel.written(index) {
                known.remove(&written).into_iter().for_each(&mut take);
            }
        }
        known.into_values().for_each(take);
        found
    }

    /// How the active lanes access memory. Writes the prefetches for neighbouring lanes ([`Self::look_ahead`]).
    fn placed(&mut self, access: &Access, addresses: &Addresses) -> Placed {
        match &addresses.pattern {
            // Each lane has a stack of its own.
            Pattern::Strided { bases, stride }
                if access.memory != Memory::Local && (*stride == 0 || *stride == access.bytes.cast_signed()) =>
            {
                let hosts = self.hosts(access, bases);
                if *stride == 0 {
                    return Placed::Common(hosts);
                }
                self.look_ahead(access, &hosts);
                Placed::Neighbours(hosts)
            }
            Pattern::Strided { .. } | Pattern::Any(_) => Placed::Anywhere,
        }
    }

    /// What the active lanes load, for each place.
    fn loaded(&mut self, access: &Access, addresses: &Addresses) -> Vec<Written> {
        let (count, element) = (access.places.len(), access.element);
        let lanes = match self.placed(access, addresses) {
            Placed::Common(hosts) => {
                let hosts = self.of_active_groups(hosts, |function| {
                    let zeros = function.zeros_in_memory();
                    function.number_of(zeros)
                });
                let parts = (0..count).map(|part| {
                    let values = hosts.iter().map(|host| {
                        let address = self.w.add_with(host, part as u64 * element);
                        let value = self.load_from(&address, element);
                        self.w.extended(&value, lane_of(element))
                    });
                    Written::Bases(values.collect())
                });
                return parts.collect();
            }
            Placed::Neighbours(hosts) => self.load_neighbours(&hosts, element, count),
            Placed::Anywhere => {
                let parts = (0..count).map(|part| {
                    let pointers = self.pointers(access, addresses, part as u64 * element);
                    self.gather(&pointers, integer(element))
                });
                parts.collect()
            }
        };
        lanes.iter().map(|part| Written::Lanes(self.w.extended(part, lane_of(element)))).collect()
    }

    /// Loads for the active lanes.
    fn load_active(&mut self, access: &Access, addresses: &Addresses) {
        let parts = self.loaded(access, addresses);
        self.write_loaded(access, parts);
    }

    fn write_loaded(&mut self, access: &Access, parts: Vec<Written>) {
        let planned = self.shapes_after(&[access.index]);
        for (place, part) in access.places.iter().zip(parts) {
            let shape = match part {
                Written::Bases(_) => self.kernel.shape(*place, &planned),
                Written::Lanes(_) => Shape::Varying,
            };
            self.write_result(*place, shape, part);
        }
    }

    /// Loads for some active lanes as if all were active, if what inactive lanes would load is in bounds, too; otherwise `other` loads.
    /// Loads without a mask are several times faster on processors without registers for masks, and the bounds of whole groups of lanes are
    /// compared faster than those of active lanes. Nothing reads what inactive lanes load.
    fn load_all_or(&mut self, access: &Access, addresses: &Addresses, other: impl FnOnce(&mut Self)) {
        if access.memory == Memory::Local || self.kernel.program.is_monitored() || !self.is_faster_for_all(addresses) {
            return other(self);
        }
        let all = self.holds_for_all(|function| function.is_known(access, addresses));
        let whole = |function: &mut Self| {
            let parts = function.for_full_warp(|function| function.loaded(access, addresses));
            function.write_loaded(access, parts);
        };
        self.usually(&all, whole, other);
    }

    /// Whether the addresses of all lanes are compared faster than those of the active lanes.
    fn is_faster_for_all(&self, addresses: &Addresses) -> bool {
        let is_strided = matches!(addresses.pattern, Pattern::Strided { .. }) && addresses.common().is_none();
        self.version == Version::Masked && is_strided
    }

    /// Whether something holds for all lanes, active or not.
    fn holds_for_all(&mut self, test: impl FnOnce(&mut Self) -> Value) -> Value {
        let all = self.for_full_warp(test);
        // The addresses of groups without active lanes may be undefined, and LLVM takes a branch on an undefined value for unreachable.
        self.w.value(Element::I1, false, format_args!("freeze {all}"))
    }

    /// What is written by `write` as for a warp whose lanes are all active.
    fn for_full_warp<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let version = std::mem::replace(&mut self.version, Version::Full);
        let written = write(self);
        self.version = version;
        written
    }

    /// Writes a loaded value; as lanes if bases are given and the register is varying.
    fn write_result(&mut self, place: Location, shape: Shape, written: Written) {
        match (shape, written) {
            (Shape::Varying, Written::Bases(bases)) => {
                let lanes = if let [base] = &bases[..] { self.w.spread(base) } else { self.expand(&bases, 0) };
                self.write_active(place, shape, Written::Lanes(lanes));
            }
            (_, written) => self.write_active(place, shape, written),
        }
    }

    /// Stores for the active lanes.
    fn store_active(&mut self, access: &Access, addresses: &Addresses) {
        let (places, element) = (&access.places, access.element);
        let values: Vec<Value> = places
            .iter()
            .map(|place| {
                let value = self.lanes(*place, lane_of(element));
                let value = self.w.spread(&value);
                self.w.bits_as(&value, integer(element))
            })
            .collect();
        match self.placed(access, addresses) {
            Placed::Common(hosts) => {
                // As long as the longest element of a lane, and more.
                let hosts = self.of_active_groups(hosts, |function| {
                    let aside = function.variable(Variable::lanes("%aside.parts", Element::I64));
                    function.number_of(&aside.pointer)
                });
                let group = LANES / hosts.len();
                for (part, value) in values.iter().enumerate() {
                    for (number, host) in hosts.iter().enumerate() {
                        // The manual does not specify which lane wins; as in the interpreter, the last lane does.
                        let last = match self.version {
                            Version::Full => format!("i32 {}", number * group + group - 1),
                            Version::Masked => {
                                let active = self.active_of_group(number, hosts.len());
                                self.w.last_lane(&active).to_string()
                            }
                        };
                        let text = format!("extractelement {value}, {last}");
                        let value = self.w.value(integer(element), false, text);
                        let address = self.w.add_with(host, part as u64 * element);
                        let place = self.pointer(&address);
                        self.w.line(format_args!("store {value}, ptr {place}, align {element}"));
                    }
                }
            }
            Placed::Neighbours(hosts) => self.store_neighbours(&hosts, element, &values),
            Placed::Anywhere => {
                for (part, value) in values.iter().enumerate() {
                    let pointers = self.pointers(access, addresses, part as u64 * element);
                    self.scatter(&pointers, value);
                }
            }
        }
    }

    /// The addresses in a register.
    pub(super) fn addresses(&mut self, place: Location) -> Addresses {
        let shape = self.kernel.shape(place, &self.shapes);
        let pattern = match shape.stride() {
            Some(stride) => {
                let groups = if shape == Shape::Uniform { 1 } else { self.kernel.groups() };
                let bases = (0..groups).map(|group| self.base(place, Element::I64, group));
                Pattern::Strided { bases: bases.collect(), stride }
            }
            None => Pattern::Any(self.lanes(place, Element::I64)),
        };
        Addresses { pattern, highest: self.kernel.bits_of(place, &self.bits) }
    }

    /// An address for each lane, with the access's offset.
    pub(super) fn addresses_of_lanes(&mut self, access: &Access, addresses: &Addresses) -> Value {
        let lanes = self.lanes_of(addresses);
        self.w.add_with(&lanes, access.offset)
    }

    /// An address for each lane.
    pub(super) fn lanes_of(&mut self, addresses: &Addresses) -> Value {
        match &addresses.pattern {
            Pattern::Strided { bases, stride } => self.expand(bases, *stride),
            Pattern::Any(lanes) => lanes.clone(),
        }
    }

    /// The active lanes of one of so many groups.
    pub(super) fn active_of_group(&mut self, group: usize, groups: usize) -> Value {
        let (active, lanes) = (self.mask_of_active(), LANES / groups);
        let members = u64::from(FULL >> (LANES - lanes)) << (group * lanes);
        if groups == 1 { active } else { self.w.and_with(&active, members) }
    }

    /// Numbers of groups: those of groups without active lanes, which may be any numbers, become what `other` writes.
    pub(super) fn of_active_groups(
        &mut self,
        numbers: Vec<Value>,
        other: impl FnOnce(&mut Self) -> Value,
    ) -> Vec<Value> {
        let groups = numbers.len();
        if self.version == Version::Full || groups == 1 {
            return numbers;
        }
        let other = other(self);
        let chosen = numbers.iter().enumerate().map(|(group, number)| self.if_active((group, groups), number, &other));
        chosen.collect()
    }

    /// The address of a place in memory as a number.
    fn number_of(&mut self, pointer: &str) -> Value {
        self.w.value(Element::I64, false, format_args!("ptrtoint ptr {pointer} to i64"))
    }

    /// A number if one of so many groups has active lanes, and otherwise another number.
    pub(super) fn if_active(&mut self, (group, groups): (usize, usize), number: &Value, other: &Value) -> Value {
        let active = self.active_of_group(group, groups);
        let has_lanes = self.w.compare_with("icmp ne", &active, 0);
        self.w.select(&has_lanes, number, other)
    }

    /// The address in this process.
    pub(super) fn host(&mut self, access: &Access, address: &Value) -> Value {
        let base = match access.memory {
            Memory::Flat => return address.clone(),
            Memory::Shared => self.field("shared_base", offset_of!(Warp, shared_base), Element::I64),
            Memory::Local => self.stacks(),
        };
        self.w.add(address, &base)
    }

    /// Where the stacks of the lanes lie.
    pub(super) fn stacks(&mut self) -> Value {
        let start = self.field("stack_base", offset_of!(Warp, stack_base), Element::I64);
        let stride = self.field("stack_stride", offset_of!(Warp, stack_stride), Element::I64);
        let lanes = self.lane_numbers(Element::I64);
        let stacks = self.w.mul(&stride, &lanes);
        self.w.add(&start, &stacks)
    }

    /// Addresses in this process, given those of groups without the access's offset.
    pub(super) fn hosts(&mut self, access: &Access, bases: &[Value]) -> Vec<Value> {
        let hosts = bases.iter().map(|base| {
            let address = self.w.add_with(base, access.offset);
            self.host(access, &address)
        });
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
}

/// The lane of an element: small ones are zero-extended.
fn lane_of(element: u64) -> Element {
    raw(if element == 8 { Class::W64 } else { Class::W32 })
}
