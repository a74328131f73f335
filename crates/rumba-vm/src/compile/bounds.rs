//! The comparison of accesses with bounds: of the memory that an operation has accessed before, of the block's shared
//! memory, and of the threads' stacks.

use std::mem::offset_of;

use crate::base::ir::{Element, Value};
use crate::base::lanes::{SHARED_START, STACK_START};
use crate::compile::function::Function;
use crate::compile::memory::{Access, Addresses, Memory, Pattern};
use crate::compile::shape::Version;
use crate::machine::block::BlockState;
use crate::machine::bounds::{self, Bounds};
use crate::machine::warp::Warp;

/// The bytes that accesses touch, counted from an address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) low: i64,
    pub(super) end: i64,
    /// The alignment: the address plus the first number must be a multiple of the second, a power of two.
    pub(super) aligned: i64,
    pub(super) align: u64,
}

impl Extent {
    /// The extent of `bytes` bytes, a power of two, at an offset from an address, which need be aligned.
    pub(super) fn aligned(offset: u64, bytes: u64) -> Self {
        Self { aligned: offset.cast_signed(), align: bytes, ..Self::unaligned(offset, bytes) }
    }

    /// The same extent, whatever its alignment.
    pub(super) fn unaligned(offset: u64, bytes: u64) -> Self {
        let low = offset.cast_signed();
        Self { low, end: low.wrapping_add(bytes.cast_signed()), aligned: 0, align: 1 }
    }

    /// The length.
    fn bytes(self) -> u64 {
        self.end.wrapping_sub(self.low).cast_unsigned()
    }
}

