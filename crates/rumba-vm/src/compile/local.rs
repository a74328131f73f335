//! Loads from and stores to the stacks of threads, which lie as far apart for each lane.

use std::mem::offset_of;

use crate::base::flow::Set;
use crate::base::ir::{Element, Value};
use crate::base::lanes::{LANES, STACK_START};
use crate::compile::function::Function;
use crate::compile::memory::{integer, lane_of};
use crate::compile::registers::Written;
use crate::compile::shape::Shape;
use crate::machine::warp::Warp;

impl Function<'_> {
    /// Where the stacks of the lanes lie.
    pub(super) fn stacks(&mut self) -> Value {
        let start = self.field("stack_base", offset_of!(Warp, stack_base), Element::I64);
        let stride = self.field("stack_stride", offset_of!(Warp, stack_stride), Element::I64);
        let lanes: Vec<_> = (0..LANES).map(|lane| format!("i64 {lane}")).collect();
        let lanes = Value::named(format!("<{}>", lanes.join(", ")), Element::I64, true);
        let stacks = self.w.mul(&stride, &lanes);
        self.w.add(&start, &stacks)
    }

    pub(super) fn write_local(&mut self, index: usize, bytes: u8, count: u8, stores: bool) {
        let (element, whole) = (u64::from(bytes), u64::from(bytes) * u64::from(count));
        let places = self.elements(index, count);
        let Some(address) = self.kernel.operand(index, 1).filter(|_| element <= 8) else {
            self.call(index);
            return;
        };
        let is_one = self.kernel.shape(address, &self.shapes) == Shape::Uniform;
        let address = if is_one {
            self.base(address, Element::I64, 0)
        } else {
            self.lanes(address, Element::I64)
        };
        let offset = self.kernel.op(index).imm;
        let address = self.w.add_with(&address, offset);
        // As in [`BoundsCheck`](crate::machine::bounds::BoundsCheck).
        let end = self.field("stack_known", offset_of!(Warp, stack_known), Element::I64);
        let size = self.w.sub_with(&end, STACK_START);
        let fits = self.w.compare_with("icmp uge", &size, whole);
        let room = self.w.sub_with(&size, whole);
        let distance = self.w.sub_with(&address, STACK_START);
        let outside = self.w.compare("icmp ugt", &distance, &room);
        let low = self.w.and_with(&address, whole - 1);
        let odd = self.w.compare_with("icmp ne", &low, 0);
        let wrong = self.w.or(&outside, &odd);
        let wrong = self.mask(&wrong);
        let active = self.mask_of_active();
        let wrong = self.w.and(&wrong, &active);
        let good = self.w.compare_with("icmp eq", &wrong, 0);
        let good = self.w.and(&good, &fits);
        let (fast, slow, on) = (self.w.name("l"), self.w.name("l"), self.w.name("l"));
        self.w
            .line(format_args!("br {good}, label %{fast}, label %{slow}, !prof !0"));
        self.w.label(&slow);
        let before = self.shapes.clone();
        self.call_through(index);
        let after = std::mem::replace(&mut self.shapes, before);
        self.w.line(format_args!("br label %{on}"));
        self.w.label(&fast);
        let stacks = self.stacks();
        let hosts = self.w.add(&stacks, &address);
        let mut shapes = self.shapes.clone();
        let none = Set::none(self.kernel.blocks.len());
        self.kernel.transfer(index, &mut shapes, self.copy, &none);
        for (part, place) in places.into_iter().enumerate() {
            let offset = part as u64 * element;
            if stores {
                let value = self.lanes(place, lane_of(element));
                let value = self.w.spread(&value);
                let value = self.w.bits_as(&value, integer(element));
                self.scatter(&hosts, offset, element, &value);
            } else {
                let value = self.gather(&hosts, offset, element);
                let value = self.w.extended(&value, lane_of(element));
                let shape = self.kernel.shape(place, &shapes);
                self.write_active(place, shape, Written::Lanes(value));
            }
        }
        self.shapes = after;
        self.w.line(format_args!("br label %{on}"));
        self.w.label(&on);
    }
}
