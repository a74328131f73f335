//! The programs of the book's chapter run on a device, each in a folder of its own.

use std::process::Command;

#[track_caller]
fn succeeds(program: &str, files: &[(&str, &[u8])]) {
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    for (name, contents) in files {
        std::fs::write(folder.path().join(name), contents).expect("the folder is ours to write");
    }
    let output = Command::new(program).current_dir(&folder).output().expect("the program starts");
    assert!(output.status.success(), "{}", test_processes::text(&output));
}

#[test]
fn images() {
    succeeds(env!("CARGO_BIN_EXE_images"), &[]);
}

#[test]
fn matrices() {
    succeeds(env!("CARGO_BIN_EXE_matrices"), &[]);
}

/// The file is what NumPy writes: a header of 128 bytes, and the elements.
#[test]
fn numpy_files() {
    let header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }";
    let header = [b"\x93NUMPY\x01\x00v\x00", format!("{header:<117}\n").as_bytes()].concat();
    let elements: Vec<u8> = [1.0_f32, 4.0, 2.0, 5.0, 3.0, 6.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    succeeds(env!("CARGO_BIN_EXE_numpy_files"), &[("x.npy", &[header, elements].concat())]);
}
