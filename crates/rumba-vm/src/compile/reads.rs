//! Reads under the check for races: native code takes in a read that goes on with the pattern of its instruction, without a report.
//!
//! [`crate::check::reads`] has the patterns. A read that is expected lies in the memory of the pattern's region, so that it needs no
//! comparison with bounds.

use std::mem::{offset_of, size_of};

use crate::base::ir::{Element, Value};
use crate::base::lanes::GROUPS;
use crate::base::report::AccessKind;
use crate::check::reads::{Growth, MOST_STRIDE, what_of};
use crate::compile::function::Function;
use crate::compile::memory::{Access, Addresses, Memory, Pattern};
use crate::compile::shape::Version;
use crate::machine::warp::Warp;

impl Function<'_> {
    /// The host addresses at which the groups of lanes begin an access, and the stride of lanes, if there is one of less than
    /// [`MOST_STRIDE`]. A group here is as long as the pattern of the address allows. Groups without active lanes have any addresses.
    pub(super) fn strided_hosts(&mut self, access: &Access, addresses: &Addresses) -> Option<(Vec<Value>, u64)> {
        if access.memory == Memory::Local {
            return None;
        }
        let Pattern::Strided { bases, stride } = &addresses.pattern else {
            return None;
        };
        let stride = u64::try_from(*stride).ok()?;
        (bases.len() <= GROUPS && stride < MOST_STRIDE).then(|| (self.hosts(access, bases), stride))
    }

    /// Takes in a read by all lanes that is expected, and goes to `on` then.
    pub(super) fn take_in(&mut self, access: &Access, addresses: &Addresses, on: &str) {
        if access.kind != AccessKind::Read || self.version != Version::Full {
            return;
        }
        let Some((bases, stride)) = self.strided_hosts(access, addresses) else {
            return;
        };
        let (look, take, none) = (self.w.name("l"), self.w.name("l"), self.w.name("l"));
        let key = self.load_field("%warp", offset_of!(Warp, read_key));
        let is_known = self.w.compare_with("icmp ne", &key, 0);
        self.w.line(format_args!("br {is_known}, label %{look}, label %{none}"));
        self.w.label(&look);
        let growths = self.field("growths", offset_of!(Warp, growths), Element::I64);
        let instruction = self.kernel.op(access.index).source as usize;
        let growth = self.w.add_with(&growths, (instruction * size_of::<Growth>()) as u64);
        let growth = self.pointer(&growth);
        let index = self.field("index", offset_of!(Warp, index), Element::I32);
        let index = self.w.extended(&index, Element::I64);
        let expected = [
            (offset_of!(Growth, key), key),
            (offset_of!(Growth, warp), index.clone()),
            (offset_of!(Growth, what), Value::integer(Element::I64, what_of(access.bytes, stride))),
        ];
        let room = self.load_field(&growth, offset_of!(Growth, room));
        let mut is_next = self.w.compare_with("icmp ne", &room, 0);
        for (offset, value) in &expected {
            let known = self.load_field(&growth, *offset);
            let is_same = self.w.compare("icmp eq", &known, value);
            is_next = self.w.and(&is_next, &is_same);
        }
        let place = |group: usize| offset_of!(Growth, next) + group * (GROUPS / bases.len()) * size_of::<u64>();
        for (group, base) in bases.iter().enumerate() {
            let next = self.load_field(&growth, place(group));
            let is_same = self.w.compare("icmp eq", &next, base);
            is_next = self.w.and(&is_next, &is_same);
        }
        self.w.line(format_args!("br {is_next}, label %{take}, label %{none}"));
        self.w.label(&take);
        let room = self.w.sub_with(&room, 1);
        self.store_field(&growth, offset_of!(Growth, room), &room);
        let count = self.load_field(&growth, offset_of!(Growth, count));
        let count = self.w.add_with(&count, 1);
        self.store_field(&growth, offset_of!(Growth, count), &count);
        let warp_step = self.load_field(&growth, offset_of!(Growth, warp_step));
        let warp = self.w.add(&index, &warp_step);
        self.store_field(&growth, offset_of!(Growth, warp), &warp);
        let step = self.load_field(&growth, offset_of!(Growth, step));
        for (group, base) in bases.iter().enumerate() {
            let next = self.w.add(base, &step);
            self.store_field(&growth, place(group), &next);
        }
        self.w.line(format_args!("br label %{on}"));
        self.w.label(&none);
    }

    fn store_field(&mut self, place: &str, offset: usize, value: &Value) {
        let place = self.offset(place, offset);
        self.w.line(format_args!("store {value}, ptr {place}"));
    }
}
