//! Things of the crate `cust` that this runtime takes over, and hands over.

use cust::context::{Context, legacy};
use cust::memory::{CopyDestination, DeviceBuffer as TheirBuffer};
use cust::stream::{Stream as TheirStream, StreamFlags};
use rumba::error::{CustError, GraphError};
use rumba::test_kernels::{PTX, scale};
use rumba::{Device, DeviceBuffer, Error, LaunchConfig, Stream};

/// A device, and its primary context as cust's, which is current.
fn both() -> (Device, Context) {
    let device = Device::new().expect("a device");
    let context = device.to_cust().expect("its context");
    (device, context)
}

#[test]
fn memory_and_streams_change_their_owner_and_stay_where_they_are() {
    let (device, context) = both();
    assert_eq!(Device::from_cust(&context).expect("it is the primary one").ordinal(), device.ordinal());
    let module = device.load(PTX).expect("valid PTX");
    let theirs = TheirStream::new(StreamFlags::DEFAULT, None).expect("a stream");
    let handle = theirs.as_inner();
    let stream = Stream::from_cust(&device, theirs).expect("a stream of the primary context");
    assert_eq!(stream.as_cust().expect("it does not record").as_inner(), handle);

    let theirs = TheirBuffer::from_slice(&[1.0_f32, 2.0, 3.0]).expect("memory");
    let address = theirs.as_device_ptr().as_raw();
    let mut ours = DeviceBuffer::from_cust(&device, theirs).expect("memory of the primary context");
    assert_eq!(ours.as_device_pointer().address(), address);
    for factor in [2.0, 5.0] {
        module.launch(LaunchConfig::new(1, 32).stream(&stream), scale(factor, &mut ours)).expect("it fits");
    }
    // The launches are not waited for by hand.
    let theirs = ours.into_cust().expect("nothing else holds it");
    assert_eq!(theirs.as_device_ptr().as_raw(), address);
    let mut values = [0.0; 3];
    theirs.copy_to(&mut values).expect("the memory is still there");
    assert_eq!(values, [10.0, 20.0, 30.0]);

    let own = device.buffer_from(&[7_u32, 8]).expect("memory").into_cust().expect("nothing else holds it");
    assert_eq!(own.as_host_vec().expect("the memory is still there"), [7, 8]);
}

#[test]
fn a_kernel_of_ours_is_launched_by_cust() {
    let (device, _context) = both();
    let module = device.load(PTX).expect("valid PTX");
    let stream = device.stream().expect("a stream");
    let numbers = device.buffer_from(&[1.0_f32, 2.0]).expect("memory").into_cust().expect("nothing else holds it");
    let kernel = module.as_cust().get_function("scale").expect("it has the kernel");
    let queue = stream.as_cust().expect("it does not record");
    let (mut factor, mut address, mut length) = (3.0_f32, numbers.as_device_ptr().as_raw(), 2_u64);
    let arguments = [(&raw mut factor).cast(), (&raw mut address).cast(), (&raw mut length).cast()];
    // SAFETY: the parameters of `scale` are a factor and a slice; the memory lives until the stream has done its work.
    unsafe { queue.launch(&kernel, 1, 32, 0, &arguments) }.expect("it fits");
    stream.synchronize().expect("it ends");
    assert_eq!(numbers.as_host_vec().expect("the memory is still there"), [3.0, 6.0]);
}

#[test]
fn buffers_without_elements_change_their_owner() {
    let (device, _context) = both();
    let empty = device.zeros::<f32>(0).expect("nothing to allocate").into_cust().expect("nothing to hold");
    assert_eq!(empty.len(), 0);
    assert_eq!(DeviceBuffer::from_cust(&device, empty).expect("nothing to take").len(), 0);
}

#[test]
fn what_others_hold_is_not_handed_over() {
    let (device, _context) = both();
    let module = device.load(PTX).expect("valid PTX");
    let mut numbers = device.buffer_from(&[1.0_f32]).expect("memory");
    let graph =
        device.capture(|stream| module.launch(LaunchConfig::new(1, 32).stream(stream), scale(2.0, &mut numbers)));
    let graph = graph.expect("a graph");
    assert!(matches!(numbers.into_cust(), Err(Error::Cust(CustError::Shared))));
    drop(graph);

    let pool = device.memory_pool().expect("a pool");
    let pooled = pool.zeros::<f32>(4).expect("memory");
    assert!(matches!(pooled.into_cust(), Err(Error::Cust(CustError::NotAllocated))));

    let mut outcome = None;
    device
        .capture(|stream| {
            outcome = Some(stream.as_cust().map(|_| ()));
            Ok(())
        })
        .expect("an empty graph");
    assert!(matches!(outcome, Some(Err(Error::Graph(error))) if matches!(*error, GraphError::NotALaunch { .. })));
}

#[test]
fn things_of_another_context_are_refused() {
    test_processes::alone(&[], || {
        let device = Device::new().expect("a device");
        let first = cust::device::Device::get_device(0).expect("a device");
        let other = legacy::Context::create_and_push(legacy::ContextFlags::SCHED_AUTO, first).expect("a context");
        let theirs = TheirBuffer::from_slice(&[1_u32]).expect("memory");
        let refused = DeviceBuffer::from_cust(&device, theirs);
        assert!(matches!(refused, Err(Error::Cust(CustError::OtherContext { what: "the buffer" }))), "{refused:?}");
        legacy::ContextStack::push(&other).expect("it is alive");
        let theirs = TheirStream::new(StreamFlags::DEFAULT, None).expect("a stream");
        let refused = Stream::from_cust(&device, theirs);
        assert!(matches!(refused, Err(Error::Cust(CustError::OtherContext { what: "the stream" }))), "{refused:?}");
        Ok(())
    });
}
