//! Writes the program for lanes in lockstep from the results of the analysis.
//!
//! Operations keep their order. A value whose lanes are read anywhere is written out where it is computed, so that its
//! lanes exist on every path of control.

use std::collections::HashMap;

use crate::base::lanes::GROUP;
use crate::exec::lockstep::handlers;
use crate::machine::op::opcode::{Linear, Opcode};
use crate::machine::op::{Handler, Op};
use crate::machine::program::{Class, Entry, Exit, Flow, Lockstep, NO_ENTRY, Program};
use crate::run::lockstep_analysis::{Analysis, Plan};

/// The largest number of operations of a kernel for which the analysis pays off.
const MAX_OPS: usize = 50_000;

/// The program for warps in lockstep, if blocks of this shape have one.
pub(crate) fn of(program: &Program, block: [u32; 3]) -> Option<&Lockstep> {
    let [x, y, z] = block;
    let rows = x.is_multiple_of(GROUP as u32) || y * z == 1;
    program.lockstep[usize::from(rows)].get_or_init(|| build(program, rows)).as_ref()
}

/// Builds the program, unless the kernel is not worth it.
fn build(program: &Program, rows: bool) -> Option<Lockstep> {
    if program.kernel_ops > MAX_OPS || program.entry != 0 {
        return None;
    }
    let analysis = Analysis::new(program, rows)?;
    let mut writer = Writer {
        program,
        analysis: &analysis,
        ops: Vec::new(),
        at: HashMap::new(),
        entries: Vec::new(),
        entry_at: vec![NO_ENTRY; program.kernel_ops],
        exits: Vec::new(),
        parks: HashMap::new(),
        distances: Vec::new(),
    };
    for block in 0..analysis.blocks.len() {
        writer.block(block);
    }
    writer.resolve()?;
    // Without affine values a lockstep program gains nothing.
    writer.gains().then(|| Lockstep {
        ops: writer.ops.into_boxed_slice(),
        entries: writer.entries,
        entry_at: writer.entry_at.into_boxed_slice(),
        of_block: program.of_block().map(|(slot, class, _)| (slot, class)).collect(),
        reads_of_block: analysis.reads_of_block(),
        exits: writer.exits,
        parks: writer.parks,
        whole: program.ops.as_ptr(),
    })
}

struct Writer<'a> {
    program: &'a Program,
    analysis: &'a Analysis<'a>,
    ops: Vec<Op>,
    /// Where blocks start, by index in the program that every warp can run.
    at: HashMap<usize, usize>,
    entries: Vec<Entry>,
    entry_at: Vec<u32>,
    exits: Vec<Exit>,
    parks: HashMap<u32, u32>,
    /// Operations whose `imm` holds distances to be found: the operation, and the targets of both halves.
    distances: Vec<(usize, [Option<usize>; 2])>,
}

