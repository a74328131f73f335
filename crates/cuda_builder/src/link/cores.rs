//! Work on all cores of the machine. Knows nothing about the work.

use std::iter;
use std::num::NonZero;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Computes the result of each item, in the order of the items. After an error no other item is begun.
pub(super) fn map<T: Sync, R: Send, E: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let run = || {
        let mut done = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            match work(item) {
                Ok(result) => done.push((index, result)),
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(done)
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let parts: Vec<Result<Vec<_>, E>> = thread::scope(|scope| {
        let others: Vec<_> = (1..cores.min(items.len())).map(|_| scope.spawn(run)).collect();
        let own = run();
        let joined = others.into_iter().map(|other| other.join().unwrap_or_else(|cause| panic::resume_unwind(cause)));
        iter::once(own).chain(joined).collect()
    });
    let mut results = Vec::with_capacity(items.len());
    for part in parts {
        results.extend(part?);
    }
    results.sort_unstable_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::map;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        assert_eq!(map(&items, |item| Ok::<_, ()>(item * 2)), Ok(items.iter().map(|item| item * 2).collect()));
        assert_eq!(map(&[], |item: &usize| Ok::<_, ()>(*item)), Ok(Vec::new()));
    }

    #[test]
    fn an_error_ends_the_work() {
        let items: Vec<usize> = (0..1_000_000).collect();
        let begun = AtomicUsize::new(0);
        let outcome = map(&items, |item| {
            begun.fetch_add(1, Ordering::Relaxed);
            if *item == 10 { Err(*item) } else { Ok(()) }
        });
        assert_eq!(outcome, Err(10));
        assert!(begun.into_inner() < items.len());
    }
}
