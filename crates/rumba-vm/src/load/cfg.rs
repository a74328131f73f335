//! Basic blocks, and the order in which they are laid out.
//!
//! Divergent lanes meet again because a warp runs those of its lanes first that stand at the lowest position. For that,
//! every block has to come before the blocks that all paths from it lead to, and the body of a loop before what follows
//! the loop. This is a weak topological order (Bourdoncle, Efficient chaotic iteration strategies with widenings, 1993):
//! strongly connected components in topological order, each with its header first and the rest ordered the same way. It
//! needs no reducible control flow.

use crate::base::flow::{BasicBlock, basic_blocks, holding};
use crate::lower::lowering::Function;
use crate::lower::virtual_op::{Control, Node};

/// The blocks of a function.
#[derive(Debug)]
pub(crate) struct Graph {
    /// Runs of the function's nodes, with labels among them. Successors begin with the block that control falls into.
    pub(crate) blocks: Vec<BasicBlock>,
    /// Blocks that can be reached from the first, and lead here.
    pub(crate) predecessors: Vec<Vec<usize>>,
    /// The block that control falls into at the end of each.
    pub(crate) falls_into: Vec<Option<usize>>,
    /// The block that each label starts.
    pub(crate) labels: Vec<usize>,
    /// Reachable blocks in the order in which they are laid out.
    pub(crate) order: Vec<usize>,
}

/// Finds the blocks of a function and orders them.
pub(crate) fn graph(function: &Function<'_>) -> Graph {
    let count = function.nodes.len();
    let mut label_at = vec![count; function.labels.len()];
    for (index, node) in function.nodes.iter().enumerate() {
        if let Node::Label(label) = node {
            label_at[*label as usize] = index;
        }
    }
    let falls = |control: &Control| !matches!(control, Control::Jump(_) | Control::Table(_) | Control::End);
    let mut blocks = basic_blocks(count, |index| match &function.nodes[index] {
        Node::Op { control, .. } if !falls(control) || matches!(control, Control::Branch(_)) => {
            let next = falls(control).then_some(index + 1);
            let labels = targets(control).into_iter().map(|label| label_at[label as usize]);
            Some(next.into_iter().chain(labels).collect())
        }
        Node::Op { .. } | Node::Label(_) => None,
    });
    let labels: Vec<usize> = label_at.iter().map(|at| holding(&blocks, *at)).collect();
    // Blocks that only jump are left out: who goes there goes where they lead.
    let through: Vec<usize> = (0..blocks.len()).map(|block| past_jumps(function, &blocks, &labels, block)).collect();
    let labels = labels.into_iter().map(|block| *through.get(block).unwrap_or(&block)).collect();
    let mut predecessors = vec![Vec::new(); blocks.len()];
    let mut falls_into = vec![None; blocks.len()];
    for index in 0..blocks.len() {
        let last = function.nodes[blocks[index].ops.clone()].iter().rev().find_map(|node| match node {
            Node::Op { control, .. } => Some(control),
            Node::Label(_) => None,
        });
        if last.is_none_or(falls) {
            falls_into[index] = through.get(index + 1).copied();
        }
        let mut successors: Vec<usize> = blocks[index].successors.iter().map(|block| through[*block]).collect();
        successors.sort_unstable_by_key(|block| (Some(*block) != falls_into[index], *block));
        successors.dedup();
        blocks[index].successors = successors;
    }
    // Loops have their headers where control enters them, which it does from blocks that are reached.
    for index in reached(&blocks) {
        for successor in &blocks[index].successors {
            predecessors[*successor].push(index);
        }
    }
    let order = order(&blocks, &predecessors);
    Graph { blocks, predecessors, falls_into, labels, order }
}

/// The blocks that can be reached from the first.
fn reached(blocks: &[BasicBlock]) -> Vec<usize> {
    let mut is_reached = vec![false; blocks.len()];
    let mut work: Vec<usize> = (0..blocks.len()).take(1).collect();
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut is_reached[block], true) {
            work.extend(&blocks[block].successors);
        }
    }
    (0..blocks.len()).filter(|block| is_reached[*block]).collect()
}

/// Jumps that are followed at most: they may go in a circle.
const JUMPS: usize = 8;

/// Where control gets to that goes to a block, if the block only jumps.
fn past_jumps(function: &Function<'_>, blocks: &[BasicBlock], labels: &[usize], block: usize) -> usize {
    let leads_to = |block: usize| {
        let nodes = function.nodes[blocks[block].ops.clone()].iter();
        let mut nodes = nodes.filter(|node| matches!(node, Node::Op { .. }));
        match (nodes.next(), nodes.next()) {
            (Some(Node::Op { control: Control::Jump(label), .. }), None) => {
                Some(labels[*label as usize]).filter(|block| *block < blocks.len())
            }
            _ => None,
        }
    };
    let mut end = block;
    for _ in 0..JUMPS {
        match leads_to(end) {
            Some(next) => end = next,
            None => break,
        }
    }
    end
}

