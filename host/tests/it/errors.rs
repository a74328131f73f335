//! Everything that is refused without harm: bad PTX, absent kernels, launches that cannot be, lengths
//! that do not match. Each test reads the message as its reader would. Faults are in context.rs.

use crate::common::device;
use rumba::test_kernels::{PTX, saxpy, scale};
use rumba::{Device, Error, LaunchConfig, Module, error::LaunchError, error::ModuleError};
use test_processes::{child, text};

fn module() -> Module {
    device().load_named("test.ptx", PTX).expect("the PTX is right")
}

/// The error's text, which must contain all of `parts`.
#[track_caller]
fn says<T: std::fmt::Debug>(result: rumba::Result<T>, parts: &[&str]) -> Error {
    let error = result.expect_err("this must be refused");
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
    error
}

#[track_caller]
fn launch_error(result: rumba::Result<()>, parts: &[&str]) -> LaunchError {
    match says(result, parts) {
        Error::Launch(error) => *error,
        other => panic!("{other:?}"),
    }
}

fn unchecked(name: &str, ptx: &str) -> rumba::Result<Module> {
    // SAFETY: every launch of a kernel of this module is refused.
    unsafe { device().load_unchecked(name, ptx) }
}

/// A text that ends as the builder ends it.
fn sealed(ptx: &str, descriptions: &[(&str, String)]) -> String {
    let mut sealed = rumba_ptx::foot::without(ptx).to_owned();
    rumba_ptx::foot::seal(&mut sealed, descriptions.iter().map(|(name, text)| (*name, text.as_str())));
    sealed
}

