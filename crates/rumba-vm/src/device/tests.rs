//! Sessions of launches that are checked for races together close with their last launch.

use std::time::Duration;

use rumba_checks::{Check, CheckSet};

use super::Device;
use crate::base::config::Config;
use crate::load::error::Source;
use crate::machine::fault::FaultKind;
use crate::run::launch::{Launch, LaunchFailure};

/// The kernel polls as long as the word compares so with 0, and ends with these instructions.
fn polling(name: &str, comparison: &str, end: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 flag)
{{
    .reg .pred %p;
    .reg .b32 %r;
    .reg .b64 %rd;
    ld.param.u64 %rd, [flag];
again:
    ld.acquire.sys.global.u32 %r, [%rd];
    setp.{comparison}.u32 %p, %r, 0;
    @%p bra again;
    {end}
    ret;
}}
"
    )
}

/// `wait` polls until the word is not 0, `fail` until it is 0, and then stores where no memory is.
fn kernels() -> String {
    let wait = polling("wait", "eq", "");
    let fail = polling("fail", "ne", "mov.b64 %rd, 16; st.global.u32 [%rd], 1;");
    format!(".version 9.0\n.target sm_100a\n.address_size 64\n{wait}{fail}")
}

#[test]
fn a_fault_leaves_no_session_behind() {
    let config = Config {
        workers: 2,
        memory_bytes: 1 << 28,
        checks: CheckSet::default().with(Check::Race),
        time_limit: Some(Duration::from_millis(300)),
        ..Config::default()
    };
    let device = Device::new(config).unwrap();
    let module = device.load(&[Source { name: "test.ptx", ptx: &kernels() }]).unwrap();
    let flag = device.allocate(4).unwrap();
    // SAFETY: nothing else uses the memory now.
    unsafe { device.write(flag, &[0; 4]) }.unwrap();
    let launch = |name: &str, ordinal| {
        let launch = Launch {
            grid: [1; 3],
            block: [32, 1, 1],
            dynamic_shared: 0,
            parameters: &flag.to_le_bytes(),
            cooperative: false,
            cluster: None,
            device: ordinal,
        };
        match device.launch(&module.function(name).unwrap(), &launch) {
            Err(LaunchFailure::Fault(fault)) => Some(fault.kind),
            result => {
                result.unwrap();
                None
            }
        }
    };
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| launch("wait", 0));
        while !device.inner.detectors.has_session() {
            std::thread::yield_now();
        }
        assert_eq!(launch("fail", 1), Some(FaultKind::IllegalAddress));
        // The other launch goes on, until it has taken too long.
        assert!(device.inner.detectors.has_session());
        assert_eq!(waits.join().unwrap(), Some(FaultKind::Timeout));
    });
    assert!(!device.inner.detectors.has_session());
    // SAFETY: as above.
    unsafe { device.write(flag, &[1; 4]) }.unwrap();
    assert_eq!(launch("wait", 0), None);
    assert!(!device.inner.detectors.has_session() && device.take_findings().is_empty());
}
