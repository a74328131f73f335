//! What each tool runs, and what it does not run and why. To add tests, add a line here.

/// The tests of some targets of a package.
pub(super) struct Suite {
    pub(super) package: &'static str,
    /// Targets and features, in cargo's words.
    pub(super) targets: &'static [&'static str],
    /// Only tests whose names contain one of these; all if there are none.
    pub(super) only: &'static [&'static str],
    /// Tests whose names contain this are left out, for this reason.
    pub(super) without: &'static [(&'static str, &'static str)],
}

impl Suite {
    /// As the summary calls it.
    pub(super) fn name(&self) -> String {
        let targets = self.targets.iter().filter(|word| !word.starts_with("--")).copied();
        let targets: Vec<&str> = targets.collect();
        let targets = if targets.is_empty() {
            "unit tests".to_owned()
        } else {
            targets.join(", ")
        };
        let only = if self.only.is_empty() {
            String::new()
        } else {
            format!(" ({})", self.only.join(", "))
        };
        format!("{}: {targets}{only}", self.package)
    }
}

/// What a tool runs, and how.
pub(super) struct Plan {
    pub(super) suites: &'static [Suite],
    /// Settings of cargo's, as for its option `--config`.
    pub(super) settings: &'static [&'static str],
    pub(super) environment: &'static [(&'static str, &'static str)],
    /// The sanitizer's own options, by environment variable.
    pub(super) options: &'static [(&'static str, &'static str)],
    pub(super) left_out: &'static [(&'static str, &'static str)],
}

/// Where tests of the runtime and the driver run.
const SOFT: (&str, &str) = ("RUMBA_DEVICE", "soft");

pub(super) static MIRI: Plan = Plan {
    suites: &[
        Suite {
            package: "rumba-ptx",
            targets: &["--lib"],
            only: &["lexer::", "line_index::", "spelling::"],
            without: &[],
        },
        Suite {
            package: "cuda_std",
            targets: &["--lib"],
            only: &[],
            without: &[],
        },
        Suite {
            package: "cuda_std",
            targets: &["--test", "launch"],
            only: &[],
            without: &[],
        },
        Suite {
            package: "rumba-vm",
            targets: &["--lib"],
            only: &[
                "access::",
                "allocations::",
                "check::",
                "cluster::",
                "copies::",
                "isa::movmatrix::",
                "isa::not::",
                "mbarrier::",
                "pages::",
                "seats::",
            ],
            without: &[],
        },
        Suite {
            package: "rumba-driver",
            targets: &["--lib"],
            only: &[],
            without: &[],
        },
        Suite {
            package: "rumba-host",
            targets: &["--no-default-features", "--lib"],
            only: &["array::layout", "memory::uses", "nccl::library", "split::"],
            without: &[],
        },
    ],
    settings: &[],
    environment: &[
        // Device addresses are numbers: kernels compute with them.
        (
            "MIRIFLAGS",
            "-Zmiri-disable-isolation -Zmiri-permissive-provenance -Zmiri-ignore-leaks",
        ),
        SOFT,
    ],
    options: &[],
    left_out: &[],
};

pub(super) static THREAD: Plan = Plan {
    suites: COMPILED,
    settings: QUICK,
    environment: &[SOFT],
    options: &[("TSAN_OPTIONS", "halt_on_error=0:second_deadlock_stack=1")],
    left_out: &[],
};

pub(super) static ADDRESS: Plan = Plan {
    suites: COMPILED,
    settings: QUICK,
    environment: &[SOFT],
    options: &[("ASAN_OPTIONS", "detect_leaks=1")],
    left_out: &[],
};

/// Compiling the machine takes minutes where it is optimised as usual.
const QUICK: &[&str] = &["profile.dev.package.rumba-vm.opt-level=1"];

const COMPILED: &[Suite] = &[
    Suite {
        package: "rumba-driver",
        targets: &[
            "--test", "driver", "--test", "devices", "--test", "seed", "--test", "cust",
        ],
        only: &[],
        without: &[],
    },
    Suite {
        package: "rumba-host",
        targets: &[
            "--no-default-features",
            "--test",
            "leaks",
            "--test",
            "streams",
            "--test",
            "memory",
        ],
        only: &[],
        without: &[],
    },
];
