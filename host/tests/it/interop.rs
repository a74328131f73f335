//! Tensors of other libraries: memory by its address, and DLPack in both directions.

use crate::common::interop_error;
use rumba::array::Array;
use rumba::error::InteropError;
use rumba::interop::{DType, Place, Tensor, dlpack};
use rumba::test_kernels::{PTX, saxpy, scale};
use rumba::{Device, DeviceBuffer};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The other library's handle: it counts how often the memory was given back.
struct Library {
    _memory: DeviceBuffer<f32>,
    returned: Arc<AtomicUsize>,
}

impl Drop for Library {
    fn drop(&mut self) {
        self.returned.fetch_add(1, Ordering::Relaxed);
    }
}

/// Elements 0, 1, 2, ... of the other library.
fn library(device: &Device, length: usize) -> (u64, Library, Arc<AtomicUsize>) {
    let values: Vec<f32> = (0..length).map(|i| i as f32).collect();
    let memory = device.buffer_from(&values).expect("memory");
    let returned = Arc::new(AtomicUsize::new(0));
    (memory.as_device_pointer().address(), Library { _memory: memory, returned: Arc::clone(&returned) }, returned)
}

fn tensor(device: &Device, address: u64, shape: &[usize], strides: Option<&[isize]>, owner: Library) -> Tensor {
    let place = Place::Device(device.ordinal());
    // SAFETY: the owner has more elements than the shape reaches, and nothing else uses them.
    unsafe { Tensor::new(place, address, DType::F32, shape, strides, owner) }.expect("a tensor")
}