impl Function<'_> {
    /// Whether an access needs no further check.
    pub(super) fn is_known(&mut self, access: &Access, addresses: &Addresses) -> Value {
        let extent = Extent::aligned(access.offset, access.bytes);
        match access.memory {
            Memory::Flat => self.is_in_cache(access, addresses, extent, false),
            Memory::Shared => self.is_in_shared(addresses, extent),
            Memory::Local => self.is_in_stack(addresses, extent),
        }
    }

    /// The end of the shared memory that needs no further check. A store of an undefined value may change it.
    fn shared_known(&mut self) -> Value {
        let block = self.field("block", offset_of!(Warp, block), Element::I64);
        let load = |function: &mut Self| {
            let place = function.pointer(&block);
            function.load_field(&place, offset_of!(BlockState, shared_known))
        };
        if self.kernel.program.undefines {
            return load(self);
        }
        let name = "%field.shared_known";
        if self.known.insert(name.to_owned()) {
            self.in_prologue(|function| {
                let value = load(function);
                function.w.line(format_args!("{name} = add {value}, 0"));
            });
        }
        Value::named(name.to_owned(), Element::I64, false)
    }

    /// Whether the active lanes access shared memory of the block.
    ///
    /// Where the highest possible address is in static shared memory, the comparison is with the end of that, a constant:
    /// LLVM finds that the bits of an index such as a byte's are in bounds, and omits the comparison.
    pub(super) fn is_in_shared(&mut self, addresses: &Addresses, extent: Extent) -> Value {
        let end = self.shared_known();
        let static_end = self.kernel.program.shared_end;
        let highest = addresses.highest.checked_add_signed(extent.end);
        if highest.is_none_or(|highest| highest > static_end) {
            return self.is_in_window(addresses, extent, SHARED_START, &end);
        }
        let inside = self.is_in_window(addresses, extent, SHARED_START, &Value::integer(Element::I64, static_end));
        let is_known = self.w.compare_with("icmp uge", &end, static_end);
        self.w.and(&inside, &is_known)
    }

    /// Whether the active lanes access a part of a window, from `start` to `end`.
    pub(super) fn is_in_window(&mut self, addresses: &Addresses, extent: Extent, start: u64, end: &Value) -> Value {
        let size = self.w.sub_with(end, start);
        let start = Value::integer(Element::I64, start);
        // Windows end far below these numbers.
        let is_small =
            addresses.highest < 1 << 31 && extent.low.unsigned_abs() < 1 << 30 && extent.end.unsigned_abs() < 1 << 30;
        let element = if is_small { Element::I32 } else { Element::I64 };
        self.is_inside_of(addresses, extent, (&start, &size), element)
    }

    /// Whether the active lanes access their stacks.
    fn is_in_stack(&mut self, addresses: &Addresses, extent: Extent) -> Value {
        let end = self.field("stack_known", offset_of!(Warp, stack_known), Element::I64);
        self.is_in_window(addresses, extent, STACK_START, &end)
    }

    /// Whether the active lanes access memory that the operation has accessed before.
    pub(super) fn is_in_cache(
        &mut self,
        access: &Access,
        addresses: &Addresses,
        extent: Extent,
        is_monitored: bool,
    ) -> Value {
        let number = bounds::index_of(self.kernel.op(access.index).source, access.kind, is_monitored);
        let cache = self.offset("%caches", number * size_of::<Bounds>());
        let start = self.load_field(&cache, offset_of!(Bounds, start));
        let size = self.load_field(&cache, offset_of!(Bounds, bytes));
        self.is_inside(addresses, extent, (&start, &size))
    }

    /// Whether what the active lanes access around their addresses is aligned and in bounds.
    pub(super) fn is_inside(&mut self, addresses: &Addresses, extent: Extent, bounds: (&Value, &Value)) -> Value {
        self.is_inside_of(addresses, extent, bounds, Element::I64)
    }

    /// As [`Self::is_inside`]. An address for each lane is compared as such an integer.
    fn is_inside_of(
        &mut self,
        addresses: &Addresses,
        extent: Extent,
        (start, size): (&Value, &Value),
        element: Element,
    ) -> Value {
        let Pattern::Strided { bases, stride } = &addresses.pattern else {
            return self.are_lanes_inside(addresses, extent, (start, size), element);
        };
        let way = addresses.way().filter(|way| way % extent.align.cast_signed() == 0);
        match (way, &bases[..]) {
            (Some(way), _) if way == 0 || self.version == Version::Full => {
                self.are_groups_inside(bases, extent, way, (start, size))
            }
            (Some(_), [base]) => {
                // Of the first and of the last active lane.
                let base = self.w.add_with(base, extent.low.cast_unsigned());
                let active = self.mask_of_active();
                let ends = [self.w.first_lane(&active), self.w.last_lane(&active)].map(|lane| {
                    let lane = self.w.convert("zext", &lane, Element::I64);
                    let way = self.w.mul_with(&lane, stride.cast_unsigned());
                    self.w.add(&base, &way)
                });
                let good = self.are_all_inside(&ends, extent.bytes(), (start, size));
                self.and_aligned(good, bases, extent)
            }
            _ => self.are_lanes_inside(addresses, extent, (start, size), element),
        }
    }

    /// Whether all that the lanes of groups with active lanes access is aligned and in bounds, given the first address of each group and the
    /// distance from there to the last.
    fn are_groups_inside(
        &mut self,
        bases: &[Value],
        extent: Extent,
        way: i64,
        (start, size): (&Value, &Value),
    ) -> Value {
        let low = extent.low.wrapping_add(way.min(0)).cast_unsigned();
        let each = bases.iter().map(|base| self.w.add_with(base, low)).collect();
        let each = self.of_active_groups(each, |_| start.clone());
        let good = self.are_all_inside(&each, extent.bytes() + way.unsigned_abs(), (start, size));
        self.and_aligned(good, bases, extent)
    }

    /// Whether so many bytes at each of some addresses are in bounds.
    fn are_all_inside(&mut self, addresses: &[Value], bytes: u64, (start, size): (&Value, &Value)) -> Value {
        let mut good = self.w.compare_with("icmp uge", size, bytes);
        let room = self.w.sub_with(size, bytes);
        for address in addresses {
            let distance = self.w.sub(address, start);
            let inside = self.w.compare("icmp ule", &distance, &room);
            good = self.w.and(&good, &inside);
        }
        good
    }

    /// Whether a value is true and the first addresses of groups with active lanes are aligned; their strides are, too.
    fn and_aligned(&mut self, good: Value, bases: &[Value], extent: Extent) -> Value {
        if extent.align == 1 {
            return good;
        }
        let each = bases.iter().map(|base| self.w.add_with(base, extent.aligned.cast_unsigned())).collect();
        let each = self.of_active_groups(each, |_| Value::integer(Element::I64, 0));
        let odd = each.iter().fold(Value::integer(Element::I64, 0), |odd, address| self.w.or(address, &odd));
        let odd = self.w.and_with(&odd, extent.align - 1);
        let aligned = self.w.compare_with("icmp eq", &odd, 0);
        self.w.and(&good, &aligned)
    }

    /// Whether what the active lanes access at an address for each lane is aligned and in bounds.
    fn are_lanes_inside(
        &mut self,
        addresses: &Addresses,
        extent: Extent,
        bounds: (&Value, &Value),
        element: Element,
    ) -> Value {
        let lanes = self.lanes_of(addresses);
        let lanes = self.w.bits_as(&lanes, element);
        let address = self.w.add_with(&lanes, extent.low.cast_unsigned());
        let aligned = self.w.add_with(&lanes, extent.aligned.cast_unsigned());
        self.are_inside((&address, extent.bytes()), (&aligned, extent.align), bounds)
    }

    /// Whether accesses at an address for each lane are aligned and in bounds.
    fn are_inside(
        &mut self,
        (address, bytes): (&Value, u64),
        (aligned, align): (&Value, u64),
        (start, size): (&Value, &Value),
    ) -> Value {
        let good = self.w.compare_with("icmp uge", size, bytes);
        let room = self.w.sub_with(size, bytes);
        let element = address.element();
        let (room, start) = (self.w.bits_as(&room, element), self.w.bits_as(start, element));
        let distance = self.w.sub(address, &start);
        let outside = self.w.compare("icmp ugt", &distance, &room);
        let mut wrong = self.mask(&outside);
        if align > 1 {
            let low = self.w.and_with(aligned, align - 1);
            let odd = self.w.compare_with("icmp ne", &low, 0);
            let odd = self.mask(&odd);
            wrong = self.w.or(&wrong, &odd);
        }
        let active = self.mask_of_active();
        let wrong = self.w.and(&wrong, &active);
        let inside = self.w.compare_with("icmp eq", &wrong, 0);
        self.w.and(&good, &inside)
    }

    pub(super) fn load_field(&mut self, place: &str, offset: usize) -> Value {
        let place = self.offset(place, offset);
        self.w.value(Element::I64, false, format_args!("load i64, ptr {place}"))
    }
}
