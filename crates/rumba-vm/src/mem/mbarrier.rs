//! The state of an `mbarrier` object: what its 64 bits mean here, and what arrivals and transactions do to them.
//!
//! The layout is this machine's own: programs only pass the bits on. Where objects lie, and which places hold one, is
//! told in [`crate::run::block`]; the instructions are in `isa/mbarrier.rs`.

/// Bits of a count of arrivals.
const COUNT_BITS: u32 = 20;
/// The largest count, of arrivals as of bytes.
pub(crate) const MAX_COUNT: u32 = (1 << COUNT_BITS) - 1;
const TX_BITS: u32 = 21;

/// An object, or the state that an arrival gives back: pending arrivals, expected arrivals, pending bytes, phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Object {
    /// Arrivals that the phase still waits for.
    pub(crate) pending: u32,
    /// Arrivals that each phase waits for.
    expected: u32,
    /// Bytes that the phase still waits for.
    bytes: i32,
    /// How many phases have ended, modulo 2.
    phase: bool,
}

/// An arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) count: u32,
    /// Whether those that arrive take no part in later phases.
    pub(crate) drops: bool,
    /// Whether the phase must not end with it.
    pub(crate) no_complete: bool,
    /// Bytes that the phase is to wait for in addition.
    pub(crate) expect: u32,
}

impl Object {
    /// A fresh object for phases of `count` arrivals.
    pub(crate) fn new(count: u32) -> Result<Self, String> {
        if count == 0 || count > MAX_COUNT {
            return Err(format!("an mbarrier for {count} arrivals: 1 to {MAX_COUNT} are possible"));
        }
        Ok(Self { pending: count, expected: count, bytes: 0, phase: false })
    }

    /// The object that lies in memory as `bits`.
    pub(crate) fn from_bits(bits: u64) -> Self {
        let count = |shift: u32| (bits >> shift) as u32 & MAX_COUNT;
        let unused = 64 - TX_BITS;
        Self {
            pending: count(0),
            expected: count(COUNT_BITS),
            bytes: ((bits >> (2 * COUNT_BITS) << unused) as i64 >> unused) as i32,
            phase: bits >> 63 != 0,
        }
    }

    /// How it lies in memory.
    pub(crate) fn to_bits(self) -> u64 {
        let bytes = u64::from(self.bytes as u32) & ((1 << TX_BITS) - 1);
        u64::from(self.pending)
            | u64::from(self.expected) << COUNT_BITS
            | bytes << (2 * COUNT_BITS)
            | u64::from(self.phase) << 63
    }

    /// Whether the phase that `state` was taken in has ended.
    pub(crate) fn has_left(self, state: Self) -> bool {
        self.phase != state.phase
    }

    /// Whether the last phase of this parity has ended.
    pub(crate) fn has_left_parity(self, parity: bool) -> bool {
        self.phase != parity
    }

    /// Makes the phase wait for more bytes.
    pub(crate) fn expect(&mut self, bytes: u32) -> Result<(), String> {
        self.add_bytes(i64::from(bytes))
    }

    /// Bytes have come.
    pub(crate) fn complete(&mut self, bytes: u32) -> Result<(), String> {
        self.add_bytes(-i64::from(bytes))?;
        self.settle();
        Ok(())
    }

    fn add_bytes(&mut self, bytes: i64) -> Result<(), String> {
        let sum = i64::from(self.bytes) + bytes;
        if sum.abs() > i64::from(MAX_COUNT) {
            return Err(format!(
                "the mbarrier's count of pending bytes becomes {sum}, and it reaches from -{MAX_COUNT} to {MAX_COUNT}"
            ));
        }
        self.bytes = sum as i32;
        Ok(())
    }

    /// Arrives. Gives the state of the phase that was arrived in, as it was before.
    pub(crate) fn arrive(&mut self, arrival: Arrival) -> Result<Self, String> {
        let before = *self;
        self.expect(arrival.expect)?;
        if arrival.count > self.pending {
            return Err(format!(
                "{} arrival(s) at an mbarrier whose phase waits for {} more",
                arrival.count, self.pending
            ));
        }
        self.pending -= arrival.count;
        if arrival.drops {
            self.expected = self.expected.saturating_sub(arrival.count);
        }
        if self.settle() && arrival.no_complete {
            return Err("an arrival with .noComplete ends the mbarrier's phase".into());
        }
        Ok(before)
    }

    /// Begins the next phase if nothing is pending any more.
    fn settle(&mut self) -> bool {
        if self.pending != 0 || self.bytes != 0 {
            return false;
        }
        self.pending = self.expected;
        self.phase = !self.phase;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Arrival = Arrival { count: 1, drops: false, no_complete: false, expect: 0 };

    #[test]
    fn a_phase_ends_with_its_last_arrival() {
        let mut object = Object::new(2).unwrap();
        let first = object.arrive(ONE).unwrap();
        assert_eq!(first.pending, 2);
        assert!(!object.has_left(first) && !object.has_left_parity(false));
        object.arrive(ONE).unwrap();
        assert!(object.has_left(first) && object.has_left_parity(false) && !object.has_left_parity(true));
        assert_eq!(object.pending, 2);
    }

    #[test]
    fn a_phase_waits_for_bytes_in_any_order() {
        let mut object = Object::new(1).unwrap();
        let start = object;
        object.complete(96).unwrap();
        object = Object::from_bits(object.to_bits());
        object.arrive(Arrival { expect: 128, ..ONE }).unwrap();
        assert!(!object.has_left(start));
        object = Object::from_bits(object.to_bits());
        object.complete(32).unwrap();
        assert!(object.has_left(start));
        assert!(object.expect(MAX_COUNT).is_ok() && object.expect(1).is_err());
    }

    #[test]
    fn who_drops_out_is_not_waited_for_again() {
        let mut object = Object::new(2).unwrap();
        object.arrive(Arrival { drops: true, ..ONE }).unwrap();
        object.arrive(ONE).unwrap();
        assert_eq!(object.pending, 1);
    }

    #[test]
    fn too_many_arrivals_are_a_mistake() {
        let mut object = Object::new(2).unwrap();
        assert!(object.arrive(Arrival { count: 3, ..ONE }).is_err());
        let last = Arrival { count: 2, no_complete: true, ..ONE };
        assert!(Object::new(2).unwrap().arrive(last).is_err());
        assert!(Object::new(0).is_err() && Object::new(MAX_COUNT + 1).is_err());
    }
}
