//! The table of scenarios. A new one is a function in the file of its subject and a line here.

mod arrays;
mod devices;
mod launches;
mod libraries;
mod memory;
mod modules;
mod streams;

use crate::Scenario;

macro_rules! scenarios {
    ($($file:ident: $($name:ident $($soft:ident)?),+;)+) => {
        /// All scenarios.
        pub const SCENARIOS: &[Scenario] = &[
            $($(Scenario {
                name: concat!(stringify!($file), "::", stringify!($name)),
                on_gpu: [$(scenarios!($soft),)? true][0],
                run: $file::$name,
            },)+)+
        ];
    };
    (soft) => { false };
}

scenarios! {
    memory: zeros_and_copies, clones, views, casts, pinned_copies, a_copy_dropped_in_progress, managed, mapped, pools, pools_in_kernels,
        a_scope_of_copies, too_much, questions, nothing, large_copies, elements_of_three_bytes, pinned_memory_of_no_use;
    streams: order, priorities, events, events_across_streams, callbacks, host_functions, host_functions_that_own, callbacks_that_own,
        futures, futures_of_copies, futures_of_events, futures_dropped, many_streams, questions, streams_dropped_at_work;
    launches: buffers, host_slices, host_slices_of_many_kinds, on_a_stream, timed, panics, panics_on_a_stream, a_fault soft, wrong_launches,
        graphs, graph_updates, graphs_of_dropped_buffers, graphs_that_fail, occupancy, parts_of_buffers, threads;
    modules: loaded_twice, linked, constants, wrong_texts, by_hand, checked soft, in_all_orders soft, profiled, profiled_in_threads;
    arrays: made, copied, computed, filled, reshaped, as_arguments;
    libraries: reductions, scans, sorted, sorted_pairs, histograms, random_numbers, transposed, products, products_of_halves,
        products_on_a_stream, products_in_a_graph, convolutions, attention;
    devices: made_and_dropped, reset, copies_between, peers, split_over, communicators, ranks, identities;
}
