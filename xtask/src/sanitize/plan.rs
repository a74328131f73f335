//! The tests of each tool, and the tests left out, with reasons. To add tests, add a line here.

/// Tests of a package.
pub(super) struct Suite {
    pub(super) package: &'static str,
    /// Its features, in cargo's words.
    pub(super) features: &'static [&'static str],
    /// Files in the package's folder `tests`; the unit tests if the list is empty.
    pub(super) files: &'static [&'static str],
    /// Only tests whose names contain one of these; all tests if the list is empty.
    pub(super) only: &'static [&'static str],
    /// Tests whose names contain this are left out, for this reason.
    pub(super) without: &'static [(&'static str, &'static str)],
}

impl Suite {
    /// As the summary calls it.
    pub(super) fn name(&self) -> String {
        if self.files.is_empty() {
            format!("{}: unit tests", self.package)
        } else {
            format!("{}: {}", self.package, self.files.join(", "))
        }
    }

    /// Its targets and features, in cargo's words.
    pub(super) fn selection(&self) -> Vec<&'static str> {
        let mut words = vec!["--package", self.package];
        words.extend(self.features);
        if self.files.is_empty() {
            words.push("--lib");
        }
        words.extend(self.files.iter().flat_map(|file| ["--test", *file]));
        words
    }
}

/// The tests of a tool, and their options.
pub(super) struct Plan {
    pub(super) suites: &'static [Suite],
    /// Variables, unless the environment has them.
    pub(super) environment: &'static [(&'static str, &'static str)],
    /// The sanitizer's own options, by environment variable.
    pub(super) options: &'static [(&'static str, &'static str)],
    pub(super) left_out: &'static [(&'static str, &'static str)],
}

/// Tests of the runtime and the driver run on the software device.
const SOFT: (&str, &str) = ("RUMBA_DEVICE", "soft");

/// The sanitizers load modules thirty times slower, of which the leak test loads one in a hundred operations.
const FEW_OPERATIONS: (&str, &str) = ("RUMBA_LEAK_OPERATIONS", "400");

/// One in eleven runs of the table of faults; `RUMBA_FAULT_STRIDE=1` in the environment has all.
const FEW_FAULTS: (&str, &str) = ("RUMBA_FAULT_STRIDE", "11");

pub(super) static MIRI: Plan = Plan {
    suites: &[
        Suite {
            package: "rumba-ptx",
            features: &[],
            files: &[],
            only: &["foot::", "lexer::", "line_index::", "parser::", "spelling::"],
            without: &[("depth_is_limited", "nests thousands deep, which Miri does slowly")],
        },
        Suite {
            package: "cuda_std",
            features: &[],
            files: &[],
            only: &[],
            without: &[(
                "float::",
                "compare with the system's functions bit for bit, which Miri rounds at random, and call assembly of the crate `libm`",
            )],
        },
        Suite { package: "cuda_std", features: &[], files: &["it"], only: &["launch::"], without: &[] },
        Suite {
            package: "rumba-vm",
            features: &["--features", "serde"],
            files: &[],
            only: &[
                "check::clock::",
                "machine::cluster::",
                "mem::allocations::",
                "mem::atomic::",
                "mem::copies::",
                "mem::mbarrier::",
                "mem::pages::",
                "mem::unwritten::tests::a_copy",
                "mem::unwritten::tests::reads",
                "run::slots::",
            ],
            without: &[("memory_runs_out_and_comes_back", "fills 200 MiB, which Miri does slowly")],
        },
        // One kernel for each part of the machine that shares memory by pointers.
        Suite {
            package: "machine",
            features: &[],
            files: &["it"],
            only: &["states_and_dropping_out", "elements_of_arrays_are_operands"],
            without: &[],
        },
        Suite {
            package: "machine",
            features: &[],
            files: &["it"],
            only: &["a_barrier_in_a_loop", "a_missing_barrier_is_a_race", "kernels_allocate_and_free"],
            without: &[],
        },
        Suite { package: "rumba-interface", features: &[], files: &[], only: &[], without: &[] },
        Suite {
            package: "rumba-soft",
            features: &[],
            files: &[],
            only: &[],
            without: &[("soft::vmm::", "maps a file of the system's memory, which Miri cannot")],
        },
        Suite {
            package: "rumba",
            features: &["--no-default-features"],
            files: &[],
            only: &["array::layout::", "context::uses::", "devices::split::"],
            without: &[],
        },
    ],
    environment: &[
        // Kernels compute with device addresses, which are integers. Memory that is kept until the process ends is no
        // leak. Miri emulates weak memory for accesses of one size only: the host copies words of which kernels
        // access parts.
        (
            "MIRIFLAGS",
            "-Zmiri-disable-isolation -Zmiri-permissive-provenance -Zmiri-ignore-leaks -Zmiri-disable-weak-memory-emulation",
        ),
        SOFT,
    ],
    options: &[],
    left_out: &[
        (
            "rumba-driver, and all tests of rumba that use a device",
            "it loads libraries, and every call of it is a jump written in assembly (trampoline.rs); the sanitizers run these \
             tests",
        ),
        (
            "the other kernels of rumba-vm",
            "Miri takes a minute to load one; those that run use each part of the machine once",
        ),
        (
            "rumba-vm: check::race",
            "its tables are address space of which Miri notes each byte: half an hour for one test",
        ),
        ("the handlers for AVX2", "Miri's processor has no vector instructions; the sanitizers run them"),
        (
            "rumba-ptx: diagnostic",
            "it lays out reports by another crate, which Miri does slowly; neither has unsafe code",
        ),
    ],
};

