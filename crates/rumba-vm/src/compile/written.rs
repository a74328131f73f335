//! Reads under the check for undefined values: native code looks itself whether the bytes that lanes read were written.
//!
//! [`crate::mem::unwritten`] has the map, of a bit for each byte. Where a bit is set, and outside of the map's window, the handler
//! looks.

use std::mem::offset_of;

use crate::base::ir::{Element, Value};
use crate::base::lanes::{LANES, SHARED_START};
use crate::compile::bounds::Extent;
use crate::compile::function::Function;
use crate::compile::memory::{Access, Addresses, Memory, Pattern};
use crate::machine::warp::Warp;
use crate::mem::unwritten::{MARGIN, UnwrittenBits};

/// Bytes whose bits are loaded at once, from wherever in a byte of the map these begin.
const CHUNK: u64 = 56;

/// A look at the map.
struct Map {
    /// Where it lies, the address of its first byte, and how far addresses may be from there.
    bits: Value,
    start: Value,
    reach: Value,
    /// What was found so far: set bits, and whether all addresses are in reach.
    found: Value,
    good: Value,
}

impl Function<'_> {
    /// Whether all bytes were written that the active lanes read.
    pub(super) fn are_written(&mut self, access: &Access, addresses: &Addresses) -> Value {
        let mut field = |name: &str, offset| self.field(name, offset_of!(Warp, unwritten) + offset, Element::I64);
        let mut map = Map {
            bits: field("unwritten.bits", offset_of!(UnwrittenBits, bits)),
            start: field("unwritten.start", offset_of!(UnwrittenBits, start)),
            reach: field("unwritten.reach", offset_of!(UnwrittenBits, reach)),
            found: Value::integer(Element::I64, 0),
            good: Value::integer(Element::I1, 1),
        };
        if access.memory == Memory::Shared {
            // An address beyond is that of another block of the cluster.
            let end = self.field("shared_end", offset_of!(Warp, shared_end), Element::I64);
            let extent = Extent::unaligned(access.offset, access.bytes);
            map.good = self.is_in_window(addresses, extent, SHARED_START, &end);
        }
        let strided = match &addresses.pattern {
            Pattern::Strided { bases, stride } if access.memory != Memory::Local => {
                let between = stride.cast_unsigned().saturating_mul((LANES / bases.len()) as u64 - 1);
                Some((bases, between.saturating_add(access.bytes))).filter(|(_, span)| *span <= MARGIN)
            }
            Pattern::Strided { .. } | Pattern::Any(_) => None,
        };
        let Some((bases, span)) = strided else {
            let lanes = self.addresses_of_lanes(access, addresses);
            return self.are_written_by_lane(access, map, &lanes);
        };
        for host in self.hosts(access, bases) {
            self.look_at(&mut map, &host, span);
        }
        let is_written = self.w.compare_with("icmp eq", &map.found, 0);
        self.w.and(&map.good, &is_written)
    }

    fn look_at(&mut self, map: &mut Map, host: &Value, span: u64) {
        let distance = self.w.sub(host, &map.start);
        let is_in_reach = self.w.compare("icmp ult", &distance, &map.reach);
        map.good = self.w.and(&map.good, &is_in_reach);
        let distance = self.w.select(&is_in_reach, &distance, &Value::integer(Element::I64, 0));
        let byte = self.w.binary_with("lshr", &distance, 3);
        let byte = self.w.add(&map.bits, &byte);
        let place = self.pointer(&byte);
        let shift = self.w.and_with(&distance, 7);
        let mut first = 0;
        while first < span {
            let bytes = CHUNK.min(span - first);
            let at = self.offset(&place, (first / 8) as usize);
            // Other workers may change the map.
            let bits = self.w.value(Element::I64, false, format_args!("load volatile i64, ptr {at}, align 1"));
            let bits = self.w.binary("lshr", &bits, &shift);
            let bits = self.w.and_with(&bits, (1 << bytes) - 1);
            map.found = self.w.or(&map.found, &bits);
            first += CHUNK;
        }
    }

    /// The same for any addresses. Accesses are aligned, or fail: the bits of a lane lie in a byte, or in two from an even one on.
    fn are_written_by_lane(&mut self, access: &Access, map: Map, lanes: &Value) -> Value {
        let hosts = self.host(access, lanes);
        let distances = self.w.sub(&hosts, &map.start);
        let are_in_reach = self.w.compare("icmp ult", &distances, &map.reach);
        let distances = self.w.select(&are_in_reach, &distances, &Value::integer(Element::I64, 0));
        let bytes = self.w.binary_with("lshr", &distances, 3);
        let bytes = self.w.add(&bytes, &map.bits);
        let element = if access.bytes <= 8 { Element::I8 } else { Element::I16 };
        let bits = self.gather_at(&bytes, element);
        let bits = self.w.extended(&bits, Element::I64);
        let shift = self.w.and_with(&distances, 7);
        let bits = self.w.binary("lshr", &bits, &shift);
        let bits = self.w.and_with(&bits, (1 << access.bytes) - 1);
        let are_written = self.w.compare_with("icmp eq", &bits, 0);
        let good = self.w.and(&are_written, &are_in_reach);
        let good = self.mask(&good);
        let active = self.mask_of_active();
        let good = self.w.and(&good, &active);
        let are_all = self.w.compare("icmp eq", &good, &active);
        self.w.and(&map.good, &are_all)
    }
}
