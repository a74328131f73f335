//! Kernels for several architectures: each device runs the newest variant that it can, all kernels of a module share its
//! variables, and what a device cannot run is an error when it is used.
//!
//! The software device plays one generation after the other. `RUMBA_TEST_GPU=1` adds the GPU.

use cuda_builder::set;
use cuda_std::launch::Call;
use rumba::{Device, Error, Module, error::ModuleError};
use rumba_ptx::Target;
use test_kernels::variants as kernels;
use test_processes::alone;

use On::{Gpu, Playing};

const PTX: &str = include_str!(env!("VARIANTS_PTX"));

fn load(device: &Device) -> Module {
    device.load_named("variants.ptx", PTX).expect("any device takes the set")
}

/// A device that a process starts on.
enum On {
    /// The software device with this compute capability.
    Playing(&'static str),
    /// A GPU.
    Gpu,
}

/// The result of `test` in a separate process on this device; None in that process itself.
fn on(device: On, test: impl FnOnce() -> String) -> Option<String> {
    const MARK: &str = "\u{1}";
    let variables: &[_] = match device {
        Playing(capability) => &[("RUMBA_DEVICE", "soft"), ("RUMBA_SOFT_ARCH", capability)],
        Gpu => &[("RUMBA_DEVICE", "gpu")],
    };
    let printed = alone(variables, || {
        println!("{MARK}{}{MARK}", test());
        Ok(())
    })?;
    let said = printed.split(MARK).nth(1).expect("the process came to its end");
    Some(said.to_owned())
}

/// The result of a kernel, or the reason why it does not run.
fn ran(module: &Module, kernel: impl FnOnce(&mut [[u32; 2]; 1]) -> Call<'_>) -> String {
    let mut y = [[0; 2]];
    match module.for_each(1, kernel(&mut y)) {
        Ok(()) => format!("{} as thread {}", y[0][0], y[0][1]),
        Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
    }
}

/// Everything that the kernels do on this process's device, line by line.
fn all() -> String {
    let device = Device::new().expect("there is a device");
    let module = load(&device);
    let mut said = vec![
        module.kernels().join(" "),
        ran(&module, |y| kernels::plain(y)),
        ran(&module, |y| kernels::product(y)),
        ran(&module, |y| kernels::hopper(y)),
    ];
    module.set_constant(&kernels::FACTOR, &2).expect("every text has it");
    said.push(ran(&module, |y| kernels::product(y)));
    said.push(ran(&module, |y| kernels::plain(y)));
    let (mut narrow, mut wide) = ([0_u32], [0_u64]);
    let generic = module.for_each(1, kernels::generic::<u32>(&mut narrow));
    let generic = generic.and_then(|()| module.for_each(1, kernels::generic::<u64>(&mut wide)));
    said.push(match generic {
        Ok(()) => format!("{} {}", narrow[0], wide[0]),
        Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
    });
    let panicked = module.for_each(1, kernels::reads_too_far(&[0; 8], &mut [0]));
    said.push(match panicked.expect_err("it reads too far, if it runs") {
        Error::Panic(panic) => panic.message,
        error => error.to_string().lines().next().unwrap_or_default().to_owned(),
    });
    said.push(ran(&module, |y| kernels::plain(y)));
    said.join("\n")
}

/// The text of [`all`] if the kernels for `product`, `generic` and `plain` have these numbers.
fn expected(names: &str, [plain, product, hopper, generic]: [u32; 4], index: u32) -> String {
    let after = if hopper > 0 { 3 } else { 2 };
    let hopper = match hopper {
        0 => "the kernel `hopper` in variants.ptx is compiled for sm_90a, none of which runs on this device".to_owned(),
        number => format!("{number} as thread 2"),
    };
    [
        names.to_owned(),
        format!("{plain} as thread 0"),
        format!("{product} as thread 1"),
        hopper,
        format!("{} as thread {after}", 2 * product),
        format!("{} as thread {}", 2 * plain, after + 1),
        format!("{generic} {generic}"),
        format!("index out of bounds: the len is 8 but the index is {index}"),
        format!("{} as thread {}", 2 * plain, after + 2),
    ]
    .join("\n")
}

/// The lines without which capability the device has.
fn without_capability(said: &str) -> String {
    let lines = said.lines().map(|line| line.split(" of compute capability ").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn hopper_runs_what_is_compiled_for_it() {
    let Some(said) = on(Playing("9.0"), all) else { return };
    let names = "generic_u32 generic_u64 hopper plain product reads_too_far";
    assert_eq!(without_capability(&said), expected(names, [700, 901, 901, 900], 9));
}

#[test]
fn ampere_runs_the_older_variants() {
    let Some(said) = on(Playing("sm_86"), all) else { return };
    let names = "generic_u32 generic_u64 plain product reads_too_far";
    assert_eq!(without_capability(&said), expected(names, [700, 800, 0, 800], 8));
}

#[test]
fn turing_runs_what_states_nothing() {
    let Some(said) = on(Playing("7.5"), || {
        let device = Device::new().expect("there is a device");
        let module = load(&device);
        let error = module.for_each(1, kernels::product(&mut [[0; 2]])).expect_err("there is no variant");
        match error {
            Error::Module(ref no_image) => match &**no_image {
                ModuleError::NoImage { kernel, architectures, compute_capability, .. } => {
                    assert_eq!((kernel.as_str(), *compute_capability), ("product", (7, 5)));
                    assert_eq!(architectures, &["sm_80", "sm_90a"]);
                }
                other => panic!("{other}"),
            },
            other => panic!("{other}"),
        }
        // Each way to look up a kernel gives this kernel's error.
        assert!(module.info("hopper").expect_err("there is no variant").to_string().contains("sm_90a"));
        let unknown = module.info("products").expect_err("there is no such kernel").to_string();
        format!("{}\n{}\n{}", module.kernels().join(" "), ran(&module, |y| kernels::plain(y)), unknown)
    }) else {
        return;
    };
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..2], ["plain", "700 as thread 0"]);
    assert!(lines[2].starts_with("there is no kernel `products`"), "{said}");
}

#[test]
fn the_software_device_is_what_it_plays() {
    let Some(said) = on(Playing("8.6"), || {
        let device = Device::new().expect("there is a device");
        let limits = device.limits();
        // Newer PTX is refused, as a GPU of this compute capability refuses it.
        let newer = ".version 8.0 .target sm_90 .address_size 64 .visible .entry k() { ret; }";
        // SAFETY: the module is refused.
        let error = unsafe { device.load_unchecked("newer.ptx", newer) }.expect_err("it is for newer devices");
        assert!(error.to_string().contains("higher than default SM version"), "{error}");
        format!(
            "{:?} {} {} {}",
            limits.compute_capability,
            limits.shared_memory_optin,
            limits.threads_per_multiprocessor,
            limits.blocks_per_multiprocessor
        )
    }) else {
        return;
    };
    assert_eq!(said, "(8, 6) 101376 1536 16");
}

/// A build for one generation has a single text, which no other device loads.
#[test]
fn a_single_text_is_chosen_too() {
    on(Playing("8.0"), || {
        let device = Device::new().expect("there is a device");
        let mut text =
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry hopper(\n)\n{ ret; }\n".to_owned();
        rumba_ptx::foot::seal(&mut text, []);
        let module = device.load_named("hopper.ptx", &text).expect("its kernels are missing one by one");
        assert!(module.kernels().is_empty());
        let error = module.info("hopper").expect_err("it is for 9.0").to_string();
        assert!(error.contains("sm_90a") && error.contains("8.0"), "{error}");
        // Linked with another text it is nothing, too.
        let linked = device.linker().add("hopper.ptx", &text).add("variants.ptx", PTX).load();
        let linked = linked.expect("what is left is linked");
        assert!(linked.info("hopper").expect_err("it is for 9.0").to_string().contains("sm_90a"));
        ran(&linked, |y| kernels::product(y))
    });
}

#[test]
fn the_set_is_whole() {
    assert_eq!(set::check(PTX), Ok(()));
    let targets: Vec<String> =
        set::texts(PTX).into_iter().filter_map(Target::of).map(|target| target.to_string()).collect();
    assert_eq!(targets, ["sm_70", "sm_80", "sm_90", "sm_90a"]);
    for text in set::texts(PTX) {
        // Each has all variables, once: the host finds them whatever it loads.
        assert_eq!(text.matches(".const .align 4 .b8 FACTOR[4]").count(), 1, "{text}");
        assert!(!text.contains("__rumba_arch"), "a marker is left in the PTX");
    }
    let half: String = set::texts(PTX)[..2].concat();
    let error = Device::new().and_then(|device| device.load_named("half.ptx", &half));
    let error = error.expect_err("two texts are missing").to_string();
    assert!(error.contains("half.ptx has changed"), "{error}");
}

/// On whatever GPU there is.
#[test]
fn a_gpu_runs_the_newest_variants_that_it_can() {
    if std::env::var_os("RUMBA_TEST_GPU").is_none() {
        return;
    }
    let Some(said) = on(Gpu, || {
        let device = Device::new().expect("there is a GPU");
        format!("{:?}\n{}", device.limits().compute_capability, all())
    }) else {
        return;
    };
    let (capability, said) = said.split_once('\n').expect("two parts");
    let (names, numbers, index) = match capability {
        "(9, 0)" => ("generic_u32 generic_u64 hopper plain product reads_too_far", [700, 901, 901, 900], 9),
        "(8, 0)" | "(8, 6)" | "(8, 7)" | "(8, 9)" => {
            ("generic_u32 generic_u64 plain product reads_too_far", [700, 800, 0, 800], 8)
        }
        capability if capability.starts_with("(1") => {
            ("generic_u32 generic_u64 plain product reads_too_far", [700, 800, 0, 900], 8)
        }
        older => panic!("no variant is for {older}"),
    };
    assert_eq!(without_capability(said), expected(names, numbers, index));
}
