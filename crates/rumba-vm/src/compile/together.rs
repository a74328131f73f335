//! Operations of the lanes of a warp together: votes and the like, shuffles, and the rendezvous before them.
//!
//! If all lanes that a mask names are active, no lane waits, and both the handler and native code only store the
//! results. Otherwise the interpreter takes over, which knows how lanes wait.

use std::mem::offset_of;

use rumba_checks::Check;

use crate::arith::{Steps, up_to};
use crate::base::ir::{Element, Value};
use crate::base::lanes::{FULL, LANES};
use crate::compile::bits::Bits;
use crate::compile::function::Function;
use crate::compile::kernel::{Kernel, Location};
use crate::compile::registers::Written;
use crate::compile::shape::{Shape, Shapes, Version};
use crate::compile::variables::Variable;
use crate::machine::op::opcode::{Members, Opcode, ShuffleForm, TogetherForm};
use crate::machine::warp::Warp;
use crate::mem::arena::SHARED_STRIDE;

impl Kernel<'_> {
    /// Whether native code computes an operation of lanes together: it has no mask, or the warp is full and the mask is
    /// uniform.
    fn is_for_all(&self, members: Option<Location>, shapes: &Shapes, version: Version) -> bool {
        match members {
            None => true,
            Some(place) => version == Version::Full && self.shape(place, shapes) == Shape::Uniform,
        }
    }

    pub(super) fn result_of_together(
        &self,
        index: usize,
        members: Members,
        form: Option<(TogetherForm, bool)>,
        shapes: &Shapes,
        version: Version,
    ) -> Shape {
        let place = match members {
            Members::Active => None,
            Members::Operand(position) => self.operand(index, position),
            Members::Warp => return Shape::Varying,
        };
        match form {
            Some((_, true)) if self.is_for_all(place, shapes, version) => Shape::Uniform,
            Some(_) | None => Shape::Varying,
        }
    }

    /// The shape of what a shuffle reads: all lanes of the warp may read one lane, or those of each group.
    pub(super) fn result_of_shuffle(
        &self,
        index: usize,
        shuffle: ShuffleForm,
        shapes: &Shapes,
        bits: &Bits,
        version: Version,
    ) -> Shape {
        let members = self.operand(index, 4).map_or(Shape::Uniform, |place| self.shape(place, shapes));
        match self.operand(index, 2).filter(|_| members == Shape::Uniform) {
            Some(Location::Constant(packed)) if version == Version::Full => {
                let (sources, inside) = (shuffle.lanes)(self.op(index).extra, packed as u32);
                let is_one = inside == FULL && sources.iter().all(|source| *source == sources[0]);
                if is_one { Shape::Uniform } else { Shape::Varying }
            }
            Some(packed) if self.shape(packed, shapes).stride() == Some(0) => {
                let own = up_to(LANES as u64 - 1);
                let operands = [own, self.bits_of(packed, bits)];
                let operands = operands.map(|bits| Value::named("", Element::I32, false).with_possible_bits(bits));
                let others = self.group as u64 - 1;
                let steps = Steps { steps: &[1, 0], firsts: &[own & !others, u64::MAX], others };
                let mut forms = [shuffle.source, shuffle.is_inside].into_iter();
                let are_same = forms.all(|form| {
                    let stride = form.stride(self.op(index).extra, &operands, &steps);
                    stride.is_some_and(|stride| stride.step == 0)
                });
                if are_same { Shape::affine(0, self.groups()) } else { Shape::Varying }
            }
            _ => Shape::Varying,
        }
    }
}