fn targets(control: &Control) -> Vec<u32> {
    match control {
        Control::Jump(label) | Control::Branch(label) => vec![*label],
        Control::Table(labels) => labels.clone(),
        Control::Next | Control::Park | Control::Call(_) | Control::CallIndirect | Control::Frame | Control::End => {
            Vec::new()
        }
    }
}

/// The weak topological order of the blocks that can be reached from the first.
fn order(blocks: &[BasicBlock], predecessors: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(blocks.len());
    if blocks.is_empty() {
        return order;
    }
    // Work is a stack of pieces: single blocks to emit, and sets of blocks to order, of which the first is the entry.
    enum Piece {
        BasicBlock(usize),
        Set { entry: usize, members: Vec<usize> },
    }
    let mut search = Search { level: vec![0; blocks.len()], marks: vec![Mark::default(); blocks.len()] };
    let mut component_of = vec![0u32; blocks.len()];
    let (mut next_level, mut next_component) = (1, 1);
    let mut effort = EFFORT * blocks.len() + LEAST_EFFORT;
    let mut work = vec![Piece::Set { entry: 0, members: (0..blocks.len()).collect() }];
    while let Some(piece) = work.pop() {
        let (entry, members) = match piece {
            Piece::BasicBlock(block) => {
                order.push(block);
                continue;
            }
            Piece::Set { entry, members } => (entry, members),
        };
        effort = effort.saturating_sub(members.len());
        if effort == 0 {
            // Any order is right, if not the best.
            order.extend(members);
            continue;
        }
        let here = next_level;
        next_level += 1;
        for member in &members {
            search.level[*member] = here;
            search.marks[*member] = Mark::default();
        }
        // Components come out in reverse topological order; pushed on the stack they pop in topological order.
        for component in search.components(blocks, here, entry, &members) {
            if component.len() == 1 {
                work.push(Piece::BasicBlock(component[0]));
                continue;
            }
            for block in &component {
                component_of[*block] = next_component;
            }
            let inside = |block: usize| component_of[block] == next_component;
            // The header is where control enters: from outside of the component, or the first block in the text.
            let enters = |block: usize| predecessors[block].iter().any(|from| !inside(*from));
            let entries = component.iter().copied().filter(|block| *block == entry || enters(*block));
            let header = entries.min().unwrap_or(component[0]);
            let first = blocks[header].successors.iter().copied().find(|block| *block != header && inside(*block));
            let rest: Vec<usize> = component.into_iter().filter(|block| *block != header).collect();
            work.push(Piece::Set { entry: first.unwrap_or(rest[0]), members: rest });
            work.push(Piece::BasicBlock(header));
            next_component += 1;
        }
    }
    order
}

/// How often each block may be looked at, on average. A block is looked at once for each loop that it is in, so loops of large
/// functions that are nested deeper are ordered less well.
const EFFORT: usize = 32;
/// How many blocks may be looked at besides: enough for any loops of a thousand blocks that are nested 256 deep.
const LEAST_EFFORT: usize = 256_000;

/// The state of a block in a search.
#[derive(Clone, Copy, Default)]
struct Mark {
    index: u32,
    low: u32,
    on_stack: bool,
}

/// A search for strongly connected components.
struct Search {
    /// The set that each block belongs to.
    level: Vec<u32>,
    marks: Vec<Mark>,
}

