//! How native code leaves registers in the register file where the interpreter goes on: of those that are uniform or affine the
//! first lanes only, and a number that says which these are. A helper writes the other lanes.
//!
//! The ways out of a kernel are many and seldom taken. What a compiler with an interpreter beside it keeps for each is a
//! description of where values are, instead of code: see Hölzle, Chambers and Ungar, "Debugging optimized code with dynamic
//! deoptimization" (PLDI 1992), and LLVM's stack maps.

use crate::base::lanes::LANES;
use crate::compile::function::Function;
use crate::compile::kernel::Register;
use crate::compile::kernel::raw;
use crate::compile::shape::Shape;
use crate::machine::program::{Layout, Spread};

impl Function<'_> {
    /// Writes the other lanes of registers for which the register file holds the first lanes only.
    pub(super) fn materialise(&mut self, registers: impl Iterator<Item = usize>) {
        let spread = registers.filter_map(|number| {
            let (Register::Slot(slot, class), Some(stride)) =
                (self.kernel.registers[number], self.shapes[number].stride())
            else {
                return None;
            };
            let group = if self.shapes[number] == Shape::Uniform { LANES } else { self.kernel.group };
            Some(Spread { slot, is_wide: raw(class).bits() == 64, group: group as u8, stride })
        });
        let layout: Layout = spread.collect();
        if layout.is_empty() {
            return;
        }
        let next = self.layouts.len();
        let number = *self.layouts.entry(layout).or_insert(next);
        self.w.line(format_args!("call void %materialise(ptr %warp, i32 {number})"));
    }
}
