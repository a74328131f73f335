//! `RUMBA_CHECK_SEED`: the same number, the same order of blocks. The variable is read once per process, so each run is one.

use std::process::Output;

use cust::prelude::*;
use rumba_driver as _;

use test_processes::{child, text};

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

/// A run with this seed; `None` in its process.
fn run(seed: &str) -> Option<Output> {
    let variables = [("RUMBA_DEVICE", "soft"), ("RUMBA_LOG", "errors"), ("RUMBA_CHECK_SEED", seed)];
    child(&variables, || {
        println!("{}", tickets()?);
        Ok(())
    })
}

/// The tickets of 16 blocks in a line that nothing else in the output looks like.
fn tickets() -> cust::error::CudaResult<String> {
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
    let said = |seed: u32| {
        let text = text(&run(&seed.to_string())?);
        let line = text.lines().find(|line| line.starts_with("tickets"));
        Some(line.unwrap_or_else(|| panic!("{text}")).to_owned())
    };
    let Some(first) = said(1) else { return };
    assert_eq!(said(1).as_ref(), Some(&first));
    let mut others = (2..=6).filter_map(said);
    assert!(others.any(|order| order != first), "every order is {first}");
}

#[test]
fn a_seed_is_a_number() {
    let Some(output) = run("many") else { return };
    let said = text(&output);
    assert!(!output.status.success());
    assert!(said.contains("RUMBA_CHECK_SEED=many"), "{said}");
}

/// A short launch is interpreted, whatever the engine.
#[test]
fn engines_follow_the_same_order() {
    let mut orders = Vec::new();
    for engine in ["interpreter", "auto", "compiled"] {
        let variables =
            [("RUMBA_DEVICE", "soft"), ("RUMBA_LOG", "reports"), ("RUMBA_ENGINE", engine), ("RUMBA_CHECK_SEED", "3")];
        let output = child(&variables, || {
            println!("{}", tickets()?);
            Ok(())
        });
        let Some(output) = output else { return };
        let said = text(&output);
        let order = said.lines().find(|line| line.starts_with("tickets")).map(str::to_owned);
        // Where there is no LLVM, the device says so.
        assert!(order.is_some() || said.contains("asks for LLVM, and there is none"), "{said}");
        orders.extend(order);
    }
    assert!(orders.iter().all(|order| *order == orders[0]), "{orders:?}");
}
