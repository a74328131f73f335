//! The list of the attacks, and what one is given.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use rumba::{Device, Module, Result, check::FindingKind};

/// The device that an attack runs on, and this crate's kernels on it.
#[derive(Clone)]
pub struct Target {
    /// The device.
    pub device: Device,
    /// This crate's kernels.
    pub module: Module,
    /// Whether it is the software device under its checks, which ends deadlocks.
    pub is_checked: bool,
}

/// Whether `work` panics, as it should: the message and the backtrace are not printed.
pub(crate) fn panics<T>(work: impl FnOnce() -> T) -> bool {
    static HOOK: Once = Once::new();
    thread_local! { static EXPECTED: Cell<bool> = const { Cell::new(false) } }
    // One hook for the process, which asks each thread: attacks run side by side.
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |report| {
            if !EXPECTED.get() {
                others(report);
            }
        }));
    });
    let before = EXPECTED.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    EXPECTED.set(before);
    outcome.is_err()
}

/// An attack.
pub struct Attack {
    /// Its path in this crate.
    pub name: &'static str,
    /// Runs it. It panics if the attack has done harm.
    pub run: fn(&Target) -> Result<()>,
    /// The findings in an attack that is wrong without being unsound: a deadlock, for example.
    pub finds: &'static [FindingKind],
}

macro_rules! attacks {
    ($($module:ident { $($name:ident $(finds $kind:ident)*),* $(,)? })*) => {
        /// Every attack of this crate.
        pub const ATTACKS: &[Attack] = &[$($(Attack {
            name: concat!(stringify!($module), "::", stringify!($name)),
            run: crate::$module::attacks::$name,
            finds: &[$(FindingKind::$kind),*],
        },)*)*];
    };
}

attacks! {
    background {
        callback_that_launches, event_of_a_stream_that_is_gone, future_forgotten, future_polled_twice, graph_changed_while_it_runs,
        graph_of_many_threads, graph_that_panics, host_function_that_waits, recording_within_a_recording, unified_memory_while_a_kernel_runs,
    }
    barriers {
        early_exit, panic_before_barrier, half_of_the_block finds Deadlock, never_written finds UnwrittenRead,
        panic_in_a_closure_that_reads, reads_in_two_ways, scratch_in_two_ways, scratch_without_threads finds UnwrittenRead,
    }
    collective {
        block_leaves_before_a_product, block_leaves_before_roles, blocks_return_one_by_one, product_of_operands_by_thread, product_of_operands_by_warp,
        product_of_outputs_by_thread, product_of_values_by_thread, product_without_some_threads, tensor_product_of_exchanges_by_thread,
        tensor_product_of_maps_by_block, tensor_product_of_maps_by_thread, tensor_product_of_outputs_by_thread,
    }
    index {
        fragment_place_wraps, fragment_rows_wrap, grid_stride_at_the_end, part_wraps, rounds_load_wraps, rounds_reach_before_the_slice,
        rounds_store_wraps, shared_slice_part_wraps, shuffle_from_beyond_the_warp, view_index_wraps, view_new_wraps,
    }
    lanes {
        atomic_numbers_at_the_ends, groups_of_some_lanes finds ShuffleSource, shared_slices_of_any_length, shuffles_of_any_numbers, stages_forgotten_under_way,
        text_with_percent_signs, tiles_exchanged_by_all, tiles_of_a_short_last_warp,
    }
    launch {
        block_larger_than_tile, constant_of_other_type, launch_of_more_dimensions, matrix_shape_beyond_slice, matrix_shape_wraps,
        operand_shapes_wrap, same_parameters_swapped, shared_slice_too_long, threads_beyond_an_index, tile_in_two_dimensions,
    }
    lifetime {
        buffer_dropped_while_the_kernel_runs, buffer_of_an_ended_check, buffer_slices_out_of_bounds, capture_that_is_over, context_reset,
        copy_forgotten, graph_outlives_its_buffers, host_memory_in_a_graph, stream_dropped_while_the_kernel_runs,
    }
    names { names_of_the_macro }
    order { recursion_without_end finds StackOverflow, scope_not_waited_for }
    pipelines {
        blocks_that_pass_unequally_many_stages finds TransactionBytes finds AbandonedOperation,
        panic_of_a_consumer finds PartialWarpGroup finds AbandonedOperation,
        panic_of_a_producer finds AbandonedOperation,
        panic_of_a_producer_in_a_cluster finds TransactionBytes finds AbandonedOperation,
        registers_that_there_are_not,
        roles_that_pass_unequally_many_stages finds AbandonedOperation,
        stage_that_is_not_filled finds AbandonedOperation,
    }
    tensor { results_of_any_size, tile_from_any_channel, tile_from_any_column, tile_of_any_matrix }
    views {
        grids_beyond_an_array, halves_of_an_array, parts_of_buffers, ranges_that_wrap, shapes_that_wrap, steps_beyond_the_end, turned_views,
        views_of_more_than_memory,
    }
    waits { grid_without_a_block, scan_without_a_block }
}
