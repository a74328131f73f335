//! The crate `cust` on this driver, from PTX to results.

use cust::prelude::*;
use rumba_driver as _;

const PTX: &str = r#"
.version 7.0
.target sm_70
.address_size 64

.visible .entry vecadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .pred %outside;
    .reg .b32 %i, %t, %n;
    .reg .b64 %a, %b, %c, %offset;
    .reg .f32 %x, %y;
    mov.u32 %i, %ctaid.x;
    mov.u32 %t, %ntid.x;
    mul.lo.s32 %i, %i, %t;
    mov.u32 %t, %tid.x;
    add.s32 %i, %i, %t;
    ld.param.u32 %n, [n];
    setp.ge.u32 %outside, %i, %n;
    @%outside bra $end;
    ld.param.u64 %a, [a];
    ld.param.u64 %b, [b];
    ld.param.u64 %c, [c];
    mul.wide.u32 %offset, %i, 4;
    add.s64 %a, %a, %offset;
    add.s64 %b, %b, %offset;
    add.s64 %c, %c, %offset;
    ld.global.f32 %x, [%a];
    ld.global.f32 %y, [%b];
    add.f32 %x, %x, %y;
    st.global.f32 [%c], %x;
$end:
    ret;
}
"#;

#[test]
fn a_kernel_adds_vectors() -> Result<(), Box<dyn std::error::Error>> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(PTX, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let n = 1000;
    let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..n).map(|i| 2.0 * i as f32).collect();
    let (a, b) = (a.as_slice().as_dbuf()?, b.as_slice().as_dbuf()?);
    let c = DeviceBuffer::<f32>::zeroed(n)?;
    let vecadd = module.get_function("vecadd")?;
    let (start, end) = (Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?);
    start.record(&stream)?;
    // SAFETY: the kernel takes three arrays of `n` numbers and their length.
    unsafe {
        launch!(vecadd<<<(n as u32).div_ceil(128), 128, 0, stream>>>(
            a.as_device_ptr(),
            b.as_device_ptr(),
            c.as_device_ptr(),
            n as u32
        ))?;
    }
    end.record(&stream)?;
    stream.synchronize()?;
    let sum = c.as_host_vec()?;
    assert!(sum.iter().enumerate().all(|(i, sum)| *sum == 3.0 * i as f32));
    assert!(end.elapsed_time_f32(&start)? > 0.0);
    Ok(())
}

#[test]
fn errors_have_names_and_texts() -> Result<(), Box<dyn std::error::Error>> {
    let _context = cust::quick_init()?;
    let error = Module::from_ptx("not PTX", &[]).expect_err("no module");
    assert_eq!(error.to_string(), "\"device kernel image is invalid\"");
    let error = DeviceBuffer::<u8>::zeroed(1 << 46).expect_err("no memory");
    assert_eq!(error, cust::error::CudaError::OutOfMemory);
    let module = Module::from_ptx(PTX, &[])?;
    assert_eq!(module.get_function("no").err(), Some(cust::error::CudaError::NotFound));
    Ok(())
}