impl Function<'_> {
    /// Continues if all lanes of a mask are active; the mask is uniform.
    fn expect_members(&mut self, index: usize, members: Location) {
        if (self.version, members) == (Version::Full, Location::Constant(FULL.into())) {
            return;
        }
        let members = self.base(members, Element::I32, 0);
        let good = if self.version == Version::Full {
            self.w.compare_with("icmp eq", &members, FULL.into())
        } else {
            let live = self.field("live", offset_of!(Warp, live), Element::I32);
            let present = self.w.and(&members, &live);
            let active = self.mask_of_active();
            self.w.compare("icmp eq", &present, &active)
        };
        self.unless(&good, |function| function.exit(index));
    }

    /// Writes the results of an operation: of `dst`, and of `c`.
    fn write_results(&mut self, index: usize, results: [Option<Written>; 2]) {
        let shapes = self.shapes_after(&[index]);
        for (position, written) in [0, 3].into_iter().zip(results) {
            if let (Some(place), Some(written)) = (self.kernel.operand(index, position), written) {
                let shape = self.kernel.shape(place, &shapes);
                self.write_active(place, shape, written);
            }
        }
    }

    /// The result of an operation: uniform if its value is a single number, a vector otherwise.
    fn as_written(&mut self, (index, position): (usize, usize), uniform: bool, value: Value) -> Written {
        if self.kernel.class(index, position).is_some() && uniform {
            Written::Bases(vec![value])
        } else {
            Written::Lanes(value)
        }
    }

    pub(super) fn write_together(&mut self, index: usize, members: Members, form: Option<(TogetherForm, bool)>) {
        let place = match members {
            Members::Active => None,
            Members::Warp if self.version == Version::Full => Some(Location::Constant(FULL.into())),
            Members::Warp => {
                self.exit(index);
                let behind = self.w.name("l");
                self.w.label(&behind);
                return;
            }
            Members::Operand(position) => self.kernel.operand(index, position),
        };
        if let Some(place) = place {
            if self.kernel.shape(place, &self.shapes) != Shape::Uniform {
                self.call(index);
                return;
            }
            self.expect_members(index, place);
        }
        match form {
            Some((write, uniform)) if self.kernel.is_for_all(place, &self.shapes, self.version) => {
                let lanes = self.mask_of_active();
                let source = self.kernel.operand(index, 1);
                let source = source.map(|place| self.lanes(place, self.kernel.element(index, 1)));
                let op = self.kernel.op(index);
                let (dst, c) = write(&mut self.w, &op, &lanes, source.as_ref());
                let dst = self.as_written((index, 0), uniform, dst);
                let c = c.map(|c| self.as_written((index, 3), uniform, c));
                self.write_results(index, [Some(dst), c]);
            }
            Some(_) | None => self.call_through(index),
        }
    }

    /// Writes a shuffle: each lane receives the value of another lane.
    pub(super) fn write_shuffle(&mut self, index: usize, shuffle: ShuffleForm) {
        let members = self.kernel.operand(index, 4);
        if let Some(members) = members {
            if self.kernel.shape(members, &self.shapes) != Shape::Uniform {
                self.call(index);
                return;
            }
            self.expect_members(index, members);
        }
        let result = self.kernel.result_of_shuffle(index, shuffle, &self.shapes, &self.bits, self.version);
        let is_native = self.version == Version::Full || result != Shape::Varying;
        let operands = [1, 2].map(|position| self.kernel.operand(index, position).filter(|_| is_native));
        let [Some(from), Some(packed)] = operands else {
            if self.kernel.program.checks.contains(Check::Sync) && !self.pending.is_empty() {
                // The check tells where the lanes wait that are read.
                self.exit(index);
                let behind = self.w.name("l");
                self.w.label(&behind);
            } else {
                self.call_through(index);
            }
            return;
        };
        let exchange = |function: &mut Self| function.exchange(index, (from, packed), shuffle);
        // The shadow of the value goes along.
        match self.kernel.operand(index + 1, 1).filter(|_| self.kernel.has_extra_operands(index + 1)) {
            None => exchange(self),
            Some(shadow) => {
                let shadow = self.lanes(shadow, Element::I32);
                let good = self.is_defined(&shadow);
                self.inline_if(index, &good, |function| {
                    exchange(function);
                    function.finish_operation(index + 1, Written::Lanes(Value::integer(Element::I32, FULL.into())));
                });
            }
        }
    }

    /// Writes a shuffle of all lanes.
    fn exchange(&mut self, index: usize, (from, packed): (Location, Location), shuffle: ShuffleForm) {
        let shape = self.kernel.result_of_shuffle(index, shuffle, &self.shapes, &self.bits, self.version);
        let value = self.lanes(from, Element::I32);
        let value = self.w.spread(&value);
        let packed = match (packed, shape, self.version) {
            (Location::Constant(packed), _, Version::Full) => packed,
            (_, Shape::Varying, _) => return self.write_shuffle_by_register(index, &value, packed, shuffle),
            _ => return self.write_shuffle_of_groups(index, &value, packed, shuffle),
        };
        let (sources, inside) = (shuffle.lanes)(self.kernel.op(index).extra, packed as u32);
        let moved = if shape == Shape::Uniform {
            let text = format!("extractelement {value}, i32 {}", sources[0]);
            Written::Bases(vec![self.w.value(Element::I32, false, text)])
        } else {
            let numbers: Vec<_> = sources.iter().map(|lane| format!("i32 {lane}")).collect();
            let text =
                format!("shufflevector {value}, {} poison, <{LANES} x i32> <{}>", value.ty(), numbers.join(", "));
            Written::Lanes(self.w.value(Element::I32, true, text))
        };
        let inside = Value::integer(Element::I32, inside.into());
        self.write_results(index, [Some(moved), Some(Written::Lanes(inside))]);
    }

    /// A shuffle whose source lanes are in a register: LLVM has no shuffle by a vector, so the lanes are read from the
    /// stack.
    fn write_shuffle_by_register(&mut self, index: usize, value: &Value, packed: Location, shuffle: ShuffleForm) {
        let packed = self.lanes(packed, Element::I32);
        let packed = self.w.spread(&packed);
        let own = self.lane_numbers(Element::I32);
        let operands = [own, packed];
        let [sources, inside] = self.lane_to_read(index, &operands, shuffle);
        // Lanes outside of their segment read themselves.
        let sources = self.w.select(&inside, &sources, &operands[0]);
        let stack = self.variable(Variable::lanes("%shuffled", Element::I32));
        self.set(&stack, value);
        let moved = self.gather_elements(&stack, &sources);
        let inside = self.mask(&inside);
        self.write_results(index, [Some(Written::Lanes(moved)), Some(Written::Lanes(inside))]);
    }

    /// The lane that is read, and whether it is in the segment, given the number of the lane that reads and the operand.
    fn lane_to_read(&mut self, index: usize, operands: &[Value; 2], shuffle: ShuffleForm) -> [Value; 2] {
        let extra = self.kernel.op(index).extra;
        [shuffle.source, shuffle.is_inside].map(|form| form.write(&mut self.w, extra, operands))
    }

    /// A shuffle in which all lanes of a group read the same lane. The interpreter takes over where that lane is in another segment, or takes
    /// no part: then lanes read themselves.
    fn write_shuffle_of_groups(&mut self, index: usize, value: &Value, packed: Location, shuffle: ShuffleForm) {
        let stack = self.variable(Variable::lanes("%shuffled", Element::I32));
        self.set(&stack, value);
        let active = self.mask_of_active();
        let mut good = Value::integer(Element::I1, 1);
        let groups = 0..self.kernel.groups();
        let sources: Vec<Value> = groups
            .map(|group| {
                let packed = self.base(packed, Element::I32, group);
                let own = Value::integer(Element::I32, (group * self.kernel.group) as u64);
                let [source, is_inside] = self.lane_to_read(index, &[own, packed], shuffle);
                let mut is_good = is_inside;
                if self.version == Version::Masked {
                    let present = self.w.binary("lshr", &active, &source);
                    let is_present = self.w.convert("trunc", &present, Element::I1);
                    let is_taken = self.w.and(&is_good, &is_present);
                    let is_fine = Value::integer(Element::I1, 1);
                    is_good = self.if_active((group, self.kernel.groups()), &is_taken, &is_fine);
                }
                good = self.w.and(&good, &is_good);
                source
            })
            .collect();
        self.unless(&good, |function| function.exit(index));
        let bases = sources.iter().map(|source| {
            let place = self.w.name("%t");
            self.w.line(format_args!("{place} = getelementptr i32, ptr {}, {source}", stack.pointer));
            self.w.value(Element::I32, false, format_args!("load i32, ptr {place}"))
        });
        let bases = bases.collect();
        let inside = Value::integer(Element::I32, FULL.into());
        self.write_results(index, [Some(Written::Bases(bases)), Some(Written::Lanes(inside))]);
    }

    /// Converts an address within the block's shared memory or the thread's stack to a generic address, or back.
    pub(super) fn write_window(&mut self, index: usize, local: bool, back: bool) {
        let Some(from) = self.kernel.operand(index, 1) else {
            self.call(index);
            return;
        };
        let convert = |function: &mut Self, address: &Value, start: &Value| {
            if back { function.w.sub(address, start) } else { function.w.add(address, start) }
        };
        if local {
            let stacks = self.stacks();
            let address = self.lanes(from, Element::I64);
            let converted = convert(self, &address, &stacks);
            self.finish_operation(index, Written::Lanes(converted));
            return;
        }
        let base = self.field("shared_base", offset_of!(Warp, shared_base), Element::I64);
        let size = SHARED_STRIDE as u64;
        let shape = self.kernel.shape(from, &self.shapes);
        // Null is in no block's shared memory.
        let is_null = back && self.kernel.bits_of(from, &self.bits) == 0;
        let (written, good) = match shape.way(self.kernel.group) {
            None => {
                let address = self.lanes(from, Element::I64);
                let converted = convert(self, &address, &base);
                let offset = if back { &converted } else { &address };
                let outside = self.w.compare_with("icmp uge", offset, size);
                let outside = self.mask(&outside);
                let active = self.mask_of_active();
                let outside = self.w.and(&outside, &active);
                let good = self.w.compare_with("icmp eq", &outside, 0);
                let written = match shape {
                    Shape::Varying => Written::Lanes(converted),
                    Shape::Uniform | Shape::Affine(_) => {
                        let bases = (0..self.kernel.groups()).map(|group| {
                            let address = self.base(from, Element::I64, group);
                            convert(self, &address, &base)
                        });
                        Written::Bases(bases.collect())
                    }
                };
                (written, good)
            }
            Some(way) => {
                let groups = if shape == Shape::Uniform { 1 } else { self.kernel.groups() };
                let mut all: Option<Value> = None;
                let mut bases = Vec::with_capacity(groups);
                for group in 0..groups {
                    let address = self.base(from, Element::I64, group);
                    let converted = convert(self, &address, &base);
                    let first = if back { converted.clone() } else { address };
                    // Within the group, all addresses lie between those of its first and last lane.
                    let last = self.w.add_with(&first, way.cast_unsigned());
                    for end in [first, last] {
                        let inside = self.w.compare_with("icmp ult", &end, size);
                        all = Some(match all {
                            None => inside,
                            Some(all) => self.w.and(&all, &inside),
                        });
                    }
                    bases.push(converted);
                }
                let good = all.unwrap_or_else(|| Value::integer(Element::I1, 1));
                (Written::Bases(bases), good)
            }
        };
        if is_null {
            self.finish_operation(index, written);
            return;
        }
        // The handler converts addresses outside of the window. The handler needs a block that is started, as blocks with barriers are, and
        // its results need not be affine.
        let descriptors = &self.kernel.program.descriptors;
        let is_started = descriptors.iter().any(|descriptor| matches!(descriptor.opcode, Opcode::Barrier));
        if !is_started || matches!(self.kernel.shape(from, &self.shapes), Shape::Affine(_)) {
            self.unless(&good, |function| function.exit(index));
            self.finish_operation(index, written);
            return;
        }
        self.inline_if(index, &good, |function| function.finish_operation(index, written));
    }
}
