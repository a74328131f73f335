//! Accesses of lanes whose addresses have a stride, as native code and the interpreter report them.

use crate::base::lanes::{FULL, GROUP, GROUPS};

/// The addresses of an access by lanes of a warp: those of each group of lanes begin at an address and go on with a stride.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strided {
    /// The lanes that make the access.
    pub(crate) lanes: u32,
    /// The address of the first lane of each group, whether the lane makes the access or not.
    pub(crate) hosts: [u64; GROUPS],
    pub(crate) stride: u64,
}

/// The lanes of a group that make an access, as bits from 0.
#[inline(always)]
fn of_group(lanes: u32, group: usize) -> u32 {
    lanes >> (group * GROUP) & ((1 << GROUP) - 1)
}

impl Strided {
    /// The addresses of lanes of a warp, of which there is one at least. The addresses of groups without such lanes may be any numbers: each
    /// such group goes on from the group before, so that as many groups as possible lie in a row.
    #[inline(always)]
    pub(crate) fn new(lanes: u32, mut hosts: [u64; GROUPS], stride: u64) -> Self {
        let step = stride.wrapping_mul(GROUP as u64);
        if lanes != FULL {
            let first = lanes.trailing_zeros() as usize / GROUP % GROUPS;
            for group in (0..first).rev() {
                hosts[group] = hosts[group + 1].wrapping_sub(step);
            }
            for group in first + 1..GROUPS {
                if of_group(lanes, group) == 0 {
                    hosts[group] = hosts[group - 1].wrapping_add(step);
                }
            }
        }
        Self { lanes, hosts, stride }
    }

    /// The address of a lane.
    #[inline(always)]
    pub(crate) fn host(&self, lane: usize) -> u64 {
        self.hosts[lane / GROUP].wrapping_add(self.stride.wrapping_mul((lane % GROUP) as u64))
    }

    /// The memory from the first to the last byte that lanes access, each of them so many bytes: the address, the length, and whether each byte
    /// is accessed. Groups that do not lie in a row are spans of their own.
    #[inline(always)]
    pub(crate) fn spans(&self, bytes: u64) -> impl Iterator<Item = (u64, u64, bool)> {
        let Self { lanes, hosts, stride } = *self;
        let step = stride.wrapping_mul(GROUP as u64);
        let in_a_row = hosts.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == step);
        let groups = if in_a_row { 1 } else { GROUPS };
        (0..groups).filter_map(move |group| {
            let mine = if in_a_row { lanes } else { of_group(lanes, group) };
            let (first, last) = (mine.trailing_zeros(), mine.checked_ilog2()?);
            let from_first = mine >> first;
            let has_all = from_first & from_first.wrapping_add(1) == 0;
            let start = hosts[group].wrapping_add(stride.wrapping_mul(first.into()));
            let length = bytes.wrapping_add(stride.wrapping_mul((last - first).into()));
            let is_dense = first == last || stride == 0 || stride <= bytes && has_all;
            Some((start, length, is_dense))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::lanes::lanes_of;

    /// Masks with groups of all, of no and of some lanes, the latter with and without lanes between.
    const MASKS: [u32; 7] = [FULL, 1, 0x8000_0000, 0x0000_ff00, 0x00f0_0000, 0xff00_00ff, 0x1248_ff3c];

    #[test]
    fn spans_are_from_the_first_byte_of_a_group_to_the_last() {
        for (lanes, stride, bytes) in
            MASKS.into_iter().flat_map(|lanes| [(lanes, 0, 4), (lanes, 4, 4), (lanes, 12, 4), (lanes, 8, 8)])
        {
            for hosts in [[4096, 4160, 4224, 4288], [4096, 4128, 4160, 4192], [8192, 64, 1024, 0]] {
                // What groups without lanes have is not looked at.
                let given: Vec<u64> =
                    (0..GROUPS).map(|group| if of_group(lanes, group) == 0 { 77 } else { hosts[group] }).collect();
                let places = Strided::new(lanes, given.try_into().unwrap(), stride);
                let accessed = |address: u64| {
                    lanes_of(lanes).any(|lane| (places.host(lane)..places.host(lane) + bytes).contains(&address))
                };
                let spans: Vec<_> = places.spans(bytes).collect();
                for lane in lanes_of(lanes) {
                    assert_eq!(places.host(lane), hosts[lane / GROUP] + stride * (lane % GROUP) as u64);
                    let holds = |(start, length, _): &(u64, u64, bool)| {
                        *start <= places.host(lane) && places.host(lane) + bytes <= start + length
                    };
                    assert!(spans.iter().any(holds), "{lanes:x} {stride} {bytes}: lane {lane}");
                }
                for (start, length, is_dense) in spans {
                    assert!(accessed(start) && accessed(start + length - 1));
                    assert_eq!(is_dense, (start..start + length).all(accessed), "{lanes:x} {stride} {bytes}");
                }
            }
        }
    }
}