impl Search {
    /// The strongly connected components of a set of blocks in reverse topological order (Tarjan), those first that are
    /// reached from `entry`. At the outermost level what the entry does not reach is left out.
    fn components(&mut self, blocks: &[BasicBlock], here: u32, entry: usize, members: &[usize]) -> Vec<Vec<usize>> {
        let Self { level, marks } = self;
        let mut next = 1;
        let mut stack = Vec::new();
        let mut found = Vec::new();
        let roots = std::iter::once(entry).chain(members.iter().copied().filter(|_| here > 1));
        for root in roots {
            if marks[root].index != 0 {
                continue;
            }
            // Frames of the depth-first search: a block, and how many of its successors are done. The fall-through comes
            // last, so that it ends up right behind its block.
            let mut frames: Vec<(usize, usize)> = vec![(root, 0)];
            while let Some((block, done)) = frames.last_mut() {
                let block = *block;
                if *done == 0 && marks[block].index == 0 {
                    marks[block] = Mark { index: next, low: next, on_stack: true };
                    next += 1;
                    stack.push(block);
                }
                let successors = &blocks[block].successors;
                if *done < successors.len() {
                    let successor = successors[successors.len() - 1 - *done];
                    *done += 1;
                    if level[successor] != here {
                        continue;
                    }
                    if marks[successor].index == 0 {
                        frames.push((successor, 0));
                    } else if marks[successor].on_stack {
                        marks[block].low = marks[block].low.min(marks[successor].index);
                    }
                    continue;
                }
                frames.pop();
                if let Some((parent, _)) = frames.last() {
                    marks[*parent].low = marks[*parent].low.min(marks[block].low);
                }
                if marks[block].low == marks[block].index {
                    let mut component = Vec::new();
                    while let Some(member) = stack.pop() {
                        marks[member].on_stack = false;
                        component.push(member);
                        if member == block {
                            break;
                        }
                    }
                    component.sort_unstable();
                    found.push(component);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::graph;
    use crate::lower::lowering::Function;
    use crate::lower::virtual_op::{Control, Node, VirtualOp};
    use crate::machine::op::{Handlers, Pc};
    use crate::machine::warp::Warp;

    unsafe fn nothing(_: &mut Warp, pc: Pc) -> Pc {
        pc
    }

    /// A function of blocks, each given by how it ends: so many operations, of which the last one does; the others go on.
    fn function<'m>(blocks: &[Control], operations: usize) -> Function<'m> {
        let mut function = Function::default();
        for (label, control) in blocks.iter().enumerate() {
            function.labels.push(rumba_ptx::ast::Label { name: "", span: rumba_ptx::ast::Span::default() });
            function.nodes.push(Node::Label(label as u32));
            for operation in 1..=operations {
                function.nodes.push(Node::Op {
                    virtual_op: VirtualOp::new(Handlers::same(nothing)),
                    control: if operation < operations { Control::Next } else { control.clone() },
                    source: 0,
                    conditional: false,
                });
            }
        }
        function
    }

    /// The order of blocks, by the numbers of their labels.
    fn order(blocks: &[Control]) -> Vec<usize> {
        // A block that did nothing but jump would be left out.
        let graph = graph(&function(blocks, 2));
        let number = |block: usize| graph.blocks[block].ops.end / 3 - 1;
        graph.order.iter().map(|block| number(*block)).collect()
    }

    #[test]
    fn the_join_follows_both_sides() {
        use Control::{Branch, End, Jump, Next};
        assert_eq!(order(&[Branch(2), Jump(3), Next, End]), [0, 1, 2, 3]);
        // The join stands first in the text.
        assert_eq!(order(&[Jump(2), End, Branch(4), Jump(1), Jump(1)]), [0, 2, 3, 4, 1]);
    }

    #[test]
    fn a_loop_comes_before_what_follows_it() {
        use Control::{Branch, End, Jump, Next};
        // 0: head, 1: exit in the middle, 2: break, 3: latch.
        assert_eq!(order(&[Branch(1), Jump(3), End, Branch(2), Jump(0)]), [0, 1, 3, 4, 2]);
        // Nested loops with an exit from the inner one to the very end.
        let blocks = [Next, Branch(5), Branch(2), Jump(1), End, End];
        let found = order(&blocks);
        let position = |block: usize| found.iter().position(|known| *known == block);
        assert!(position(5) > position(3) && position(5) > position(2), "{found:?}");
    }

    #[test]
    fn blocks_that_are_left_out_enter_no_loop() {
        use Control::{Branch, End, Jump};
        // 0 goes to the loop's head 4 by way of 1, which only jumps; so does 2, which nothing reaches, to the latch 3.
        let graph = graph(&function(&[Branch(1), Jump(4), Jump(3), Branch(5), Branch(3), End], 1));
        assert_eq!(graph.order, [0, 4, 3, 5]);
    }

    #[test]
    fn blocks_that_only_jump_are_left_out() {
        use Control::{Branch, End, Jump, Next};
        // 0 branches over 1, which jumps to 3; 4 goes in a circle.
        let graph = graph(&function(&[Branch(2), Jump(3), Next, End, Jump(4)], 1));
        assert_eq!(graph.order, [0, 2, 3]);
        assert_eq!((graph.falls_into[0], graph.labels[1]), (Some(3), 3));
    }

    #[test]
    fn blocks_that_nothing_reaches_are_left_out() {
        use Control::{End, Jump};
        assert_eq!(order(&[Jump(2), Jump(1), End]), [0, 2]);
    }

    #[test]
    fn control_flow_without_structure_is_ordered_too() {
        use Control::{Branch, End, Jump};
        // Two entries into one cycle.
        let found = order(&[Branch(2), Branch(3), Jump(1), End]);
        assert_eq!(found.len(), 4);
        assert_eq!((found[0], found[3]), (0, 3));
    }
}