pub(super) static THREAD: Plan = Plan {
    suites: &[DRIVER, RUNTIME],
    environment: &[SOFT, FEW_OPERATIONS],
    options: &[("TSAN_OPTIONS", "second_deadlock_stack=1")],
    left_out: LEFT_OUT,
};

pub(super) static ADDRESS: Plan = Plan {
    suites: &[
        DRIVER,
        RUNTIME,
        Suite {
            package: "rumba",
            features: &["--no-default-features", "--features", "linked"],
            files: &[],
            only: &[],
            without: &[],
        },
        // What the runtime does after a failed call.
        Suite { package: "faults", features: LINKED, files: &["it"], only: &[], without: &[] },
        // The machine's own memory: tables of allocations, pages, what the checks note beside them, copies.
        Suite {
            package: "rumba-vm",
            features: &[],
            files: &[],
            only: &["check::", "machine::cluster::", "mem::", "run::slots::"],
            without: &[],
        },
        Suite {
            package: "machine",
            features: &[],
            files: &["it"],
            only: &["memory::", "copies::", "init::", "natives::"],
            without: &[],
        },
    ],
    environment: &[SOFT, FEW_OPERATIONS, FEW_FAULTS],
    options: &[
        ("ASAN_OPTIONS", "detect_leaks=1:detect_stack_use_after_return=1"),
        // Only for the folder of its reports.
        ("LSAN_OPTIONS", "print_suppressions=0"),
    ],
    left_out: LEFT_OUT,
};

/// A device that is loaded would be compiled without the sanitizer.
const LINKED: &[&str] = &["--features", "linked"];

const DRIVER: Suite = Suite {
    package: "rumba-driver",
    features: LINKED,
    files: &["it"],
    only: &["driver::", "devices::", "seed::", "cust::"],
    without: &[],
};

const RUNTIME: Suite = Suite {
    package: "rumba",
    features: &["--no-default-features", "--features", "linked"],
    files: &["it"],
    only: &["leaks::", "streams::", "memory::", "in_flight::"],
    without: &[],
};

const LEFT_OUT: &[(&str, &str)] = &[
    (
        "rumba-driver: choice, soft_library",
        "loads libraries that were compiled without the sanitizer, and expects what the loader says of them",
    ),
    (
        "rumba-driver: misuse",
        "its thousand wrong calls end processes on purpose; the driver test has each call's right use",
    ),
    ("the rest of rumba-vm", "the driver's tests run the machine with all its threads; Miri runs its shared tables"),
    (
        "rumba: programs, gallery, algorithms",
        "they need the kernel toolchain, and use no more of the runtime than the tests that run",
    ),
    (
        "what kernels do in the device's memory",
        "it is one mapping, whose bounds and leaks AddressSanitizer does not know: they are memcheck's and the leak test's. \
         Vectors are copied by assembly, which neither sanitizer sees",
    ),
];
