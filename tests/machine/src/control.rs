//! Statements of control flow, of synchronisation, and those of some lanes together.

use crate::functions;
use crate::generator::{Generator, Participants};
use crate::tables;

impl Generator {
    /// Whether all 32 lanes of each warp are active.
    fn are_whole(&self) -> bool {
        self.threads.is_multiple_of(32) && !self.have_exited
    }

    /// Writes a shuffle, if all source lanes are active.
    pub(crate) fn shuffle(&mut self) {
        let whole = self.are_whole();
        self.row(if whole { tables::SHUFFLES } else { tables::TOGETHER });
    }

    /// Writes what whole warps compute, if they are whole.
    pub(crate) fn matrix(&mut self) {
        let whole = self.are_whole();
        self.row(if whole { tables::MATRICES } else { tables::TOGETHER });
    }

    /// Writes what the lanes of parts of a warp do together, all parts at a time: each lane names its own part.
    pub(crate) fn parts(&mut self) {
        let lanes = self.choices.of(&[16, 8, 4, 1]);
        let ones = (1_u32 << lanes) - 1;
        self.line(&format!("and.b32 %t5, %lane, {}; shl.b32 %t5, {ones:#x}, %t5;", 32 - lanes));
        let before = self.operands.clone();
        self.operands.is_together = false;
        self.operands.mask = Some("%t5".to_owned());
        for _ in 0..1 + self.choices.below(3) {
            self.row(tables::TOGETHER);
        }
        self.operands = before;
    }

    /// Writes what some lanes do together, by a mask.
    pub(crate) fn region(&mut self) {
        let label = self.label();
        let (predicate, mask) = if self.choices.below(2) == 0 {
            // The lanes are known.
            let bit = self.choices.below(5);
            let value = self.choices.below(2);
            let lanes = (0..32).filter(|lane| (lane >> bit & 1) == value).fold(0_u32, |mask, lane| mask | 1 << lane);
            self.line(&format!("and.b32 %t5, %lane, {}; setp.ne.u32 %tp2, %t5, {};", 1 << bit, value << bit));
            ("%tp2", format!("{lanes:#x}"))
        } else {
            let text = "mov.pred %tp2, $P; vote.sync.ballot.b32 %t5, !%tp2, -1;".replace("$P", "<$p|$k>");
            let text = self.operands.expand(&text, &mut self.choices);
            self.line(&text);
            ("%tp2", "%t5".to_owned())
        };
        self.line(&format!("@{predicate} bra R{label};"));
        let before = self.operands.clone();
        self.operands.is_together = false;
        self.operands.mask = Some(mask);
        for _ in 0..1 + self.choices.below(3) {
            self.row(tables::TOGETHER);
            if self.choices.below(2) == 0 {
                self.row(tables::VALUES);
            }
        }
        self.operands = before;
        self.line(&format!("R{label}:"));
    }

    pub(crate) fn barrier(&mut self) {
        let threads = self.threads.next_multiple_of(32);
        let text = match self.choices.below(7) {
            0..3 => "bar.sync 0;".to_owned(),
            3 => "barrier.sync 0;".to_owned(),
            4 => format!("bar.sync 1, {threads};"),
            5 => "bar.red.<and|or>.pred $p, 0, $P;".to_owned(),
            _ => "bar.red.popc.u32 $r, 0, $P;".to_owned(),
        };
        let text = if self.have_exited && text.contains(',') { "bar.sync 0;".to_owned() } else { text };
        let text = self.operands.expand(&text, &mut self.choices);
        self.line(&text);
    }

    pub(crate) fn fence(&mut self) {
        let text = self.choices.of(&["membar.<cta|gl|sys>;", "fence.<acq_rel|sc>.<cta|gpu|sys>;"]);
        let text = self.operands.expand(text, &mut self.choices);
        self.line(&text);
    }

    pub(crate) fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    /// Writes a branch by which lanes may part, with or without an other side.
    pub(crate) fn branch(&mut self) {
        let label = self.label();
        let test = self.operands.expand("@$P bra ", &mut self.choices);
        let has_else = self.choices.below(3) == 0;
        if has_else {
            self.line(&format!("{test}E{label};"));
            self.nested(Participants::Lanes, 3);
            self.line(&format!("bra J{label};"));
            self.line(&format!("E{label}:"));
            self.nested(Participants::Lanes, 3);
        } else {
            self.line(&format!("{test}J{label};"));
            self.nested(Participants::Lanes, 4);
        }
        self.line(&format!("J{label}:"));
    }

