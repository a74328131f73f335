//! The history of a warp's products: the registers of products under way, and the positions of fences and waits
//! (manual, section 9.7.16.4, "Async proxy", and 9.7.16.7, "`wgmma.fence`").

use rustc_hash::FxHashMap;

/// The registers of a product, by function and virtual slot.
#[derive(Debug, Clone)]
pub(crate) struct ProductRegisters {
    /// The instruction.
    pub(crate) source: u32,
    /// Rows, columns and depth, in a number; [`Self::LOAD`] of a load from tensor memory.
    pub(crate) shape: u64,
    pub(crate) accumulator: Vec<u64>,
    /// The registers of the first factor, if it is in registers.
    pub(crate) factor: Vec<u64>,
}

impl ProductRegisters {
    /// The shape of no product.
    pub(crate) const LOAD: u64 = 0;
}

/// A product that uses a register.
#[derive(Debug, Clone, Copy, Default)]
struct Use {
    source: u32,
    /// The number of its group, from 1.
    group: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Register {
    /// The last product that adds to the register, and the last product that reads it as a factor.
    sum: Use,
    factor: Use,
    /// The shape of the last product, and the number of fences then.
    shape: u64,
    fences: u32,
    /// The last ordinary access since then, and the number of fences when the warp began the last product before that.
    touched: Option<(u32, u32)>,
}

/// A mistake of a product that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// No fence is between an access of one of its registers, at this instruction, and the product. Without an instruction: none
    /// is before the warp's first product.
    Unfenced(Option<u32>),
    /// Its first factor is the sum of a product under way, at this instruction.
    Pending(u32),
}

/// The history of a warp's products.
#[derive(Debug, Default)]
pub(crate) struct Products {
    fences: u32,
    /// The number of fences when the last product began.
    fences_before: u32,
    /// Groups that were committed, and that are over.
    committed: u32,
    over: u32,
    last: Use,
    registers: FxHashMap<u64, Register>,
    /// Whether they are loads from tensor memory instead.
    pub(crate) are_loads: bool,
}

impl Products {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        if self.fences != 0 || !self.registers.is_empty() {
            *self = Self::default();
        }
    }

    pub(crate) fn fence(&mut self) {
        self.fences += 1;
    }

    pub(crate) fn commit(&mut self) {
        self.committed += 1;
    }

    /// All groups but the last `left` are over.
    pub(crate) fn wait(&mut self, left: u32) {
        self.over = self.over.max(self.committed.saturating_sub(left));
    }

    /// An ordinary access to a register: the product under way that uses it.
    pub(crate) fn access(&mut self, register: u64, writes: bool, source: u32) -> Option<u32> {
        let known = self.registers.entry(register).or_default();
        if known.sum.group > self.over {
            return Some(known.sum.source);
        }
        if writes && known.factor.group > self.over {
            return Some(known.factor.source);
        }
        known.touched = Some((source, self.fences_before));
        None
    }

    /// A product begins.
    pub(crate) fn begin(&mut self, product: &ProductRegisters) -> Option<Mistake> {
        let mut mistake = (self.fences == 0).then_some(Mistake::Unfenced(None));
        let group = self.committed + 1;
        let own = Use { source: product.source, group };
        let accumulator = product.accumulator.iter().map(|register| (register, false));
        let factor = product.factor.iter().map(|register| (register, true));
        for (register, is_factor) in accumulator.chain(factor) {
            let known = self.registers.entry(*register).or_default();
            // A compiler may move ordinary writes over the fence behind them: any fence in between suffices.
            if let Some((source, fences)) = known.touched.take()
                && self.fences <= fences
            {
                mistake.get_or_insert(Mistake::Unfenced(Some(source)));
            }
            if is_factor {
                if known.sum.group > self.over {
                    mistake.get_or_insert(Mistake::Pending(known.sum.source));
                }
                known.factor = own;
                continue;
            }
            // Products of one shape follow each other in order.
            if known.sum.group != 0 && known.shape != product.shape && self.fences <= known.fences {
                mistake.get_or_insert(Mistake::Unfenced(Some(known.sum.source)));
            }
            (known.sum, known.shape, known.fences) = (own, product.shape, self.fences);
        }
        self.fences_before = self.fences;
        self.last = own;
        mistake
    }

    /// A load from tensor memory begins, which is a group of its own.
    pub(crate) fn begin_load(&mut self, load: &ProductRegisters) {
        self.are_loads = true;
        let sum = Use { source: load.source, group: self.committed + 1 };
        for register in &load.accumulator {
            self.registers.entry(*register).or_default().sum = sum;
        }
        self.last = sum;
    }

    /// All loads from tensor memory are over.
    pub(crate) fn wait_loads(&mut self) {
        self.commit();
        self.wait(0);
    }

    /// The last product, if it is under way.
    pub(crate) fn under_way(&self) -> Option<u32> {
        (self.last.group > self.over).then_some(self.last.source)
    }
}