impl Writer<'_> {
    fn block(&mut self, block: usize) {
        let Some(mut state) = self.analysis.state(block) else {
            return;
        };
        let ops = self.analysis.blocks[block].ops.clone();
        self.at.insert(ops.start, self.ops.len());
        let entry = Entry { op: self.ops.len() as u32, values: self.analysis.entering(block) };
        self.entry_at[ops.start] = self.entries.len() as u32;
        self.entries.push(entry);
        for index in ops {
            let before = state.clone();
            let plan = self.analysis.transfer(index, &mut state);
            let op = self.program.ops[index];
            let facts = self.analysis.facts(index);
            let exit = |writer: &mut Self| {
                writer.exits.push(Exit { op: index as u32, values: self.analysis.leaving(block, index, &before) });
                writer.exits.len() - 1
            };
            match (facts.flow, facts.opcode) {
                (Flow::Jump, _) => self.jump(index, op),
                (Flow::Branch, _) => {
                    let exit = exit(self);
                    self.jump(index, leaving(handlers::branch, op, exit));
                }
                (Flow::Leave | Flow::Table, _) => {
                    let exit = exit(self);
                    self.ops.push(leaving(handlers::leave, op, exit));
                }
                (Flow::End, _) => self.ops.push(op),
                (Flow::Park, _) => {
                    let exit = exit(self);
                    self.parks.insert(self.ops.len() as u32, exit as u32);
                    self.ops.push(op);
                    self.exits
                        .push(Exit { op: index as u32 + 1, values: self.analysis.leaving(block, index + 1, &state) });
                    self.parks.insert(self.ops.len() as u32, self.exits.len() as u32 - 1);
                }
                (Flow::Next, Opcode::GuardBegin) => {
                    let exit = exit(self);
                    let over = index + op.imm as usize + 1;
                    self.distances.push((self.ops.len(), [Some(over), None]));
                    self.ops.push(leaving(handlers::guard, op, exit));
                }
                (Flow::Next, Opcode::GuardEnd) => {}
                (Flow::Next, kind) => {
                    if let Plan::Bases { checks, .. } = plan
                        && checks != 0
                    {
                        let exit = exit(self);
                        self.checks(kind, checks, op, exit, |slot| self.analysis.stride_of(slot, &before));
                    }
                    self.ops.push(planned(kind, plan, op));
                    self.write_out(index, plan, op);
                }
            }
        }
    }

    fn jump(&mut self, index: usize, op: Op) {
        let targets = self.program.targets(index).unwrap_or_default();
        self.distances.push((self.ops.len(), [targets.first().copied(), targets.get(1).copied()]));
        self.ops.push(op);
    }

    fn checks(&mut self, kind: Opcode, checks: u8, op: Op, exit: usize, stride: impl Fn(u16) -> i64) {
        let signed = matches!(
            kind,
            Opcode::Lanes {
                linear: Linear::SignExtended | Linear::SignedWideProduct | Linear::SignedWideProductSum,
                ..
            }
        );
        for slot in [(checks & 1 != 0).then_some(op.a), (checks & 2 != 0).then_some(op.b)] {
            let Some(slot) = slot else { continue };
            let check =
                Op { a: slot, extra: u16::from(signed), imm: i64::from(stride(slot) as i32).cast_unsigned(), ..op };
            self.ops.push(leaving(handlers::check, check, exit));
        }
    }

    /// Writes out the lanes of a value computed as bases, if an operation reads its lanes.
    fn write_out(&mut self, index: usize, plan: Plan, op: Op) {
        let stride = match plan {
            Plan::Bases { stride, .. } => stride,
            Plan::LoadBases => 0,
            Plan::Whole | Plan::Test { .. } | Plan::Uniform | Plan::Contiguous => return,
        };
        if !self.analysis.needs_lanes(op.dst) {
            return;
        }
        let handler: Handler = match self.analysis.facts(index).classes[0] {
            Some(Class::W64) => handlers::expand::<u64>,
            _ => handlers::expand::<u32>,
        };
        self.ops.push(Op { handler, imm: stride.cast_unsigned(), ..op });
    }

    /// Fills in the distances to targets.
    fn resolve(&mut self) -> Option<()> {
        for (op, targets) in &self.distances {
            let mut halves = [0; 2];
            for (half, target) in halves.iter_mut().zip(targets) {
                if let Some(target) = target {
                    let at = *self.at.get(target)? as i64;
                    *half = u64::from((at - *op as i64) as i32 as u32);
                }
            }
            self.ops[*op].imm = halves[0] | halves[1] << 32;
        }
        Some(())
    }

    fn gains(&self) -> bool {
        self.ops.len() > 1
    }
}

/// An operation that may leave by an exit.
fn leaving(handler: Handler, op: Op, exit: usize) -> Op {
    Op { handler, b: exit as u16, c: (exit >> 16) as u16, ..op }
}

fn planned(kind: Opcode, plan: Plan, op: Op) -> Op {
    let handler = match (plan, kind) {
        (Plan::Bases { .. }, Opcode::Lanes { bases, .. }) => bases,
        (Plan::Test { strides }, Opcode::Test { bases, .. }) => {
            let [a, b] = strides.map(|stride| u64::from(stride as i32 as u32));
            return Op { handler: bases, imm: a | b << 32, ..op };
        }
        (Plan::Uniform, Opcode::Load { uniform, .. } | Opcode::Store { uniform, .. }) => uniform,
        (Plan::LoadBases, Opcode::Load { bases: Some(bases), .. }) => bases,
        (Plan::Contiguous, Opcode::Load { contiguous, .. } | Opcode::Store { contiguous, .. }) => contiguous,
        _ => op.handler,
    };
    Op { handler, ..op }
}
