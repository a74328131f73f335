//! A part of the table of faults, and of mixed work: the whole is `cargo xtask faults`, or `RUMBA_FAULT_STRIDE=1` here.

use std::time::Duration;

use faults::faults::Runner;
use faults::scenarios::SCENARIOS;
use faults::soak;
use test_processes::alone;

/// Three devices, and no kernels that are compiled meanwhile.
const ENVIRONMENT: [(&str, &str); 3] =
    [("RUMBA_DEVICE", "soft"), ("RUMBA_SOFT_DEVICES", "3"), ("RUMBA_ENGINE", "interpreter")];

/// Scenarios of a part of the table, each with a fault at one of `stride` places, unless the environment names another stride.
fn part(part: &str, stride: usize) {
    let named = std::env::var("RUMBA_FAULT_STRIDE").ok();
    let stride = named.map_or(stride, |named| named.parse().expect("RUMBA_FAULT_STRIDE is a number"));
    alone(&ENVIRONMENT, || {
        let mut runner = Runner::new()?;
        let (mut runs, mut failures) = (0, Vec::new());
        let scenarios = SCENARIOS.iter().filter(|scenario| scenario.name.starts_with(part));
        for (index, scenario) in scenarios.enumerate() {
            let tally = runner.all(scenario, stride, index % stride, |_| ());
            runs += tally.runs;
            failures.extend(tally.failures);
        }
        println!("{runs} runs");
        assert!(runs > 0 && failures.is_empty(), "{failures:#?}");
        Ok(())
    });
}

#[test]
fn memory() {
    part("memory::", 23);
}

#[test]
fn streams() {
    part("streams::", 23);
}

#[test]
fn launches() {
    part("launches::", 23);
}

#[test]
fn modules() {
    part("modules::", 23);
}

#[test]
fn arrays() {
    part("arrays::", 23);
}

#[test]
fn libraries() {
    part("libraries::", 61);
}

#[test]
fn devices() {
    part("devices::", 41);
}

/// A fault that the environment asks for, from the first call of the process on.
#[test]
fn faults_by_the_environment() {
    for (fault, expected) in [
        ("call=1,error=100", Some("no CUDA-capable device")),
        ("call=1,error=2", Some("did not start: out of memory")),
        ("call=5,error=101", Some("CUDA_ERROR_INVALID_DEVICE")),
        ("call=1,error=400", None),
        ("call=100000,error=2", None),
        ("nothing", Some("RUMBA_FAULT=nothing names no call")),
    ] {
        let mut environment = ENVIRONMENT.to_vec();
        environment.push(("RUMBA_FAULT", fault));
        let told = alone(&environment, || {
            match Runner::new() {
                Ok(_) => println!("no error"),
                Err(error) => println!("the error: {error}"),
            }
            Ok(())
        });
        // In the process of a test, which has one of these environments.
        let Some(told) = told else { return };
        assert!(told.contains(expected.unwrap_or("no error")), "{fault}: {told}");
    }
}

#[test]
fn mixed_work_leaves_nothing_behind() {
    alone(&ENVIRONMENT, || {
        let soaked = soak::soak(8, Duration::from_secs(3), Duration::from_secs(2), |_, _, _| ())?;
        println!("{:?}", soaked.runs);
        assert!(soaked.failures.is_empty(), "{:#?}", soaked.failures);
        assert_eq!(soaked.grown(), None);
        Ok(())
    });
}