#[test]
fn a_kernel_writes_the_memory_itself_and_its_owner_gets_it_back() {
    let device = Device::new().expect("a device");
    let module = device.load(PTX).expect("valid PTX");
    // From any element on: the address is not aligned as allocations are.
    for first in [0, 1, 67] {
        let (address, owner, returned) = library(&device, 100);
        let part = tensor(&device, address + 4 * first, &[20], None, owner);
        let watched = part.clone().read_only();
        let mut numbers = part.write::<f32, 1>(&device).expect("memory of this device");
        assert!(matches!(interop_error(watched.clone().read::<f32, 1>(&device)), InteropError::InUse));
        assert!(matches!(interop_error(watched.clone().write::<f32, 1>(&device)), InteropError::ReadOnly));
        module.for_each(20, scale(10.0, numbers.as_slice_mut().expect("contiguous"))).expect("it fits");
        let expected: Vec<f32> = (first..first + 20).map(|i| 10.0 * i as f32).collect();
        assert_eq!(numbers.view().to_vec().expect("a copy"), expected);
        drop(numbers);
        // The same memory, by the handle that is left, twice at a time.
        let again = watched.clone().read::<f32, 1>(&device).expect("nobody writes it");
        let reader = watched.read::<f32, 1>(&device).expect("nobody writes it");
        assert_eq!(again.as_slice().expect("contiguous").to_vec().expect("a copy"), expected);
        drop(again);
        assert_eq!(returned.load(Ordering::Relaxed), 0);
        drop(reader);
        assert_eq!(returned.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn views_have_the_strides_of_the_tensor() {
    let device = Device::new().expect("a device");
    let (address, owner, _) = library(&device, 12);
    // A matrix of 3 rows and 4 columns, transposed, and from the last row to the first.
    let turned = tensor(&device, address + 4 * 8, &[4, 3], Some(&[1, -4]), owner);
    assert!(!turned.is_contiguous());
    let mut matrix = turned.write::<f32, 2>(&device).expect("each index has its element");
    assert!(matches!(interop_error(matrix.as_slice()), InteropError::NotContiguous { .. }));
    assert!(matches!(interop_error(matrix.as_slice_mut()), InteropError::NotContiguous { .. }));
    let values = [8.0, 4.0, 0.0, 9.0, 5.0, 1.0, 10.0, 6.0, 2.0, 11.0, 7.0, 3.0];
    assert_eq!(matrix.view().to_vec().expect("a copy"), values);
    matrix.view_mut().slice_mut((1..2, ..)).fill(-1.0).expect("a kernel of the runtime");
    assert_eq!(matrix.view().transpose().index_axis(0, 0).to_vec().expect("a copy"), [8.0, -1.0, 10.0, 11.0]);

    let (address, owner, _) = library(&device, 12);
    let broadcast = tensor(&device, address, &[3, 4], Some(&[0, 1]), owner);
    assert!(matches!(interop_error(broadcast.clone().write::<f32, 2>(&device)), InteropError::Overlaps { .. }));
    let rows = broadcast.read::<f32, 2>(&device).expect("it is only read");
    assert_eq!(rows.view().index_axis(0, 2).to_vec().expect("a copy"), [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn what_does_not_fit_is_told() {
    let device = Device::new().expect("a device");
    let (address, owner, _) = library(&device, 12);
    let matrix = tensor(&device, address, &[3, 4], None, owner);
    let of_doubles = interop_error(matrix.clone().read::<f64, 2>(&device));
    assert!(of_doubles.to_string().contains("float32, and the program expects float64"), "{of_doubles}");
    let of_one_axis = interop_error(matrix.clone().read::<f32, 1>(&device));
    assert!(
        of_one_axis.to_string().contains("2 dimensions, of shape [3, 4], and the program expects 1"),
        "{of_one_axis}"
    );
    assert!(matches!(interop_error(matrix.host_slice::<f32>()), InteropError::OnDevice { ordinal: 0 }));
    let place = Place::Device(device.ordinal() + 1);
    // SAFETY: the owner has these elements.
    let elsewhere = unsafe { Tensor::new(place, address, DType::F32, &[12], None, matrix.clone()) }.expect("a tensor");
    assert!(matches!(
        interop_error(elsewhere.read::<f32, 1>(&device)),
        InteropError::OtherDevice { theirs: 1, ours: 0 }
    ));

    let mut host = vec![1.0_f32, 2.0, 3.0];
    let (place, address) = (Place::Device(device.ordinal()), host.as_mut_ptr().expose_provenance() as u64);
    // SAFETY: nothing reads the elements: that the address is wrong is found before.
    let wrong = unsafe { Tensor::new(place, address, DType::F32, &[3], None, ()) }.expect("a tensor");
    assert!(matches!(interop_error(wrong.read::<f32, 1>(&device)), InteropError::OtherContext { .. }));
    // SAFETY: the elements outlive the tensor.
    let mut on_host = unsafe { Tensor::new(Place::Host, address, DType::F32, &[3], None, ()) }.expect("a tensor");
    assert!(matches!(interop_error(on_host.clone().read::<f32, 1>(&device)), InteropError::OnHost));
    on_host.host_slice_mut::<f32>().expect("no clone is left")[1] = 7.0;
    assert_eq!(on_host.host_slice::<f32>().expect("contiguous"), [1.0, 7.0, 3.0]);
    let clone = on_host.clone();
    assert!(matches!(interop_error(on_host.host_slice_mut::<f32>()), InteropError::InUse));
    drop(clone);

    // SAFETY: no tensor comes of it.
    let invalid = |address: u64, dtype, shape: &[usize], strides: Option<&[isize]>| unsafe {
        interop_error(Tensor::new(Place::Host, address, dtype, shape, strides, ())).to_string()
    };
    assert!(invalid(8, DType::F32, &[1, 2], Some(&[1])).contains("1 strides for 2 axes"));
    assert!(invalid(6, DType::F32, &[1], None).contains("0x6 is not the address"));
    assert!(invalid(0, DType::F32, &[1], None).contains("0x0 is not the address"));
    assert!(invalid(8, DType::new(1, 1, 1), &[1], None).contains("type uint1 have no whole address"));
    assert!(invalid(8, DType::F32, &[usize::MAX, 2], None).contains("beyond the address space"));
    assert!(invalid(8, DType::F32, &[3], Some(&[isize::MIN])).contains("beyond the address space"));
    assert!(invalid(8, DType::F32, &[3], Some(&[-2])).contains("beyond the address space"));
    // SAFETY: a tensor without elements.
    let empty = unsafe { Tensor::new(place, 0, DType::F32, &[0, 5], None, ()) }.expect("nothing is at the address");
    assert!(empty.write::<f32, 2>(&device).expect("no memory is taken").is_empty());
}

#[test]
fn dlpack_hands_arrays_over_and_takes_them_back() {
    let device = Device::new().expect("a device");
    let module = device.load(PTX).expect("valid PTX");
    let mut array = Array::from_slice(&device, [2, 2], &[1.0_f32, 2.0, 3.0, 4.0]).expect("an array");
    array.fill(5.0).expect("a kernel of the runtime");
    let buffer = array.into_buffer();
    let address = buffer.as_device_pointer().address();
    let array = Array::from_buffer(buffer, [2, 2]).expect("as many elements");
    let tensor = Tensor::from_array(array).expect("no kernel has failed");
    assert_eq!((tensor.address(), tensor.place()), (address, Place::Device(device.ordinal())));

    // SAFETY: the structure was made just now, and is handed over once.
    let back = unsafe { Tensor::from_dlpack(tensor.clone().into_dlpack()) }.expect("what was handed over");
    assert_eq!(
        (back.address(), back.shape(), back.dtype(), back.is_read_only()),
        (address, &[2, 2][..], DType::F32, false)
    );
    // SAFETY: as above.
    let read_only = unsafe { Tensor::from_dlpack(tensor.clone().read_only().into_dlpack()) }.expect("the same");
    assert!(read_only.is_read_only());
    assert!(matches!(interop_error(tensor.clone().read_only().into_dlpack_unversioned()), InteropError::ReadOnly));
    // SAFETY: as above.
    let old = unsafe { Tensor::from_dlpack_unversioned(tensor.into_dlpack_unversioned().expect("it may be written")) };
    assert_eq!(old.expect("the same").address(), address);

    let mut matrix = back.write::<f32, 2>(&device).expect("nothing else uses it");
    let ones = device.buffer_from(&[1.0_f32; 4]).expect("memory");
    module.for_each(4, saxpy(2.0, &ones, matrix.as_slice_mut().expect("contiguous"))).expect("it fits");
    assert_eq!(matrix.view().to_vec().expect("a copy"), [7.0; 4]);
}

/// A structure of another library: one number in host memory, as C would lay the structure out.
#[repr(C)]
struct Theirs {
    version: [u32; 2],
    context: *mut AtomicUsize,
    deleter: unsafe extern "C" fn(*mut Theirs),
    flags: u64,
    data: *mut f32,
    device: [i32; 2],
    ndim: i32,
    dtype: (u8, u8, u16),
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

unsafe extern "C" fn delete(structure: *mut Theirs) {
    // SAFETY: the structure and its counter are alive.
    unsafe { (*(*structure).context).fetch_add(1, Ordering::Relaxed) };
}

/// What makes a structure wrong.
type Change<'a> = &'a dyn Fn(&mut Theirs);

#[test]
fn structures_of_other_libraries_are_checked_and_always_given_back() {
    let mut values = [1.0_f32, 2.0, 3.0, 4.0];
    let mut deleted = AtomicUsize::new(0);
    let mut shape = [2_i64, 1];
    let plain = Theirs {
        version: [1, 3],
        context: &raw mut deleted,
        deleter: delete,
        flags: 0,
        data: values.as_mut_ptr(),
        device: [1, 0],
        ndim: 2,
        dtype: (2, 32, 1),
        shape: shape.as_mut_ptr(),
        strides: std::ptr::null_mut(),
        byte_offset: 8,
    };
    let mut taken = 0;
    let mut take = |change: Change<'_>| {
        // SAFETY: a copy of plain data.
        let mut theirs = unsafe { std::ptr::read(&raw const plain) };
        change(&mut theirs);
        let structure = NonNull::from(&mut theirs).cast::<dlpack::ManagedVersioned>();
        // SAFETY: the structure is as DLPack describes it, but for what `change` makes wrong, and alive until the end of this call.
        let found = unsafe { Tensor::from_dlpack(structure) };
        let found = found.map(|tensor| tensor.host_slice::<f32>().map(<[f32]>::to_vec));
        taken += 1;
        (found, taken)
    };
    let (found, _) = take(&|_| ());
    assert_eq!(found.expect("a tensor").expect("two numbers"), [3.0, 4.0]);
    let cases: [(Change<'_>, &str); 6] = [
        (&|theirs| theirs.version = [2, 0], "DLPack's version 2.0, and this program knows 1.0"),
        (&|theirs| theirs.device = [10, 0], "DLPack's kind 10"),
        (&|theirs| theirs.device = [2, -1], "-1 is no number of a device"),
        (&|theirs| theirs.ndim = -1, "-1 axes"),
        (&|theirs| theirs.shape = std::ptr::null_mut(), "no shape"),
        (&|theirs| theirs.byte_offset = 2, "is not the address of an element"),
    ];
    let mut last = 1;
    for (change, words) in cases {
        let (found, taken) = take(change);
        let message = interop_error(found).to_string();
        assert!(message.contains(words), "{message}");
        last = taken;
    }
    let (found, _) = take(&|theirs| theirs.dtype = (2, 64, 1));
    assert!(matches!(interop_error(found.expect("a tensor")), InteropError::Type { .. }));
    assert_eq!(deleted.load(Ordering::Relaxed), last + 1);
}
