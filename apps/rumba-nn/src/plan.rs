//! The memory plan of a network: an offset for each tensor in one buffer, from the lifetimes of the tensors in an
//! earlier run.
//!
//! The planner does not know devices; memory is a number of words.

use std::ops::Range;

/// An event in the life of a tensor's memory. Tensors are numbered in the order in which they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The next tensor is made, with this number of words.
    Made(usize),
    /// The tensor of this number is dropped.
    Dropped(usize),
}

/// A place for each tensor of a run, such that no two tensors overlap while both are live.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The events of the run.
    pub(crate) events: Vec<Event>,
    /// The words of each tensor.
    pub(crate) places: Vec<Range<usize>>,
    /// The number of words of the whole buffer.
    pub(crate) words: usize,
}

impl Plan {
    /// Tensors go to the lowest place that is free during their life, the largest first: "greedy by size" of Pisarchyk and Lee,
    /// "Efficient Memory Management for Deep Neural Net Inference", 2020, which comes close to the best there is for networks.
    pub(crate) fn new(events: Vec<Event>) -> Plan {
        let mut lives: Vec<(usize, Range<usize>)> = Vec::new();
        for (time, event) in events.iter().enumerate() {
            match *event {
                Event::Made(words) => lives.push((words, time..events.len())),
                Event::Dropped(tensor) => lives[tensor].1.end = time,
            }
        }
        let mut order: Vec<usize> = (0..lives.len()).collect();
        order.sort_by_key(|&tensor| std::cmp::Reverse(lives[tensor].0));
        let mut places = vec![0..0; lives.len()];
        // The tensors already placed, in the order of their offsets.
        let mut placed: Vec<usize> = Vec::new();
        for tensor in order {
            let (words, life) = &lives[tensor];
            let mut start = 0;
            for &other in &placed {
                let (_, other_life) = &lives[other];
                let meet = life.start < other_life.end && other_life.start < life.end;
                if meet && places[other].start < start + words {
                    start = start.max(places[other].end);
                }
            }
            places[tensor] = start..start + words;
            let index = placed.partition_point(|&other| places[other].start <= start);
            placed.insert(index, tensor);
        }
        let words = places.iter().map(|place| place.end).max().unwrap_or(0);
        Plan { events, places, words }
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Plan};
    use Event::{Dropped, Made};

    #[test]
    fn a_chain_takes_turns() {
        // Each tensor is made from the previous tensor, which is then dropped.
        let events = vec![Made(4), Made(6), Dropped(0), Made(4), Dropped(1), Made(6), Dropped(2), Dropped(3)];
        let plan = Plan::new(events);
        assert_eq!(plan.places, [6..10, 0..6, 6..10, 0..6]);
        assert_eq!(plan.words, 10);
    }

    #[test]
    fn what_is_there_at_the_same_time_does_not_overlap() {
        // Lives and sizes without a pattern.
        let mut events = Vec::new();
        let mut alive = Vec::new();
        let mut seed = 1_u32;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % below
        };
        let mut sizes = Vec::new();
        for _ in 0..500 {
            if alive.is_empty() || random(5) < 3 {
                alive.push(sizes.len());
                sizes.push(random(100));
                events.push(Made(sizes[sizes.len() - 1]));
            } else {
                events.push(Dropped(alive.swap_remove(random(alive.len()))));
            }
        }
        let plan = Plan::new(events.clone());
        let (mut alive, mut most): (Vec<usize>, usize) = (Vec::new(), 0);
        let mut next = 0;
        for event in events {
            match event {
                Made(words) => {
                    let place = &plan.places[next];
                    assert_eq!(place.len(), words);
                    for &other in &alive {
                        let other = &plan.places[other];
                        assert!(place.end <= other.start || other.end <= place.start);
                    }
                    alive.push(next);
                    next += 1;
                }
                Dropped(tensor) => alive.retain(|&other| other != tensor),
            }
            most = most.max(alive.iter().map(|&tensor| sizes[tensor]).sum());
        }
        assert!(plan.words >= most && plan.words <= most * 3 / 2, "{} of {most}", plan.words);
    }

    #[test]
    fn nothing_takes_nothing() {
        assert_eq!(Plan::new(Vec::new()).words, 0);
    }
}
