//! The driver API through its exported C symbols: which call answers which code.
//!
//! The expected codes were read off NVIDIA's driver 580 on an H200, and the test runs there too:
//! `RUMBA_DEVICE=gpu cargo test -p rumba-driver --test it driver::`. Steps inside `soft { … }` are those where
//! NVIDIA's driver would crash, poison the process or differ by its hardware; each says why.
//!
//! Each scenario runs in a process of its own, since a driver has one state per process.

pub(crate) mod abi;
mod scenarios;
mod tensor_maps;
#[macro_use]
mod walk;

macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            walk::isolated(scenarios::$name);
        })*
    };
}

scenarios! {
    before_a_context,
    devices,
    contexts,
    destroyed_contexts,
    primary_context,
    device_memory,
    copies,
    arrays,
    boxes,
    fills,
    host_memory,
    tensor_maps,
    managed_memory,
    pointers,
    pools,
    virtual_memory,
    addresses_between_allocations,
    a_word_of_unmapped_memory,
    memory_in_use_by_another_context,
    memory_in_use_by_later_launches,
    streams,
    asynchrony,
    kernels_side_by_side,
    default_streams,
    pageable_copies,
    unfinished_work,
    graphs,
    graph_updates,
    programmatic_edges,
    captures,
    invalid_captures,
    graph_memory,
    libraries,
    events,
    limits,
    modules,
    images,
    links,
    functions,
    launches,
    parameters,
    occupancy,
    illegal_address,
    misaligned_address,
    trap,
    assertion,
    error_texts,
    function_addresses,
    work_in_progress_of_a_lost_context,
    stale_handles,
    threads,
}
