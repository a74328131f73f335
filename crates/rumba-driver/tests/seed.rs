//! `RUMBA_CHECK_SEED`: the same number, the same order of blocks. The variable is read once per process, so each run is one.

use std::process::{Command, Output};

use cust::prelude::*;
use rumba_driver as _;

/// Each block writes down the ticket that it got.
const PTX: &str = r#"
.version 7.0
.target sm_70
.address_size 64

.visible .entry tickets(.param .u64 count, .param .u64 y)
{
    .reg .b32 %block, %ticket;
    .reg .b64 %count, %y, %offset;
    ld.param.u64 %count, [count];
    ld.param.u64 %y, [y];
    mov.u32 %block, %ctaid.x;
    atom.global.add.u32 %ticket, [%count], 1;
    mul.wide.u32 %offset, %block, 4;
    add.s64 %y, %y, %offset;
    st.global.u32 [%y], %ticket;
    ret;
}
"#;

/// Says that this process is a run.
const RUN: &str = "RUMBA_TEST_RUN";

fn run(seed: &str) -> Output {
    Command::new(std::env::current_exe().expect("the test knows its file"))
        .args(["--exact", "an_order_can_be_repeated", "--nocapture"])
        .envs([(RUN, "1"), ("RUMBA_DEVICE", "soft"), ("RUMBA_LOG", "errors")])
        .env("RUMBA_CHECK_SEED", seed)
        .output()
        .expect("the test can run itself")
}

/// The tickets of 16 blocks in a line that nothing else in the output looks like.
fn tickets() -> Result<String, Box<dyn std::error::Error>> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(PTX, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let (count, y) = (DeviceBuffer::<u32>::zeroed(1)?, DeviceBuffer::<u32>::zeroed(16)?);
    // SAFETY: parameters as declared; 16 blocks have 16 places.
    unsafe {
        launch!(module.tickets<<<16, 1, 0, stream>>>(count.as_device_ptr(), y.as_device_ptr()))?;
    }
    stream.synchronize()?;
    Ok(format!("tickets {:?}", y.as_host_vec()?))
}

#[test]
fn an_order_can_be_repeated() {
    if std::env::var_os(RUN).is_some() {
        println!("{}", tickets().expect("the software device runs it"));
        return;
    }
    let said = |seed: u32| {
        let output = run(&seed.to_string());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find(|line| line.starts_with("tickets"));
        line.unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr)))
            .to_owned()
    };
    let orders: Vec<String> = (1..=6).map(said).collect();
    assert_eq!(said(1), orders[0]);
    assert!(orders.iter().any(|order| *order != orders[0]), "{orders:?}");
}

#[test]
fn a_seed_is_a_number() {
    let output = run("many");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("RUMBA_CHECK_SEED=many"), "{said}");
}
