//! Shared memory under other names, and threads that leave before a barrier that others pass: no data race in any order.

use cuda_std::launch::{Call, Elements};
use rumba::{Check, Checks, Error, Findings, Result};
use test_kernels::indices::shared;

/// The findings in a launch of one block of 64 threads, in ten orders of its threads. A panic is allowed.
fn findings(
    call: impl for<'a> Fn(&'a [u32], &'a mut [u32]) -> Call<'a>,
    expected: impl Fn(usize, u32) -> bool,
) -> Findings {
    Checks::default()
        .only([Check::Mem, Check::Race])
        .schedules(10)
        .run(|device| -> Result<()> {
            let module = device.load_named("indices.ptx", include_str!(env!("INDICES_PTX")))?;
            let (x, mut y) = ([5; 64], [0; 64]);
            match module.launch((1, 64), call(&x, &mut y)) {
                // A panic keeps the results on the device.
                Err(Error::Panic(_)) => {}
                result => {
                    result?;
                    assert!((0..64).all(|i| expected(i, y[i])), "{y:?}");
                }
            }
            Ok(())
        })
        .expect("nothing is wrong but what is found")
}

#[test]
fn aliases_of_slices_have_barriers_of_their_own() {
    let value = |i: usize, y| y == 3 * (63 - i as u32);
    findings(|_, y| shared::aliases(y, Elements(64), Elements(64)), value).assert_none();
}

#[test]
fn threads_at_different_barriers_wait_for_each_other() {
    let found = Checks::default()
        .only([Check::Mem, Check::Race, Check::Sync])
        .run(|device| -> Result<()> {
            let module = device.load_named("indices.ptx", include_str!(env!("INDICES_PTX")))?;
            let mut y = [0; 64];
            module.launch((1, 64), shared::alias_beside_sync_threads(&mut y, Elements(64)))
        })
        .expect("the deadlock is found");
    assert!(!found.is_empty(), "the threads wait for each other");
    assert!(found.iter().all(|finding| finding.kind.id() != "data-race"), "{found}");
}

#[test]
fn threads_that_return_are_in_order_with_those_that_stay() {
    let stays = |i: usize, y: u32, value| y == if i < 32 { 0 } else { value };
    findings(|_, y| shared::returns_early(y), |i, y| stays(i, y, 5)).assert_none();
    findings(|_, y| shared::returns_between_turns(y), |i, y| stays(i, y, 6)).assert_none();
    findings(|x, y| shared::returns_while_copying(x, y), |i, y| stays(i, y, 5)).assert_none();
    findings(|x, y| shared::forgets_while_copying(x, y), |i, y| stays(i, y, 5)).assert_none();
}

#[test]
fn threads_that_panic_are_in_order_with_those_that_go_on() {
    findings(|x, y| shared::panics_early(x, y), |_, _| false).assert_none();
    findings(|x, y| shared::panics_while_copying(x, y), |_, _| false).assert_none();
}

#[test]
fn a_static_of_storage_is_an_address() {
    findings(|_, y| shared::address_of_storage(y), |_, y| y == 1).assert_none();
}