    /// Writes a branch that all lanes of a warp take or none.
    pub(crate) fn uniform_branch(&mut self) {
        let label = self.label();
        let test = self.operands.expand("@<|!>$k bra<.uni|> ", &mut self.choices);
        self.line(&format!("{test}J{label};"));
        self.nested(Participants::Warp, 4);
        self.line(&format!("J{label}:"));
    }

    /// Writes a loop whose trip counts differ from lane to lane, or from warp to warp.
    pub(crate) fn repeat(&mut self) {
        let (label, depth) = (self.label(), self.depth);
        let count = self.choices.of(&[
            "and.b32 %c0, <$R|$I>, <3|7>;",
            "and.b32 %c0, <%tx|%lane|%ty>, <1|3|7>;",
            "shr.u32 %c0, %ltid, <3|5>; and.b32 %c0, %c0, 3;",
            "and.b32 %c0, $U, 3;",
            "mov.u32 %c0, <1|2|5>;",
        ]);
        let count = count.replace("%c0", &format!("%c{depth}"));
        let count = self.operands.expand(&count, &mut self.choices);
        self.line(&format!("{count} add.u32 %c{depth}, %c{depth}, 1; // keep"));
        self.line(&format!("H{label}:"));
        self.nested(Participants::Lanes, 4);
        if self.choices.once_in(4) {
            let out = self.operands.expand("@$P bra ", &mut self.choices);
            self.line(&format!("{out}J{label};"));
            self.nested(Participants::Lanes, 2);
        }
        self.line(&format!(
            "sub.u32 %c{depth}, %c{depth}, 1; setp.ne.u32 %lp{depth}, %c{depth}, 0; @%lp{depth} bra H{label}; // keep"
        ));
        self.line(&format!("J{label}:"));
    }

    /// Writes a loop that all threads of the block execute as often.
    pub(crate) fn uniform_repeat(&mut self) {
        let (label, depth) = (self.label(), self.depth);
        let long = self.choices.of(&["90", "90", "2500"]);
        let bound = self.choices.of(&["2", "3", "%n", "%n", if depth == 0 { long } else { "2" }]);
        self.line(&format!("mov.u32 %c{depth}, 0; // keep"));
        self.line(&format!("H{label}:"));
        self.nested(Participants::Block, 5);
        self.line(&format!(
            "add.u32 %c{depth}, %c{depth}, 1; setp.lt.u32 %lp{depth}, %c{depth}, {bound}; @%lp{depth} bra H{label}; // keep"
        ));
    }

    /// Writes a jump through a table.
    pub(crate) fn switch(&mut self) {
        let label = self.label();
        let index = self.operands.expand("and.b32 %t6, <$R|$I|$U>, 3;", &mut self.choices);
        self.line(&format!(
            "{index} {{ T{label}: .branchtargets C{label}_0, C{label}_1, C{label}_2, C{label}_3; brx.idx %t6, T{label}; }}"
        ));
        for case in 0..4 {
            self.line(&format!("C{label}_{case}:"));
            self.nested(Participants::Lanes, 2);
            if self.choices.below(4) != 0 {
                self.line(&format!("bra D{label};"));
            }
        }
        self.line(&format!("D{label}:"));
    }

    pub(crate) fn call(&mut self) {
        let function = self.choices.below(functions::CALLS.len());
        self.functions.insert(function);
        let text = self.operands.expand(functions::CALLS[function], &mut self.choices);
        self.line(&text);
    }

    /// Lets some lanes go to the end.
    pub(crate) fn exit(&mut self) {
        self.leave("LEAVE");
    }

    /// Lets some lanes go where a kernel ends early, as a panic does.
    pub(crate) fn panic(&mut self) {
        self.leave("PANIC");
    }

    fn leave(&mut self, label: &str) {
        self.have_exited = true;
        let test = self.operands.expand("@$P bra ", &mut self.choices);
        self.line(&format!("{test}{label};"));
    }
}
