//! What several tests begin with.

use rumba::test_kernels::{PTX, saxpy, scale};
use rumba::{Device, Module};
use std::process::Command;

/// The name of the test that a process was started for.
const ALONE: &str = "RUMBA_TEST_ALONE";

pub fn device() -> Device {
    Device::new().expect("there is a device")
}

/// A device, and kernels that are ready to run: the driver loads a kernel when it is first launched, which may wait for all
/// streams.
pub fn ready() -> rumba::Result<(Device, Module)> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    let mut y = device.zeros::<f32>(1)?;
    module.for_each(1, scale(1.0, &mut y))?;
    module.for_each(1, saxpy(1.0, &device.zeros::<f32>(1)?, &mut y))?;
    device.synchronize()?;
    Ok((device, module))
}

/// Runs a test in a process of its own: for what a process has one of, such as the context of a device, the environment, the
/// handler of warnings; and for tests that hold a stream up, behind which the work of others would wait.
#[track_caller]
pub fn alone(test: impl FnOnce() -> rumba::Result<()>) {
    alone_with(&[], test);
}

/// As [`alone`], with variables in its environment. Returns what the process has written to stderr; in that process, nothing.
#[track_caller]
pub fn alone_with<T: FnOnce() -> rumba::Result<()>>(environment: &[(&str, &str)], test: T) -> String {
    let name = name_of::<T>();
    if std::env::var(ALONE).is_ok_and(|asked| asked == name) {
        test().unwrap_or_else(|error| panic!("{error}"));
        return String::new();
    }
    let program = std::env::current_exe().expect("a test knows itself");
    let output = Command::new(program)
        .args(["--exact", name, "--nocapture"])
        .env(ALONE, name)
        .envs(environment.iter().copied())
        .output()
        .expect("a test can be run again");
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    print!("{out}");
    assert!(
        output.status.success() && out.contains("1 passed"),
        "`{name}`, {}:\n{out}{err}",
        output.status
    );
    err
}

/// The name of a test by the type of a closure in it, `it::module::test::{{closure}}`.
fn name_of<T>() -> &'static str {
    let path = std::any::type_name::<T>();
    let name = path
        .split_once("::")
        .and_then(|(_, name)| name.split_once("::{{closure}}"));
    name.unwrap_or_else(|| panic!("{path} is no closure of a test")).0
}

#[test]
#[should_panic(expected = "0 passed; 1 failed")]
fn a_failure_in_a_process_of_its_own_is_told() {
    alone(|| Err(rumba::Error::NoDevice("on purpose".to_owned())));
}