#[test]
fn a_text_of_another_origin() {
    let foreign = |result: rumba::Result<Module>, parts: &[&str], was_changed: bool| match says(result, parts) {
        Error::Module(error) => match *error {
            ModuleError::ForeignPtx { changed, .. } => assert_eq!(changed, was_changed),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let by_hand = rumba_ptx::foot::without(PTX);
    let remedy = ["by hand", "was not written by `cuda_builder`", "load_unchecked"];
    foreign(device().load_named("by hand", by_hand), &remedy, false);
    foreign(device().linker().add("by hand", by_hand).load(), &remedy, false);
    let edited = PTX.replacen("mul.f32", "add.f32", 1);
    foreign(device().load(&edited), &["has changed since `cuda_builder` wrote it"], true);
    foreign(device().linker().add("first", PTX).add("second", &edited).load(), &["second has changed"], true);
    let path = std::env::temp_dir().join(format!("rumba-edited-{}.ptx", std::process::id()));
    std::fs::write(&path, &edited).expect("the temporary folder is writable");
    let loaded = device().load_file(&path);
    std::fs::write(&path, PTX).expect("the temporary folder is writable");
    let unchanged = device().load_file(&path);
    std::fs::remove_file(&path).expect("the file was written");
    foreign(loaded, &["has changed"], true);
    assert_eq!(unchanged.expect("as it was built").kernels(), ["scale", "saxpy"]);
}

/// The launcher's kernel and the one in the PTX, whose parameters have the same sizes.
#[test]
fn a_kernel_that_is_not_the_launchers() {
    let mut values = [1.0; 4];
    let own = scale(1.0, &mut values).kernel().describe();
    let described = |description: String| sealed(PTX, &[("scale", description)]);
    let launch = |ptx: &str| {
        let module = device().load_named("other.ptx", ptx).expect("it is sealed");
        module.for_each(4, scale(2.0, &mut [1.0; 4]))
    };
    launch(&described(own.clone())).expect("the same");
    launch(&described(own.replace("values: DisjointSlice<f32>", "renamed: Other"))).expect("names may differ");

    let stale =
        |description: String, parts: &[&str], named: Option<&str>| match says(launch(&described(description)), parts) {
            Error::Module(error) => match *error {
                ModuleError::StaleKernel { parameter, .. } => assert_eq!(parameter, named),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        };
    stale(
        own.replace("per-thread 1 1 4 4", "per-thread 1 1 32 4"),
        &["`scale`", "other.ptx", "takes `values: DisjointSlice<f32>`", "of 32 bytes", "of 4 bytes", "`cfg`"],
        Some("values"),
    );
    stale(own.replace("per-thread 1 1", "per-thread 2 1"), &["2-D launches", "1-D launches"], Some("values"));
    stale(own.replace("value 0 0 4 4 4", "value 0 0 8 4 8"), &["`factor: f32`", "a value of 8 bytes"], Some("factor"));
    stale(own.replace("- 0 0 0", "- 128 1 1"), &["states `block = [128, 1, 1]`", "states no `block`"], None);
    stale(own.replace("rumba -", "other 1.0"), &["is of the crate `other 1.0`"], None);
    let error = says(launch(&sealed(PTX, &[])), &["`scale`", "other.ptx", "was not written with `#[kernel]`"]);
    assert!(matches!(error, Error::Module(error) if matches!(*error, ModuleError::UndescribedKernel { .. })));

    // Nothing but the sizes is known of a text that the caller answers for.
    let module = unchecked("by hand", rumba_ptx::foot::without(PTX)).expect("valid PTX");
    module.for_each(4, scale(2.0, &mut values)).expect("its kernel is the launcher's");
    assert_eq!(values, [2.0; 4]);
}

#[test]
fn a_missing_file() {
    let error = says(device().load_file("no/such/kernels.ptx"), &["no/such/kernels.ptx", "build-ptx"]);
    assert!(matches!(error, Error::Module(error) if matches!(*error, ModuleError::File { .. })));
}

#[test]
fn a_file_that_is_no_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("binary.ptx");
    std::fs::write(&path, [0x7f, b'E', b'L', b'F', 0xff, 0xfe]).expect("the folder is writable");
    says(device().load_file(&path), &["is not PTX", "byte 4"]);
}

#[test]
fn text_that_is_no_ptx() {
    says(device().load(""), &["is not PTX", "empty"]);
    says(device().load("hello"), &["is not PTX", ".version"]);
    says(device().load(".version 7.0\0"), &["is not PTX", "byte 12 is zero"]);
}

#[test]
fn truncated_ptx() {
    let cut = PTX.find(".rn.f32 %f3").expect("the kernel has one");
    let line = PTX[..cut].lines().count().to_string();
    let error = says(unchecked("cut.ptx", &PTX[..cut]), &["cut.ptx", &line]);
    assert!(matches!(error, Error::Module(error) if matches!(*error, ModuleError::Ptx { .. })));
}

#[test]
fn a_syntax_error_has_its_line() {
    let wrong = PTX.replacen("mul.f32 %f2, %f1, %f0;", "mul.f32 %f2 %f1, %f0;", 1);
    let position = wrong.find("mul.f32 %f2 %f1").expect("replaced above");
    let line = wrong[..position].lines().count().to_string();
    says(unchecked("wrong.ptx", &wrong), &["wrong.ptx", &line]);
}

#[test]
fn an_unknown_instruction_has_its_line() {
    let wrong = PTX.replacen("mul.f32", "multiply.f32", 1);
    let line = wrong[..wrong.find("multiply").expect("replaced above")].lines().count().to_string();
    says(unchecked("wrong.ptx", &wrong), &["wrong.ptx", &line]);
}

#[test]
fn a_kernel_that_is_not_there() {
    let module = unchecked("other.ptx", &PTX.replace("entry saxpy(", "entry saxpi(")).expect("valid PTX");
    let mut y = [0.0];
    let result = module.for_each(1, saxpy(1.0, &[0.0], &mut y));
    let error = says(result, &["`saxpy`", "other.ptx", "did you mean `saxpi`?", "test_kernels.rs"]);
    match error {
        Error::Module(error) => match *error {
            ModuleError::MissingKernel { available, near, .. } => {
                assert_eq!(available, ["scale", "saxpi"]);
                assert_eq!(near, ["saxpi"]);
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
    says(module.info("nothing alike"), &["it has `scale`, `saxpi`"]);
}

#[test]
fn ptx_that_is_older_than_its_launcher() {
    let old = PTX.replace(".param .u64 x_length,", "").replace(".param .f32 a,", ".param .f64 a,");
    let old = old.replace("ld.param.f32 %f0, [a];", "mov.f32 %f0, 0f00000000;");
    let module = unchecked("old.ptx", &old).expect("valid PTX");
    let mut y = [0.0];
    says(
        module.for_each(1, saxpy(1.0, &[0.0], &mut y)),
        &["old.ptx", "4 parameters of 8, 8, 8, 8 bytes", "5 parameters of 4, 8, 8, 8, 8 bytes", "test_kernels.rs"],
    );
}

#[test]
fn a_block_of_2048_threads() {
    let mut values = [1.0; 8];
    let error =
        launch_error(module().launch((1, 2048), scale(2.0, &mut values)), &["`scale`", "2048 threads", "at most 1024"]);
    assert!(matches!(error, LaunchError::BlockTooLarge { threads: 2048, limit: 1024, .. }));
    let launch = module().launch((1, (64, 32)), scale(2.0, &mut values));
    launch_error(launch, &["64 × 32 = 2048 threads"]);
    let launch = module().launch((1, (1, 1, 128)), scale(2.0, &mut values));
    launch_error(launch, &["z dimension is 128", "at most 64"]);
    assert_eq!(values, [1.0; 8], "nothing ran");
}

#[test]
fn empty_grids_and_blocks() {
    let mut values = [1.0];
    let error = launch_error(module().launch((0, 32), scale(2.0, &mut values)), &["a grid of 0", "for_each"]);
    assert!(matches!(error, LaunchError::EmptyGrid { grid: [0, 1, 1], .. }));
    launch_error(module().launch(((4, 0), 32), scale(2.0, &mut values)), &["4 × 0"]);
    launch_error(module().launch((1, 0), scale(2.0, &mut values)), &["no threads"]);
    module().for_each(0, scale(2.0, &mut values)).expect("nothing to do is fine for for_each");
    assert_eq!(values, [1.0], "nothing ran");
}

#[test]
fn a_grid_beyond_the_limit() {
    let mut values = [1.0];
    launch_error(module().launch(((1, 70_000), 1), scale(2.0, &mut values)), &["y dimension is 70000", "65535", "put"]);
}

#[test]
fn more_shared_memory_than_there_is() {
    let limit = device().limits().shared_memory_optin;
    let mut values = [1.0];
    let config = LaunchConfig::new(1, 32).shared(limit + 1);
    let error = launch_error(
        module().launch(config, scale(2.0, &mut values)),
        &["shared memory", &(limit + 1).to_string(), &format!("at most {limit}")],
    );
    assert!(matches!(error, LaunchError::SharedMemory { .. }));
    module().launch(LaunchConfig::new(1, 32).shared(limit), scale(2.0, &mut values)).expect("the limit itself is fine");
    assert_eq!(values, [2.0]);
}

#[test]
fn more_dimensions_than_the_output_has() {
    let mut values = [1.0; 64];
    launch_error(module().launch((1, (8, 8)), scale(2.0, &mut values)), &["`scale`", "`values`"]);
}

#[test]
fn a_host_slice_shorter_than_the_launch_needs() {
    let mut values = [1.0; 10];
    let error = launch_error(module().for_each(11, scale(2.0, &mut values)), &["`values`", "10 elements", "11"]);
    assert!(matches!(error, LaunchError::Contract(_)));
    let device = device();
    let mut buffer = device.zeros::<f32>(10).expect("there is memory");
    launch_error(module().for_each(11, scale(2.0, &mut buffer)), &["`values`", "10 elements", "11"]);
}

#[test]
fn lengths_that_differ() {
    let device = device();
    let mut buffer = device.zeros::<u16>(5).expect("there is memory");
    says(buffer.copy_from(&[1; 4]), &["copy to the device", "source has 4", "destination 5"]);
    says(buffer.copy_to(&mut [0; 6]), &["copy from the device", "source has 5", "destination 6"]);
    let other = device.zeros::<u16>(4).expect("there is memory");
    says(buffer.copy_from_buffer(&other), &["source has 4", "destination 5"]);
    let pinned = device.pinned::<u16>(6).expect("there is memory");
    let stream = device.stream().expect("streams are cheap");
    says(buffer.copy_to_pinned(pinned, &stream), &["source has 5", "destination 6"]);
}

#[test]
#[should_panic(expected = "the range ends at 6, but there are 5 elements")]
fn a_range_beyond_the_end() {
    let buffer = device().zeros::<u16>(5).expect("there is memory");
    let _ = buffer.slice(2..6);
}

#[test]
fn more_memory_than_there_is() {
    let device = device();
    let total = device.total_memory().expect("every device has some");
    let error = says(device.zeros::<u8>(total + 1), &["out of device memory", "DeviceBuffer<u8>", "help"]);
    assert!(matches!(error, Error::OutOfMemory { bytes, .. } if bytes == total + 1));
    says(device.zeros::<u64>(usize::MAX / 4), &["more bytes than can be addressed"]);
    device.zeros::<u8>(1).expect("running out of memory is not the end").to_vec().expect("nor is it here");
}

#[test]
fn a_device_that_is_not_there() {
    says(Device::get(999), &["no CUDA device 999"]);
}

#[test]
fn a_refused_launch_names_the_device_and_what_would_fit() {
    let (module, device) = (module(), device());
    let name = format!("device 0 ({})", device.name());
    let mut values = [1.0; 8];
    launch_error(
        module.launch((3, 2048), scale(2.0, &mut values)),
        &[&name, "a grid of 6 blocks of 1024 threads would fit"],
    );
    launch_error(
        module.launch(((10, 7), (32, 64)), scale(2.0, &mut values)),
        &[&name, "a grid of 10 × 14 blocks of 32 × 32 threads would fit"],
    );
    launch_error(module.launch(((1, 70_000), 1), scale(2.0, &mut values)), &[&name, "put the largest dimension there"]);
    let limit = device.limits().shared_memory_optin;
    launch_error(
        module.launch(LaunchConfig::new(1, 32).shared(limit + 1), scale(2.0, &mut values)),
        &[&name, &format!("at most {limit} bytes of dynamic shared memory would fit")],
    );
    assert_eq!(values, [1.0; 8], "nothing ran");
}

/// A program whose `main` returns an error prints its `Debug`, and so does `unwrap`: here this test, run again by itself.
#[test]
fn main_and_unwrap_print_the_sentence() {
    use std::process::Termination;

    let refused = || module().launch((1, 2048), scale(2.0, &mut [1.0; 2048]));
    let Some(output) = child(&[], || {
        // Rust's runtime does the same with the result of `main`.
        let _ = refused().report();
        refused().unwrap();
        Ok(())
    }) else {
        return;
    };
    let text = text(&output);
    let sentence = refused().expect_err("the block is too large").to_string();
    assert!(sentence.starts_with("cannot launch `scale`: a block of 2048 threads"), "{sentence}");
    assert!(text.contains(&format!("Error: {sentence}\n")), "{text}");
    assert!(text.contains(&format!("on an `Err` value: {sentence}\n")), "{text}");

    // Also of those within.
    let Err(Error::Launch(within)) = refused() else {
        panic!("the launch is refused");
    };
    assert_eq!(format!("{within:?}"), sentence);
    let fault = Error::NoDevice("there is none".to_owned());
    assert_eq!(format!("{fault:?}"), "there is none");
}
