//! A kernel and its launcher agree, or the first launch says in what they do not: the kernels of
//! `tests/kernels/src/forms/conditions.rs`, whose two compilations differ.

use rumba::{Device, Error, LaunchConfig, error::ModuleError};
use test_kernels::forms::conditions::{self, Counted, Named, WIDTH};

const PTX: &str = include_str!(env!("FORMS_PTX"));

/// The launch is refused at the parameter, in a sentence with these parts.
#[track_caller]
fn refused(result: rumba::Result<()>, named: Option<&str>, parts: &[&str]) {
    let error = result.expect_err("this must be refused");
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
    match error {
        Error::Module(error) => match *error {
            ModuleError::StaleKernel { parameter, .. } => assert_eq!(parameter, named),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn compilations_that_differ_are_refused() -> rumba::Result<()> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    let mut rows = device.zeros::<[u32; WIDTH]>(4)?;
    let sizes = ["of 32 bytes", "of 4 bytes", "`y: DisjointSlice<[u32; WIDTH]>`", "debug_assertions"];
    refused(module.launch((1, 4), conditions::wide_rows(&mut rows)), Some("y"), &sizes);
    // Not only the first time.
    refused(module.launch((1, 4), conditions::wide_rows(&mut rows)), Some("y"), &sizes);

    let mut counted = [Counted::default(); 4];
    let launched = module.launch((1, 4), conditions::set_counted(7, &mut counted));
    if cfg!(debug_assertions) {
        refused(launched, Some("y"), &["of 4 bytes", "of 8 bytes"]);
    } else {
        launched?;
        assert_eq!(counted.map(|counted| counted.value), [7; 4]);
    }

    let mut y = device.zeros::<u32>(64)?;
    refused(
        module.launch((1, 64), conditions::small_tile(&mut y)),
        Some("tile"),
        &["at most [8, 1, 1] threads", "at most [64, 1, 1] threads"],
    );
    refused(
        module.launch((1, 32), conditions::stated_once(&mut y)),
        None,
        &["states no `block`", "states `block = [32, 1, 1]`"],
    );
    refused(module.launch((1, 4), conditions::clear::<[u32; WIDTH]>(&mut rows)), Some("y"), &["of 32 bytes"]);
    assert_eq!(rows.to_vec()?, [[0; WIDTH]; 4]);
    Ok(())
}

#[test]
fn names_of_fields_and_other_instances_may_differ() -> rumba::Result<()> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    let mut named = [Named::default(); 4];
    module.launch(LaunchConfig::for_each(4), conditions::set_named(7, &mut named))?;
    assert_eq!(named.map(|named| named.on_host), [7; 4]);
    let mut words = [1_u32; 4];
    module.for_each(4, conditions::clear::<u32>(&mut words))?;
    assert_eq!(words, [0; 4]);
    Ok(())
}

/// The description of a kernel survives linking.
#[test]
fn linked_kernels_are_compared_too() -> rumba::Result<()> {
    let device = Device::new()?;
    let module = device.linker().add("forms.ptx", PTX).load()?;
    let mut rows = device.zeros::<[u32; WIDTH]>(4)?;
    refused(module.launch((1, 4), conditions::wide_rows(&mut rows)), Some("y"), &["of 32 bytes"]);
    module.for_each(4, conditions::clear::<u32>(&mut [1; 4]))
}

/// A built text is loaded unchanged, and refused after any change.
#[test]
fn built_text_is_sealed() -> rumba::Result<()> {
    let device = Device::new()?;
    assert_eq!(rumba_ptx::foot::check(PTX), Ok(()));
    let error = device.load(&PTX.replacen("ret;", "trap;", 1)).expect_err("it was edited");
    assert!(matches!(error, Error::Module(error) if matches!(*error, ModuleError::ForeignPtx { changed: true, .. })));
    Ok(())
}
