//! Prefetching what the threads of a kernel access next.
//!
//! The processor's prefetcher follows a sequence of addresses within a page. Threads access memory in many short sequences,
//! warp after warp, and in loops whose iterations are a whole grid of threads apart.

use std::mem::size_of;

use crate::base::engine::LINE;
use crate::base::ir::{Element, Value};
use crate::base::lanes::LANES;
use crate::base::report::AccessKind;
use crate::compile::function::Function;
use crate::compile::memory::{Access, Memory};
use crate::compile::shape::Version;
use crate::compile::variables::Variable;
use crate::machine::program::SITES;

/// The prefetch distance of loads in blocks that are started: the bytes that a block of 256 threads loads with four elements of
/// four bytes per thread.
const PREFETCHED: u64 = 4096;

/// The distances between iterations of a loop at which memory is prefetched: more than a page, which the processor's
/// prefetcher does not leave, and at most 1 GiB, since the distance at the start of a loop is arbitrary.
const DISTANCES: std::ops::Range<u64> = 4 << 10..1 << 30;

impl Function<'_> {
    /// Lets the memory be prefetched that neighbouring lanes will access, given the address of each group of lanes: in loops, of
    /// the next iteration; elsewhere, of the next blocks, for which the address is noted at the access's site for
    /// [`crate::run::ahead`], which knows blocks that run without being started. Other blocks prefetch at a fixed distance what
    /// they load.
    pub(super) fn look_ahead(&mut self, access: &Access, addresses: &[Value]) {
        if access.memory != Memory::Flat {
            return;
        }
        let is_load = access.kind == AccessKind::Read;
        match (self.kernel.is_in_loop[self.block], self.version) {
            (true, _) if is_load => self.prefetch_next_iteration(access, addresses),
            (false, Version::Full) if !self.kernel.program.has_barriers => self.note_site(access, addresses),
            (false, Version::Full) if is_load => {
                let bytes = access.bytes * (LANES / addresses.len()) as u64;
                addresses.iter().for_each(|address| self.prefetch(address, PREFETCHED, bytes));
            }
            _ => {}
        }
    }

    fn note_site(&mut self, access: &Access, addresses: &[Value]) {
        let [address] = addresses else { return };
        let known = self.sites.iter().position(|(index, _)| *index == access.index);
        let site = known.unwrap_or(self.sites.len());
        if site == SITES {
            return;
        }
        if known.is_none() {
            self.sites.push((access.index, LANES as u32 * access.bytes as u32));
        }
        let place = self.offset("%sites", site * size_of::<u64>());
        self.w.line(format_args!("store {address}, ptr {place}"));
    }

    /// Prefetches what an access will load in the next iteration if the distance from the last iteration to this one remains.
    fn prefetch_next_iteration(&mut self, access: &Access, addresses: &[Value]) {
        let [address] = addresses else { return };
        let last = self.variable(Variable::one(format!("%last.{}", access.index), Element::I64));
        if self.known.insert(last.pointer.clone()) {
            self.in_prologue(|function| function.set(&last, &Value::integer(Element::I64, 0)));
        }
        let before = self.get(&last);
        self.set(&last, address);
        let distance = self.w.sub(address, &before);
        let beyond = self.w.sub_with(&distance, DISTANCES.start);
        let is_far = self.w.compare_with("icmp ult", &beyond, DISTANCES.end - DISTANCES.start);
        let (far, on) = (self.w.name("l"), self.w.name("l"));
        self.w.line(format_args!("br {is_far}, label %{far}, label %{on}"));
        self.w.label(&far);
        let next = self.w.add(address, &distance);
        self.prefetch(&next, 0, LANES as u64 * access.bytes);
        self.w.line(format_args!("br label %{on}"));
        self.w.label(&on);
    }

    /// Prefetches the lines of so many bytes, `offset` bytes behind an address.
    fn prefetch(&mut self, address: &Value, offset: u64, bytes: u64) {
        self.w.declare("declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)".to_owned());
        for line in (0..bytes).step_by(LINE) {
            let ahead = self.w.add_with(address, offset + line);
            let place = self.pointer(&ahead);
            self.w.line(format_args!("call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)"));
        }
    }
}
