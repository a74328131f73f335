"""Writes the files that tests/it/npy.rs reads, and reads the files that it writes: python3 numpy_files.py. Run with NumPy 2.4."""

import numpy as np

numbers = np.arange(6).reshape(2, 3)
for name, array in {
    "f32": numbers.astype(np.float32),
    "f32_fortran": np.asfortranarray(numbers, np.float32),
    "f64": numbers.astype(np.float64),
    "i32": numbers.astype(np.int32),
    "bool": numbers % 2 == 1,
}.items():
    np.save(name, array)
np.savez("several", a=numbers.astype(np.float32), b=numbers.astype(np.int32))

for name, wanted in {
    "written_f32": 10 * numbers.astype(np.float32),
    "written_bool": numbers % 2 == 1,
}.items():
    found = np.load(f"{name}.npy")
    assert found.dtype == wanted.dtype and (found == wanted).all(), name
print("NumPy has read all files")
