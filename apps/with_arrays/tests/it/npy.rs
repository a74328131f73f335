//! Files of NumPy: read, changed on the device, and written. `npy/numpy_files.py` made the files, and read the written files.
//! `UPDATE_EXPECT=1` writes these again.

use std::io::Cursor;
use std::path::Path;

use kernels::scale;
use ndarray::{Array2, array};
use ndarray_npy::{
    NpzReader, NpzWriter, ReadNpyError, ReadNpyExt as _, ReadNpzError, ReadableElement, WriteNpyExt as _,
};
use rumba::Device;
use rumba::array::Array;

const PTX: &str = include_str!(env!("KERNELS_PTX"));

type Outcome = Result<(), Box<dyn std::error::Error>>;

macro_rules! files {
    ($($name:ident = $file:literal;)*) => {
        $(const $name: &[u8] = include_bytes!(concat!("../../npy/", $file));)*
    };
}

files! {
    F32 = "f32.npy";
    F32_FORTRAN = "f32_fortran.npy";
    F64 = "f64.npy";
    I32 = "i32.npy";
    BOOL = "bool.npy";
    SEVERAL = "several.npz";
}

fn read<T: ReadableElement>(file: &[u8]) -> Result<Array2<T>, ReadNpyError> {
    Array2::read_npy(file)
}

/// Compares with a file that `numpy_files.py` loads.
#[track_caller]
fn is_what_numpy_has_read(name: &str, written: &[u8]) -> Outcome {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("npy").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, written)?;
    }
    assert!(std::fs::read(&path)? == written, "{name}: {}", String::from_utf8_lossy(written));
    Ok(())
}

#[test]
fn a_launch_changes_arrays_of_both_orders() -> Outcome {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    for file in [F32, F32_FORTRAN] {
        let mut x = Array::from_ndarray(&device, &read::<f32>(file)?)?;
        assert_eq!(x.to_vec()?, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let elements = x.view_mut().into_slice().expect("an array lies in row-major order");
        module.for_each(6, scale(10.0, elements))?;
        let mut written = Vec::new();
        x.to_ndarray()?.write_npy(&mut written)?;
        is_what_numpy_has_read("written_f32.npy", &written)?;
    }
    Ok(())
}

#[test]
fn elements_of_several_types() -> Outcome {
    let device = Device::new()?;
    assert_eq!(Array::from_ndarray(&device, &read::<f64>(F64)?)?.transpose().to_vec()?, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!(Array::from_ndarray(&device, &read::<i32>(I32)?)?.row(1).to_vec()?, [3, 4, 5]);
    // Kernels take no `bool` from memory, which may hold any byte.
    let flags = Array::from_ndarray(&device, &read::<bool>(BOOL)?.mapv(u8::from))?;
    assert_eq!(flags.to_vec()?, [0, 1, 0, 1, 0, 1]);
    let mut written = Vec::new();
    flags.to_ndarray()?.mapv(|flag| flag != 0).write_npy(&mut written)?;
    is_what_numpy_has_read("written_bool.npy", &written)
}

#[test]
fn a_file_of_several_arrays() -> Outcome {
    let device = Device::new()?;
    let mut file = NpzReader::new(Cursor::new(SEVERAL))?;
    let a: Array2<f32> = file.by_name("a")?;
    let b: Array2<i32> = file.by_name("b")?;
    assert_eq!((&a.mapv(|x| x as i32), a[[1, 2]]), (&b, 5.0));
    let wrong = file.by_name::<ndarray::OwnedRepr<f64>, ndarray::Ix2>("a");
    assert!(matches!(wrong, Err(ReadNpzError::Npy(ReadNpyError::WrongDescriptor(_)))));

    let on_device = Array::from_ndarray(&device, &a)?;
    let mut written = NpzWriter::new(Cursor::new(Vec::new()));
    written.add_array("a", &on_device.to_ndarray()?)?;
    let bytes = written.finish()?.into_inner();
    let again: Array2<f32> = NpzReader::new(Cursor::new(bytes))?.by_name("a")?;
    assert_eq!(again, array![[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]);
    Ok(())
}

/// The error names the descriptor of the file, which the book's table gives the type of.
#[test]
fn another_type_or_another_number_of_axes_is_refused() {
    let Err(error) = read::<f32>(F64) else { panic!("the numbers are f64") };
    assert!(matches!(error, ReadNpyError::WrongDescriptor(_)));
    assert_eq!(error.to_string(), "incorrect descriptor ('<f8') for this type");
    let Err(error) = read::<u8>(BOOL) else { panic!("the elements are bool") };
    assert_eq!(error.to_string(), "incorrect descriptor ('|b1') for this type");
    let wrong = ndarray::Array1::<f32>::read_npy(F32);
    assert!(matches!(wrong, Err(ReadNpyError::WrongNdim(Some(1), 2))), "{wrong:?}");
    let cut = read::<f32>(&F32[..F32.len() - 1]);
    assert!(matches!(cut, Err(ReadNpyError::MissingData)), "{cut:?}");
}
