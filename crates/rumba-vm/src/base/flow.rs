//! Basic blocks of any list of operations, sets of numbers, and liveness, by backward data-flow analysis.
//!
//! Callers give the targets of operations, and the values that they read and write.

use std::ops::Range;

/// A straight run of operations.
#[derive(Debug)]
pub(crate) struct BasicBlock {
    pub(crate) ops: Range<usize>,
    /// Where control may go next.
    pub(crate) successors: Vec<usize>,
}

/// Splits `count` operations into basic blocks. `targets` says where control may go after an operation that ends a block, and
/// nothing of the others; targets that are none of the operations are left out.
pub(crate) fn basic_blocks(count: usize, targets: impl Fn(usize) -> Option<Vec<usize>>) -> Vec<BasicBlock> {
    let mut leads = vec![false; count + 1];
    leads[count] = true;
    for index in 0..count {
        if let Some(targets) = targets(index) {
            leads[index + 1] = true;
            targets.into_iter().for_each(|target| leads[target.min(count)] = true);
        }
    }
    let mut blocks = Vec::new();
    let mut start = 0;
    for end in (1..=count).filter(|end| leads[*end]) {
        blocks.push(BasicBlock { ops: start..end, successors: Vec::new() });
        start = end;
    }
    for block in 0..blocks.len() {
        let end = blocks[block].ops.end;
        let targets = targets(end - 1).unwrap_or_else(|| vec![end]);
        let targets = targets.into_iter().filter(|target| *target < count);
        blocks[block].successors = targets.map(|target| holding(&blocks, target)).collect();
    }
    blocks
}

/// The block that an operation is in.
pub(crate) fn holding(blocks: &[BasicBlock], operation: usize) -> usize {
    blocks.partition_point(|block| block.ops.end <= operation)
}

/// The strongly connected components of a graph, each behind those that it leads to (Tarjan, "Depth-first search and linear graph
/// algorithms", 1972). `edges` has the nodes that each node leads to.
pub(crate) fn components(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    /// The number of a node that is in a component.
    const DONE: usize = usize::MAX;
    // When a node was found, from 1, and 0 before; the least number of its component that is known from it.
    let (mut numbers, mut least) = (vec![0; edges.len()], vec![0; edges.len()]);
    let (mut count, mut stack, mut found) = (0, Vec::new(), Vec::new());
    for root in 0..edges.len() {
        if numbers[root] != 0 {
            continue;
        }
        // The path of the search: nodes, and how many of their edges are done.
        let mut path = vec![(root, 0)];
        while let Some((node, done)) = path.last_mut() {
            let node = *node;
            if *done == 0 {
                count += 1;
                (numbers[node], least[node]) = (count, count);
                stack.push(node);
            }
            if let Some(next) = edges[node].get(*done).copied() {
                *done += 1;
                match numbers[next] {
                    0 => path.push((next, 0)),
                    DONE => {}
                    number => least[node] = least[node].min(number),
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                least[*parent] = least[*parent].min(least[node]);
            }
            if least[node] == numbers[node] {
                let start = stack.iter().rposition(|member| *member == node).unwrap_or_default();
                let component = stack.split_off(start);
                component.iter().for_each(|member| numbers[*member] = DONE);
                found.push(component);
            }
        }
    }
    found
}

/// A set of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Set(Vec<u64>);

impl Set {
    /// None of the numbers below `count`.
    pub(crate) fn none(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// These numbers, all below `count`.
    pub(crate) fn of(numbers: impl Iterator<Item = usize>, count: usize) -> Self {
        let mut set = Self::none(count);
        numbers.for_each(|number| set.insert(number));
        set
    }

    /// None of the numbers that another set may have.
    pub(crate) fn none_like(other: &Self) -> Self {
        Self(vec![0; other.0.len()])
    }

    /// All of the numbers below `count`.
    pub(crate) fn all(count: usize) -> Self {
        Self(vec![u64::MAX; count.div_ceil(64)])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(crate) fn has(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 != 0
    }

    pub(crate) fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub(crate) fn remove(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    /// Adds the elements of another set, and says whether this set changes.
    pub(crate) fn unite(&mut self, other: &Self) -> bool {
        self.update(other, |word, other| word | other)
    }

    /// Keeps only elements that are also in another set, and says whether this set changes.
    pub(crate) fn intersect(&mut self, other: &Self) -> bool {
        self.update(other, |word, other| word & other)
    }

    fn update(&mut self, other: &Self, of: impl Fn(u64, u64) -> u64) -> bool {
        let mut changes = 0;
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            let before = std::mem::replace(word, of(*word, *other));
            changes |= before ^ *word;
        }
        changes != 0
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            // Each step removes the lowest member.
            let words = std::iter::successors(Some(*word), |word| Some(word & word.wrapping_sub(1)));
            words.take_while(|word| *word != 0).map(move |word| index * 64 + word.trailing_zeros() as usize)
        })
    }
}

/// The live values at the start of each block.
#[derive(Debug)]
pub(crate) struct Liveness {
    at_start: Vec<Set>,
    count: usize,
}

impl Liveness {
    /// The liveness of `count` values; `before` turns the set of values that are live after an operation into the set
    /// before it.
    pub(crate) fn new(blocks: &[BasicBlock], count: usize, before: impl Fn(&mut Set, usize)) -> Self {
        let mut found = Self { at_start: vec![Set::none(count); blocks.len()], count };
        let mut changed = true;
        while changed {
            changed = false;
            for (index, block) in blocks.iter().enumerate().rev() {
                let mut live = found.after(block);
                block.ops.clone().rev().for_each(|operation| before(&mut live, operation));
                if live != found.at_start[index] {
                    found.at_start[index] = live;
                    changed = true;
                }
            }
        }
        found
    }

    /// The live values at the start of a block.
    pub(crate) fn before(&self, block: usize) -> &Set {
        &self.at_start[block]
    }

    /// The live values at the end of a block.
    pub(crate) fn after(&self, block: &BasicBlock) -> Set {
        let mut live = Set::none(self.count);
        for successor in &block.successors {
            live.unite(&self.at_start[*successor]);
        }
        live
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_come_behind_those_that_they_lead_to() {
        let of = |edges: &[&[usize]]| components(&edges.iter().map(|to| to.to_vec()).collect::<Vec<_>>());
        assert_eq!(of(&[&[1, 2], &[3], &[3], &[]]), [[3], [1], [2], [0]]);
        // Two cycles, one of which leads to the other, and a node that leads to itself.
        assert_eq!(of(&[&[1], &[2, 3], &[0], &[4], &[3], &[5, 0]]), [vec![3, 4], vec![0, 1, 2], vec![5]]);
        assert_eq!(of(&[]), [[0; 0]; 0]);
        // A path that is longer than a stack is deep.
        let chain: Vec<Vec<usize>> =
            (0..300_000).map(|node: usize| node.checked_sub(1).into_iter().collect()).collect();
        assert_eq!(components(&chain).len(), 300_000);
        let backwards: Vec<Vec<usize>> = (1..300_001).map(|next| vec![next % 300_000]).collect();
        assert_eq!(components(&backwards).len(), 1);
    }
}
